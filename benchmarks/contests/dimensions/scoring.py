"""Score densities on tests: the Kullback-Leibler divergence in bits, by held-out draws, with one rule for failures.

The raw score of a test is the mean over its points of log2 p - log2 q. It is infinite where q is zero at one point, and
a few points far out can make it thousands of bits. So every method, ours too, has a second score, *floored*: its
density q is mixed with a broad one, q' = 0.999 q + 0.001 b, which costs at most 0.0015 bits. b is a product of Student
t densities with two degrees of freedom, at the median of each column with twice its spread, cut at known bounds.

A method without an answer, or whose log-density is NaN at a point, gets the reference: the predictive t of a normal
model, or b where there are bounds or the covariance is singular. Both events are counted, and so are points where q is
zero.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from amortized_kde._types import Array
from contests.dimensions.beds import Task
from contests.dimensions.truths import Limits, student_log_density

LogDensity = Callable[[Array], Array]
Fit = Callable[..., LogDensity]
LN2 = float(np.log(2.0))
FLOOR_WEIGHT = 1e-3
_BROAD_DOF = 2.0
_BROAD_SCALE = 2.0
# Interquartile range of the standard normal density.
_NORMAL_IQR = 1.3489795003921634


class Score(NamedTuple):
    """Scores of one method on one test, in bits; processor time in seconds; what went wrong, if anything."""

    raw: float
    floored: float
    seconds: float
    zeros: int = 0
    failure: str = ""


def broad_density(sample: Array, bounds: Limits | None) -> LogDensity:
    """Return the log-density b of the rule above, for a sample of shape (n, d)."""
    lower, upper = ends_of(bounds, sample.shape[1])
    low, middle, high = np.quantile(sample, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / _NORMAL_IQR
    spread = np.where(spread > 0.0, spread, np.std(sample, axis=0))
    scale = _BROAD_SCALE * np.where(spread > 0.0, spread, 1.0)
    margins = stats.t(_BROAD_DOF, loc=middle, scale=scale)
    log_mass = float(np.sum(np.log(margins.cdf(upper) - margins.cdf(lower))))

    def log_density(x: Array) -> Array:
        inside = np.all((x >= lower) & (x <= upper), axis=1)
        return np.where(inside, np.sum(margins.logpdf(x), axis=1) - log_mass, -np.inf)

    return log_density


def ends_of(bounds: Limits | None, d: int) -> tuple[Array, Array]:
    """Return lower and upper bounds of d columns, infinite where open.

    Examples
    --------
    >>> ends_of(((0.0, None), (None, 1.0)), 2)
    (array([  0., -inf]), array([inf,  1.]))
    """
    pairs = bounds or ((None, None),) * d
    lower = np.array([-np.inf if low is None else low for low, _ in pairs])
    return lower, np.array([np.inf if high is None else high for _, high in pairs])


def predictive_normal(sample: Array, bounds: Limits | None = None) -> LogDensity:
    """Return the predictive density of a normal model with Jeffreys' prior: a t with n - d degrees of freedom."""
    n, d = sample.shape
    mean, dof = np.mean(sample, axis=0), n - d
    if dof < 1:
        raise ValueError(f"{n} rows are too few for a normal model in {d} dimensions")
    scatter = (1.0 + 1.0 / n) * (n - 1) / dof * np.atleast_2d(np.cov(sample.T))
    factor = np.linalg.cholesky(scatter)
    return lambda x: student_log_density(x - mean, factor, dof)


def score_fit(fit: Fit, task: Task) -> Score:
    """Fit a method to a test's sample and score it at its points."""
    start, failure = time.process_time(), ""
    try:
        found = np.asarray(fit(task.sample, bounds=task.bounds)(task.points), dtype=np.float64)
    except (ValueError, ArithmeticError, RuntimeError, IndexError) as error:
        # LinAlgError and our own exceptions are ValueErrors.
        found, failure = np.full(len(task.points), np.nan), f"{type(error).__name__}: {error}"
    return score_answer(found, task, time.process_time() - start, failure)


def score_answer(log_density: Array, task: Task, seconds: float, failure: str = "") -> Score:
    """Score log-densities at the points of a test; NaN anywhere is a failure."""
    broad = broad_density(task.sample, task.bounds)
    if np.isnan(log_density).any():
        failure = failure or "the log-density is NaN at a point"
        log_density = _reference(task, broad)(task.points)
    mixed = np.logaddexp(np.log1p(-FLOOR_WEIGHT) + log_density, np.log(FLOOR_WEIGHT) + broad(task.points))
    raw, floored = (float(np.mean(task.log_truth - logs)) / LN2 for logs in (log_density, mixed))
    return Score(raw, floored, seconds, int(np.sum(log_density == -np.inf)), failure[:200])


def _reference(task: Task, broad: LogDensity) -> LogDensity:
    """What replaces a method without an answer."""
    if task.bounds is None:
        try:
            return predictive_normal(task.sample)
        except ValueError:
            pass
    return broad
