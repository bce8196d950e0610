"""Density estimators that compete: a sample and bounds enter, a log-density leaves. One row a rival.

All are told the same bounds. One that takes none is cut to them and renormalised. Those that live in R are asked for
many samples at once; see `r_rivals`.
"""

from collections import Counter
from collections.abc import Callable
from importlib import import_module

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from amortized_kde.density import KernelDensity
from amortized_kde.errors import DegenerateSampleError
from amortized_kde.estimate import fit
from amortized_kde.selection import SELECTORS

LogDensity = Callable[[Array], Array]
Fit = Callable[[Array, Bounds], LogDensity]

# What the comparisons are about.
UNDER_TEST = "amortized"
# Names of learned estimators begin so.
_LEARNED = ("amortized", "adaptive")
CLASSICAL = tuple(name for name in SELECTORS if not name.startswith(_LEARNED))
SCIPY = "scipy gaussian_kde"
# Answers for a method that has no answer itself.
FALL_BACK = "silverman"


def fit_density(method: str, sample: Array, bounds: Bounds) -> LogDensity:
    """Fit a rival, or any method of this package, to one sample.

    Parameters
    ----------
    method : str
        A name from `RIVALS`, or one that `fit` takes.
    sample : array of shape (n,)
    bounds : Bounds
        Hard limits, infinite where open.

    Returns
    -------
    callable
        Natural log-density at an array of points inside the bounds.

    Raises
    ------
    AmortizedKdeError
        If one of our methods has no answer.

    Examples
    --------
    >>> log_density = fit_density(SCIPY, np.array([0.1, 0.4, 0.5]), Bounds(0.0, 1.0))
    >>> x = (np.arange(1000) + 0.5) / 1000
    >>> round(float(np.exp(log_density(x)).mean()), 6)
    1.0
    """
    return RIVALS[method](sample, bounds) if method in RIVALS else _own(method)(sample, bounds)


def fit_or_fall_back(method: str, sample: Array, bounds: Bounds, failures: Counter[str]) -> LogDensity:
    """Fit a method; where it has no answer, count what it said and give Silverman's density instead.

    Other errors, of a name that does not exist or a model that is not there, are raised.
    """
    try:
        return fit_density(method, sample, bounds)
    except _NO_ANSWER.get(method, DegenerateSampleError) as error:
        failures[str(error)] += 1
        return fit_density(FALL_BACK, sample, bounds)


def _own(method: str) -> Fit:
    def density(sample: Array, bounds: Bounds) -> LogDensity:
        found = fit(sample, bounds=bounds, method=method, threads=1)
        return lambda y: np.asarray(found.logpdf(y, threads=1))

    return density


def _scipy(sample: Array, bounds: Bounds) -> LogDensity:
    """SciPy's estimator with its default, Scott's factor: its kernel, summed by our quicker loops."""
    found = import_module("scipy.stats").gaussian_kde(sample)
    return _kernel(sample, float(np.sqrt(found.covariance[0, 0])), bounds)


def _arviz_bandwidth(sample: Array, bounds: Bounds) -> LogDensity:
    """The improved Sheather-Jones bandwidth of arviz-stats in an exact kernel estimate, cut at the bounds."""
    return _kernel(sample, float(import_module("arviz_stats.base").array_stats.get_bw(sample, "isj")), bounds)


def _kernel(sample: Array, h: float, bounds: Bounds) -> LogDensity:
    found = KernelDensity(sample, bandwidth=h, bounds=bounds)
    return lambda y: np.asarray(found.logpdf(y, threads=1))


def _arviz_grid(sample: Array, bounds: Bounds) -> LogDensity:
    """The density of arviz-stats as it gives it: on 512 bins between the bounds, or on an open side the extremes.

    Outside it is zero, and between the middles of bins it is interpolated.
    """
    limits = [float(end) if np.isfinite(end) else None for end in bounds]
    array_stats = import_module("arviz_stats.base").array_stats
    grid, density, _ = array_stats.kde(sample, bw="isj", custom_lims=limits)
    half = 0.5 * (grid[1] - grid[0])

    def log_density(y: Array) -> Array:
        with np.errstate(divide="ignore"):
            inside = np.log(np.interp(y, grid, density))
        return np.where((y >= grid[0] - half) & (y <= grid[-1] + half), inside, -np.inf)

    return log_density


RIVALS: dict[str, Fit] = {
    **{method: _own(method) for method in CLASSICAL},
    SCIPY: _scipy,
    "arviz-stats isj": _arviz_bandwidth,
    "arviz-stats kde": _arviz_grid,
}

# What other libraries raise for samples that they cannot take.
_NO_ANSWER = {method: (ValueError, ArithmeticError) for method in RIVALS if method not in CLASSICAL}
