"""The libraries, each used as its manual shows, and R's `density`.

A density on a grid is interpolated linearly. For points outside the grid a library that takes any grid gets a longer
one with the same steps; otherwise the density is zero there.
"""

import math
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import MissingExtraError
from amortized_kde.estimate import fit
from contests.awkward.judges import Answer, Refusal, Reply

Limits = tuple[float | None, float | None] | None
# Of a grid that is extended to far points.
MOST_NODES = 10**6
# R's own grid, extended with the same steps if points lie outside it.
_R_SCRIPT = """
y <- scan(file("stdin"), quiet = TRUE)
x <- %s
d <- density(x, bw = "SJ")
step <- d$x[2] - d$x[1]
ends <- c(min(d$x[1], y), max(d$x[512], y))
nodes <- round(diff(ends) / step) + 1
if (nodes > 512 && nodes < 1e6) d <- density(x, bw = "SJ", from = ends[1], to = ends[2], n = nodes)
at <- suppressWarnings(approx(d$x, d$y, xout = y, yleft = 0, yright = 0)$y)
cat(sprintf("%%.17g", log(at)), sep = "\\n")
"""


class RError(Exception):
    """The message with which R stopped."""


@dataclass(frozen=True)
class Library:
    """A library and the call that is judged.

    `log_density` takes a sample, its bounds and points. `package` must be installed; with `in_r` the sample must be one
    that R can represent.
    """

    name: str
    package: str
    call: str
    log_density: Callable[[Any, Limits, Array], Array]
    takes_bounds: bool = False
    in_r: bool = False

    @property
    def version(self) -> str | None:
        """The installed version, None if there is none."""
        if self.in_r:
            return r_version()
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


def ask(library: Library, sample: Any, bounds: Limits, points: Array) -> Reply:
    """Return the log-densities of a library, or the error that it raises.

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
        longer = _extended(grid, points)
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
    # The grid has the middles of bins; the density is constant over the outer half bins.
    half = 0.5 * (grid[1] - grid[0])
    ends = np.concatenate([[grid[0] - half], grid, [grid[-1] + half]])
    return _interpolated(points, ends, np.concatenate([density[:1], density, density[-1:]]))


def _extended(grid: Array, points: Array) -> Array:
    """The grid, extended by whole steps until it covers the points."""
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


@cache
def r_version() -> str | None:
    """Return the version of R, None if it is not installed."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return None
    code = 'cat(paste(R.version$major, R.version$minor, sep = "."))'
    return subprocess.run([rscript, "-e", code], capture_output=True, text=True).stdout or None


def ask_r(sample: Any, _: Any, points: Array) -> Array:
    """Return log-densities of R's `density` with Sheather and Jones's bandwidth, by one process.

    Raises
    ------
    RError
        With R's message, if R stops.
    MissingExtraError
        If R is not installed.
    """
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise MissingExtraError("density needs R; install it, or leave it out.")
    numbers = " ".join(repr(float(value)) for value in points)
    done = subprocess.run([rscript, "-e", _R_SCRIPT % write_r(sample)], input=numbers, capture_output=True, text=True)
    if done.returncode != 0:
        raise RError(re.sub(r"\s*(Calls:.*)?Execution halted\s*$", "", done.stderr, flags=re.DOTALL).strip())
    return np.array([_read_number(word) for word in done.stdout.split()])


def _read_number(word: str) -> float:
    return math.nan if word == "NA" else float(word)


def write_r(sample: Any) -> str:
    """Return an array as R code.

    Examples
    --------
    >>> write_r(np.array([1.5, np.nan, np.inf]))
    'c(1.5, NaN, Inf)'
    >>> write_r(np.array([np.float64(1.0), None], dtype=object))
    'c(1.0, NA)'
    >>> write_r(np.zeros((1, 2)))
    'matrix(c(0.0, 0.0), nrow = 1, byrow = TRUE)'
    """
    array = np.asarray(sample)
    entries = ", ".join(_write_entry(entry) for entry in array.ravel().tolist())
    if array.ndim == 2:
        return f"matrix(c({entries}), nrow = {array.shape[0]}, byrow = TRUE)"
    return f"c({entries})" if array.size else "numeric(0)"


def _write_entry(entry: Any) -> str:
    if entry is None:
        return "NA"
    if isinstance(entry, str):
        return f'"{entry}"'
    # An array of objects can hold NumPy scalars, whose repr is not a number in R.
    value, special = float(entry), {math.inf: "Inf", -math.inf: "-Inf"}
    return "NaN" if math.isnan(value) else special.get(value, repr(value))


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
