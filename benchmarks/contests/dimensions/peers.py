"""The peers in Python: each fits a sample of shape (n, d) and returns a natural log-density.

Peers that take no bounds are cut at known bounds and renormalised, with the mass inside counted over 20,000 draws from
the estimate. `METHODS` is the one table; `ORACLE` alone sees the held-out points.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

from amortized_kde._types import Array
from contests.dimensions.beds import Task
from contests.dimensions.kernels import Kernels, leave_one_out, log_kernel_means
from contests.dimensions.libraries import any_vine, bic_mixture, getdist_density, kernel_vine, normal_reference
from contests.dimensions.scoring import Fit, LogDensity, Score, ends_of, predictive_normal, score_answer
from contests.dimensions.truths import Limits

ORACLE = "oracle scale"
_DRAWS_FOR_MASS = 20_000
_JUDGED_ROWS = 1000
# Scales in units of the sample's covariance: below, kernels would be needles, above they hide the data.
_LOG_SCALES = np.linspace(np.log(0.01), np.log(3.0), 15)


class Estimate(Protocol):
    """A density that can be drawn from."""

    def draw(self, size: int, rng: np.random.Generator, /) -> Array:
        """Return independent rows."""

    def log_density(self, x: Array, /) -> Array:
        """Return the natural log-density at each row."""


def cut_at(found: Estimate, bounds: Limits | None) -> LogDensity:
    """Return an estimate's log-density, cut at the bounds and renormalised."""
    if bounds is None:
        return found.log_density
    lower, upper = ends_of(bounds, len(bounds))
    inside_mass = log_mass(found, bounds)

    def log_density(x: Array) -> Array:
        inside = np.all((x >= lower) & (x <= upper), axis=1)
        return np.where(inside, found.log_density(x) - inside_mass, -np.inf)

    return log_density


def log_mass(found: Estimate, bounds: Limits | None) -> float:
    """Return the logarithm of an estimate's mass between the bounds, counted over draws."""
    if bounds is None:
        return 0.0
    lower, upper = ends_of(bounds, len(bounds))
    draws = found.draw(_DRAWS_FOR_MASS, np.random.default_rng(0))
    return float(np.log(np.mean(np.all((draws >= lower) & (draws <= upper), axis=1))))


def _cut(estimate: Callable[[Array], Estimate]) -> Fit:
    return lambda sample, bounds=None: cut_at(estimate(sample), bounds)


def covariance_factor(sample: Array) -> Array:
    """Return the lower Cholesky factor of the sample's covariance."""
    return np.asarray(np.linalg.cholesky(np.cov(sample.T)))


def scott(sample: Array) -> Kernels:
    """SciPy's gaussian_kde with its default, Scott's factor n^(-1/(d + 4)); the sum is ours, since it is faster."""
    n, d = sample.shape
    return Kernels(sample, covariance_factor(sample), np.full(n, n ** (-1.0 / (d + 4))))


def best_scale(objective: Callable[[float], float]) -> float:
    """Minimise over the scale: a grid of 15, then Brent's method around the best."""
    values = [objective(float(np.exp(s))) for s in _LOG_SCALES]
    k = int(np.argmin(values))
    low, high = _LOG_SCALES[max(k - 1, 0)], _LOG_SCALES[min(k + 1, _LOG_SCALES.size - 1)]
    found = minimize_scalar(lambda s: objective(float(np.exp(s))), bounds=(low, high), method="bounded")
    return float(np.exp(found.x if found.fun < values[k] else _LOG_SCALES[k]))


def likelihood_scale(sample: Array) -> Kernels:
    """One scale of the sample's covariance, by leave-one-out likelihood."""
    n, d = sample.shape
    factor, squares = _whitened_squares(sample)
    scale = best_scale(lambda h: -float(np.mean(leave_one_out(squares, np.full(n, h), d))))
    return Kernels(sample, factor, np.full(n, scale))


def abramson(sample: Array) -> Kernels:
    """Abramson's square-root law: sizes proportional to pilot density^(-1/2).

    The pilot is `likelihood_scale`, and the scale is again by leave-one-out likelihood. Sizes have geometric mean 1
    before that (Silverman 1986, section 5.3).
    """
    pilot = likelihood_scale(sample)
    log_factors = -0.5 * pilot.log_density(sample)
    factors = np.exp(log_factors - np.mean(log_factors))
    factor, squares = _whitened_squares(sample)
    d = sample.shape[1]
    scale = best_scale(lambda h: -float(np.mean(leave_one_out(squares, h * factors, d))))
    return Kernels(sample, factor, scale * factors)


def _whitened_squares(sample: Array) -> tuple[Array, Array]:
    """The covariance's factor, and squared distances of whitened rows, infinite from a row to itself.

    Above 1000 rows the likelihood is a mean over 1000 of them, with the kernels of all: more would take minutes.
    """
    factor = covariance_factor(sample)
    z = np.linalg.solve(factor, sample.T).T
    rows = np.random.default_rng(0).permutation(len(z))[:_JUDGED_ROWS]
    squares = cdist(z[rows], z, "sqeuclidean")
    squares[np.arange(rows.size), rows] = np.inf
    return factor, squares


def score_oracle(task: Task) -> Score:
    """Return the scores of the best single scale of the sample's covariance, chosen on the held-out points.

    Each of the two scores has its own best scale.
    """
    start = time.process_time()
    n, d = task.sample.shape
    factor = covariance_factor(task.sample)
    a, b = (np.linalg.solve(factor, x.T).T for x in (task.points, task.sample))
    squares = cdist(a, b, "sqeuclidean")

    @cache
    def score(scale: float) -> Score:
        kernels = Kernels(task.sample, factor, np.full(n, scale))
        logs = log_kernel_means(squares, kernels.sizes, d) - kernels.log_scale
        return score_answer(logs - log_mass(kernels, task.bounds), task, time.process_time() - start)

    raw = score(best_scale(lambda h: score(h).raw)).raw
    return score(best_scale(lambda h: score(h).floored))._replace(raw=raw, seconds=time.process_time() - start)


METHODS: dict[str, Fit] = {
    "predictive normal": predictive_normal,
    "scipy (Scott)": _cut(scott),
    "likelihood scale": _cut(likelihood_scale),
    "Abramson": _cut(abramson),
    "statsmodels": _cut(normal_reference),
    "mixture (BIC)": _cut(bic_mixture),
    "kernel vine": kernel_vine,
    "vine (AIC)": any_vine,
    "GetDist": getdist_density,
}

# Peers that exist in some dimensions only.
DIMENSIONS_OF: dict[str, tuple[int, ...]] = {
    "GetDist": (2,),
}
