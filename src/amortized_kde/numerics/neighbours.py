"""Local densities: leave-one-out sums of kernels around points of a sample, at every rung of a ladder of bandwidths.

For anchors x_a of an ascending sample, and descending bandwidths h_k, the loops compute

    right_ak = sum_{j > a} m_j exp(-(x_j - x_a)^2 / 2 h_k^2) / Z_jk,     left_ak = sum_{j < a} ...,

with Z_jk the mass of the kernel at x_j inside the bounds, and m_j the count of x_j (n w_j, or 1 without weights): the
leave-one-out density at x_a, as a number of neighbours instead of a probability. The square of a kernel is the kernel
of h/sqrt(2), so one exponential serves all rungs, which are an octave apart.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import central_mass, log_positive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.simd import LANES, POINTS, add_kernels

# A kernel at 9 bandwidths is 3e-18 of its peak.
_REACH = 9.0
_SQRT_HALF = math.sqrt(0.5)
# Added to every sum, so that logarithms stay small where there are no neighbours.
FAINT = 0.02
# A region extends by n divided by these, in ranks, to both sides of a point.
NEAR, AROUND = 32, 8
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
def _pad(ascending: Array, width: int, out: Array) -> None:
    """Copy to `out`, and repeat the last value up to `width`."""
    for j in range(ascending.size):
        out[j] = ascending[j]
    for j in range(ascending.size, width):
        out[j] = ascending[-1]


@compiled
def _closest(points: Array, first: int, last: int) -> float:
    """Return the smallest spacing between points first .. last."""
    closest = math.inf
    for j in range(first, last):
        closest = min(closest, points[j + 1] - points[j])
    return closest


@compiled
def _sums_around(
    lanes: Array, ranks: Array, points: Array, n: int, h: Array, inverse: Array, left: Array, right: Array
) -> None:
    """Write the sums on both sides of eight anchors to ``left[LANES * k + lane]`` and `right`.

    Blocks of points that are out of reach of all eight at rung k are left out from there on.
    """
    left[:] = 0.0
    right[:] = 0.0
    flat, stride, per_h, rungs = inverse.reshape(-1), inverse.shape[1], _SQRT_HALF / h[0], 0
    first, last = int(ranks[0]), int(ranks[LANES - 1])
    closest = _closest(points, max(first - POINTS, 0), min(last + POINTS, n - 1))
    for j in range(0, n, POINTS):
        gap = max(points[j] - lanes[LANES - 1], lanes[0] - points[j + POINTS - 1])
        is_below, is_above = j < last, j + POINTS - 1 > first
        if is_below and is_above:
            gap = max(gap, closest)
        while rungs < h.size and gap < _REACH * h[rungs]:
            rungs += 1
        while rungs > 0 and gap >= _REACH * h[rungs - 1]:
            rungs -= 1
        if is_below:
            add_kernels(lanes, ranks, points, flat, left, j, -1.0, per_h, stride, rungs)
        if is_above:
            add_kernels(lanes, ranks, points, flat, right, j, 1.0, per_h, stride, rungs)


@compiled
def _log_densities(left: Array, right: Array, fading: Array) -> None:
    """Replace left by the log local densities, faded."""
    for p in range(left.size):
        left[p] = log_positive(right[p] + left[p] + FAINT)
    for k in range(1, fading.size):
        if fading[k] > 0.0:
            for p in range(LANES * k, LANES * (k + 1)):
                left[p] += fading[k] * (left[p - LANES] - left[p])


@compiled
def _one_sidedness(left: Array, right: Array, one_sided: Index, out: Array) -> None:
    for p in range(LANES * one_sided[0], LANES * one_sided[1]):
        out[p] = abs(right[p] - left[p]) / (right[p] + left[p] + FAINT)


@entry
def local_density_rows(
    samples: Anchored, fading: Array, largest: int, one_sided: Index, out: Array, start: int, stop: int
) -> None:
    """Write ln(left + right + FAINT) of every anchor to the first columns of `out`, by rung.

    The next columns are |right - left| / (left + right + FAINT) at rungs one_sided[0] .. one_sided[1] - 1. The
    logarithm at rung k is moved towards that at k - 1, by the fraction ``fading[t, k]`` of their difference. Each
    bandwidth is half of the one before. No sample has more than `largest` values.
    """
    rungs, most = samples.bandwidths.shape[1], -(-largest // POINTS) * POINTS
    points, inverse = np.empty(most), np.empty((rungs, most))
    lanes, ranks = np.empty(LANES), np.empty(LANES)
    left, right, sides = np.empty(rungs * LANES), np.empty(rungs * LANES), np.empty(rungs * LANES)
    for t in range(start, stop):
        first, last, h = samples.offsets[t], samples.offsets[t + 1], samples.bandwidths[t]
        n, end = last - first, samples.anchor_offsets[t + 1]
        if n == 0:
            continue
        width = -(-n // POINTS) * POINTS
        _pad(samples.values[first:last], width, points)
        inverse_masses(points[:n], samples.counts[first:last], h, samples.lower[t], samples.upper[t], inverse)
        inverse[:, n:width] = 0.0
        for row in range(samples.anchor_offsets[t], end, LANES):
            for i in range(LANES):
                rank = samples.anchors[min(row + i, end - 1)]
                ranks[i], lanes[i] = rank, points[rank]
            _sums_around(lanes, ranks, points, n, h, inverse, left, right)
            _one_sidedness(left, right, one_sided, sides)
            _log_densities(left, right, fading[t])
            for i in range(min(LANES, end - row)):
                for k in range(rungs):
                    out[row + i, k] = left[LANES * k + i]
                for k in range(one_sided[0], one_sided[1]):
                    out[row + i, rungs + k - one_sided[0]] = sides[LANES * k + i]


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
