"""The steps of a network's forward pass, for a few rows at a time, in SIMD registers. Arrays are flat."""

from collections.abc import Callable
from typing import Any

from amortized_kde.numerics.formulas import exponential, larger
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT
from amortized_kde.numerics.jit import has_avx512, intrinsic, ir, types
from amortized_kde.numerics.registers import LANES, Memory, Real, Variable, Whole
from amortized_kde.numerics.simd import WORD, Code, instructions, nonzero_bits
from amortized_kde.numerics.uncompiled import NEGLIGIBLE, PADDED

# Rows that are summed at a time.
ROWS = 4


def _tile() -> int:
    """The number of outputs that are summed at a time; the results do not depend on it.

    The sums of `ROWS` rows then stay in the registers, of which AVX-512 has 32 of eight lanes.
    """
    return PADDED if has_avx512() else PADDED // 2


@intrinsic
def tile_width(context: Any) -> Any:
    """Return the number of outputs of a tile."""
    return types.int64(), lambda *_: ir.Constant(ir.IntType(64), _tile())


@instructions
def clip_row(code: Code, inputs: Memory, first: Whole, limits: Memory, width: Whole, out: Memory, at: Whole) -> None:
    """Write inputs[first:][:width] to out[at:], clipped to two rows of `limits`, less the third; NaN stays."""

    def clip(k: Whole, load: Callable[[Memory, Whole], Real]) -> None:
        value, low, high = load(inputs, first + k), load(limits, k), load(limits, width + k)
        value = (value < low).choose(low, value)
        out.put(at + k, (value > high).choose(high, value) - load(limits, width * 2 + k))

    code.each(width, clip)


@instructions
def nonzero_units(
    code: Code,
    rows: Memory,
    first: Whole,
    stride: Whole,
    width: Whole,
    active: Memory,
    start: Whole,
    counts: Memory,
    group: Whole,
) -> None:
    """Write the units that are not 0 in some of `ROWS` rows to active[start:], and their number to counts[group].

    The rows begin at rows[first], `stride` apart, and can be read up to the next multiple of `WORD`.
    """
    found = Variable(code.whole(0))
    with code.loop(width, 0, WORD) as word:
        bits = nonzero_bits(code, [(rows, first + stride * row + word) for row in range(ROWS)], width - word)
        with code.ones(bits) as (count, unit):
            active.put(start + found.get() + count, word + unit)
        found.set(found.get() + bits.ones())
    counts.put(group, found.get())


@instructions
def layer_tile(
    code: Code,
    weights: Memory,
    biases: Memory,
    given: Memory,
    active: Memory,
    scales: Memory,
    shifts: Memory,
    places: Memory,
    used: Whole,
    row: Whole,
    first: Whole,
    stride: Whole,
    bias: Whole,
    unit: Whole,
    old: Whole,
    new: Whole,
    row_stride: Whole,
    count: Whole,
    floor: Real,
) -> None:
    """Write max(scale (b + w_i x_i + w_j x_j + ...) + shift, floor) of one tile's outputs, for `ROWS` rows of `given`.

    Inputs are given[old:], outputs given[new:], and rows lie `row_stride` apart. Terms are added in the order
    i = active[used], ..., active[used + count - 1]. Biases are biases[bias:], the weights of input i are those from
    weights[first + stride * i] on, scale and shift of the r-th row those from unit + places[row + r] on.
    """
    parts = range(0, _tile(), LANES)
    totals = {(r, part): Variable(biases.lanes(bias + part)) for r in range(ROWS) for part in parts}
    with code.loop(count) as j:
        i = active.whole(used + j)
        weight = {part: weights.lanes(first + i * stride + part) for part in parts}
        for r in range(ROWS):
            value = given.number(old + row_stride * r + i).repeated()
            for part in parts:
                totals[r, part].set(value * weight[part] + totals[r, part].get())
    for (r, part), total in totals.items():
        at = unit + places.whole(row + r) + part
        value = scales.lanes(at) * total.get() + shifts.lanes(at)
        # Written so that NaN stays.
        given.put(new + row_stride * r + part, (value < floor).choose(floor, value))


@instructions
def softmax_rows(code: Code, sums: Memory, first: Whole, stride: Whole, width: Whole) -> None:
    """Replace sums[first:][:width] by their softmax, without negligible exponentials, in `ROWS` rows `stride` apart.

    What follows, up to the next multiple of `LANES`, becomes 0.
    """
    least, starts = code.lanes(float("-inf")), [first + stride * row for row in range(ROWS)]
    tops, totals = ([Variable(start) for _ in starts] for start in (least, code.lanes(0.0)))
    with code.loop(width, 0, LANES) as k:
        is_inside = k.lanes() + code.lane_numbers() < width.lanes()
        for start, top in zip(starts, tops, strict=True):
            inside = is_inside.choose(sums.lanes(start + k), least)
            sums.put(start + k, inside)
            top.set(larger(top.get(), inside))
    highest = [top.get().over_lanes(larger) for top in tops]
    with code.loop(width, 0, LANES) as k:
        for start, high, total in zip(starts, highest, totals, strict=True):
            away = sums.lanes(start + k) - high
            e = exponential((away < LOWEST_EXPONENT).choose(LOWEST_EXPONENT, away))
            e = (e < NEGLIGIBLE).choose(0.0, e)
            sums.put(start + k, e)
            total.set(total.get() + e)
    factors = [1.0 / total.get().over_lanes(Real.__add__) for total in totals]
    with code.loop(width, 0, LANES) as k:
        for start, factor in zip(starts, factors, strict=True):
            sums.put(start + k, sums.lanes(start + k) * factor)
