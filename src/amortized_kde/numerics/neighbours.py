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
from amortized_kde.numerics.jit import compiled
from amortized_kde.numerics.simd import LANES, POINTS, add_kernels

# A kernel at 9 bandwidths is 3e-18 of its peak.
_REACH = 9.0
_SQRT_HALF = math.sqrt(0.5)
# Added to every sum, so that logarithms stay small where there are no neighbours.
FAINT = 0.02
# At more than this many bandwidths from a bound, all mass of a kernel is inside, to the last bit.
_INSIDE = 8.3


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
def _sums_around(lanes: Array, ranks: Array, points: Array, n: int, h: Array, inverse: Array, sums: Array) -> None:
    """Write the sums to the left of eight anchors to ``sums[LANES * k + lane]``, and after all of these the right ones.

    Blocks of points that are out of reach of all eight at rung k are left out from there on.
    """
    for p in range(sums.size):
        sums[p] = 0.0
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
        # One call for both sides, since it takes long to compile.
        for side in range(0 if is_below else 1, 2 if is_above else 1):
            first_sum = side * LANES * h.size
            add_kernels(lanes, ranks, points, flat, sums, first_sum, j, 2.0 * side - 1.0, per_h, stride, rungs)


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


class LocalScratch(NamedTuple):
    """Memory for samples of some size: values and inverse masses, padded, and what eight anchors need."""

    points: Array
    inverse: Array
    lanes: Array
    ranks: Array
    sums: Array
    sides: Array


@compiled
def local_scratch(largest: int, rungs: int) -> LocalScratch:
    """Return memory for samples of up to `largest` values."""
    most, size = -(-largest // POINTS) * POINTS, rungs * LANES
    points, inverse = np.empty(most), np.empty((rungs, most))
    return LocalScratch(points, inverse, np.empty(LANES), np.empty(LANES), np.empty(2 * size), np.empty(size))


@compiled
def write_local_densities(
    samples: Anchored, t: int, fading: Array, one_sided: Index, scratch: LocalScratch, out: Array
) -> None:
    """Write ln(left + right + FAINT) of every anchor of sample t to the first columns of `out`, by rung.

    The logarithm at rung k is moved towards that at k - 1, by the fraction ``fading[k]`` of their difference. The next
    columns, if `out` has more, are |right - left| / (left + right + FAINT) at rungs one_sided[0] .. one_sided[1] - 1.
    Each bandwidth is half of the one before.
    """
    first, last, h = samples.offsets[t], samples.offsets[t + 1], samples.bandwidths[t]
    n, end, sides = last - first, samples.anchor_offsets[t + 1], scratch.sides
    points, inverse, lanes, ranks, sums = scratch[:5]
    left, right = sums[: LANES * h.size], sums[LANES * h.size :]
    width = -(-n // POINTS) * POINTS
    _pad(samples.values[first:last], width, points)
    inverse_masses(points[:n], samples.counts[first:last], h, samples.lower[t], samples.upper[t], inverse)
    for k in range(h.size):
        for j in range(n, width):
            inverse[k, j] = 0.0
    for row in range(samples.anchor_offsets[t], end, LANES):
        for i in range(LANES):
            rank = samples.anchors[min(row + i, end - 1)]
            ranks[i], lanes[i] = rank, points[rank]
        _sums_around(lanes, ranks, points, n, h, inverse, sums)
        _one_sidedness(left, right, one_sided, sides)
        _log_densities(left, right, fading)
        for i in range(min(LANES, end - row)):
            for k in range(h.size):
                out[row + i, k] = left[LANES * k + i]
            if out.shape[1] > h.size:
                for k in range(one_sided[0], one_sided[1]):
                    out[row + i, h.size + k - one_sided[0]] = sides[LANES * k + i]
