"""How crowded a sample is around its points, at every rung of a ladder of bandwidths.

For chosen points x_a of an ascending sample, and bandwidths h_k that descend, the loops write

    right_ak = sum_{j > a} exp(-(x_j - x_a)^2 / 2 h_k^2) / Z_jk,     left_ak = sum_{j < a} ...,

with Z_jk the mass of the kernel at x_j inside the bounds: the leave-one-out density at x_a, in neighbours instead of
probability. Squaring a kernel moves it to h/sqrt(2), so one exponential serves four octaves.
"""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.exponential import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

__all__ = ["FAINT", "FRESH", "REACH", "inverse_masses", "neighbour_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# A kernel at 9 bandwidths is 3e-18 of its peak.
REACH = 9.0
# Rungs an octave apart that one exponential serves: each is the fourth power of the one before.
FRESH = 4
# A point without neighbours has this many, so that logarithms stay small.
FAINT = 0.02
# Samples up to this size are taken as one matrix.
_SMALL = 128
# Fewer neighbours than this have none at all at the finer rungs.
_NOBODY = 1e-17
# At more than so many bandwidths from a bound a kernel has all its mass inside, to the last bit.
_INSIDE = 8.3


@compiled
def inverse_masses(points: Array, bandwidths: Array, lower: float, upper: float, out: Array) -> None:
    """Write 1/Z_jk to out[k, j]."""
    for k in range(bandwidths.size):
        h = bandwidths[k]
        margin = _INSIDE * h
        for j in range(points.size):
            below, above = points[j] - lower, upper - points[j]
            out[k, j] = 1.0
            if below < margin or above < margin:
                out[k, j] = 1.0 / central_mass(-below / h, above / h)


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
    """Write the sums to both sides of point i to left[:, i] and right[:, i], over all points that matter."""
    x, low, high = points[i], 0, points.size
    for k in range(bandwidths.size):
        h = bandwidths[k]
        low += first_at_least(points[low : i + 1], x - REACH * h)
        high = i + first_at_least(points[i:high], x + REACH * h)
        near = kernel[low:high]
        if k % FRESH == 0:
            _start(points[low:high], x, h, near)
        else:
            _sharpen(near)
        left[k, i] = _product(kernel[low:i], inverse[k, low:i])
        right[k, i] = _product(kernel[i + 1 : high], inverse[k, i + 1 : high])


@compiled
def _all_around(points: Array, bandwidths: Array, inverse: Array, kernel: Array, left: Array, right: Array) -> None:
    """The same for all points of a small sample at once: long loops, and none to find where they end."""
    n = points.size
    for k in range(bandwidths.size):
        if k % FRESH == 0:
            per_h = 1.0 / bandwidths[k]
            for i in range(n):
                row, x = kernel[i * n : i * n + n], points[i]
                for j in range(n):
                    u = (points[j] - x) * per_h
                    row[j] = exp_nonpositive(max(-0.5 * u * u, LOWEST_EXPONENT))
        else:
            _sharpen(kernel[: n * n])
        largest = 0.0
        for i in range(n):
            row = kernel[i * n : i * n + n]
            left[k, i] = _product(row[:i], inverse[k, :i])
            right[k, i] = _product(row[i + 1 :], inverse[k, i + 1 : n])
            largest = max(largest, left[k, i] + right[k, i])
        if largest < _NOBODY:
            left[k + 1 :, :n] = 0.0
            right[k + 1 :, :n] = 0.0
            break


@entry
def neighbour_rows(
    values: Array,
    offsets: Index,
    lower: Array,
    upper: Array,
    bandwidths: Array,
    anchors: Index,
    anchor_offsets: Index,
    masses: Array,
    room: int,
    crowds: Array,
    sides: Array,
    pooled: Array,
    start: int,
    stop: int,
) -> None:
    """Write ln(left + right + FAINT) and |right - left| / (left + right + FAINT) of every anchor, (anchors, k) each.

    The first's mean and variance over a sample's anchors go to `pooled` (samples, 2 k), each anchor with its mass.
    Sample t has the anchors number anchor_offsets[t] .. anchor_offsets[t + 1] - 1. `bandwidths` is (samples, k). No
    sample has more than `room` values.
    """
    rungs = bandwidths.shape[1]
    kernel, inverse = np.empty(max(room, _SMALL * _SMALL)), np.empty((rungs, room))
    right, left = np.empty((rungs, room)), np.empty((rungs, room))
    for t in range(start, stop):
        points, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        n = points.size
        inverse_masses(points, h, lower[t], upper[t], inverse)
        if n <= _SMALL:
            _all_around(points, h, inverse, kernel, left, right)
        pooled[t] = 0.0
        for a in range(anchor_offsets[t], anchor_offsets[t + 1]):
            i = anchors[a]
            if n > _SMALL:
                _around(points, i, h, inverse, kernel, left, right)
            for k in range(rungs):
                both = right[k, i] + left[k, i] + FAINT
                crowd = math.log(both)
                crowds[a, k] = crowd
                sides[a, k] = abs(right[k, i] - left[k, i]) / both
                pooled[t, k] += masses[a] * crowd
        # In a second pass, so that nothing cancels.
        for a in range(anchor_offsets[t], anchor_offsets[t + 1]):
            for k in range(rungs):
                pooled[t, rungs + k] += masses[a] * (crowds[a, k] - pooled[t, k]) ** 2
