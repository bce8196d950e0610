"""What the adaptive models read of the points of samples: local densities, their means over regions, and positions.

Local densities come first, since features of whole samples are computed from them; the rest is written for a few
samples at a time, while their rows are in the cache.
"""

from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics import uncompiled
from amortized_kde.numerics.formulas import larger, logarithm
from amortized_kde.numerics.jit import entry_in_order, in_numpy, inlined
from amortized_kde.numerics.neighbours import Anchored, local_scratch, write_local_densities
from amortized_kde.numerics.registers import LANES, Memory, Real, Variable, Whole
from amortized_kde.numerics.simd import Code, copy_row, instructions
from amortized_kde.numerics.uncompiled import EDGE, INFINITE, LEAST_MASS

# A region extends by n divided by these, in ranks, to both sides of a point.
NEAR, AROUND = 32, 8


class Layout(NamedTuple):
    """Which columns are written.

    Attributes
    ----------
    region : ndarray of shape (2,)
        First rung, and the rung after the last, that have a mean over regions.
    parts : ndarray
        A region extends by n divided by each of these.
    nearest, far : float
        A distance d to a bound, in units of the scale, is ln(d / (1 + d / far) + nearest).
    """

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
    signed : ndarray of shape (samples, features)
        Factors of the positions.
    """

    sizes: Array
    locations: Array
    scales: Array
    signed: Array


@instructions
def _pool(
    code: Code,
    points: Memory,
    first: Whole,
    last: Whole,
    columns: Whole,
    masses: Memory,
    rungs: Whole,
    out: Memory,
    at: Whole,
) -> None:
    """Write weighted mean and variance of the first columns of rows first .. last - 1, which are at least `LANES`."""
    with code.loop(rungs, 0, LANES) as block:
        k = block.at_most(rungs - LANES)
        mean, variance = Variable(code.lanes(0.0)), Variable(code.lanes(0.0))
        with code.loop(last, first) as a:
            mean.set(masses.number(a).repeated() * points.lanes(a * columns + k) + mean.get())
        # A second pass avoids cancellation.
        with code.loop(last, first) as a:
            off = points.lanes(a * columns + k) - mean.get()
            variance.set(masses.number(a).repeated() * off * off + variance.get())
        out.put(at + k, mean.get())
        out.put(at + rungs + k, variance.get())


@instructions
def _add_row(code: Code, total: Memory, width: Whole, mass: Real, points: Memory, at: Whole) -> None:
    """Add the mass times points[at:] to the total; up to the next multiple of `LANES`, as in `_write_row`."""
    with code.loop(width, 0, LANES) as k:
        total.put(k, mass * points.lanes(at + k) + total.lanes(k))


@instructions
def _write_row(code: Code, total: Memory, width: Whole, factor: Real, points: Memory, at: Whole) -> None:
    """Write the factor times the total to points[at:]."""
    with code.loop(width, 0, LANES) as k:
        points.put(at + k, total.lanes(k) * factor)


@inlined
def _write_region(
    local: Array,
    source: int,
    first: int,
    last: int,
    positions: Array,
    masses: Array,
    reach: float,
    total: Array,
    width: int,
    out: Array,
    at: int,
) -> None:
    """Write weighted means over all anchors with positions at most `reach` away, of `width` columns from `source` on.

    They are written from the element `at` on; what follows, up to a multiple of `LANES`, is overwritten.
    """
    low, high, weight, least = first, first, 0.0, LEAST_MASS / (last - first)
    for k in range(total.size):
        total[k] = 0.0
    for a in range(first, last):
        # Add or remove one anchor at a time, until the region is that of a.
        while True:
            if high < last and positions[high] <= positions[a] + reach:
                moved, sign = high, 1.0
                high += 1
            elif positions[low] < positions[a] - reach:
                moved, sign = low, -1.0
                low += 1
            else:
                break
            mass = sign * max(masses[moved], least)
            _add_row(total, width, mass, local, moved * local.shape[1] + source)
            weight += mass
        _write_row(total, width, 1.0 / weight, out, at + (a - first) * out.shape[1])


def _log_distance(distance: Real, nearest: Real, far: Real) -> Real:
    """ln(d / (1 + d / far) + nearest), for a distance d that counts as at least 0 and at most `INFINITE`."""
    near = (distance < INFINITE).choose(larger(distance, distance * 0.0), INFINITE)
    return logarithm(near / (near / far + 1.0) + nearest)


@instructions
def _write_positions(
    code: Code,
    values: Memory,
    below: Memory,
    above: Memory,
    count: Whole,
    lower: Real,
    upper: Real,
    location: Real,
    scale: Real,
    nearest: Real,
    far: Real,
    signed: Memory,
    signed_at: Whole,
    products: Whole,
    out: Memory,
    first: Whole,
    columns: Whole,
) -> None:
    """Write |position|, the distances to the nearer and the farther bound, and products with the position.

    Positions are arsinh(2 (x - location) / scale). They are written to out[first:] and `columns` apart. The first three
    arrays are overwritten, up to a multiple of `LANES`.
    """
    per_unit = 1.0 / scale
    with code.loop(count, 0, LANES) as i:
        x = values.lanes(i)
        below.put(i, _log_distance((x - lower) * per_unit, nearest, far))
        above.put(i, _log_distance((upper - x) * per_unit, nearest, far))
        away = (x - location) * 2.0 * per_unit
        size = (away.magnitude() < INFINITE).choose(away.magnitude(), INFINITE)
        log = logarithm((size * size + 1.0).square_root() + size)
        values.put(i, (away < 0.0).choose(-log, log))
    with code.loop(count) as i:
        at, position, low, high = first + i * columns, values.number(i), below.number(i), above.number(i)
        out.put(at, position.magnitude())
        out.put(at + 1, (low < high).choose(low, high))
        out.put(at + 2, (low < high).choose(high, low))
        out.put(at + 3, position * (low - high))
        with code.loop(products) as k:
            out.put(at + 4 + k, position * signed.number(signed_at + k))


@entry_in_order
def local_rows(
    samples: Anchored,
    fading: Array,
    one_sided: Index,
    masses: Array,
    largest: int,
    out: Array,
    pooled: Array,
    start: int,
    stop: int,
) -> None:
    """Write the columns of `write_local_densities`, for all anchors of samples start .. stop - 1.

    None of them has more than `largest` values. Mean and variance of the local densities over all anchors, weighted by
    mass, are written to `pooled` (samples, 2 rungs).
    """
    rungs = samples.bandwidths.shape[1]
    scratch = local_scratch(largest, rungs)
    for t in range(start, stop):
        first, last = samples.anchor_offsets[t], samples.anchor_offsets[t + 1]
        if first < last:
            write_local_densities(samples, t, fading, one_sided, scratch, out)
        _pool(out, first, last, out.shape[1], masses, rungs, pooled, 2 * rungs * t)


@entry_in_order
def point_rows(
    samples: Anchored,
    frames: Frames,
    masses: Array,
    positions: Array,
    layout: Layout,
    largest: int,
    local: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the features of all anchors of samples start .. stop - 1, none of which has more than `largest` values.

    Columns of `out` are those of `local`, which `local_rows` writes, then the means over the regions of each of
    `layout.parts`, then those of `_write_positions`. The region of an anchor is all anchors of its sample with
    positions at most max(n/part, 1) away. The first row of `out` is that of the first anchor of sample `start`.
    """
    columns, low, products, padded = out.shape[1], layout.region[0], frames.signed.shape[1], largest + LANES
    width, known = layout.region[1] - low, local.shape[1]
    values, below, above, total = np.zeros(padded), np.empty(padded), np.empty(padded), np.empty(width + LANES)
    for t in range(start, stop):
        first, last = samples.anchor_offsets[t], samples.anchor_offsets[t + 1]
        at = (first - samples.anchor_offsets[start]) * columns
        for i in range(last - first):
            copy_row(local, (first + i) * known, known, out, at + i * columns)
            values[i] = samples.values[samples.offsets[t] + samples.anchors[first + i]]
        at += known
        for part in layout.parts:
            reach = EDGE * max(frames.sizes[t] / part, 1.0)
            _write_region(local, low, first, last, positions, masses, reach, total, width, out, at)
            at += width
        frame = samples.lower[t], samples.upper[t], frames.locations[t], frames.scales[t], layout.nearest, layout.far
        place = frames.signed, t * products, products, out, at, columns
        _write_positions(values, below, above, last - first, *frame, *place)


in_numpy(local_rows)(uncompiled.local_rows)
in_numpy(point_rows)(uncompiled.point_rows)
