"""Lower-tail probabilities and quantiles of a sum of Gaussian kernels cut at a lower bound.

The upper tail is the lower tail of the mirrored points, so each loop is written once. ``prefix[k, i]`` is the sum
over the first i points of c_ik times the mass of kernel (i, k) above the bound: what these points contribute to
the probability of everything below an x that lies far above them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.gaussian import central_mass, scaled_mass
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

__all__ = ["Tail", "log_tail", "tail_quantile"]

Array = NDArray[np.float64]

# Phi(-9.5) = 1e-21 and Phi(-39) underflows.
_FULL = 9.5
_NOTHING = 39.0
_BLOCK = 256


class Tail(NamedTuple):
    """What the loops below need: ascending points, coefficients and prefix (r, n), bandwidths (r,), the bound."""

    points: Array
    coefficients: Array
    prefix: Array
    bandwidths: Array
    bound: float


@compiled
def _log_kernel_mass(tail: Tail, k: int, i: int, x: float) -> float:
    """Logarithm of the mass of kernel (i, k) between the bound and x > bound; finite where the mass underflows."""
    h, u = tail.bandwidths[k], (x - tail.points[i]) / tail.bandwidths[k]
    if u >= 0.0:
        return math.log(central_mass((tail.bound - tail.points[i]) / h, u))
    # From x to the bound directly: near the bound their distances to the point would cancel.
    return -0.5 * u * u + math.log(scaled_mass(-u, (x - tail.bound) / h))


@compiled
def _probability(tail: Tail, x: float) -> float:
    """The lower-tail probability; where it is tiny, with all kernels whose mass does not underflow."""
    total = 0.0
    for reach in (_FULL, _NOTHING):
        total = 0.0
        for k in range(tail.bandwidths.size):
            h = tail.bandwidths[k]
            start = first_at_least(tail.points, x - _FULL * h)
            total += tail.prefix[k, start]
            stop = first_at_least(tail.points, x + reach * h)
            # Summed by blocks: a hundred thousand equal terms in a row would add up their rounding to 1e-12.
            for block in range(start, stop, _BLOCK):
                part = 0.0
                for i in range(block, min(block + _BLOCK, stop)):
                    part += tail.coefficients[k, i] * math.exp(_log_kernel_mass(tail, k, i, x))
                total += part
        if total > 1e-4:
            break
    return total


@compiled
def _log_probability(tail: Tail, x: float) -> float:
    """Its logarithm; where it underflows, the terms rescaled whenever a larger one comes."""
    if x <= tail.bound:
        return -math.inf
    total, largest = _probability(tail, x), 0.0
    if total < 1e-280:
        total, largest = 0.0, -math.inf
        for k in range(tail.bandwidths.size):
            for i in range(tail.points.size):
                term = math.log(tail.coefficients[k, i]) + _log_kernel_mass(tail, k, i, x)
                if term > largest:
                    total *= math.exp(largest - term)
                    largest = term
                if term > -math.inf:
                    total += math.exp(term - largest)
    return min(largest + math.log(total), 0.0)


@entry
def log_tail(tail: Tail, at: Array, out: Array) -> None:
    """Write the logarithm of the probability below each of `at`."""
    for j in range(at.size):
        out[j] = math.nan if math.isnan(at[j]) else _log_probability(tail, at[j])


@compiled
def _slope(tail: Tail, x: float, log_probability: float) -> float:
    """Derivative of the log-probability at x: density over probability."""
    total = 0.0
    for k in range(tail.bandwidths.size):
        h = tail.bandwidths[k]
        i = first_at_least(tail.points, x - _NOTHING * h)
        while i < tail.points.size and tail.points[i] < x + _NOTHING * h:
            u = (x - tail.points[i]) / h
            total += tail.coefficients[k, i] / h * math.exp(-0.5 * u * u)
            i += 1
    return total / math.sqrt(2.0 * math.pi) / math.exp(log_probability)


@entry
def tail_quantile(tail: Tail, lowest: float, highest: float, log_p: Array, out: Array) -> None:
    """Write the x in [lowest, highest] whose lower-tail log-probability is each of `log_p`; `out` holds first guesses.

    Newton's method on the logarithm (which is concave in the tails), kept inside a shrinking bracket, until x
    moves no more.
    """
    for j in range(log_p.size):
        target = log_p[j]
        lo, hi = lowest, highest
        x = min(max(out[j], lo), hi)
        # Bisection alone needs fewer steps than this for any two float64 numbers.
        for _ in range(1100):
            log_f = _log_probability(tail, x)
            if log_f >= target:
                hi = x
            else:
                lo = x
            following = x + (target - log_f) / _slope(tail, x, log_f)
            if not (lo < following < hi):
                following = lo + 0.5 * (hi - lo)
            if log_f == target or following == x or not (lo < following < hi):
                break
            x = following
        out[j] = x
