"""For xarray and dask: the functions of `amortized_kde.ensembles` on DataArrays and Datasets, and an accessor.

Coordinates and attributes stay, and what is lazy stays lazy. Every function takes `dim`, the members' dimension, and
the options of `log_scores`. On a Dataset it works on every variable with that dimension, and `bounds`, `method`,
`atoms` and `climatology` may be mappings by variable. Importing this needs xarray, and registers ``.akde``:

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
from amortized_kde.integrations.xarray.counts import tally
from amortized_kde.integrations.xarray.dressing import dressed
from amortized_kde.integrations.xarray.forecasts import (
    atom_probabilities,
    bandwidth,
    densities,
    probabilities,
    quantiles,
)
from amortized_kde.integrations.xarray.verification import crps, log_score_parts, log_scores, pit

__all__ = [
    "EnsembleAccessor",
    "atom_probabilities",
    "bandwidth",
    "crps",
    "densities",
    "dressed",
    "log_score_parts",
    "log_scores",
    "pit",
    "probabilities",
    "quantiles",
    "tally",
]
