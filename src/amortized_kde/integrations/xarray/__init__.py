"""The functions of `amortized_kde.ensembles` on DataArrays and Datasets of xarray, and an accessor.

Coordinates and attributes are kept, and lazy arrays (dask) give lazy results. Every function takes `dim`, the members'
dimension, and the options of `log_scores`. On a Dataset it works on every variable with that dimension, and `bounds`,
`method`, `bandwidth`, `atoms` and `climatology` may be mappings by variable. Importing this needs xarray, and registers
``.akde``:

    import amortized_kde.integrations.xarray
    ensembles.t2m.akde.log_scores(observations.t2m)
"""

from amortized_kde.errors import MissingExtraError

try:
    import xarray  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "labelled arrays need xarray; install it with: pip install 'amortized-kde[xarray]'"
    ) from None

from amortized_kde.integrations.xarray.accessor import EnsembleAccessor
from amortized_kde.integrations.xarray.apply import tally
from amortized_kde.integrations.xarray.diagrams import rank_histogram, ranks, reliability, reliability_of
from amortized_kde.integrations.xarray.files import rows_of
from amortized_kde.integrations.xarray.functions import (
    atom_probabilities,
    bandwidth,
    calibrated,
    densities,
    probabilities,
    quantiles,
)
from amortized_kde.integrations.xarray.units import in_units_of
from amortized_kde.integrations.xarray.verification import (
    brier_scores,
    crps,
    log_score_parts,
    log_scores,
    pit,
    threshold_weighted_crps,
)

__all__ = [
    "EnsembleAccessor",
    "atom_probabilities",
    "bandwidth",
    "brier_scores",
    "calibrated",
    "crps",
    "densities",
    "in_units_of",
    "log_score_parts",
    "log_scores",
    "pit",
    "probabilities",
    "quantiles",
    "rank_histogram",
    "ranks",
    "reliability",
    "reliability_of",
    "rows_of",
    "tally",
    "threshold_weighted_crps",
]
