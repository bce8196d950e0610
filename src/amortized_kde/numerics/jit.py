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
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, types
from numba.core.caching import FunctionCache, NullCache
from numba.extending import intrinsic

from amortized_kde.errors import SlowStartWarning, warn_caller

# What `simd.py` writes instructions with, beside the decorators: no other module imports the compiler.
__all__ = ["HAS_AVX512", "cgutils", "compiled", "entry", "entry_in_order", "inlined", "intrinsic", "ir", "power_of_two"]
__all__ += ["power_of_two_single", "types"]

F = TypeVar("F", bound=Callable[..., Any])

# Whether the processor has 32 registers of eight float64.
HAS_AVX512 = bool(get_host_cpu_features().get("avx512f"))
# Allow reassociation of sums, so that they run in SIMD lanes; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}
# Python does not call these functions: without wrappers they are not translated to machine code by themselves.
_PART = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


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
    return _entry(function, _FAST)


def entry_in_order(function: F) -> F:
    """Compile a loop that Python calls, like `entry`, with its operations in the order written."""
    return _entry(function, {"contract"})


def _entry(function: F, fastmath: set[str]) -> F:
    loop: Any = numba.njit(nogil=True, no_cfunc_wrapper=True, error_model="numpy", fastmath=fastmath)(function)
    # With NUMBA_DISABLE_JIT it is the function itself.
    if hasattr(loop, "enable_caching"):
        loop._cache = _cache_for(function)
    return cast(F, loop)


def compiled(function: F) -> F:
    """Compile a function into every loop that calls it; it has no machine code of its own.

    This makes results bitwise equal in every process: a function shared by several cached loops would be linked in
    whichever of its variants was loaded first.
    """
    return cast(F, numba.njit(forceinline=True, fastmath=_FAST, **_PART)(function))


def inlined(function: F) -> F:
    """Compile a function into its callers, like `compiled`, with its operations in the order written."""
    # fastmath must be given: without it the caller's flags apply.
    return cast(F, numba.njit(forceinline=True, fastmath={"contract"}, **_PART)(function))


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
