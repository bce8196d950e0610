"""Compilation with Numba, cached on disk where a folder can be written, releasing the interpreter's lock.

Only `jit.py` imports this, when the first loop is compiled or loaded. Numba's own threading layers are not used,
because they abort after a fork or when two threads enter them at once.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Set
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_features
from numba.core.caching import FunctionCache, NullCache
from numba.core.registry import cpu_target

from amortized_kde.errors import SlowStartWarning, warn_caller

# Whether the processor has 32 registers of eight float64.
HAS_AVX512 = bool(get_host_cpu_features().get("avx512f"))
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


@functools.cache
def _announce() -> None:
    """Say once in a process why a call takes seconds."""
    if sys.stderr is not None:
        print("amortized-kde: compiling numerical loops, once per installation (some seconds) …", file=sys.stderr)


class _NoCache(NullCache):  # type: ignore[misc]
    """In the place of a cache, where no folder can be written."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _warn_uncached()

    def has(self) -> bool:
        return False


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, but a full disk or a damaged file of the cache costs time only."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except Exception:
            # Damaged pickles raise nearly anything; an empty index is written in their place.
            with contextlib.suppress(Exception):
                self.flush()
        if found is None:
            _announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            _warn_uncached()

    def has(self) -> bool:
        """Return whether there is machine code of this function, for arguments of some types."""
        try:
            return bool(self._cache_file._load_index())
        except Exception:
            return False


def _cache_for(function: Callable[..., Any]) -> Any:
    try:
        return _Cache(function)
    except RuntimeError:
        # Numba found no folder that it can write.
        return _NoCache()


def entry(function: Callable[..., Any], fastmath: Set[str]) -> Any:
    """Return a function that Numba compiles at its first call, or loads from disk."""
    loop: Any = numba.njit(nogil=True, no_cfunc_wrapper=True, error_model="numpy", fastmath=set(fastmath))(function)
    # With NUMBA_DISABLE_JIT it is the function itself.
    if hasattr(loop, "enable_caching"):
        loop._cache = _cache_for(function)
    return loop


def part(function: Callable[..., Any], fastmath: Set[str]) -> Any:
    """Return a function that Numba compiles into its callers; Python must not call it, which would end the process."""
    return numba.njit(forceinline=True, fastmath=set(fastmath), **_PART)(function)


def instruction(function: Callable[..., Any]) -> Any:
    """Return a function for compiled loops, of one that returns a signature and a generator of code."""
    return numba.extending.intrinsic(function)


def type_of(built: Any) -> Any:
    """Return the type that the compiler gives to a function."""
    # An intrinsic may be newer than what the context has read.
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(built)


def is_cached(loop: Any) -> bool:
    """Return whether machine code of an entry is on disk."""
    return hasattr(loop, "_cache") and bool(loop._cache.has())
