"""Densities, probabilities, quantiles and scores of arrays of ensembles.

Members lie along the last axis, and NaN is a missing member. Every answer is that of the ensemble's own density,
`fit(members)`. Bandwidths are `amortized_kde.bandwidth(x, axis=-1)`.
"""

from amortized_kde.ensembles.dressing import Dressing, dressed, read_dressing
from amortized_kde.ensembles.forecasts import atom_probabilities, densities, log_densities, probabilities, quantiles
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
