"""Compilation with Numba: lazy, cached on disk where a folder can be written, releasing the interpreter's lock.

Compiled loops are single-threaded; `threads.py` runs several side by side. Numba's own threading layers are not used,
because they abort after a fork or when two threads enter them at once.
"""

import contextlib
import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import FunctionCache, NullCache
from numba.extending import intrinsic

from amortized_kde.errors import SlowStartWarning, warn_caller

F = TypeVar("F", bound=Callable[..., Any])

# Allow reassociation of sums, so that they run in SIMD lanes; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}
# Rows and outputs that are summed at a time: 4 x 2 sums of eight lanes each stay in the registers.
ROWS, _VECTORS, _LANES = 4, 2, 8
TILE = _VECTORS * _LANES
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
_VECTOR = ir.VectorType(_NUMBER, _LANES)
_ALIGN = 8


@functools.cache
def _warn_uncached() -> None:
    """Say once in a process that compiled code is not kept."""
    warn_caller(
        "compiled code cannot be kept on disk, so the first calls take seconds in every process; make the package's "
        "folder or the user's cache folder writable, or set NUMBA_CACHE_DIR to a folder that is.",
        SlowStartWarning,
        through=(os.path.dirname(numba.__file__),),
    )


class _NoCache(NullCache):  # type: ignore[misc]
    """In the place of a cache, where no folder can be written."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _warn_uncached()


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, but a full disk or a damaged file of the cache costs time only."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Damaged pickles raise nearly anything; an empty index is written in their place.
            with contextlib.suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            _warn_uncached()


def _cache_for(function: Callable[..., Any]) -> Any:
    try:
        return _Cache(function)
    except RuntimeError:
        # Numba found no folder that it can write.
        return _NoCache()


def entry(function: F) -> F:
    """Compile a loop that Python calls, at its first call, and cache the machine code on disk if possible."""
    loop: Any = numba.njit(nogil=True, error_model="numpy", fastmath=_FAST)(function)
    # With NUMBA_DISABLE_JIT it is the function itself.
    if hasattr(loop, "enable_caching"):
        loop._cache = _cache_for(function)
    return cast(F, loop)


def compiled(function: F) -> F:
    """Compile a function into every loop that calls it; it has no machine code of its own.

    This makes results bitwise equal in every process: a function shared by several cached loops would be linked in
    whichever of its variants was loaded first.
    """
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True, fastmath=_FAST)(function))


def inlined(function: F) -> F:
    """Compile a scalar formula into its callers, with its operations in the order written."""
    # fastmath must be given: without it the caller's flags apply.
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
    """Return 2**k for an integral float64 k in [-1022, 1023]."""
    return _exponent_field(exponent, 64, 6755399441055744.0, 1023, 52)


@intrinsic  # type: ignore[untyped-decorator]
def power_of_two_single(context: Any, exponent: Any) -> Any:
    """Return 2**k for an integral float32 k in [-126, 127]."""
    return _exponent_field(exponent, 32, 12582912.0, 127, 23)


def _vector_at(builder: Any, base: Any, offset: Any, further: int) -> Any:
    place = builder.gep(base, [builder.add(offset, ir.Constant(_INDEX, further))])
    return builder.bitcast(place, _VECTOR.as_pointer())


def _repeated(builder: Any, value: Any) -> Any:
    """A vector with the value in every lane."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES))


def _weighted_sums_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    weights, biases, given = (
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
    )
    first, stride, bias, old, new, row_stride, count = arguments[3:]
    tiles = [(row, part) for row in range(ROWS) for part in range(_VECTORS)]
    totals = [cgutils.alloca_once(builder, _VECTOR) for _ in tiles]
    ahead = [builder.mul(row_stride, ir.Constant(_INDEX, row)) for row in range(ROWS)]
    for (_, part), total in zip(tiles, totals, strict=True):
        builder.store(builder.load(_vector_at(builder, biases, bias, part * _LANES), align=_ALIGN), total)
    with cgutils.for_range(builder, count) as loop:
        at = builder.add(first, builder.mul(loop.index, stride))
        weight = [builder.load(_vector_at(builder, weights, at, v * _LANES), align=_ALIGN) for v in range(_VECTORS)]
        place = builder.gep(given, [builder.add(old, loop.index)])
        for (row, part), total in zip(tiles, totals, strict=True):
            value = _repeated(builder, builder.load(builder.gep(place, [ahead[row]])))
            product = builder.fmul(value, weight[part], flags=("contract",))
            builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
    for (row, part), total in zip(tiles, totals, strict=True):
        place = _vector_at(builder, given, builder.add(new, ahead[row]), part * _LANES)
        builder.store(builder.load(total), place, align=_ALIGN)
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def weighted_sums(
    context: Any,
    weights: Any,
    biases: Any,
    given: Any,
    first: Any,
    stride: Any,
    bias: Any,
    old: Any,
    new: Any,
    row_stride: Any,
    count: Any,
) -> Any:
    """Write biases[bias:][:TILE] + given[old + i] * weights[first + stride * i :][:TILE] + ... to given[new:][:TILE].

    Terms are added in the order i = 0 .. count - 1, for all `ROWS` rows of `given`, which lie `row_stride` apart. All
    arrays are flat. Written in LLVM's instructions, because its vectoriser leaves the sums in memory.
    """
    return types.void(weights, biases, given, *(types.int64,) * 7), _weighted_sums_code
