"""How crowded a sample is around its points, at every rung of a ladder of bandwidths.

For chosen points x_a of an ascending sample, and bandwidths h_k that descend, the loops write

    right_ak = sum_{j > a} exp(-(x_j - x_a)^2 / 2 h_k^2) / Z_jk,     left_ak = sum_{j < a} ...,

with Z_jk the mass of the kernel at x_j inside the bounds: the leave-one-out density at x_a, in neighbours instead of
probability. Squaring a kernel moves it to h/sqrt(2), so one exponential serves four octaves.
"""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.exponential import exp_nonpositive
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

__all__ = ["FAINT", "FRESH", "LARGEST", "REACH", "inverse_masses", "neighbour_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# A kernel at 9 bandwidths is 3e-18 of its peak.
REACH = 9.0
# Rungs an octave apart that one exponential serves: each is the fourth power of the one before.
FRESH = 4
# A point without neighbours has this many, so that logarithms stay small.
FAINT = 0.02
# The largest sample of the training tasks.
LARGEST = 4096
# At more than so many bandwidths from a bound a kernel has all its mass inside, to the last bit.
_INSIDE = 8.3
# From so many neighbours on they are counted in bins, half a bandwidth wide, out to seven bandwidths; each has the
# kernel's mean over the bin.
_CROWD = 48
_BIN = 0.5
_EDGES = _BIN * np.arange(15)
_MEANS = math.sqrt(0.5 * math.pi) * np.diff([math.erf(edge / math.sqrt(2.0)) for edge in _EDGES]) / _BIN


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
    """Write the sums to both sides of point i, rung by rung, over all points that matter."""
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
        left[k] = _product(kernel[low:i], inverse[k, low:i])
        right[k] = _product(kernel[i + 1 : high], inverse[k, i + 1 : high])


@compiled
def _one_side(points: Array, x: float, h: float, lower: float, upper: float, sign: float) -> float:
    """Sum over the points on one side of x, in bins unless they are few: `points` are all to its right, or left."""
    n = points.size
    near = first_at_least(points, x + REACH * h) if sign > 0.0 else n - first_at_least(points, x - REACH * h)
    total, margin = 0.0, _INSIDE * h
    if near <= _CROWD:
        for m in range(near):
            at = points[m] if sign > 0.0 else points[n - 1 - m]
            u = (at - x) / h
            e = math.exp(-0.5 * u * u)
            if at - lower < margin or upper - at < margin:
                e /= central_mass((lower - at) / h, (upper - at) / h)
            total += e
        return total
    window = points[:near] if sign > 0.0 else points[n - near :]
    before = 0
    for b in range(_MEANS.size):
        edge = x + sign * (b + 1) * _BIN * h
        until = first_at_least(window, edge) if sign > 0.0 else near - first_at_least(window, edge)
        if until > before:
            e, at = _MEANS[b], min(max(x + sign * (b + 0.5) * _BIN * h, lower), upper)
            if at - lower < margin or upper - at < margin:
                e /= central_mass((lower - at) / h, (upper - at) / h)
            total += (until - before) * e
        before = until
    return total


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

    The first's mean and mean square over a sample's anchors go to `pooled` (samples, 2 k), each anchor with its mass.
    Sample t has the anchors number anchor_offsets[t] .. anchor_offsets[t + 1] - 1. `bandwidths` is (samples, k). In
    samples larger than `room` neighbours that are many are counted in bins, so that an anchor costs O(log n). Samples
    larger than LARGEST count as if they had that size.
    """
    rungs = bandwidths.shape[1]
    kernel, inverse, right, left = np.empty(room), np.empty((rungs, room)), np.empty(rungs), np.empty(rungs)
    for t in range(start, stop):
        points, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        exact = points.size <= room
        if exact:
            inverse_masses(points, h, lower[t], upper[t], inverse)
        share = min(1.0, (LARGEST - 1.0) / max(points.size - 1.0, 1.0))
        pooled[t] = 0.0
        for a in range(anchor_offsets[t], anchor_offsets[t + 1]):
            i = anchors[a]
            if exact:
                _around(points, i, h, inverse, kernel, left, right)
            else:
                for k in range(rungs):
                    right[k] = _one_side(points[i + 1 :], points[i], h[k], lower[t], upper[t], 1.0)
                    left[k] = _one_side(points[:i], points[i], h[k], lower[t], upper[t], -1.0)
            for k in range(rungs):
                both = share * (right[k] + left[k]) + FAINT
                crowd = math.log(both)
                crowds[a, k] = crowd
                sides[a, k] = share * abs(right[k] - left[k]) / both
                pooled[t, k] += masses[a] * crowd
                pooled[t, rungs + k] += masses[a] * crowd * crowd
