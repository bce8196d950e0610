"""How this package compiles: lazily, cached on disk, without the interpreter's lock.

Loops are single-threaded machine code; `threads.py` runs several of them side by side. Numba's own
threading layers are not used: they abort after a fork or when two threads enter them at once.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = [
    "ROWS",
    "TILE",
    "compiled",
    "entry",
    "inlined",
    "power_of_two",
    "power_of_two_single",
    "split_power_of_two",
    "weighted_sums",
]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reassociated (that is what lets them run in SIMD lanes); NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}
# Rows of a block, and outputs that are summed at a time: 4 x 2 sums of eight lanes each stay in the registers.
ROWS, _VECTORS, _LANES = 4, 2, 8
TILE = _VECTORS * _LANES
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
_VECTOR = ir.VectorType(_NUMBER, _LANES)
_ALIGN = 8


def entry(function: F) -> F:
    """Compile a loop that Python calls, at its first call, and keep the machine code on disk."""
    return cast(F, numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)(function))


def compiled(function: F) -> F:
    """Compile a function into every loop that calls it; it has no machine code of its own.

    That makes results the same bits in every process: a function that several cached loops share would be linked in
    whichever of its variants was loaded first.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True, fastmath=_FAST)(function))


def inlined(function: F) -> F:
    """Compile a scalar formula into its callers, with its operations in the order written."""
    # fastmath must be given: without it numba hands the caller's flags down.
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True, fastmath={"contract"})(function))


def _exponent_field(exponent: Any, width: int, magic: float, bias: int, mantissa: int) -> Any:
    """The signature and code generator of 2**k for an integral float k, by writing the exponent field."""
    number, integer = (ir.DoubleType(), ir.IntType(64)) if width == 64 else (ir.FloatType(), ir.IntType(32))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Adding 1.5 times 2**mantissa leaves k in the low mantissa bits: no conversion, which AVX2 lacks for 64 bits.
        shifted = builder.fadd(arguments[0], ir.Constant(number, magic))
        bits = builder.add(builder.bitcast(shifted, integer), ir.Constant(integer, bias))
        return builder.bitcast(builder.shl(bits, ir.Constant(integer, mantissa)), number)

    kind = types.float64 if width == 64 else types.float32
    return kind(kind), generate


@intrinsic  # type: ignore[untyped-decorator]
def power_of_two(context: Any, exponent: Any) -> Any:
    """Give 2**k for an integral float64 k in [-1022, 1023]."""
    return _exponent_field(exponent, 64, 6755399441055744.0, 1023, 52)


@intrinsic  # type: ignore[untyped-decorator]
def power_of_two_single(context: Any, exponent: Any) -> Any:
    """Give 2**k for an integral float32 k in [-126, 127]."""
    return _exponent_field(exponent, 32, 12582912.0, 127, 23)


def _split_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Take an offset off the bits so that the exponent field changes at sqrt(1/2) (as musl's log does)."""
    number, integer = ir.DoubleType(), ir.IntType(64)
    offset, mask = 0x3FE6A09E667F3BCD, (1 << 64) - (1 << 52)
    bits = builder.bitcast(arguments[0], integer)
    # Counted from 2^-1022, so that the field is positive.
    field = builder.sub(bits, ir.Constant(integer, offset - (1023 << 52)))
    mantissa = builder.sub(
        bits, builder.sub(builder.and_(field, ir.Constant(integer, mask)), ir.Constant(integer, 1023 << 52))
    )
    # The field as the low bits of 2^52, which is a float without a conversion.
    count = builder.or_(builder.lshr(field, ir.Constant(integer, 52)), ir.Constant(integer, 0x4330000000000000))
    power = builder.fsub(builder.bitcast(count, number), ir.Constant(number, 2.0**52 + 1023.0))
    return context.make_tuple(builder, signature.return_type, [power, builder.bitcast(mantissa, number)])


@intrinsic  # type: ignore[untyped-decorator]
def split_power_of_two(context: Any, x: Any) -> Any:
    """Give k and m, both float64, with x = 2**k m and m in [sqrt(1/2), sqrt(2)), for a normal x > 0."""
    return types.containers.UniTuple(types.float64, 2)(types.float64), _split_code


def _vector_at(builder: Any, base: Any, offset: Any, further: int) -> Any:
    place = builder.gep(base, [builder.add(offset, ir.Constant(_INDEX, further))])
    return builder.bitcast(place, _VECTOR.as_pointer())


def _repeated(builder: Any, value: Any) -> Any:
    """A vector with the value in every lane."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES))


def _weighted_sums_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    weights, biases, units, given, sums = (
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(signature.args[:5], arguments[:5], strict=True)
    )
    first, stride, bias, begin, count = arguments[5:]
    tiles = [(row, part) for row in range(ROWS) for part in range(_VECTORS)]
    totals = [cgutils.alloca_once(builder, _VECTOR) for _ in tiles]
    for (_, part), total in zip(tiles, totals, strict=True):
        builder.store(builder.load(_vector_at(builder, biases, bias, part * _LANES), align=_ALIGN), total)
    with cgutils.for_range(builder, count) as loop:
        i = builder.add(begin, loop.index)
        at = builder.add(first, builder.mul(builder.load(builder.gep(units, [i])), stride))
        weight = [builder.load(_vector_at(builder, weights, at, v * _LANES), align=_ALIGN) for v in range(_VECTORS)]
        values = builder.gep(given, [builder.mul(i, ir.Constant(_INDEX, ROWS))])
        for (row, part), total in zip(tiles, totals, strict=True):
            value = _repeated(builder, builder.load(builder.gep(values, [ir.Constant(_INDEX, row)])))
            product = builder.fmul(value, weight[part], flags=("contract",))
            builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
    for (row, part), total in zip(tiles, totals, strict=True):
        place = _vector_at(builder, sums, ir.Constant(_INDEX, row * TILE), part * _LANES)
        builder.store(builder.load(total), place, align=_ALIGN)
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def weighted_sums(
    context: Any,
    weights: Any,
    biases: Any,
    units: Any,
    given: Any,
    sums: Any,
    first: Any,
    stride: Any,
    bias: Any,
    begin: Any,
    count: Any,
) -> Any:
    """Write sums[row, :] = biases[bias:][:TILE] + given[i, row] * weights[first + stride * units[i] :][:TILE] + ...,
    added one after the other for i = begin .. begin + count - 1. All arrays are flat.

    Written in LLVM's terms, because its own vectoriser leaves the sums in memory.
    """
    return types.void(weights, biases, units, given, sums, *(types.int64,) * 5), _weighted_sums_code
