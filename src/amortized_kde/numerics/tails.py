"""Lower-tail probabilities and quantiles of a sum of Gaussian kernels, truncated at a lower bound.

The upper tail is the lower tail of the mirrored kernels. Nothing is compiled: the error function dominates the cost.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_LOG
from amortized_kde.numerics.mixture import Rungs
from amortized_kde.numerics.special import log_sum_exp, ndtr, ndtri_exp, scipy_special

Function = Callable[[Array, Index], Array]

# In bandwidths: Phi(-9.5) = 1e-21, and Phi(-39) underflows.
_COMPLETE = 9.5
_UNDERFLOW = 39.0
# Pairs of kernels and arguments at a time, few enough to stay in the cache.
_PAIRS = 1 << 15
# So few kernels are all summed: to look for those that matter at an argument would take longer.
_FEW = 1024
# Bisection alone needs fewer steps than this for any two float64 numbers, from 1.8e308 down to 5e-324.
_MOST_STEPS = 2200
# Newton's method has converged if its step is 0 and the logarithm is off by less than this.
_NEARLY = 1e-9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


class Tail(NamedTuple):
    """Rungs prepared for their lower tail above `bound`.

    `below` (m,) is the mass of each kernel below the bound. ``prefix[a + k + i]``, with a the offset of rung k, is the
    sum over its first i kernels of the coefficient times the mass above the bound: their contribution to the
    probability below any x that lies far above them.
    """

    rungs: Rungs
    below: Array
    prefix: Array
    bound: float


def tail_of(rungs: Rungs, bound: float) -> Tail:
    """Return the rungs, prepared for their lower tail."""
    below, above = np.zeros(rungs.places.size), rungs.coefficients
    if bound > -math.inf:
        below = ndtr((bound - rungs.places) / rungs.spread)
        above = above * ndtr((rungs.places - bound) / rungs.spread)
    prefix = np.zeros(rungs.places.size + rungs.bandwidths.size)
    for k, (a, b) in enumerate(pairwise(rungs.offsets)):
        # Extended precision where the platform has it: a million terms then add up to the last bit.
        prefix[a + k + 1 : b + k + 1] = np.cumsum(above[a:b], dtype=np.longdouble)
    return Tail(rungs, below, prefix, bound)


def _quadrature(u: Array, width: Array) -> Array:
    """Mean of exp(-v^2/2 + u^2/2) over v from u - width to u, to 1e-16 if width * max(1, -u) < 1/10."""
    t = 0.5 * width[:, None] * (1.0 + _NODES)
    return np.asarray(np.sum(0.5 * _WEIGHTS * np.exp(t * (u[:, None] - 0.5 * t)), axis=1))


def _mass(u: Array, below: Array, width: Array) -> Array:
    """Phi(u) - Phi(u - width) for kernels u bandwidths below x, of which `below` lies below the bound."""
    mass = ndtr(u) - below
    # Near the bound the two terms would cancel.
    close = np.flatnonzero(width * np.maximum(1.0, -u) < 0.1)
    u, width = u[close], width[close]
    mass[close] = width * np.exp(-0.5 * u * u - _LOG_SQRT_2PI) * _quadrature(u, width)
    return np.asarray(mass)


def _log_mass(u: Array, lowest: Array, width: Array) -> Array:
    """Logarithm of Phi(u) - Phi(lowest), finite where that underflows; `width` is u - lowest."""
    log_ndtr = scipy_special().log_ndtr
    log = log_ndtr(u)
    # 1e154 bandwidths away both are minus infinity, whose difference must not become NaN.
    log += np.where(log > -math.inf, np.log1p(-np.exp(log_ndtr(lowest) - log)), 0.0)
    close = np.nonzero(width * np.maximum(1.0, -u) < 0.1)
    u, width = u[close], width[close]
    log[close] = np.log(width) - 0.5 * u * u - _LOG_SQRT_2PI + np.log(_quadrature(u, width))
    return np.asarray(log)


def _pieces(counts: Index) -> list[tuple[int, int]]:
    """Ranges of arguments with about `_PAIRS` kernels in total, or with a single argument."""
    ends = np.cumsum(counts)
    edges = np.searchsorted(ends, np.arange(_PAIRS, ends[-1], _PAIRS), side="right")
    return list(pairwise(np.unique([0, *edges, counts.size]).tolist()))


def _window_sums(tail: Tail, starts: Index, counts: Index, x: Array, h: Array) -> Array:
    """Sums of coefficient times mass between bound and x, over `counts` kernels of bandwidth h from `starts` on."""
    sums, rungs = np.zeros(x.size), tail.rungs
    used = np.flatnonzero(counts > 0)
    starts, counts, x, h = starts[used], counts[used], x[used], h[used]
    for first, last in _pieces(counts) if used.size else []:
        count = counts[first:last]
        begins = np.cumsum(count) - count
        kernel = np.arange(begins[-1] + count[-1]) + np.repeat(starts[first:last] - begins, count)
        width = np.repeat((x[first:last] - tail.bound) / h[first:last], count)
        u = (np.repeat(x[first:last], count) - rungs.places[kernel]) / np.repeat(h[first:last], count)
        terms = rungs.coefficients[kernel] * _mass(u, tail.below[kernel], width)
        # reduceat sums pairwise: the rounding of a hundred thousand equal terms does not accumulate.
        sums[used[first:last]] = np.add.reduceat(terms, begins)
    return sums


def _probability(tail: Tail, x: Array, reach: Array) -> Array:
    """Probability below x, from the kernels whose place is at most `reach` bandwidths above x."""
    rungs = tail.rungs
    shape = rungs.bandwidths.size, x.size
    starts, counts, far = np.empty(shape, np.int64), np.empty(shape, np.int64), np.zeros(x.size)
    for k, h in enumerate(rungs.bandwidths):
        a, b = rungs.offsets[k], rungs.offsets[k + 1]
        start = np.searchsorted(rungs.places[a:b], x - _COMPLETE * h)
        # Places at the end count: where h is below the spacing of float64 numbers, x + reach * h is x.
        counts[k] = np.searchsorted(rungs.places[a:b], x + reach * h, side="right") - start
        starts[k] = a + start
        far += tail.prefix[a + k + start]
    each = np.broadcast_to(x, shape).ravel(), np.repeat(rungs.bandwidths, x.size)
    return np.asarray(far + _window_sums(tail, starts.ravel(), counts.ravel(), *each).reshape(shape).sum(axis=0))


def _from_each(tail: Tail, x: Array) -> Array:
    """Probability below x, from every kernel."""
    rungs, h, out = tail.rungs, tail.rungs.spread, np.empty(x.size)
    rows = max(1, _PAIRS // rungs.places.size)
    for i in range(0, x.size, rows):
        at = x[i : i + rows, None]
        u, width = (at - rungs.places) / h, (at - tail.bound) / h
        masses = _mass(u.ravel(), np.broadcast_to(tail.below, u.shape).ravel(), width.ravel())
        out[i : i + rows] = (rungs.coefficients * masses.reshape(u.shape)).sum(axis=1)
    return out


def _whole_probability(tail: Tail, x: Array, known: Array) -> Array:
    """Probability below x from all kernels that matter beside it or beside exp(known), unless they underflow."""
    if tail.rungs.places.size <= _FEW:
        return _from_each(tail, x)
    total = _probability(tail, x, np.full(x.size, _COMPLETE))
    # Kernels farther away are negligible beside this sum, unless it is tiny.
    reach = np.sqrt(2.0 * (46.0 - np.maximum(np.log(np.abs(total)), known)))
    more = np.flatnonzero(reach > 10.5)
    total[more] = _probability(tail, x[more], np.minimum(reach[more], _UNDERFLOW))
    return total


def _exact_log_probability(tail: Tail, x: Array) -> Array:
    """Log-probability from every term, relative to the largest: slow, but never underflowing."""
    out, rungs, h = np.empty(x.size), tail.rungs, tail.rungs.spread
    rows = max(1, _PAIRS // rungs.places.size)
    for i in range(0, x.size, rows):
        at = x[i : i + rows, None]
        # Both can be infinite, and so can their distance: it is no difference of the two.
        logs = _log_mass((at - rungs.places) / h, (tail.bound - rungs.places) / h, (at - tail.bound) / h)
        out[i : i + rows] = log_sum_exp(logs, rungs.coefficients)
    return out


def log_tail(tail: Tail, at: Array, known: Array, *, condensed: bool = False) -> Array:
    """Return the logarithm of exp(known) + the probability below each of `at`; NaN stays NaN.

    It is at least `LOWEST_LOG` above the bound, where the probability is positive. Terms that are negligible beside
    exp(known) are left out. Tiny sums of `condensed` kernels are wrong or NaN.
    """
    out = np.where(np.isnan(at), math.nan, known)
    inside = np.flatnonzero(at > tail.bound)
    x, known = at[inside], known[inside]
    with np.errstate(all="ignore"):
        total = _whole_probability(tail, x, known)
        log = np.log(total)
        tiny = np.flatnonzero((total < 1e-280) & (known < -600.0) & (not condensed))
        log[tiny] = _exact_log_probability(tail, x[tiny])
        log = np.where(known > -math.inf, np.logaddexp(log, known), log)
        out[inside] = np.clip(log, LOWEST_LOG, 0.0)
    return out


def invert_each(
    log_probability: Function,
    log_density: Function,
    log_p: Array,
    start: Array,
    low: Array,
    high: Array,
    *,
    mirrored: bool = False,
) -> Array:
    """Return the x between `low` and `high` with lower-tail log-probability `log_p`, each of its own distribution.

    The functions take arguments and the indices of their distributions. Newton's method inside a shrinking bracket,
    until x no longer moves or the logarithm is right to the last bit. Where the probability jumps between neighbouring
    float64 numbers, x is the least with at least the probability, or of `mirrored` arguments the largest with less.
    """
    x, low, high, left = np.clip(start, low, high), low.copy(), high.copy(), np.arange(start.size)
    lowest = low.copy()
    for _ in range(_MOST_STEPS):
        if left.size == 0:
            break
        here, target = x[left], log_p[left]
        log_f = log_probability(here, left)
        low[left], high[left] = np.where(log_f < target, here, low[left]), np.where(log_f < target, high[left], here)
        a, b = low[left], high[left]
        steps = [*_steps(here, log_f, target, log_density(here, left), lowest[left]), a + 0.5 * (b - a)]
        off, stuck = np.abs(log_f - target), steps[0] == here
        settled = (stuck & (off < _NEARLY)) | (off <= 2e-16 * np.maximum(1.0, -target))
        # The first step that stays inside the bracket, or bisection if none does. At a needle narrower than the spacing
        # of float64 numbers the steps are 0 wherever the quantile is.
        inside = [(a < step) & (step < b) & ~stuck for step in steps[:-1]]
        following = np.select(inside, steps[:-1], steps[-1])
        done = settled | ~((a < following) & (following < b))
        end = a if mirrored else b
        x[left] = np.where(done, np.where(settled, here, end), following)
        left = left[~done]
    return x


def _steps(x: Array, log_f: Array, target: Array, log_density: Array, lowest: Array) -> list[Array]:
    """Newton's steps on two functions of the probability that can be linear.

    Its normal quantile is linear in x for one kernel; near a bound its logarithm is linear in log(x - lowest).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = ndtri_exp(log_f)
        as_normal = x + (ndtri_exp(target) - z) * np.exp(-0.5 * z * z - _LOG_SQRT_2PI - log_density)
        gap = x - lowest
        as_power = lowest + gap * np.exp((target - log_f) * np.exp(log_f - log_density) / gap)
    return [as_normal, as_power]
