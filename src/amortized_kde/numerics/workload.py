"""How much there is to do: one small sample, for which nothing is compiled, or more."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# One sample of up to this many values takes milliseconds in NumPy; Numba takes a third of a second to import.
SMALL = 1000
# Small samples of a process, counted in values, after which loading loops from disk, or compiling them, pays: about
# what NumPy does in the half a second, or the five seconds, that this takes.
_LOADED_FROM, _COMPILED_FROM = 20_000, 60_000


class _Work(threading.local):
    """Whether this thread is at work on one small sample, and the number of values of all of these so far."""

    small = False
    values = 0


_work = _Work()


@contextmanager
def one_sample(n: int) -> Iterator[None]:
    """Let loops that are not loaded yet run in NumPy, if one sample of n values is all that they get."""
    before = _work.small
    _work.small = n <= SMALL
    if _work.small and not before:
        _work.values += n
    try:
        yield
    finally:
        _work.small = before


def is_small() -> bool:
    """Return whether one small sample is all that there is to do."""
    return _work.small


def pays_to_load() -> bool:
    """Return whether there have been enough small samples to load machine code from disk."""
    return _work.values > _LOADED_FROM


def pays_to_compile() -> bool:
    """Return whether there have been enough small samples to compile their loops."""
    return _work.values > _COMPILED_FROM
