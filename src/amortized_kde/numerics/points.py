"""What the adaptive models read of the points of samples: local densities, their means over regions, and positions.

All features of a sample are written while its rows are in the cache. Of samples alone (`out` with one column per rung)
only the local densities are written.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import log_positive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.neighbours import Anchored, local_scratch, write_local_densities

# A region extends by n divided by these, in ranks, to both sides of a point.
NEAR, AROUND = 32, 8
# In its region an anchor has at least this fraction of the mean mass: differences of running sums do not resolve
# smaller masses, which occur only with weights.
_LEAST = 1e-4
# With weights, an anchor can lie exactly on the edge of a region, where rounding must not decide.
_EDGE = 1.0 + 1e-9
# Larger distances than this count as infinite; their squares do not overflow.
_INFINITE = 1e100


class Layout(NamedTuple):
    """Which columns are written.

    Attributes
    ----------
    one_sided, region : ndarray of shape (2,)
        First rung, and the rung after the last, that have a one-sidedness, and a mean over regions.
    parts : ndarray
        A region extends by n divided by each of these.
    nearest, far : float
        A distance d to a bound, in units of the scale, is ln(d / (1 + d / far) + nearest).
    """

    one_sided: Index
    region: Index
    parts: Index
    nearest: float
    far: float


class Frames(NamedTuple):
    """The samples' sizes (effective), locations and scales, and what else their points need.

    Attributes
    ----------
    sizes, locations, scales : ndarray of shape (samples,)
        n, median and unit.
    fading : ndarray of shape (samples, rungs)
        As in `write_local_densities`.
    signed : ndarray of shape (samples, features)
        Factors of the positions.
    """

    sizes: Array
    locations: Array
    scales: Array
    fading: Array
    signed: Array


@compiled
def _pool(points: Array, masses: Array, mean: Array, variance: Array) -> None:
    """Write the weighted mean and variance of the first columns."""
    for k in range(mean.size):
        mean[k] = variance[k] = 0.0
    for a in range(masses.size):
        # Slices of rows, because the compiler does not see that those of columns are contiguous in a row.
        row = points[a, : mean.size]
        for k in range(mean.size):
            mean[k] += masses[a] * row[k]
    # A second pass avoids cancellation.
    for a in range(masses.size):
        row = points[a, : mean.size]
        for k in range(mean.size):
            off = row[k] - mean[k]
            variance[k] += masses[a] * off * off


@compiled
def _write_region(
    points: Array, positions: Array, masses: Array, reach: float, first: int, column: int, total: Array
) -> None:
    """Write weighted means over all anchors with positions at most `reach` away, of as many columns as `total` has.

    They are those from `first` on, and the means are written from `column` on.
    """
    low, high, weight, count = 0, 0, 0.0, masses.size
    least = _LEAST / count
    for k in range(total.size):
        total[k] = 0.0
    for a in range(count):
        # Add or remove one anchor at a time, until the region is that of a.
        while True:
            if high < count and positions[high] <= positions[a] + reach:
                moved, sign = high, 1.0
                high += 1
            elif positions[low] < positions[a] - reach:
                moved, sign = low, -1.0
                low += 1
            else:
                break
            mass = sign * (masses[moved] if masses[moved] > least else least)
            row = points[moved, first : first + total.size]
            for k in range(total.size):
                total[k] += mass * row[k]
            weight += mass
        region, per_weight = points[a, column : column + total.size], 1.0 / weight
        for k in range(total.size):
            region[k] = total[k] * per_weight


@compiled
def log_distance(distance: float, nearest: float, far: float) -> float:
    """Return ln(d / (1 + d / far) + nearest), for a distance d that is at least 0 and at most `_INFINITE`."""
    near = min(max(distance, 0.0), _INFINITE)
    return log_positive(near / (1.0 + near / far) + nearest)


@compiled
def _write_positions(
    values: Array,
    below: Array,
    above: Array,
    ends: tuple[float, float],
    t: int,
    frames: Frames,
    layout: Layout,
    column: int,
    out: Array,
) -> None:
    """Write |position|, the distances to the nearer and the farther bound, and products with the position.

    Positions are arsinh(2 (x - location) / scale). The first three arrays are overwritten.
    """
    per_unit, location, signed = 1.0 / frames.scales[t], frames.locations[t], frames.signed[t]
    for i in range(values.size):
        below[i] = log_distance((values[i] - ends[0]) * per_unit, layout.nearest, layout.far)
        above[i] = log_distance((ends[1] - values[i]) * per_unit, layout.nearest, layout.far)
    for i in range(values.size):
        away = 2.0 * (values[i] - location) * per_unit
        far = min(abs(away), _INFINITE)
        log = log_positive(far + math.sqrt(1.0 + far * far))
        values[i] = -log if away < 0.0 else log
    for i in range(values.size):
        row, position = out[i, column:], values[i]
        row[0], row[1], row[2] = abs(position), min(below[i], above[i]), max(below[i], above[i])
        row[3] = position * (below[i] - above[i])
        for k in range(signed.size):
            row[4 + k] = position * signed[k]


@entry
def point_rows(
    samples: Anchored,
    frames: Frames,
    masses: Array,
    positions: Array,
    layout: Layout,
    largest: int,
    out: Array,
    pooled: Array,
    start: int,
    stop: int,
) -> None:
    """Write the features of all anchors of samples start .. stop - 1, none of which has more than `largest` values.

    Columns of `out` are those of `write_local_densities`, then the means over the regions of each of `layout.parts`,
    then those of `_write_positions`. The region of an anchor is all anchors of its sample with positions at most
    max(n/part, 1) away. Mean and variance of the local densities over all anchors, weighted by mass, are written to
    `pooled` (samples, 2 rungs).
    """
    rungs, low, high = samples.bandwidths.shape[1], layout.region[0], layout.region[1]
    scratch, total = local_scratch(largest, rungs), np.empty(high - low)
    values, lows, highs = np.empty(largest), np.empty(largest), np.empty(largest)
    for t in range(start, stop):
        first, last = samples.anchor_offsets[t], samples.anchor_offsets[t + 1]
        if first == last:
            pooled[t] = 0.0
            continue
        write_local_densities(samples, t, frames.fading[t], layout.one_sided, scratch, out)
        here, mass = out[first:last], masses[first:last]
        _pool(here, mass, pooled[t, :rungs], pooled[t, rungs:])
        if out.shape[1] == rungs:
            continue
        column = rungs + layout.one_sided[1] - layout.one_sided[0]
        for part in layout.parts:
            reach = _EDGE * max(frames.sizes[t] / part, 1.0)
            _write_region(here, positions[first:last], mass, reach, low, column, total)
            column += total.size
        x, below, above = values[: last - first], lows[: last - first], highs[: last - first]
        for i in range(x.size):
            x[i] = samples.values[samples.offsets[t] + samples.anchors[first + i]]
        ends = samples.lower[t], samples.upper[t]
        _write_positions(x, below, above, ends, t, frames, layout, column, here)
