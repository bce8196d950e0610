"""Run a bed, from tasks to tables, and keep a record of the run.

Each chunk is computed on one thread, several side by side, so that no score depends on their number. A kill loses at
most the chunks under way; the next run computes what is missing.
"""

import json
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import amortized_kde
from amortized_kde._files import write_file
from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.provenance import record_files
from amortized_kde.research.reproduction.columns import StoredChunk, compute_column, make_tasks, read_chunk, write_chunk
from amortized_kde.research.reproduction.exactness import write_penalties, write_quadrature
from amortized_kde.research.reproduction.protocol import SEED, Bed, Chunk, Scale, chunks_of
from amortized_kde.research.reproduction.tables import write_tables
from amortized_kde.research.tasks import World

# How, when and on which machine the tables of a folder were made.
_RECORD = "run.json"


def complete_chunk(folder: Path, chunk: Chunk, world: World, methods: Sequence[str], *, side_by_side: int = 1) -> bool:
    """Compute and store the missing columns of a chunk; return whether there were any.

    Seconds are divided by the number of chunks computed side by side, so that their sum over chunks is the wall time.
    """
    stored = read_chunk(folder, chunk)
    missing = [method for method in methods if method not in stored.columns]
    if not missing:
        return False
    clock, processor = time.perf_counter(), time.thread_time()
    tasks = make_tasks(chunk, world)
    computed = {method: compute_column(method, tasks) for method in missing}
    write_chunk(
        folder,
        chunk,
        StoredChunk(
            stored.columns | computed,
            stored.seconds + (time.perf_counter() - clock) / side_by_side,
            stored.processor_seconds + time.thread_time() - processor,
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
        The folder of results; scores are kept in its folder ``.chunks``.
    methods : sequence of str, optional
        Only these columns; by default all of the bed.
    threads : int, optional
        At most this many chunks side by side; default: all cores. The scores do not depend on it.
    report : callable
        Called in this thread with every finished chunk and whether anything of it was computed now.
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


def reproduce_bed(
    bed: Bed,
    scale: Scale,
    folder: Path,
    *,
    threads: int | None = None,
    report: Callable[[Chunk, bool], object] = lambda chunk, fresh: None,
) -> dict[str, Any]:
    """Compute what is missing of a bed, as `run_bed` does, and write its tables.

    Returns, for the record, wall and processor seconds over all runs, tasks a size, and whether scores were checked
    with 50 digits (which needs mpmath).
    """
    run_bed(bed, scale, folder, threads=threads, report=report)
    started = time.perf_counter()
    write_tables(bed, scale, folder, threads=threads)
    if bed.draws == 0:
        write_quadrature(bed, scale, folder, threads=threads)
    checked = write_penalties(bed, scale, folder)
    after = time.perf_counter() - started
    stored = [read_chunk(folder, chunk) for chunk in chunks_of(bed, scale)]
    return {
        "seconds": round(after + sum(s.seconds for s in stored), 1),
        "processor_seconds": round(sum(s.processor_seconds for s in stored), 1),
        "tasks_per_size": scale.tasks,
        "checked_with_50_digits": checked,
    }


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of a folder, empty if there is none; raise `UnreadableFileError` if it is damaged."""
    path = folder / _RECORD
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    except ValueError as error:
        raise UnreadableFileError(
            f"{path} is not a record of a run ({error}); delete it or take another --out."
        ) from None


def begin_record(folder: Path, scale: str, *, overwrite: bool) -> None:
    """Make a folder known as one of results of a scale.

    Raises
    ------
    InvalidParameterError
        If it holds results of another scale, or, without `overwrite`, files that are no results.
    """
    record = read_record(folder)
    if not record:
        # Hidden files are the scores of chunks and the lock.
        others = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
        if others and not overwrite:
            raise InvalidParameterError(
                f"{str(folder)!r} has files that are no results of this command, such as {others[0]}; give another "
                "--out, or --overwrite to replace files of the same names."
            )
        write_file(folder / _RECORD, json.dumps({"scale": scale}) + "\n")
    if record.get("scale", scale) != scale:
        raise InvalidParameterError(
            f"{folder} holds results of --scale {record['scale']}, which --scale {scale} would overwrite; take another "
            "--out."
        )


def record_part(folder: Path, part: str, *, scale: str, command: str, facts: dict[str, Any]) -> None:
    """Add a finished part to the record, with facts about it.

    The largest number of seconds is kept, because a run that finds work done by an earlier one is no measure.
    """
    record = read_record(folder)
    before = record.get("parts", {}).get(part, {})
    facts = facts | {"seconds": max(facts.get("seconds", 0.0), before.get("seconds", 0.0))}
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    parts = record.get("parts", {}) | {part: facts | {"command": command, "finished": finished}}
    record = {
        "scale": scale,
        "command": command,
        "seed": SEED,
        "version": amortized_kde.__version__,
        "python": platform.python_version(),
        "cores": available_threads(),
        "machine": _machine(),
        "parts": parts,
    }
    write_file(folder / _RECORD, json.dumps(record, indent=2) + "\n")
    record_files(folder, [_RECORD], {})


def _machine() -> str:
    """Return the processor's name, which Linux keeps in a file and others in `platform`."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
