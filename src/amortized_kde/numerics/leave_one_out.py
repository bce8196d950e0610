"""The mean leave-one-out log-density of a Gaussian kernel estimate, and its derivative with respect to log h.

Values are distinct and ascending, with counts of at least 1; equal values are left out together. Values are gathered at
nodes: one value per node up to `LARGEST_EXACT`, above in bins of a sixteenth of the bandwidth.
"""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive, mass_and_slope
from amortized_kde.numerics.jit import compiled, entry, in_numpy
from amortized_kde.numerics.pairs import LARGEST_EXACT
from amortized_kde.numerics.sort import first_at_least
from amortized_kde.numerics.uncompiled import masses_and_slopes

# Bins of h/16 act like a kernel wider by (1/16)^2/24 = 1.6e-4 relative.
_BINS_PER_BANDWIDTH = 16.0
# Terms smaller than the nearest by this many nats, and the logarithm of n, do not change the sum.
_NEGLIGIBLE_NATS = 38.0
# A squared distance whose kernel is 0, and whose products with it are.
_FARTHEST = 1e300
# Rows of a matrix of a thousand columns that stay in the cache of a core.
_ROWS = 64


@compiled
def _gather(values: Array, counts: Array, width: float) -> tuple[Array, Array, Index]:
    """Centroid and mass of every occupied bin, and the index of its first value."""
    positions, masses = np.empty(values.size), np.zeros(values.size)
    first = np.empty(values.size + 1, np.int64)
    # Bins are centred on the median, so that mirrored values have mirrored bins.
    centre = 0.5 * (values[(values.size - 1) // 2] + values[values.size // 2])
    used, current = 0, math.inf
    for i in range(values.size):
        index = np.rint((values[i] - centre) / width)
        if index != current:
            current = index
            positions[used], first[used] = 0.0, i
            used += 1
        positions[used - 1] += counts[i] * (values[i] - centre)
        masses[used - 1] += counts[i]
    first[used] = values.size
    positions = centre + positions[:used] / masses[:used]
    return positions, masses[:used].copy(), first[: used + 1].copy()


@compiled
def _sums_at(positions: Array, masses: Array, g: int, h: float, shift: float, reach: float) -> tuple[float, float]:
    """Sums of mass * exp(-(D - shift)/2), and of that times D, over the other nodes within reach."""
    per_h = 1.0 / h
    start = first_at_least(positions, positions[g] - reach)
    stop = first_at_least(positions, positions[g] + reach)
    total, weighted = 0.0, 0.0
    for part in range(2):
        begin, end = (start, g) if part == 0 else (g + 1, stop)
        s, t = 0.0, 0.0
        for j in range(begin, end):
            u = (positions[j] - positions[g]) * per_h
            d = u * u
            e = masses[j] * exp_nonpositive(max(min(0.5 * (shift - d), 0.0), LOWEST_EXPONENT))
            s += e
            t += e * d
        total += s
        weighted += t
    return total, weighted


@compiled
def _nearest_squared(positions: Array, g: int, h: float) -> float:
    distance = math.inf
    if g > 0:
        distance = positions[g] - positions[g - 1]
    if g + 1 < positions.size:
        distance = min(distance, positions[g + 1] - positions[g])
    return (distance / h) ** 2


@compiled
def _products_without(g: int, masses: Array, inside: Array, slopes: Array) -> tuple[float, float]:
    """Sums of mass times `inside` and of mass times `slopes` over all nodes but g."""
    total, slope = 0.0, 0.0
    for j in range(masses.size):
        mass = masses[j] if j != g else 0.0
        total += mass * inside[j]
        slope += mass * slopes[j]
    return total, slope


@compiled
def _over_nodes(
    positions: Array, masses: Array, first: Index, counts: Array, h: float, low: float, high: float
) -> tuple[float, float]:
    n = counts.sum()
    inside, slopes = np.ones(positions.size), np.zeros(positions.size)
    if low > -math.inf or high < math.inf:
        for g in range(positions.size):
            inside[g], slopes[g] = mass_and_slope(positions[g], h, low, high)
    whole, whole_slope = _products_without(-1, masses, inside, slopes)
    score, slope = 0.0, 0.0
    for g in range(positions.size):
        # A node of several values holds the nearest neighbour of each of them, at distance 0.
        shift = 0.0 if first[g + 1] - first[g] > 1 else _nearest_squared(positions, g, h)
        # A little more, so that rounding does not leave out the nearest node of an outlier.
        reach = h * math.sqrt(shift + 2.0 * (_NEGLIGIBLE_NATS + math.log(n))) * (1.0 + 1e-12)
        total, weighted = _sums_at(positions, masses, g, h, shift, reach)
        companions = first[g + 1] - first[g] - 1.0
        last, log, ratio = 0.0, 0.0, 0.0
        for i in range(first[g], first[g + 1]):
            m = counts[i]
            if m != last:
                # Values of one node with equal counts have equal terms.
                last = m
                # max() keeps the compiler from adding the mass to a tiny total first; each companion counts at least 1.
                others = max(masses[g] - m, companions)
                near = total + others
                rest, rest_slope = whole - m * inside[g], whole_slope - m * slopes[g]
                if rest < 0.5 * whole:
                    # This value can be nearly all of it, and the difference mere rounding. This happens at most once.
                    rest, rest_slope = _products_without(g, masses, inside, slopes)
                    rest, rest_slope = rest + others * inside[g], rest_slope + others * slopes[g]
                log, ratio = math.log(near / rest) - 0.5 * shift, weighted / near - rest_slope / rest
            score += m * log
            slope += m * ratio
    return score / n - math.log(h * math.sqrt(2.0 * math.pi)), slope / n - 1.0


@compiled
def log_score_and_slope(values: Array, counts: Array, h: float, low: float, high: float) -> tuple[float, float]:
    """Return the mean of log q_-i(x_i), truncated to [low, high], and its derivative with respect to log h."""
    positions, masses, first = values, counts, np.arange(values.size + 1)
    if values.size > LARGEST_EXACT:
        positions, masses, first = _gather(values, counts, h / _BINS_PER_BANDWIDTH)
    return _over_nodes(positions, masses, first, counts, h, low, high)


@in_numpy(log_score_and_slope)
def _log_score_and_slope(values: Array, counts: Array, h: float, low: float, high: float) -> tuple[float, float]:
    inside, slopes = masses_and_slopes(values, h, low, high)
    masses, mass_slopes, n = counts * inside, counts * slopes, counts.sum()
    rest, rest_slopes = masses.sum() - masses, mass_slopes.sum() - mass_slopes
    # One value can be nearly all of it, and the difference mere rounding.
    heaviest = np.argmax(masses)
    rest[heaviest], rest_slopes[heaviest] = (np.delete(part, heaviest).sum() for part in (masses, mass_slopes))
    score, slope = 0.0, 0.0
    for rows in (slice(first, first + _ROWS) for first in range(0, values.size, _ROWS)):
        d = np.minimum(((values - values[rows, None]) / h) ** 2, _FARTHEST)
        own = np.arange(len(d)), np.arange(values.size)[rows]
        d[own] = math.inf
        # Relative to the nearest, so that not all terms underflow.
        shift = d.min(axis=1)
        kernels = np.exp(0.5 * (shift[:, None] - d))
        d[own] = 0.0
        near, weighted = kernels @ counts, np.einsum("ij,ij,j->i", kernels, d, counts)
        score += counts[rows] @ (np.log(near / rest[rows]) - 0.5 * shift)
        slope += counts[rows] @ (weighted / near - rest_slopes[rows] / rest[rows])
    return score / n - math.log(h * math.sqrt(2.0 * math.pi)), slope / n - 1.0


@compiled
def distinct_values(ascending: Array, counts: Array | None) -> tuple[Array, Array]:
    """Return the distinct values and the count of each, in units of the smallest count."""
    values, masses = np.empty(ascending.size), np.zeros(ascending.size)
    used, least = 0, 1.0 if counts is None else counts.min()
    for i in range(ascending.size):
        if used == 0 or values[used - 1] != ascending[i]:
            values[used] = ascending[i]
            used += 1
        masses[used - 1] += 1.0 if counts is None else counts[i] / least
    return values[:used].copy(), masses[:used].copy()


@entry
def leave_one_out_slope(ascending: Array, counts: Array | None, h: float, low: float, high: float) -> float:
    """Return the derivative with respect to log h of the mean of log q_-i(x_i), from values in bins."""
    values, masses = distinct_values(ascending, counts)
    nodes = _gather(values, masses, h / _BINS_PER_BANDWIDTH)
    return _over_nodes(*nodes, masses, h, low, high)[1]
