"""How crowded a sample is around its points, at every rung of a ladder of bandwidths.

For chosen points x_a of an ascending sample, and bandwidths h_k that descend, the loops write

    right_ak = sum_{j > a} m_j exp(-(x_j - x_a)^2 / 2 h_k^2) / Z_jk,     left_ak = sum_{j < a} ...,

with Z_jk the mass of the kernel at x_j inside the bounds, and m_j the number of points for which x_j stands (n w_j, or
1 without weights): the leave-one-out density at x_a, in neighbours instead of probability. Squaring a kernel moves it
to h/sqrt(2), so one exponential serves four octaves.
"""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, central_mass, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

# A kernel at 9 bandwidths is 3e-18 of its peak.
_REACH = 9.0
# Rungs an octave apart that one exponential serves: each is the fourth power of the one before.
_FRESH = 4
# A point without neighbours has this many, so that logarithms stay small.
FAINT = 0.02
# Samples up to this size are taken pair by pair, all points at once.
FEW = 256
# A region of a sample is this part of its ranks to both sides of a point.
NEAR, AROUND = 32, 8
# Rows are filled up to a multiple of this, so that loops end with a whole SIMD register.
_LANES = 8
# At more than so many bandwidths from a bound a kernel has all its mass inside, to the last bit.
_INSIDE = 8.3
# An anchor counts in its region as if it had this share of the mean mass or more: differences of running sums know of
# no smaller masses, which only weights can give.
_LEAST = 1e-4
# Weights may place an anchor on the very edge of a region; rounding must not decide then.
_EDGE = 1.0 + 1e-9


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
    """Write the sums to both sides of point i to left[:, 0] and right[:, 0], over all points that matter."""
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

    Where a row is filled up the last point stands in; there its mass is 0.
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
    """The same for all points of a small sample at once: each pair once, and at finer rungs near ones only."""
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
def _write(left: Array, right: Array, i: int, sides: Index, row: int, out: Array) -> None:
    for k in range(left.shape[0]):
        out[row, k] = right[k, i] + left[k, i] + FAINT
    for k in range(sides[0], sides[1]):
        out[row, left.shape[0] + k - sides[0]] = abs(right[k, i] - left[k, i]) / out[row, k]


@entry
def pair_rows(
    values: Array,
    offsets: Index,
    counts: Array,
    lower: Array,
    upper: Array,
    bandwidths: Array,
    anchors: Index,
    anchor_offsets: Index,
    room: int,
    sides: Index,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write left + right + FAINT of every anchor of the samples up to `FEW` values to the first k columns of `out`.

    The next columns get |right - left| / (left + right + FAINT) at rungs sides[0] .. sides[1] - 1. Sample t has the
    anchors number anchor_offsets[t] .. anchor_offsets[t + 1] - 1. `bandwidths` is (samples, k). No sample has more than
    `room` values.
    """
    rungs, most = bandwidths.shape[1], min(room, FEW)
    pairs = most * (most + 2 * _LANES) // 2
    squares, kernel = np.empty(pairs), np.empty(pairs)
    starts, closest = np.empty(most + 2, np.int64), np.empty(most + 1)
    inverse = np.empty((rungs, most + _LANES))
    right, left = np.empty((rungs, most + _LANES)), np.empty((rungs, most + _LANES))
    for t in range(start, stop):
        points, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        n = points.size
        if 0 < n <= FEW:
            inverse_masses(points, counts[offsets[t] : offsets[t + 1]], h, lower[t], upper[t], inverse)
            inverse[:, n : n + _LANES] = 0.0
            _all_around(points, h, inverse, squares, kernel, starts, closest, left, right)
            for row in range(anchor_offsets[t], anchor_offsets[t + 1]):
                _write(left, right, anchors[row], sides, row, out)


@entry
def anchor_rows(
    values: Array,
    offsets: Index,
    counts: Array,
    lower: Array,
    upper: Array,
    bandwidths: Array,
    anchors: Index,
    anchor_offsets: Index,
    room: int,
    sides: Index,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """The same for samples of more than `FEW` values. A loop of its own, for each takes a second to compile."""
    rungs = bandwidths.shape[1]
    kernel, inverse = np.empty(room), np.empty((rungs, room))
    right, left = np.empty((rungs, 1)), np.empty((rungs, 1))
    for t in range(start, stop):
        points, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        if points.size > FEW:
            inverse_masses(points, counts[offsets[t] : offsets[t + 1]], h, lower[t], upper[t], inverse)
            for row in range(anchor_offsets[t], anchor_offsets[t + 1]):
                _around(points, anchors[row], h, inverse, kernel, left, right)
                _write(left, right, 0, sides, row, out)


@entry
def region_rows(
    sizes: Array,
    places: Array,
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

    A region is the anchors of a sample whose places are not farther than n/part from one's, at least 1, for each of
    `parts`; n is ``sizes[t]``, and a place is a rank, or what comes of it with weights. Mean and variance of the first
    k columns over all anchors go to `pooled` (samples, 2 k), which is 0 before. Anchors count by their mass.
    """
    wide, target, rungs = columns[1] - columns[0], columns[2], pooled.shape[1] // 2
    total = np.empty(wide)
    for t in range(start, stop):
        # Slices, for the compiler does not see that an index with an offset is never negative.
        mean, variance = pooled[t, :rungs], pooled[t, rungs:]
        for a in range(offsets[t], offsets[t + 1]):
            row = out[a, :rungs]
            for k in range(rungs):
                mean[k] += masses[a] * row[k]
        # In a second pass, so that nothing cancels.
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
                # One enters or one leaves, until the region is that of a.
                while True:
                    if high < offsets[t + 1] and places[high] <= places[a] + reach:
                        moved, sign = high, 1.0
                        high += 1
                    elif places[low] < places[a] - reach:
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
