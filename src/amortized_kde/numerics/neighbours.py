"""Local densities: leave-one-out sums of kernels around points of a sample, at every rung of a ladder of bandwidths.

For anchors x_a of an ascending sample, and descending bandwidths h_k, the loops compute

    right_ak = sum_{j > a} m_j exp(-(x_j - x_a)^2 / 2 h_k^2) / Z_jk,     left_ak = sum_{j < a} ...,

with Z_jk the mass of the kernel at x_j inside the bounds, and m_j the count of x_j (n w_j, or 1 without weights): the
leave-one-out density at x_a, as a number of neighbours instead of a probability. The square of a kernel is the kernel
of h/sqrt(2), so one exponential serves four octaves.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, central_mass, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.sort import first_at_least

# A kernel at 9 bandwidths is 3e-18 of its peak.
_REACH = 9.0
# Rungs an octave apart that one exponential serves: each is the fourth power of the one before.
_FRESH = 4
# Added to every sum, so that logarithms stay small where there are no neighbours.
FAINT = 0.02
# Samples up to this size are computed pair by pair, all points at once.
FEW = 256
# A region extends by n divided by these, in ranks, to both sides of a point.
NEAR, AROUND = 32, 8
# Rows are padded to a multiple of this, so that loops end with a whole SIMD register.
_LANES = 8
# At more than this many bandwidths from a bound, all mass of a kernel is inside, to the last bit.
_INSIDE = 8.3
# In its region an anchor has at least this fraction of the mean mass: differences of running sums do not resolve
# smaller masses, which occur only with weights.
_LEAST = 1e-4
# With weights, an anchor can lie exactly on the edge of a region, where rounding must not decide.
_EDGE = 1.0 + 1e-9


class Anchored(NamedTuple):
    """Ascending samples with their bounds, ladders and anchors.

    Attributes
    ----------
    values, offsets : ndarray
        Sample t is ``values[offsets[t]:offsets[t + 1]]``.
    counts : ndarray
        How many equally weighted points each value counts as.
    lower, upper : ndarray of shape (samples,)
        Bounds, infinite where open.
    bandwidths : ndarray of shape (samples, rungs)
        Descending.
    anchors, anchor_offsets : ndarray
        Sample t has the anchors of ranks ``anchors[anchor_offsets[t]:anchor_offsets[t + 1]]``.
    """

    values: Array
    offsets: Index
    counts: Array
    lower: Array
    upper: Array
    bandwidths: Array
    anchors: Index
    anchor_offsets: Index


@compiled
def inverse_masses(
    points: Array, counts: Array | None, bandwidths: Array, lower: float, upper: float, out: Array
) -> None:
    """Write m_j/Z_jk to out[k, j]; without counts m is 1."""
    for k in range(bandwidths.size):
        h = bandwidths[k]
        margin, row = _INSIDE * h, out[k]
        for j in range(points.size):
            row[j] = 1.0 if counts is None else counts[j]
        if points[0] - lower < margin or upper - points[-1] < margin:
            for j in range(points.size):
                below, above = points[j] - lower, upper - points[j]
                if below < margin or above < margin:
                    row[j] /= central_mass(-below / h, above / h)


@compiled
def _start(points: Array, x: float, h: float, kernel: Array) -> None:
    per_h = 1.0 / h
    for j in range(points.size):
        u = (points[j] - x) * per_h
        kernel[j] = exp_nonpositive(-0.5 * u * u)


@compiled
def _sharpen(kernel: Array) -> None:
    """From h to h/2: the fourth power."""
    for j in range(kernel.size):
        square = kernel[j] * kernel[j]
        kernel[j] = square * square


@compiled
def _product(kernel: Array, inverse: Array) -> float:
    total = 0.0
    for j in range(kernel.size):
        total += kernel[j] * inverse[j]
    return total


@compiled
def _around(points: Array, i: int, bandwidths: Array, inverse: Array, kernel: Array, left: Array, right: Array) -> None:
    """Write the sums on both sides of point i to left[:, 0] and right[:, 0], over all points within reach."""
    x, low, high = points[i], 0, points.size
    for k in range(bandwidths.size):
        h = bandwidths[k]
        low += first_at_least(points[low : i + 1], x - _REACH * h)
        high = i + first_at_least(points[i:high], x + _REACH * h)
        near = kernel[low:high]
        if k % _FRESH == 0:
            _start(points[low:high], x, h, near)
        else:
            _sharpen(near)
        left[k, 0] = _product(kernel[low:i], inverse[k, low:i])
        right[k, 0] = _product(kernel[i + 1 : high], inverse[k, i + 1 : high])


@compiled
def _exponentials(squares: Array, factor: float, kernel: Array) -> None:
    for p in range(kernel.size):
        kernel[p] = exp_nonpositive(max(factor * squares[p], LOWEST_EXPONENT))


@compiled
def _add_pairs(kernel: Array, inverse: Array, ahead: Array, left: Array, right: Array) -> None:
    for i in range(kernel.size):
        right[i] += kernel[i] * ahead[i]
        left[i] += kernel[i] * inverse[i]


@compiled
def _pair_squares(points: Array, per_h: float, squares: Array, starts: Index, closest: Array) -> None:
    """Write the squared distances of points i and i + lag, lag after lag, and the smallest of each lag.

    Padding repeats the smallest; the mass there is 0.
    """
    n, end = points.size, 0
    starts[1] = 0
    for lag in range(1, n):
        row, ahead = squares[end:], points[lag:]
        near = math.inf
        for i in range(n - lag):
            u = (ahead[i] - points[i]) * per_h
            row[i] = u * u
            near = min(near, row[i])
        closest[lag] = near
        for i in range(n - lag, -(-(n - lag) // _LANES) * _LANES):
            row[i] = near
        end += -(-(n - lag) // _LANES) * _LANES
        starts[lag + 1] = end


@compiled
def _all_around(
    points: Array,
    bandwidths: Array,
    inverse: Array,
    squares: Array,
    kernel: Array,
    starts: Index,
    closest: Array,
    left: Array,
    right: Array,
) -> None:
    """Write the sums of all points of a small sample: each pair once, and at finer rungs near pairs only."""
    n, widest = points.size, bandwidths[0]
    _pair_squares(points, 1.0 / widest, squares, starts, closest)
    lags = n - 1
    for k in range(bandwidths.size):
        finer = widest / bandwidths[k]
        while lags > 0 and closest[lags] * finer * finer > _REACH * _REACH:
            lags -= 1
        pairs = starts[lags + 1]
        if k % _FRESH == 0:
            _exponentials(squares[:pairs], -0.5 * finer * finer, kernel[:pairs])
        else:
            _sharpen(kernel[:pairs])
        left[k, : n + _LANES] = 0.0
        right[k, : n + _LANES] = 0.0
        for lag in range(1, lags + 1):
            row = kernel[starts[lag] : starts[lag + 1]]
            end = row.size
            _add_pairs(row, inverse[k, :end], inverse[k, lag : lag + end], left[k, lag : lag + end], right[k, :end])


@compiled
def _write(left: Array, right: Array, i: int, one_sided: Index, row: int, out: Array) -> None:
    for k in range(left.shape[0]):
        out[row, k] = right[k, i] + left[k, i] + FAINT
    for k in range(one_sided[0], one_sided[1]):
        out[row, left.shape[0] + k - one_sided[0]] = abs(right[k, i] - left[k, i]) / out[row, k]


@entry
def pair_rows(samples: Anchored, largest: int, one_sided: Index, out: Array, start: int, stop: int) -> None:
    """Write left + right + FAINT of every anchor of samples up to `FEW` values to the first columns of `out`, by rung.

    The next columns are |right - left| / (left + right + FAINT) at rungs one_sided[0] .. one_sided[1] - 1. No sample
    has more than `largest` values.
    """
    rungs, most = samples.bandwidths.shape[1], min(largest, FEW)
    pairs = most * (most + 2 * _LANES) // 2
    squares, kernel = np.empty(pairs), np.empty(pairs)
    starts, closest = np.empty(most + 2, np.int64), np.empty(most + 1)
    inverse = np.empty((rungs, most + _LANES))
    right, left = np.empty((rungs, most + _LANES)), np.empty((rungs, most + _LANES))
    for t in range(start, stop):
        first, last, h = samples.offsets[t], samples.offsets[t + 1], samples.bandwidths[t]
        points = samples.values[first:last]
        n = points.size
        if 0 < n <= FEW:
            inverse_masses(points, samples.counts[first:last], h, samples.lower[t], samples.upper[t], inverse)
            inverse[:, n : n + _LANES] = 0.0
            _all_around(points, h, inverse, squares, kernel, starts, closest, left, right)
            for row in range(samples.anchor_offsets[t], samples.anchor_offsets[t + 1]):
                _write(left, right, samples.anchors[row], one_sided, row, out)


@entry
def anchor_rows(samples: Anchored, largest: int, one_sided: Index, out: Array, start: int, stop: int) -> None:
    """Write the columns of `pair_rows` for samples above `FEW` values; each loop takes a second to compile."""
    rungs = samples.bandwidths.shape[1]
    kernel, inverse = np.empty(largest), np.empty((rungs, largest))
    right, left = np.empty((rungs, 1)), np.empty((rungs, 1))
    for t in range(start, stop):
        first, last, h = samples.offsets[t], samples.offsets[t + 1], samples.bandwidths[t]
        points = samples.values[first:last]
        if points.size > FEW:
            inverse_masses(points, samples.counts[first:last], h, samples.lower[t], samples.upper[t], inverse)
            for row in range(samples.anchor_offsets[t], samples.anchor_offsets[t + 1]):
                _around(points, samples.anchors[row], h, inverse, kernel, left, right)
                _write(left, right, 0, one_sided, row, out)


@entry
def region_rows(
    sizes: Array,
    positions: Array,
    offsets: Index,
    masses: Array,
    parts: Index,
    columns: Index,
    out: Array,
    pooled: Array,
    start: int,
    stop: int,
) -> None:
    """Write means of columns[0] .. columns[1] - 1 of `out` over regions to its columns from columns[2] on.

    The region of an anchor is all anchors of its sample with positions at most max(n/part, 1) away, for each of
    `parts`; n is ``sizes[t]``, and a position is a rank, counted in weight where weights differ. Mean and variance of
    the first k columns over all anchors are added to `pooled` (samples, 2 k). Means are weighted by mass.
    """
    wide, target, rungs = columns[1] - columns[0], columns[2], pooled.shape[1] // 2
    total = np.empty(wide)
    for t in range(start, stop):
        # Slices, because the compiler does not see that an index with an offset is never negative.
        mean, variance = pooled[t, :rungs], pooled[t, rungs:]
        for a in range(offsets[t], offsets[t + 1]):
            row = out[a, :rungs]
            for k in range(rungs):
                mean[k] += masses[a] * row[k]
        # A second pass avoids cancellation.
        for a in range(offsets[t], offsets[t + 1]):
            row = out[a, :rungs]
            for k in range(rungs):
                off = row[k] - mean[k]
                variance[k] += masses[a] * off * off
        least = _LEAST / (offsets[t + 1] - offsets[t])
        for p in range(parts.size):
            reach = _EDGE * (sizes[t] / parts[p] if sizes[t] > parts[p] else 1.0)
            low, high, weight = offsets[t], offsets[t], 0.0
            total[:] = 0.0
            for a in range(offsets[t], offsets[t + 1]):
                # Add or remove one anchor at a time, until the region is that of a.
                while True:
                    if high < offsets[t + 1] and positions[high] <= positions[a] + reach:
                        moved, sign = high, 1.0
                        high += 1
                    elif positions[low] < positions[a] - reach:
                        moved, sign = low, -1.0
                        low += 1
                    else:
                        break
                    mass = sign * (masses[moved] if masses[moved] > least else least)
                    row = out[moved, columns[0] : columns[1]]
                    for k in range(wide):
                        total[k] += mass * row[k]
                    weight += mass
                region, per_weight = out[a, target + p * wide : target + (p + 1) * wide], 1.0 / weight
                for k in range(wide):
                    region[k] = total[k] * per_weight
