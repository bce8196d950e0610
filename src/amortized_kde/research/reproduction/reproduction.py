"""One bed from tasks to tables: scores, tables, and the checks that belong to it.

A bed, a scale and a folder enter; CSV files and a line for the record of the run leave. Figures and words are not known
here.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amortized_kde.research.reproduction.penalties import write_penalties
from amortized_kde.research.reproduction.protocol import Bed, Chunk, Scale, chunks_of
from amortized_kde.research.reproduction.quadrature import write_quadrature
from amortized_kde.research.reproduction.run import run_bed
from amortized_kde.research.reproduction.store import read_chunk
from amortized_kde.research.reproduction.tables import write_tables


def reproduce_bed(
    bed: Bed,
    scale: Scale,
    folder: Path,
    *,
    threads: int | None = None,
    report: Callable[[Chunk, bool], object] = lambda chunk, fresh: None,
) -> dict[str, Any]:
    """Run a bed, or what is missing of it, and write its tables.

    Parameters
    ----------
    bed, scale, folder, threads, report
        As in `run_bed`.

    Returns
    -------
    dict
        For the record: seconds by the clock and of the processors over all runs that it took, tasks a size, and
        whether scores were checked with 50 digits (which needs mpmath).
    """
    run_bed(bed, scale, folder, threads=threads, report=report)
    started = time.perf_counter()
    write_tables(bed, scale, folder, threads=threads)
    if bed.draws == 0:
        write_quadrature(bed, scale, folder, threads=threads)
    checked = write_penalties(bed, scale, folder)
    after = time.perf_counter() - started
    held = [read_chunk(folder, chunk) for chunk in chunks_of(bed, scale)]
    return {
        "seconds": round(after + sum(h.seconds for h in held), 1),
        "processor_seconds": round(sum(h.processor_seconds for h in held), 1),
        "tasks_per_size": scale.tasks,
        "checked_with_50_digits": checked,
    }
