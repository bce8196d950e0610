"""The libraries, each used as its manual shows: a sample, bounds and points enter, log-densities leave. One row each.

Libraries that answer on a grid are interpolated linearly between its points. Where the points reach beyond the grid
and the library takes a grid of one's own, it is asked for a longer one with the same steps; else it is zero there.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.estimate import fit
from contests.awkward.outcome import Answer, Refusal, Reply
from contests.awkward.r_density import RError, ask_r, r_version

Limits = tuple[float | None, float | None] | None
# A grid that is stretched to far points has at most so many.
MOST_NODES = 10**6


@dataclass(frozen=True)
class Library:
    """A library and the call that is judged.

    `log_density` takes a sample, its bounds and points; `package` names what must be installed, and `in_r` says that
    the sample must be one that R can hold.
    """

    name: str
    package: str
    call: str
    log_density: Callable[[Any, Limits, Array], Array]
    takes_bounds: bool = False
    in_r: bool = False

    @property
    def version(self) -> str | None:
        """Its version, None if it is not here."""
        if self.in_r:
            return r_version()
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


def ask(library: Library, sample: Any, bounds: Limits, points: Array) -> Reply:
    """Ask a library for log-densities; whatever error it raises is its reply.

    Examples
    --------
    >>> ask(LIBRARIES["SciPy"], np.array([1.0]), None, np.array([0.0])).kind
    'ValueError'
    """
    with warnings.catch_warnings(record=True) as caught, np.errstate(divide="ignore"):
        warnings.simplefilter("always")
        try:
            found = library.log_density(sample, bounds, points)
        except Exception as error:
            kind = "an error" if isinstance(error, RError) else type(error).__name__
            return Refusal(kind, _one_line(str(error)))
    return Answer(np.asarray(found, np.float64), tuple(_one_line(str(entry.message)) for entry in caught))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _ours(sample: Any, bounds: Limits, points: Array) -> Array:
    return np.asarray(fit(sample, bounds=bounds).logpdf(points))


def _scipy(sample: Any, _: Limits, points: Array) -> Array:
    return np.asarray(import_module("scipy.stats").gaussian_kde(sample).logpdf(points))


def _statsmodels(sample: Any, _: Limits, points: Array) -> Array:
    estimate = import_module("statsmodels.api").nonparametric.KDEUnivariate(sample)
    estimate.fit()
    return np.asarray(np.log(estimate.evaluate(points)))


def _kdepy(bandwidth: str) -> Callable[[Any, Limits, Array], Array]:
    def log_density(sample: Any, _: Limits, points: Array) -> Array:
        estimate = import_module("KDEpy").FFTKDE(kernel="gaussian", bw=bandwidth).fit(sample)
        grid, density = estimate.evaluate()
        longer = _stretched(grid, points)
        if longer.size > grid.size:
            grid, density = longer, estimate.evaluate(longer)
        return _interpolated(points, grid, density)

    return log_density


def _sklearn(sample: Any, _: Limits, points: Array) -> Array:
    column = sample[:, None] if np.ndim(sample) == 1 else sample
    estimate = import_module("sklearn.neighbors").KernelDensity(bandwidth="silverman").fit(column)
    return np.asarray(estimate.score_samples(points[:, None]))


def _arviz(sample: Any, bounds: Limits, points: Array) -> Array:
    grid, density, _ = import_module("arviz_stats.base").array_stats.kde(sample, custom_lims=bounds)
    # The grid is of middles of bins, over which the density is constant at the ends.
    half = 0.5 * (grid[1] - grid[0])
    ends = np.concatenate([[grid[0] - half], grid, [grid[-1] + half]])
    return _interpolated(points, ends, np.concatenate([density[:1], density, density[-1:]]))


def _stretched(grid: Array, points: Array) -> Array:
    """The same grid, longer by whole steps, until it holds the points."""
    step = grid[1] - grid[0]
    before, after = (max(0.0, np.ceil(gap / step)) for gap in (grid[0] - points.min(), points.max() - grid[-1]))
    if not 0.0 < before + after < MOST_NODES:
        return grid
    nodes = grid.size + int(before + after)
    return np.linspace(grid[0] - before * step, grid[-1] + after * step, nodes)


def _interpolated(points: Array, grid: Array, density: Array) -> Array:
    if np.isnan(density).any():
        return np.full(points.shape, np.nan)
    return np.asarray(np.log(np.interp(points, grid, density, left=0.0, right=0.0)))


LIBRARIES = {
    entry.name: entry
    for entry in (
        Library("amortized-kde", "amortized-kde", "fit(x, bounds=bounds).logpdf(y)", _ours, takes_bounds=True),
        Library("SciPy", "scipy", "gaussian_kde(x).logpdf(y)", _scipy),
        Library("statsmodels", "statsmodels", "KDEUnivariate(x), fit(), log(evaluate(y))", _statsmodels),
        Library("KDEpy, ISJ", "KDEpy", 'FFTKDE(bw="ISJ").fit(x).evaluate()', _kdepy("ISJ")),
        Library("KDEpy, Silverman", "KDEpy", 'FFTKDE(bw="silverman").fit(x).evaluate()', _kdepy("silverman")),
        Library(
            "scikit-learn",
            "scikit-learn",
            'KernelDensity(bandwidth="silverman").fit(x[:, None]).score_samples(y[:, None])',
            _sklearn,
        ),
        Library("arviz-stats", "arviz-stats", "array_stats.kde(x, custom_lims=bounds)", _arviz, takes_bounds=True),
        Library("R", "R", 'density(x, bw = "SJ")', ask_r, in_r=True),
    )
}
