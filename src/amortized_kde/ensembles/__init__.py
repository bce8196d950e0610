"""Densities, probabilities, quantiles, scores and diagrams of arrays of ensembles.

Members lie along the last axis, and NaN is a missing member. Every answer is that of the ensemble's own density,
`fit(members)`. Bandwidths are `amortized_kde.bandwidth(x, axis=-1)`.
"""

from amortized_kde.ensembles.calibration import Calibration, calibrated, read_calibration
from amortized_kde.ensembles.diagrams import Reliability, rank_histogram, ranks, reliability, reliability_of
from amortized_kde.ensembles.forecasts import atom_probabilities, densities, log_densities, probabilities, quantiles
from amortized_kde.ensembles.verification import (
    ScoreParts,
    brier_scores,
    crps,
    log_score_parts,
    log_scores,
    pit,
    threshold_weighted_crps,
)

__all__ = [
    "Calibration",
    "Reliability",
    "ScoreParts",
    "atom_probabilities",
    "brier_scores",
    "calibrated",
    "crps",
    "densities",
    "log_densities",
    "log_score_parts",
    "log_scores",
    "pit",
    "probabilities",
    "quantiles",
    "rank_histogram",
    "ranks",
    "read_calibration",
    "reliability",
    "reliability_of",
    "threshold_weighted_crps",
]
