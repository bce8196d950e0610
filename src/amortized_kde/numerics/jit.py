"""Loops that are compiled when there is much to do, and until then run in NumPy.

Nothing here imports Numba before a loop is compiled, or loaded from the cache on disk. For one small sample, which
`workload.one_sample` announces, a loop that this process has not loaded runs uncompiled: its NumPy version (`in_numpy`)
if it has one, otherwise its own statements in Python. Both agree to 1e-12.

Compiled loops are single-threaded; `threads.py` runs several side by side.
"""

import importlib
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

from amortized_kde.numerics.workload import is_small, pays_to_compile, pays_to_load

F = TypeVar("F", bound=Callable[..., Any])

# Allow reassociation of sums, so that they run in SIMD lanes; NaN and infinity keep their meaning.
_FAST = frozenset({"reassoc", "contract", "nsz"})
_IN_ORDER = frozenset({"contract"})


class _Later:
    """A module that is imported when something of it is needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


# What `registers.py` and `simd.py` write instructions with: no other module knows the compiler.
ir: Any = _Later("llvmlite.ir")
cgutils: Any = _Later("numba.core.cgutils")
types: Any = _Later("numba.core.types")


def _compiler() -> Any:
    from amortized_kde.numerics import compiler

    return compiler


class Part:
    """A function that is compiled into the loops that use it, each time anew; in Python it runs uncompiled.

    This makes results bitwise equal in every process: a function shared by several cached loops would be linked in
    whichever of its variants was loaded first.
    """

    def __init__(self, function: Callable[..., Any], build: Callable[[Callable[..., Any]], Any]) -> None:
        self.function, self.uncompiled, self._build = function, function, build
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Run without the compiler."""
        return self.uncompiled(*args)

    def __reduce__(self) -> str:
        return self.function.__qualname__

    @cached_property
    def compiled(self) -> Any:
        """Numba's object, which compiles at its first call."""
        return self._build(self.function)

    @property
    def _numba_type_(self) -> Any:
        """What a compiled function that uses this one sees."""
        return _compiler().type_of(self.compiled)


class Loop(Part):
    """A function with machine code of its own, cached on disk, for Python to call."""

    _loaded: Any = None

    def __call__(self, *args: Any) -> Any:
        """Run compiled; for one small sample in NumPy, until loading or compiling pays."""
        loop = self._loaded
        if loop is None:
            if is_small() and not (pays_to_compile() or (pays_to_load() and self._is_cached)):
                return self.uncompiled(*args)
            loop = self._loaded = self.compiled
        return loop(*args)

    @cached_property
    def _is_cached(self) -> bool:
        """Whether there is machine code on disk."""
        return bool(_compiler().is_cached(self.compiled))


def in_numpy(loop: Callable[..., Any]) -> Callable[[F], F]:
    """Register the decorated function as what `loop`, an entry or a part of one, runs as without the compiler."""

    def register(function: F) -> F:
        assert isinstance(loop, Part)
        loop.uncompiled = function
        return function

    return register


def entry(function: F) -> F:
    """Compile a loop that Python calls, when that pays, and cache the machine code on disk if possible."""
    return cast(F, Loop(function, lambda given: _compiler().entry(given, _FAST)))


def entry_in_order(function: F) -> F:
    """Compile a loop that Python calls, like `entry`, with its operations in the order written."""
    return cast(F, Loop(function, lambda given: _compiler().entry(given, _IN_ORDER)))


def compiled(function: F) -> F:
    """Compile a function into every loop that calls it; it has no machine code of its own."""
    return cast(F, Part(function, lambda given: _compiler().part(given, _FAST)))


def inlined(function: F) -> F:
    """Compile a function into its callers, like `compiled`, with its operations in the order written."""
    # The flags must be given: without them the caller's apply.
    return cast(F, Part(function, lambda given: _compiler().part(given, _IN_ORDER)))


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make a function for compiled loops, of one that writes LLVM's instructions; it does not run without them."""
    return Part(function, lambda given: _compiler().instruction(given))


def has_avx512() -> bool:
    """Return whether the processor has 32 registers of eight float64."""
    return bool(_compiler().HAS_AVX512)


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


@intrinsic
def power_of_two(context: Any, exponent: Any) -> Any:
    """Return 2**k for an integral float64 k in [-1022, 1023]."""
    return _exponent_field(exponent, 64, 6755399441055744.0, 1023, 52)


@intrinsic
def power_of_two_single(context: Any, exponent: Any) -> Any:
    """Return 2**k for an integral float32 k in [-126, 127]."""
    return _exponent_field(exponent, 32, 12582912.0, 127, 23)
