"""How this package compiles: lazily, cached on disk, without the interpreter's lock.

Loops are single-threaded machine code; `threads.py` runs several of them side by side. Numba's own
threading layers are not used: they abort after a fork or when two threads enter them at once.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = ["compiled", "entry", "inlined", "power_of_two", "power_of_two_single"]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reassociated (that is what lets them run in SIMD lanes); NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}


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
