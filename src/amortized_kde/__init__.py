"""Probability densities from samples of one to eight variables, judged by the logarithmic score."""

from typing import TYPE_CHECKING, Any

from amortized_kde import errors
from amortized_kde._compare import compare
from amortized_kde.density import KernelDensity
from amortized_kde.density.density_plot import plot
from amortized_kde.density.multivariate import MultivariateDensity
from amortized_kde.estimate import bandwidth, fit, selectors
from amortized_kde.learned.store import models
from amortized_kde.score import log_score

if TYPE_CHECKING:
    from amortized_kde import ensembles

__all__ = [
    "KernelDensity",
    "MultivariateDensity",
    "__version__",
    "bandwidth",
    "compare",
    "ensembles",
    "errors",
    "fit",
    "log_score",
    "models",
    "plot",
    "selectors",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import `ensembles` when it is first used; one sample does not need it."""
    if name == "ensembles":
        from importlib import import_module

        return import_module("amortized_kde.ensembles")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
