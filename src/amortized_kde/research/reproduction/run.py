"""Run a bed: every chunk that is not on disk yet is computed and stored, several side by side.

A bed, a scale and a folder enter; files of scores leave. Each chunk is computed on one thread, so nothing depends on
how many there are. A kill loses at most the chunks under way, one a thread; the next run computes what is missing.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.reproduction.columns import compute_column, make_tasks
from amortized_kde.research.reproduction.protocol import Bed, Chunk, Scale, chunks_of
from amortized_kde.research.reproduction.store import Held, read_chunk, write_chunk
from amortized_kde.research.tasks import World


def complete_chunk(folder: Path, chunk: Chunk, world: World, methods: Sequence[str], *, side_by_side: int = 1) -> bool:
    """Compute the columns of a chunk that are missing, store them with those that are not, and say if there were any.

    The seconds it took are divided by the number of chunks that are computed side by side, so that their sum over all
    chunks is the time by the clock.
    """
    held = read_chunk(folder, chunk)
    missing = [method for method in methods if method not in held.columns]
    if not missing:
        return False
    clock, processor = time.perf_counter(), time.thread_time()
    tasks = make_tasks(chunk, world)
    computed = {method: compute_column(method, tasks) for method in missing}
    write_chunk(
        folder,
        chunk,
        Held(
            held.columns | computed,
            held.seconds + (time.perf_counter() - clock) / side_by_side,
            held.processor_seconds + time.thread_time() - processor,
        ),
    )
    return True


def run_bed(
    bed: Bed,
    scale: Scale,
    folder: Path,
    *,
    methods: Sequence[str] | None = None,
    threads: int | None = None,
    report: Callable[[Chunk, bool], object] = lambda chunk, fresh: None,
) -> None:
    """Compute and store all chunks of a bed that are not stored yet.

    Parameters
    ----------
    bed, scale
        What to compute.
    folder : Path
        Where results go; scores are kept in its folder ``.chunks``.
    methods : sequence of str, optional
        Only these columns; by default all of the bed.
    threads : int, optional
        So many chunks side by side; by default one a core. The scores do not depend on it.
    report : callable
        Told of every chunk that is done and whether anything of it was computed now; called in this thread.
    """
    world = bed.make_world()
    wanted = bed.methods if methods is None else [method for method in bed.methods if method in methods]
    workers = available_threads(threads)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        jobs = {
            pool.submit(complete_chunk, folder, chunk, world, wanted, side_by_side=workers): chunk
            for chunk in chunks_of(bed, scale)
        }
        try:
            for job in as_completed(jobs):
                report(jobs[job], job.result())
        finally:
            # After an interruption or an error nothing new is begun.
            pool.shutdown(wait=True, cancel_futures=True)
