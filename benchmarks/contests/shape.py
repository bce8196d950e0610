"""What a person sees of an estimated curve: modes, peak, moments, intervals, and errors beside them.

Every curve is judged by the same functions of its density on a grid that holds all data points, except for moments and
quantiles, which each estimator gives itself.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.integrate import cumulative_trapezoid, trapezoid
from scipy.signal import find_peaks

from amortized_kde._types import Array
from amortized_kde.data.support import OPEN
from amortized_kde.estimate import fit
from contests.marron_wand import MIXTURES
from contests.mixtures import dirichlet_mixture
from contests.rivals import DIRICHLET, ask_r

OURS = ("amortized", "amortized:single", "silverman", "sheather-jones", "lcv")
IN_R = ("logspline", "logcondens")
# These take seconds for large samples, so they see fewer.
SLOW = (DIRICHLET, "logcondens")

PROMINENCES = (0.02, 0.1)
LEVELS = (0.5, 0.9)
# Quantiles that end the central intervals.
PROBABILITIES = tuple(sorted({0.5 + sign * 0.5 * level for level in LEVELS for sign in (-1.0, 1.0)}))
_GRID, _STRATA = 4001, 2000
# Up to this size every data point has arguments at fixed distances; in larger samples values are as close.
_CLOSE = 500


@dataclass(frozen=True, eq=False)
class Truth:
    """A known density on the whole line; estimators know no bounds."""

    name: str
    pdf: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    draw: Callable[[np.random.Generator, int], Array]
    grid: Array

    @cached_property
    def peak(self) -> float:
        """The highest density."""
        return float(np.max(self.pdf(self.grid)))

    @cached_property
    def modes(self) -> dict[float, int]:
        """The number of modes at each of `PROMINENCES`, relative to the peak."""
        density = self.pdf(self.grid)
        return {prominence: count_modes(density, prominence) for prominence in PROMINENCES}

    @cached_property
    def strata(self) -> Array:
        """The middles of equally likely parts: a sum over them is an expectation."""
        cdf = self.cdf(self.grid)
        return np.interp((np.arange(_STRATA) + 0.5) / _STRATA, cdf, self.grid)


def _frozen(name: str, distribution: stats.rv_continuous) -> Truth:
    ends = distribution.ppf([1e-7, 1.0 - 1e-7])
    return Truth(
        name,
        distribution.pdf,
        distribution.cdf,
        lambda rng, n: np.asarray(distribution.rvs(n, random_state=rng)),
        np.linspace(float(ends[0]), float(ends[1]), 40_001),
    )


def _mixture(name: str, weights: Array, means: Array, sds: Array) -> Truth:
    def over(function: Callable[..., Array]) -> Callable[[Array], Array]:
        return lambda x: np.asarray(sum(w * function(x, m, s) for w, m, s in zip(weights, means, sds, strict=True)))

    def draw(rng: np.random.Generator, n: int) -> Array:
        component = rng.choice(weights.size, n, p=weights)
        return rng.normal(means[component], sds[component])

    grid = np.linspace(float(np.min(means - 6.0 * sds)), float(np.max(means + 6.0 * sds)), 40_001)
    return Truth(name, over(stats.norm.pdf), over(stats.norm.cdf), draw, grid)


def smooth_densities() -> tuple[Truth, ...]:
    """Return eight densities that people would draw with one or two modes."""
    half = np.array([0.5, 0.5])
    return (
        _frozen("normal", stats.norm()),
        _frozen("t5", stats.t(5)),
        _frozen("gamma 2", stats.gamma(2.0)),
        _frozen("exponential", stats.expon()),
        _frozen("uniform", stats.uniform()),
        _frozen("beta(2, 2)", stats.beta(2.0, 2.0)),
        _frozen("lognormal 0.7", stats.lognorm(0.7)),
        _mixture("two modes", half, np.array([-1.5, 1.5]), half),
    )


def marron_wand_densities() -> tuple[Truth, ...]:
    """Return the fifteen densities of Marron and Wand, without bounds."""
    return tuple(_mixture(name, *np.array(parts, np.float64).T) for name, parts in MIXTURES.items())


def count_modes(density: Array, prominence: float) -> int:
    """Return how many peaks rise by `prominence` times the highest above the density around them."""
    # A peak may stand at an end.
    padded = np.concatenate([[0.0], density, [0.0]])
    return int(find_peaks(padded, prominence=prominence * float(density.max()))[0].size)


class Curve(NamedTuple):
    """An estimate: density, log-density, mean, standard deviation, and the quantiles of `PROBABILITIES`."""

    density: Callable[[Array], Array]
    log_density: Callable[[Array], Array]
    mean: float
    sd: float
    quantiles: Array


def evaluation_grid(sample: Array) -> Array:
    """Return even arguments around the sample, every data point, and arguments beside it, so that a needle shows.

    Those beside it are at six fixed distances, or in samples of more than 500 values halfway to the next value.
    """
    low, high = float(sample.min()), float(sample.max())
    width = high - low
    steps = width * np.array([-3e-3, -1e-3, -1e-4, 1e-4, 1e-3, 3e-3])
    x = np.sort(sample)
    beside = (x[:, None] + steps).ravel() if x.size <= _CLOSE else 0.5 * (x[1:] + x[:-1])
    return np.unique(np.concatenate([np.linspace(low - 0.5 * width, high + 0.5 * width, _GRID), x, beside]))


MEASURES = (
    *(f"{kind} modes {100 * p:g} %" for p in PROMINENCES for kind in ("found", "spurious", "missed")),
    *("peak / true peak", "mean - sample mean (sd)", "sd / sample sd"),
    *(f"coverage {100 * level:g} %" for level in LEVELS),
    *("squared error", "excess bits"),
)


def measures(truth: Truth, sample: Array, curve: Curve) -> Array:
    """Return the numbers of `MEASURES` for one estimate."""
    grid = evaluation_grid(sample)
    density = curve.density(grid)
    out: list[float] = []
    for prominence in PROMINENCES:
        found, true = count_modes(density, prominence), truth.modes[prominence]
        out += [found, max(found - true, 0), max(true - found, 0)]
    spread = float(np.std(sample, ddof=1))
    out += [density.max() / truth.peak, (curve.mean - sample.mean()) / spread, curve.sd / spread]
    at = truth.cdf(curve.quantiles)
    out += [at[-1 - k] - at[k] for k in reversed(range(len(LEVELS)))]
    out.append(trapezoid((density - truth.pdf(grid)) ** 2, grid))
    strata = truth.strata
    with np.errstate(divide="ignore"):
        out.append(float(np.mean(np.log(truth.pdf(strata)) - curve.log_density(strata))) / math.log(2.0))
    return np.array(out, np.float64)


def curves(method: str, truth: Truth, samples: Sequence[Array]) -> list[Curve | None]:
    """Fit a method to every sample; None where it has no answer."""
    if method in IN_R:
        return _by_r(method, truth, samples)
    one = _dirichlet if method == DIRICHLET else _of_package(method)
    return [one(sample) for sample in samples]


def _of_package(method: str) -> Callable[[Array], Curve]:
    def curve(sample: Array) -> Curve:
        d = fit(sample, method=method, threads=1)
        quantiles = np.asarray(d.ppf(np.array(PROBABILITIES)))
        return Curve(partial(d.pdf, threads=1), partial(d.logpdf, threads=1), d.mean(), d.std(), quantiles)

    return curve


def _dirichlet(sample: Array) -> Curve:
    return _on_grid(sample, dirichlet_mixture(sample).log_density)


def _wide_grid(sample: Array) -> Array:
    low, high = float(sample.min()), float(sample.max())
    width = high - low
    return np.union1d(evaluation_grid(sample), np.linspace(low - 10.0 * width, high + 10.0 * width, 4001))


def _on_grid(sample: Array, log_density: Callable[[Array], Array]) -> Curve:
    """A curve whose moments and quantiles are integrals over a wide grid."""
    grid = _wide_grid(sample)
    density = np.exp(log_density(grid))
    mass = np.concatenate([[0.0], cumulative_trapezoid(density, grid)])
    mean = float(trapezoid(density * grid, grid) / mass[-1])
    variance = float(trapezoid(density * (grid - mean) ** 2, grid) / mass[-1])
    quantiles = np.interp(PROBABILITIES, mass / mass[-1], grid)
    return Curve(lambda x: np.exp(log_density(x)), log_density, mean, variance**0.5, quantiles)


def _by_r(method: str, truth: Truth, samples: Sequence[Array]) -> list[Curve | None]:
    """All samples in one process of R, evaluated wherever they will be looked at."""
    at = [np.union1d(_wide_grid(sample), truth.strata) for sample in samples]
    answers = ask_r(method, samples, [OPEN] * len(samples), at)

    def lookup(points: Array, logs: Array) -> Callable[[Array], Array]:
        return lambda x: logs[np.searchsorted(points, x)]

    return [
        None if np.isnan(logs).any() else _on_grid(sample, lookup(points, logs))
        for sample, points, logs in zip(samples, at, answers.log_densities, strict=True)
    ]
