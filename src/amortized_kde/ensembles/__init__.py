"""Many forecasts at once: arrays of ensembles enter; arrays of densities, probabilities, quantiles and scores leave.

Members lie along the last axis, NaN is a missing member, and whatever is asked of an ensemble is what its own density,
`fit(members)`, would answer. Bandwidths are `amortized_kde.bandwidth(x, axis=-1)`.
"""

from amortized_kde.ensembles.dressing import Dressing, dressed, read_dressing
from amortized_kde.ensembles.forecasts import atom_probabilities, densities, probabilities, quantiles
from amortized_kde.ensembles.given import log_densities
from amortized_kde.ensembles.verification import ScoreParts, crps, log_score_parts, log_scores, pit

__all__ = [
    "Dressing",
    "ScoreParts",
    "atom_probabilities",
    "crps",
    "densities",
    "dressed",
    "log_densities",
    "log_score_parts",
    "log_scores",
    "pit",
    "probabilities",
    "quantiles",
    "read_dressing",
]
