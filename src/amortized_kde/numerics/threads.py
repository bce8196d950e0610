"""Run compiled loops on several threads, and keep memory that each thread reuses."""

import math
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Integral

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import InvalidParameterError

# More pieces than threads, to balance rows of uneven cost.
_PIECES_PER_THREAD = 8
# Operations of a piece at most, about a second: an interruption waits for the pieces under way.
_LONGEST_PIECE = 1e9


def available_threads(threads: int | None = None) -> int:
    """Return the number of threads to use: `threads` if given, otherwise the cores available to this process.

    ``NUMBA_NUM_THREADS`` lowers the default, because joblib and dask set it in their workers.
    """
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
            raise InvalidParameterError(f"threads must be a whole number of at least 1, not {threads!r}.")
        return int(threads)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


def run_in_pieces(
    work: Callable[[int, int], object], count: int, *, operations: float, threads: int | None = None
) -> None:
    """Call ``work(start, stop)`` on pieces that together cover ``range(count)``, on several threads.

    `operations` estimates the total work; below 1e5 one thread does it, since starting a pool costs about as much.
    The pool lives only for this call, so that nothing is left over that a fork could break. Floating-point errors are
    ignored in all pieces, since a new thread does not inherit `numpy.errstate`. After an error or an interruption no
    new piece is begun.
    """
    limit = min(available_threads(threads), count)
    alone = limit <= 1 or operations < 1e5
    pieces = max(1 if alone else limit * _PIECES_PER_THREAD, math.ceil(min(operations / _LONGEST_PIECE, 1e6)))
    edges = [count * i // min(count, pieces) for i in range(min(count, pieces) + 1)] if count else [0, 0]
    left = deque(pairwise(edges))

    def next_piece() -> tuple[int, int] | None:
        try:
            return left.popleft()
        except IndexError:
            return None

    def take() -> None:
        with np.errstate(all="ignore"):
            while (piece := next_piece()) is not None:
                work(*piece)

    if alone:
        take()
        return
    # One job per thread, which takes piece after piece: a job for each piece would cost more than small pieces do.
    with ThreadPoolExecutor(max_workers=limit) as pool:
        try:
            for job in [pool.submit(take) for _ in range(limit)]:
                job.result()
        except BaseException:
            left.clear()
            raise


class Scratch(threading.local):
    """Named float64 arrays that each thread reuses from call to call.

    New memory costs a page fault every 4096 bytes, which the features of many small samples would pay again and again,
    most of all in processes that return memory at once, as dask's workers do.

    Examples
    --------
    >>> scratch = Scratch()
    >>> first = scratch.take("points", 3, 2)
    >>> np.shares_memory(first, scratch.take("points", 2, 2)), np.shares_memory(first, scratch.take("x", 6))
    (True, False)
    """

    def __init__(self) -> None:
        self._kept: dict[str, Array] = {}

    def take(self, name: str, *shape: int) -> Array:
        """Return an uninitialised array, valid until this thread takes the same name again."""
        size = math.prod(shape)
        kept = self._kept.get(name)
        if kept is None or kept.size < size:
            # Somewhat more, because the next run may be a little larger.
            kept = self._kept[name] = np.empty(size + size // 8)
        return kept[:size].reshape(shape)
