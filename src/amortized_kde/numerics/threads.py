"""Compiled loops on several cores: what enters is a piece of work over a range, split and joined here."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Integral

from amortized_kde.errors import InvalidParameterError

# More pieces than threads, so that uneven rows even out.
_PIECES_PER_THREAD = 8


def available_threads(threads: int | None = None) -> int:
    """Say how many threads to use: the limit given, else the cores of this process.

    ``NUMBA_NUM_THREADS`` lowers it too, because joblib and dask set it in their workers.
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

    `operations` estimates the whole work; below 10^5 one thread does it, for a pool costs about as much.
    The pool lives only for this call, so that nothing is left over which a fork could break.
    """
    limit = min(available_threads(threads), count)
    if limit <= 1 or operations < 1e5:
        work(0, count)
        return
    pieces = min(count, limit * _PIECES_PER_THREAD)
    edges = [count * i // pieces for i in range(pieces + 1)]
    left = iter(list(pairwise(edges)))

    def take() -> None:
        for start, stop in left:
            work(start, stop)

    # One job a thread, which takes piece after piece: a job for each piece would cost more than small pieces do.
    with ThreadPoolExecutor(max_workers=limit) as pool:
        for job in [pool.submit(take) for _ in range(limit)]:
            job.result()
