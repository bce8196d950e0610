"""Loops over SIMD registers in LLVM's own instructions, where its vectoriser leaves sums in memory.

Arrays are contiguous and flat. A register has eight lanes; LLVM splits it where the processor's are shorter. The
functions are `inlined`, because other loops allow the compiler to reorder sums.
"""

import math
from collections.abc import Iterable
from typing import Any

from amortized_kde._types import Array, Index
from amortized_kde.numerics.jit import HAS_AVX512, cgutils, inlined, intrinsic, ir, types

LANES = 8
# Rows and outputs that are summed at a time, so that the sums stay in the registers, of which AVX-512 has 32 of eight
# lanes. The results do not depend on it.
ROWS, _VECTORS = 4, 4 if HAS_AVX512 else 2
TILE = _VECTORS * LANES
# Points whose kernels are computed side by side, so that none waits for the result of another.
POINTS = 4
_NUMBER, _INDEX, _WORD = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR, _BITS = ir.VectorType(_NUMBER, LANES), ir.VectorType(_INDEX, LANES)
_ALIGN = 8
_FUSED = ("contract",)
# ln 2 in two parts, as in `gaussian.py`; the largest exponent, beyond which 1 - exp(-t) is 1; 1.5 times 2**52.
_LN2_HIGH, _LN2_LOW, _LOG2_E = 0.693147180369123816490, 1.90821492927058770002e-10, 1.4426950408889634
_LARGEST, _MAGIC = 60.0, 6755399441055744.0
_TAYLOR = [1.0 / math.factorial(k) for k in range(12, 0, -1)]


def _pointers(context: Any, builder: Any, kinds: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    return [context.make_array(kind)(context, builder, value).data for kind, value in zip(kinds, values, strict=True)]


def _vector_at(builder: Any, base: Any, offset: Any, further: int = 0) -> Any:
    place = builder.gep(base, [builder.add(offset, ir.Constant(_INDEX, further))])
    return builder.bitcast(place, _VECTOR.as_pointer())


def _load(builder: Any, base: Any, offset: Any, further: int = 0) -> Any:
    return builder.load(_vector_at(builder, base, offset, further), align=_ALIGN)


def _repeated(builder: Any, value: Any) -> Any:
    """A vector with the value in every lane."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_WORD, LANES), [0] * LANES))


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return builder.fadd(builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)


def _subtract_product(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a - b c."""
    return builder.fsub(a, builder.fmul(b, c, flags=_FUSED), flags=_FUSED)


def _layer_tile_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    arrays = _pointers(context, builder, signature.args[:7], arguments[:7])
    weights, biases, given, active, scales, shifts, places = arrays
    used, row_place, first, stride, bias, unit, old, new, row_stride, count, floor = arguments[7:]
    active, places = builder.gep(active, [used]), builder.gep(places, [row_place])
    tiles = [(row, part) for row in range(ROWS) for part in range(_VECTORS)]
    totals = [cgutils.alloca_once(builder, _VECTOR) for _ in tiles]
    ahead = [builder.mul(row_stride, ir.Constant(_INDEX, row)) for row in range(ROWS)]
    for (_, part), total in zip(tiles, totals, strict=True):
        builder.store(_load(builder, biases, bias, part * LANES), total)
    with cgutils.for_range(builder, count) as loop:
        i = builder.load(builder.gep(active, [loop.index]))
        at = builder.add(first, builder.mul(i, stride))
        weight = [_load(builder, weights, at, v * LANES) for v in range(_VECTORS)]
        place = builder.gep(given, [builder.add(old, i)])
        for (row, part), total in zip(tiles, totals, strict=True):
            value = _repeated(builder, builder.load(builder.gep(place, [ahead[row]])))
            builder.store(_multiply_add(builder, value, weight[part], builder.load(total)), total)
    low = _repeated(builder, floor)
    for (row, part), total in zip(tiles, totals, strict=True):
        at = builder.add(unit, builder.load(builder.gep(places, [ir.Constant(_INDEX, row)])))
        scale, shift = (_load(builder, base, at, part * LANES) for base in (scales, shifts))
        value = _multiply_add(builder, scale, builder.load(total), shift)
        # Written so that NaN stays.
        value = builder.select(builder.fcmp_ordered("<", value, low), low, value)
        place = _vector_at(builder, given, builder.add(new, ahead[row]), part * LANES)
        builder.store(value, place, align=_ALIGN)
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def _layer_tile(
    context: Any,
    weights: Any,
    biases: Any,
    given: Any,
    active: Any,
    scales: Any,
    shifts: Any,
    places: Any,
    used: Any,
    row: Any,
    first: Any,
    stride: Any,
    bias: Any,
    unit: Any,
    old: Any,
    new: Any,
    row_stride: Any,
    count: Any,
    floor: Any,
) -> Any:
    arrays = (weights, biases, given, active, scales, shifts, places)
    return types.void(*arrays, *(types.int64,) * 10, types.float64), _layer_tile_code


@inlined
def layer_tile(
    weights: Array,
    biases: Array,
    given: Array,
    active: Index,
    scales: Array,
    shifts: Array,
    places: Index,
    used: int,
    row: int,
    first: int,
    stride: int,
    bias: int,
    unit: int,
    old: int,
    new: int,
    row_stride: int,
    count: int,
    floor: float,
) -> None:
    """Write max(scale (b + w_i x_i + w_j x_j + ...) + shift, floor) of `TILE` outputs, for `ROWS` rows of `given`.

    Inputs are given[old:], outputs given[new:], and rows lie `row_stride` apart. Terms are added in the order
    i = active[used], ..., active[used + count - 1]. Biases are biases[bias:], the weights of input i are those from
    weights[first + stride * i] on, scale and shift of the r-th row those from unit + places[row + r] on.
    """
    sizes = used, row, first, stride, bias, unit, old, new, row_stride, count
    _layer_tile(weights, biases, given, active, scales, shifts, places, *sizes, floor)


def _largest_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    (given,) = _pointers(context, builder, signature.args[:1], arguments[:1])
    given = builder.gep(given, [arguments[1]])
    width, least = arguments[2], _constant(-math.inf)
    found, numbers = cgutils.alloca_once(builder, _VECTOR), ir.Constant(_BITS, list(range(LANES)))
    builder.store(least, found)
    start, step = ir.Constant(_INDEX, 0), ir.Constant(_INDEX, LANES)
    with cgutils.for_range_slice(builder, start, width, step) as (at, _):
        left = builder.bitcast(_repeated(builder, builder.bitcast(builder.sub(width, at), _NUMBER)), _BITS)
        inside = builder.icmp_signed("<", numbers, left)
        _keep_larger(builder, found, builder.select(inside, _load(builder, given, at), least))
    for by in (4, 2, 1):
        turned = ir.Constant(ir.VectorType(_WORD, LANES), [(lane + by) % LANES for lane in range(LANES)])
        value = builder.load(found)
        _keep_larger(builder, found, builder.shuffle_vector(value, value, turned))
    return builder.extract_element(builder.load(found), ir.Constant(_INDEX, 0))


def _keep_larger(builder: Any, place: Any, value: Any) -> None:
    kept = builder.load(place)
    builder.store(builder.select(builder.fcmp_ordered(">", value, kept), value, kept), place)


@intrinsic  # type: ignore[untyped-decorator]
def largest(context: Any, given: Any, first: Any, width: Any) -> Any:
    """Return the largest of given[first:][:width], without NaN; reads on to the next multiple of `LANES`."""
    return types.float64(given, types.int64, types.int64), _largest_code


def _one_minus_exponential(builder: Any, t: Any) -> Any:
    """1 - exp(-t) for t >= 0, to a small relative error also where t is small."""
    t = builder.select(builder.fcmp_ordered("<", t, _constant(_LARGEST)), t, _constant(_LARGEST))
    # Adding 1.5 times 2**52 rounds, and leaves the integer in the low bits.
    shifted = _multiply_add(builder, t, _constant(-_LOG2_E), _constant(_MAGIC))
    k = builder.fsub(shifted, _constant(_MAGIC))
    bits = builder.add(builder.bitcast(shifted, _BITS), ir.Constant(_BITS, [1023] * LANES))
    power = builder.bitcast(builder.shl(bits, ir.Constant(_BITS, [52] * LANES)), _VECTOR)
    r = _subtract_product(builder, builder.fneg(t), k, _constant(_LN2_HIGH))
    r = _subtract_product(builder, r, k, _constant(_LN2_LOW))
    p = _constant(_TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        p = _multiply_add(builder, p, r, _constant(coefficient))
    return _subtract_product(builder, builder.fsub(_constant(1.0), power), power, builder.fmul(p, r))


def _add_kernels_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    anchors, ranks, points, inverse, sums = _pointers(context, builder, signature.args[:5], arguments[:5])
    first, at, side, per_h, stride, rungs = arguments[5:]
    zero, one = ir.Constant(_INDEX, 0), _constant(1.0)
    x, rank = _load(builder, anchors, zero), _load(builder, ranks, zero)
    away = [cgutils.alloca_once(builder, _VECTOR) for _ in range(POINTS)]
    for c, place in enumerate(away):
        j = builder.add(at, ir.Constant(_INDEX, c))
        point = _repeated(builder, builder.load(builder.gep(points, [j])))
        u = builder.fmul(builder.fsub(point, x), _repeated(builder, per_h))
        apart = builder.fsub(_repeated(builder, builder.sitofp(j, _NUMBER)), rank)
        counts = builder.fcmp_ordered(">", builder.fmul(apart, _repeated(builder, side)), _constant(0.0))
        builder.store(builder.select(counts, _one_minus_exponential(builder, builder.fmul(u, u)), one), place)
    with cgutils.for_range(builder, rungs) as loop:
        here = builder.add(first, builder.mul(loop.index, ir.Constant(_INDEX, LANES)))
        row = builder.gep(inverse, [builder.add(builder.mul(loop.index, stride), at)])
        total = _load(builder, sums, here)
        for c, place in enumerate(away):
            f = builder.load(place)
            factor = _repeated(builder, builder.load(builder.gep(row, [ir.Constant(_INDEX, c)])))
            total = _multiply_add(builder, builder.fsub(one, f), factor, total)
            for _ in range(2):
                f = _subtract_product(builder, builder.fadd(f, f), f, f)
            builder.store(f, place)
        builder.store(total, _vector_at(builder, sums, here), align=_ALIGN)
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def _add_kernels(
    context: Any,
    anchors: Any,
    ranks: Any,
    points: Any,
    inverse: Any,
    sums: Any,
    first: Any,
    at: Any,
    side: Any,
    per_h: Any,
    stride: Any,
    rungs: Any,
) -> Any:
    arrays, numbers = (anchors, ranks, points, inverse, sums), (types.float64, types.float64)
    return types.void(*arrays, types.int64, types.int64, *numbers, types.int64, types.int64), _add_kernels_code


@inlined
def add_kernels(
    anchors: Array,
    ranks: Array,
    points: Array,
    inverse: Array,
    sums: Array,
    first: int,
    at: int,
    side: float,
    per_h: float,
    stride: int,
    rungs: int,
) -> None:
    """Add kernels of points[at:][:POINTS] at eight anchors to sums[first + LANES * k:][:LANES], for k < rungs.

    The kernel of a point of rank j at distance d is inverse[stride * k + j] exp(-(2**k per_h d)^2) if j lies on the
    given side of the anchor's rank (1.0 above, -1.0 below), otherwise 0. What is carried from rung to rung is
    f = 1 - exp: squaring the exponential makes it f (2 - f), and its relative error does not grow. A kernel then has an
    absolute error of at most 1e-15, and is 0 below 5e-17.
    """
    _add_kernels(anchors, ranks, points, inverse, sums, first, at, side, per_h, stride, rungs)
