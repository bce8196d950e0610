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
from amortized_kde.numerics.formulas import SMALL
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import compiled, inlined
from amortized_kde.numerics.kernel_tiles import POINTS, add_kernels, add_kernels_among, finish_sums, write_columns
from amortized_kde.numerics.registers import LANES
from amortized_kde.numerics.uncompiled import INSIDE

# A kernel at 9 bandwidths is 3e-18 of its peak.
_REACH = 9.0
_SQRT_HALF = math.sqrt(0.5)
# Squares of distances up to SMALL have a short series; of larger distances the squares are divided by 4, and their
# kernels squared twice, at most this many times: 4**7 SMALL is 128, and exp(-128) is 0 beside 1.
_SMALL_ROOT, _MOST_OCTAVES = math.sqrt(SMALL), 7


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
    points: Array, n: int, counts: Array | None, first: int, bandwidths: Array, lower: float, upper: float, out: Array
) -> None:
    """Write m_j/Z_jk of the first n points to out[k, j], with m_j = counts[first + j]; without counts m is 1."""
    for k in range(bandwidths.size):
        h = bandwidths[k]
        for j in range(n):
            out[k, j] = 1.0 if counts is None else counts[first + j]
        if points[0] - lower < INSIDE * h or upper - points[n - 1] < INSIDE * h:
            for j in range(n):
                below, above = points[j] - lower, upper - points[j]
                if min(below, above) < INSIDE * h:
                    out[k, j] /= central_mass(-below / h, above / h)


@compiled
def _closest(points: Array, first: int, last: int) -> float:
    """Return the smallest spacing between points first .. last."""
    closest = math.inf
    for j in range(first, last):
        closest = min(closest, points[j + 1] - points[j])
    return closest


@inlined
def _sums_around(scratch: "LocalScratch", n: int, h: Array, stride: int) -> None:
    """Write the sums to the left of eight anchors to ``sums[LANES * k + lane]``, and after all of these the right ones.

    Blocks of points that are out of reach of all eight at rung k are left out from there on.
    """
    points, inverse, lanes, ranks, sums, _ = scratch
    for p in range(sums.size):
        sums[p] = 0.0
    right, used, first, last = LANES * h.size, 0, int(ranks[0]), int(ranks[LANES - 1])
    closest = _closest(points, max(first - POINTS, 0), min(last + POINTS, n - 1))
    for j in range(0, n, POINTS):
        below, above = lanes[0] - points[j + POINTS - 1], points[j] - lanes[LANES - 1]
        gap = max(below, above)
        is_among = j <= last and j + POINTS > first
        if is_among:
            gap = max(gap, closest)
        while used < h.size and gap < _REACH * h[used]:
            used += 1
        while used > 0 and gap >= _REACH * h[used - 1]:
            used -= 1
        per_h, octaves = _SQRT_HALF / h[0], 0
        farthest = max(points[j + POINTS - 1] - lanes[0], lanes[LANES - 1] - points[j])
        while octaves < _MOST_OCTAVES and farthest * per_h > _SMALL_ROOT:
            per_h, octaves = 0.5 * per_h, octaves + 1
        if is_among:
            add_kernels_among(lanes, ranks, points, inverse, sums, right, j, per_h, octaves, stride, used)
        else:
            side = right if j > last else 0
            add_kernels(lanes, points, inverse, sums, side, j, per_h, octaves, stride, used)


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


@inlined
def write_local_densities(
    samples: Anchored, t: int, fading: Array, one_sided: Index, scratch: LocalScratch, out: Array
) -> None:
    """Write ln(left + right + FAINT) of every anchor of sample t to the first columns of `out`, by rung.

    The logarithm at rung k is moved towards that at k - 1, by the fraction ``fading[t, k]`` of their difference. The
    next columns, if `out` has more, are |right - left| / (left + right + FAINT) at rungs one_sided[0] ..
    one_sided[1] - 1. Each bandwidth is half of the one before. There are at least `LANES` rungs of both.
    """
    points, inverse, lanes, ranks, sums, sides = scratch
    first, n, end = samples.offsets[t], samples.offsets[t + 1] - samples.offsets[t], samples.anchor_offsets[t + 1]
    rungs, stride, columns = samples.bandwidths.shape[1], inverse.shape[1], out.shape[1]
    width = -(-n // POINTS) * POINTS
    for j in range(width):
        points[j] = samples.values[first + (j if j < n else n - 1)]
    h = samples.bandwidths[t]
    inverse_masses(points, n, samples.counts, first, h, samples.lower[t], samples.upper[t], inverse)
    for k in range(rungs):
        for j in range(n, width):
            inverse[k, j] = 0.0
    for row in range(samples.anchor_offsets[t], end, LANES):
        for i in range(LANES):
            rank = samples.anchors[min(row + i, end - 1)]
            ranks[i], lanes[i] = rank, points[rank]
        _sums_around(scratch, n, h, stride)
        finish_sums(sums, sides, rungs, fading, t * rungs, one_sided[0], one_sided[1])
        write_columns(sums, rungs, out, columns, 0, row, end - 1)
        if columns > rungs:
            write_columns(sides, one_sided[1] - one_sided[0], out, columns, rungs, row, end - 1)
