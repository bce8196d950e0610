"""Large samples: time, error and memory of a density on a grid.

Estimators take turns on the same sample, and the best time of each counts. Errors are integrals of the estimated
density, not of its values on the grid.
"""

import math
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.estimate import fit
from amortized_kde.research.reproduction.tables import write_csv

Limits = tuple[float | None, float | None]
LogDensity = Callable[[Array], Array]

KDEPY = "KDEpy, ISJ"
_GRID = 1024
# KDEpy evaluates on grids only; on this one interpolation adds no error that matters.
_FINE = 2**17
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_COLUMNS = ("density", "n", "estimator", "ms", "times KDEpy", "excess bits", "integrated squared error", "mass on grid")
_SEED = 20260401


class Truth(NamedTuple):
    """A known density with the bounds that estimators get, and a function that draws from it."""

    bounds: Limits
    pdf: Callable[[Array], Array]
    draw: Callable[[np.random.Generator, int], Array]


class Estimator(NamedTuple):
    """The density on a grid, which is timed, and the log-density, for the errors; both from a sample and bounds."""

    on_grid: Callable[[Array, Limits], tuple[Array, Array]]
    log_density: Callable[[Array, Limits], LogDensity]


@dataclass(frozen=True)
class Row:
    """Time and errors of an estimator on one density."""

    density: str
    n: int
    estimator: str
    seconds: float
    ratio: float
    excess: float
    squared: float
    mass: float


def _normal(x: Array, mean: float, sd: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi)))


def _log_normal(x: Array, sd: float) -> Array:
    inside = np.where(x > 0.0, x, 1.0)
    return np.where(x > 0.0, _normal(np.log(inside), 0.0, sd) / inside, 0.0)


TRUTHS: Mapping[str, Truth] = {
    "normal": Truth((None, None), lambda x: _normal(x, 0.0, 1.0), lambda rng, n: rng.standard_normal(n)),
    "bimodal": Truth(
        (None, None),
        lambda x: 0.6 * _normal(x, -1.5, 0.7) + 0.4 * _normal(x, 1.5, 0.3),
        lambda rng, n: np.where(rng.random(n) < 0.6, rng.normal(-1.5, 0.7, n), rng.normal(1.5, 0.3, n)),
    ),
    "skewed": Truth((None, None), lambda x: _log_normal(x, 0.6), lambda rng, n: rng.lognormal(0.0, 0.6, n)),
    "with a bound": Truth(
        (0.0, None),
        lambda x: np.where(x >= 0.0, np.exp(-np.maximum(x, 0.0)), 0.0),
        lambda rng, n: rng.standard_exponential(n),
    ),
    # No constant of the estimator was chosen on these or similar densities.
    "logistic": Truth((None, None), lambda x: 0.25 / np.cosh(0.5 * x) ** 2, lambda rng, n: rng.logistic(size=n)),
    "Gumbel": Truth((None, None), lambda x: np.exp(-x - np.exp(-x)), lambda rng, n: rng.gumbel(size=n)),
    "half-normal, bound": Truth(
        (0.0, None),
        lambda x: np.where(x >= 0.0, 2.0 * _normal(x, 0.0, 1.0), 0.0),
        lambda rng, n: np.abs(rng.standard_normal(n)),
    ),
}


def _ours(method: str) -> Estimator:
    def on_grid(x: Array, bounds: Limits) -> tuple[Array, Array]:
        d = fit(x, bounds=bounds, method=method)
        grid = d.grid(_GRID)
        return grid, d.pdf(grid)

    def log_density(x: Array, bounds: Limits) -> LogDensity:
        d = fit(x, bounds=bounds, method=method)

        def at(y: Array) -> Array:
            density = d.pdf(y)
            tiny = ~(density > 1e-290)
            logs = np.log(np.where(tiny, 1.0, density))
            logs[tiny] = d.logpdf(y[tiny])
            return np.asarray(logs)

        return at

    return Estimator(on_grid, log_density)


def _kdepy(bandwidth: Callable[[Array], Any]) -> Estimator:
    def on_grid(x: Array, count: int) -> tuple[Array, Array]:
        grid, density = import_module("KDEpy").FFTKDE(bw=bandwidth(x)).fit(x).evaluate(count)
        return grid, density

    def log_density(x: Array, bounds: Limits) -> LogDensity:
        grid, density = on_grid(x, _FINE)
        # Rounding of the Fourier transforms leaves negative values; on coarser grids KDEpy itself has this floor.
        return lambda y: np.log(np.maximum(np.interp(y, grid, density, left=0.0, right=0.0), np.finfo(float).eps))

    return Estimator(lambda x, bounds: on_grid(x, _GRID), log_density)


def _mended_isj(x: Array) -> float:
    """KDEpy's bandwidth in the unit of the mesh on which it was found.

    KDEpy multiplies by the range of the data, but its mesh extends past the data by six units, or by half of the range
    if that is more. So its bandwidth is at most half of that of the method, and less for data in smaller numbers.
    """
    h, span = import_module("KDEpy.bw_selection").improved_sheather_jones(x[:, None]), float(np.ptp(x))
    return float(h) * (span + 2.0 * max(6.0, 0.5 * span)) / span


ESTIMATORS: Mapping[str, Estimator] = {
    KDEPY: _kdepy(lambda x: "ISJ"),
    "KDEpy, ISJ mended": _kdepy(_mended_isj),
    "amortized": _ours("amortized"),
    "amortized:single": _ours("amortized:single"),
}


def compare(name: str, n: int, *, repeats: int = 5, estimators: Sequence[str] = tuple(ESTIMATORS)) -> list[Row]:
    """Time the estimators in turns on one sample of a known density, and compute their errors."""
    truth = TRUTHS[name]
    x = truth.draw(np.random.default_rng(_SEED), n)
    # The first call compiles.
    mass = {key: float(np.trapezoid(*ESTIMATORS[key].on_grid(x, truth.bounds)[::-1])) for key in estimators}
    best = dict.fromkeys(estimators, math.inf)
    for _ in range(repeats):
        for key in estimators:
            begin = time.perf_counter()
            ESTIMATORS[key].on_grid(x, truth.bounds)
            best[key] = min(best[key], time.perf_counter() - begin)
    reference = best.get(KDEPY, math.nan)
    wrong = {key: errors(ESTIMATORS[key].log_density(x, truth.bounds), truth, x) for key in estimators}
    return [Row(name, n, key, best[key], reference / best[key], *wrong[key], mass[key]) for key in estimators]


def errors(log_density: LogDensity, truth: Truth, sample: Array) -> tuple[float, float]:
    r"""Return the excess score :math:`\int f \log_2(f/q)` over the sample's range, and :math:`\int (f - q)^2` over all.

    f is the truth and q the estimate. Outside the range f has about 1/n of its mass.
    """
    low, high = float(sample.min()), float(sample.max())
    margin = 0.05 * (high - low)
    quantiles = np.quantile(sample, np.linspace(0.0, 1.0, 2049))
    edges = np.unique(np.concatenate([quantiles, [0.0], np.linspace(low - margin, high + margin, 4097)]))
    half = 0.5 * np.diff(edges)[:, None]
    y = edges[:-1, None] + half * (1.0 + _NODES)
    with np.errstate(divide="ignore"):
        f, log_q, weights = truth.pdf(y), log_density(y), half * _WEIGHTS
    inside = (y >= low) & (y <= high) & (f > 0.0)
    logs = np.log2(f[inside]) - log_q[inside] / math.log(2.0)
    return float(np.sum((weights * f)[inside] * logs)), float(np.sum(weights * (f - np.exp(log_q)) ** 2))


def peak_memory(estimator: str, n: int) -> float:
    """Return the peak memory in bytes per value that an estimate needs in addition to a normal sample of n."""
    truth = TRUTHS["normal"]
    x = truth.draw(np.random.default_rng(_SEED), n)
    tracemalloc.start()
    ESTIMATORS[estimator].on_grid(x, truth.bounds)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / n


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write the table as CSV."""
    lines = [
        (
            *(row.density, row.n, row.estimator, f"{1e3 * row.seconds:.1f}", f"{row.ratio:.2f}"),
            *(f"{row.excess:.3g}", f"{row.squared:.3g}", f"{row.mass:.4f}"),
        )
        for row in rows
    ]
    write_csv(path, _COLUMNS, lines)
