"""Probability densities from one-dimensional samples, judged by the logarithmic score."""

from amortized_kde import ensembles, errors
from amortized_kde._compare import compare
from amortized_kde.density import KernelDensity
from amortized_kde.density.density_plot import plot
from amortized_kde.estimate import bandwidth, fit, selectors
from amortized_kde.learned.store import models
from amortized_kde.score import log_score

__all__ = [
    "KernelDensity",
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
