"""The loops that are written in SIMD registers, in NumPy: for one small sample, and as what tests compare loops with.

Each function has the arguments of the loop that it stands for.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.special import erf

if TYPE_CHECKING:
    from amortized_kde.numerics.layers import Stack
    from amortized_kde.numerics.neighbours import Anchored
    from amortized_kde.numerics.points import Frames, Layout

# Added to every sum of kernels, so that logarithms stay small where there are no neighbours.
FAINT = 0.02
# At more than this many bandwidths from a bound, all mass of a kernel is inside, to the last bit.
INSIDE = 8.3
# In its region an anchor has at least this fraction of the mean mass: differences of running sums do not resolve
# smaller masses, which occur only with weights.
LEAST_MASS = 1e-4
# With weights, an anchor can lie exactly on the edge of a region, where rounding must not decide.
EDGE = 1.0 + 1e-9
# Larger distances than this count as infinite; their squares do not overflow.
INFINITE = 1e100
# Relative to the largest of a softmax, smaller ones add less than the background to any density, and cost as much.
NEGLIGIBLE = 1e-7
# Weights of layers are padded with zeros to multiples of this many outputs, four registers of eight lanes.
PADDED = 32
# Anchors at a time, few enough for their kernels to stay in the cache.
_ROWS = 64
# exp(-700) is next to nothing beside `FAINT`.
_LOWEST = -700.0


def central_masses(a: Array, b: Array) -> Array:
    """Return Phi(b) - Phi(a) for a <= 0 <= b."""
    root = math.sqrt(0.5)
    return np.asarray(0.5 * (erf(b * root) + erf(-a * root)))


def masses_and_slopes(x: Array, h: float, low: float, high: float) -> tuple[Array, Array]:
    """Return the kernels' masses between the bounds, and the derivatives of these by log h."""
    a, b, slopes = (low - x) / h, (high - x) / h, np.zeros(x.size)
    if low > -math.inf:
        slopes += a * np.exp(-0.5 * a * a)
    if high < math.inf:
        slopes -= b * np.exp(-0.5 * b * b)
    return central_masses(a, b), slopes / math.sqrt(2.0 * math.pi)


def local_rows(
    samples: "Anchored",
    fading: Array,
    one_sided: Index,
    masses: Array,
    largest: int,
    out: Array,
    pooled: Array,
    start: int,
    stop: int,
) -> None:
    """Write the logarithms of leave-one-out sums of kernels, their one-sidedness, and means and variances."""
    rungs, side = samples.bandwidths.shape[1], slice(*one_sided)
    for t in range(start, stop):
        rows = slice(samples.anchor_offsets[t], samples.anchor_offsets[t + 1])
        total, differences = _sums_around(samples, t, side)
        logs = np.log(total + FAINT)
        for k in range(1, rungs):
            logs[:, k] += fading[t, k] * (logs[:, k - 1] - logs[:, k])
        out[rows, :rungs] = logs
        if out.shape[1] > rungs:
            out[rows, rungs:] = np.abs(differences) / (total[:, side] + FAINT)
        mean = masses[rows] @ logs
        pooled[t] = np.concatenate([mean, masses[rows] @ (logs - mean) ** 2])


def _sums_around(samples: "Anchored", t: int, side: slice) -> tuple[Array, Array]:
    """Sums of the kernels of all other points at each anchor, (anchors, rungs), and at some rungs right minus left."""
    ranks = samples.anchors[samples.anchor_offsets[t] : samples.anchor_offsets[t + 1], None]
    x, bandwidths = samples.values[samples.offsets[t] : samples.offsets[t + 1]], samples.bandwidths[t]
    masses = _divided_masses(samples, t)
    total, differences = np.empty((2, ranks.size, bandwidths.size))
    for rows in (slice(i, i + _ROWS) for i in range(0, ranks.size, _ROWS)):
        exponents = -0.5 * ((x - x[ranks[rows]]) / bandwidths[0]) ** 2
        sides = np.sign(np.arange(x.size) - ranks[rows]).astype(np.float64)
        # An anchor is no neighbour of itself.
        exponents[sides == 0.0] = _LOWEST
        for k in range(bandwidths.size):
            # NumPy is ten times as slow where exponentials underflow.
            kernels = np.exp(np.maximum(exponents, _LOWEST))
            total[rows, k] = kernels @ masses[k]
            if side.start <= k < side.stop:
                differences[rows, k] = (kernels * sides) @ masses[k]
            # Each bandwidth is half of the one before.
            exponents *= 4.0
    return total, differences[:, side]


def _divided_masses(samples: "Anchored", t: int) -> Array:
    """Counts of the points over the masses of their kernels inside the bounds, (rungs, points)."""
    rows, low, high = slice(samples.offsets[t], samples.offsets[t + 1]), samples.lower[t], samples.upper[t]
    x, bandwidths = samples.values[rows], samples.bandwidths[t]
    masses = np.tile(samples.counts[rows], (bandwidths.size, 1))
    for k, h in enumerate(bandwidths):
        near = np.minimum(x - low, high - x) < INSIDE * h
        if near.any():
            masses[k, near] /= central_masses((low - x[near]) / h, (high - x[near]) / h)
    return masses


def point_rows(
    samples: "Anchored",
    frames: "Frames",
    masses: Array,
    positions: Array,
    layout: "Layout",
    largest: int,
    local: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write local densities, their means over regions, positions and distances to the bounds."""
    known, (low, high) = local.shape[1], layout.region
    origin, width = samples.anchor_offsets[start], high - low
    for t in range(start, stop):
        rows = slice(samples.anchor_offsets[t], samples.anchor_offsets[t + 1])
        written = out[rows.start - origin : rows.stop - origin]
        written[:, :known] = local[rows]
        at = known
        for part in layout.parts:
            reach = EDGE * max(frames.sizes[t] / part, 1.0)
            near = np.abs(positions[rows] - positions[rows, None]) <= reach
            kept = near * np.maximum(masses[rows], LEAST_MASS / max(rows.stop - rows.start, 1))
            written[:, at : at + width] = kept @ local[rows, low:high] / kept.sum(axis=1)[:, None]
            at += width
        x = samples.values[samples.offsets[t] + samples.anchors[rows]]
        written[:, at:] = _positions(x, samples.lower[t], samples.upper[t], frames, layout, t)


def _positions(x: Array, lower: float, upper: float, frames: "Frames", layout: "Layout", t: int) -> Array:
    """|position|, the distances to the nearer and the farther bound, and products with the position."""
    scale = frames.scales[t]
    away = 2.0 * (x - frames.locations[t]) / scale
    position = np.arcsinh(np.clip(away, -INFINITE, INFINITE))
    gaps = (np.clip(gap / scale, 0.0, INFINITE) for gap in (x - lower, upper - x))
    below, above = (np.log(gap / (1.0 + gap / layout.far) + layout.nearest) for gap in gaps)
    first = np.abs(position), np.minimum(below, above), np.maximum(below, above), position * (below - above)
    return np.column_stack([*first, position[:, None] * frames.signed[t]])


def spacing_rows(
    values: Array,
    offsets: Index,
    anchors: Index,
    anchor_offsets: Index,
    per_unit: Array,
    least: float,
    tie: float,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write mean, variance and third central moment of ln(s + least), and means of tie/(tie + s) and of s = 0."""
    for row in range(start, stop):
        x, ranks = values[offsets[row] : offsets[row + 1]], anchors[anchor_offsets[row] : anchor_offsets[row + 1]]
        spacings = np.diff(x) * per_unit[row]
        beside = np.concatenate([ranks[ranks > 0] - 1, ranks[ranks < x.size - 1]])
        if beside.size > 0:
            s = spacings[beside]
            logs = np.log(s + least)
            off = logs - logs.mean()
            out[row] = [np.mean(term) for term in (logs, off**2, off**3, tie / (tie + s), s == 0.0)]


def network_rows(
    inputs: Array,
    stack: "Stack",
    places: Index,
    scales: Array,
    shifts: Array,
    is_softmax: bool,
    scratch: Any,
    active: Any,
    counts: Any,
    out: Array,
    first_row: int,
) -> None:
    """Write the outputs of all rows of a network, whose numbers in `places` and `out` begin with `first_row`."""
    weights, biases, widths, limits = stack
    rows, weight, bias, unit = slice(first_row, first_row + len(inputs)), 0, 0, 0
    y = np.clip(inputs, limits[0], limits[1]) - limits[2]
    for layer in range(1, widths.size):
        count, width, padded = widths[layer - 1], widths[layer], -(-widths[layer] // PADDED) * PADDED
        matrix = weights[weight : weight + count * padded].reshape(count, padded)[:, :width]
        at = places[rows, None] + unit + np.arange(width)
        y = scales[at] * (y @ matrix + biases[bias : bias + width]) + shifts[at]
        if layer < widths.size - 1:
            y = np.maximum(y, 0.0)
        weight, bias, unit = weight + count * padded, bias + padded, unit + width
    if is_softmax:
        y = np.exp(y - y.max(axis=1, keepdims=True))
        y = np.where(y < NEGLIGIBLE, 0.0, y)
        y /= y.sum(axis=1, keepdims=True)
    out[rows] = y
