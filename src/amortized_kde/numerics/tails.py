"""Lower-tail probabilities and quantiles of a sum of Gaussian kernels cut at a lower bound.

The upper tail is the lower tail of the mirrored places, so each loop is written once. Rung k has the places
``places[a:b]`` where ``a, b = offsets[k : k + 2]`` (as in `mixture.py`). ``prefix[a + k + i]`` is the sum over its
first i places of the coefficient times the kernel's mass above the bound: what these contribute to the probability of
everything below an x that lies far above them.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.gaussian import central_mass, scaled_mass
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

__all__ = ["Tail", "invert", "log_tail"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Phi(-9.5) = 1e-21 and Phi(-39) underflows.
_FULL = 9.5
_NOTHING = 39.0
_BLOCK = 256
# Bisection alone needs fewer steps than this for any two float64 numbers.
_MOST_STEPS = 1100


class Tail(NamedTuple):
    """What the loops need: places, coefficients (m,), prefix (m + r,), offsets (r + 1,), bandwidths (r,), bound."""

    places: Array
    coefficients: Array
    prefix: Array
    offsets: Index
    bandwidths: Array
    bound: float


@compiled
def _log_kernel_mass(place: float, h: float, bound: float, x: float) -> float:
    """Logarithm of a kernel's mass between the bound and x > bound; finite where the mass underflows."""
    u = (x - place) / h
    if u >= 0.0:
        return math.log(central_mass((bound - place) / h, u))
    # From x to the bound directly: near the bound their distances to the place would cancel.
    return -0.5 * u * u + math.log(scaled_mass(-u, (x - bound) / h))


@compiled
def _log_probability(tail: Tail, x: float, known: float) -> float:
    """Logarithm of the lower-tail probability, without terms that are negligible beside exp(known)."""
    if x <= tail.bound:
        return -math.inf
    enough = 1e-4 - math.exp(known)
    # First the near kernels; where that is little, all whose mass does not underflow; then all, by their logarithms.
    for reach in (_FULL, _NOTHING, math.inf):
        total, largest = 0.0, -math.inf if reach == math.inf else 0.0
        for k in range(tail.bandwidths.size):
            h, first = tail.bandwidths[k], tail.offsets[k]
            places, row = tail.places[first : tail.offsets[k + 1]], tail.coefficients[first : tail.offsets[k + 1]]
            start, stop = 0, places.size
            if reach < math.inf:
                start = first_at_least(places, x - _FULL * h)
                total += tail.prefix[first + k + start]
                stop = first_at_least(places, x + reach * h)
            # Summed by blocks: a hundred thousand equal terms in a row would add up their rounding to 1e-12.
            for block in range(start, stop, _BLOCK):
                part = 0.0
                for i in range(block, min(block + _BLOCK, stop)):
                    log_mass = _log_kernel_mass(places[i], h, tail.bound, x)
                    if reach < math.inf:
                        part += row[i] * math.exp(log_mass)
                        continue
                    term = math.log(row[i]) + log_mass
                    if term > largest:
                        total *= math.exp(largest - term)
                        largest = term
                    if term > -math.inf:
                        total += math.exp(term - largest)
                total += part
        if total > (enough if reach == _FULL else 1e-280) or (reach == _NOTHING and known > -600.0):
            break
    return min(largest + math.log(total), 0.0)


@compiled
def _slope(tail: Tail, x: float, log_probability: float) -> float:
    """Derivative of the log-probability at x: density over probability."""
    total = 0.0
    for k in range(tail.bandwidths.size):
        h, i, stop = tail.bandwidths[k], tail.offsets[k], tail.offsets[k + 1]
        i += first_at_least(tail.places[i:stop], x - _NOTHING * h)
        while i < stop and tail.places[i] < x + _NOTHING * h:
            u = (x - tail.places[i]) / h
            total += tail.coefficients[i] / h * math.exp(-0.5 * u * u)
            i += 1
    return total / math.sqrt(2.0 * math.pi) / math.exp(log_probability)


@entry
def log_tail(tail: Tail, at: Array, out: Array, slopes: Array) -> None:
    """Add the probability below each of `at` to what `out` holds, both as logarithms; minus infinity is nothing.

    `slopes` is empty, or gets what the kernels contribute to the derivative of the logarithm by the argument.
    """
    for j in range(at.size):
        known = out[j]
        log = math.nan if math.isnan(at[j]) else _log_probability(tail, at[j], known)
        if known > -math.inf:
            log = min(max(log, known) + math.log1p(math.exp(-abs(log - known))), 0.0)
        if slopes.size > 0:
            slopes[j] = _slope(tail, at[j], log)
        out[j] = log


def invert(
    log_probability: Callable[[Array], tuple[Array, Array]], log_p: Array, start: Array, lowest: Array, highest: Array
) -> Array:
    """Find the x between `lowest` and `highest` whose lower-tail log-probability is each of `log_p`.

    `log_probability` gives the logarithm and its slope. Newton's method on the logarithm (which is concave in the tails
    of a kernel), kept inside a shrinking bracket, until x moves no more.
    """
    x, low, high = np.clip(start, lowest, highest), lowest.copy(), highest.copy()
    left = np.arange(x.size)
    for _ in range(_MOST_STEPS):
        if left.size == 0:
            break
        here, target = x[left], log_p[left]
        log_f, slope = log_probability(here)
        low[left], high[left] = np.where(log_f < target, here, low[left]), np.where(log_f < target, high[left], here)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            following = here + (target - log_f) / slope
        a, b = low[left], high[left]
        following = np.where((a < following) & (following < b), following, a + 0.5 * (b - a))
        done = (log_f == target) | (following == here) | ~((a < following) & (following < b))
        x[left] = np.where(done, here, following)
        left = left[~done]
    return x
