"""One method on one chunk of tasks: a column of scores in bits, computed and kept on disk.

A column depends on its chunk and its method only and is computed on one thread, so its bits do not depend on what
else runs. A file that cannot be read counts as missing, and so does a column whose key has changed (a model was trained
anew).
"""

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._files import make_folder, replacing
from amortized_kde._outcome import OK
from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from amortized_kde.learned.store import load_model
from amortized_kde.research.reproduction.judge import Judge
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.research.reproduction.protocol import BEDS, ORACLE, TRUTH, Chunk
from amortized_kde.research.tasks import Truths, World, draw_tasks
from amortized_kde.score import LN2
from amortized_kde.selection import Selection, find_selector

# Changes when a column of the same name would get other numbers.
_FORMAT = "1"
_FALL_BACK = "silverman"
FOLDER = ".chunks"


@dataclass(frozen=True, eq=False)
class Column:
    """Scores (tasks,) in bits, and the number of tasks for which the method had no answer."""

    scores: Array
    failures: int = 0


@dataclass(frozen=True, eq=False)
class Tasks:
    """The tasks of a chunk: what judges them, and their true densities."""

    judge: Judge
    truths: Truths


def make_tasks(chunk: Chunk, world: World) -> Tasks:
    """Draw the tasks of a chunk."""
    bed = BEDS[chunk.bed]
    batch = draw_tasks(
        world, chunk.count, seed=bed.seed, first=chunk.first_index, sizes=chunk.n, draws=bed.draws, threads=1
    )
    return Tasks(bed.judge(batch), batch.truths)


def column_key(method: str) -> str:
    """Return a key of what a column depends on besides its chunk, such as a model's weights."""
    learned = method.startswith("amortized:")
    return f"{_FORMAT}:{load_model(method.removeprefix('amortized:')).card['sha256']}" if learned else _FORMAT


def select_bandwidths(method: str, tasks: Tasks) -> Selection:
    """Return one bandwidth a task from a method or the oracle, Silverman's where the method fails, and outcome codes.

    Raises
    ------
    InvalidParameterError
        If there is no such method.
    """
    if method == ORACLE:
        h = best_bandwidths(tasks.judge, threads=1)
        return Selection(h, np.full(h.size, OK))
    samples, bounds = tasks.judge.samples, Bounds(*tasks.judge.bounds)
    h, codes, _ = find_selector(method).select(samples, bounds, threads=1)
    failed = np.isnan(h)
    if failed.any():
        h = np.where(failed, find_selector(_FALL_BACK).select(samples, bounds, threads=1).bandwidths, h)
    return Selection(h, codes)


def compute_column(method: str, tasks: Tasks) -> Column:
    """Score one method on the tasks of a chunk."""
    if method == TRUTH:
        logs = tasks.truths.logpdf(tasks.judge.points)
        return Column(np.sum(logs * tasks.judge.weights, axis=1) / -LN2)
    h, codes, _ = select_bandwidths(method, tasks)
    return Column(tasks.judge.scores(h, threads=1)[0], int((codes < OK).sum()))


def lower_oracle(columns: dict[str, Column]) -> dict[str, Column]:
    """Make the oracle no worse than any other single bandwidth, since its search can miss the lowest valley."""
    if ORACLE not in columns:
        return columns
    scores = np.min([column.scores for name, column in columns.items() if name != TRUTH], axis=0)
    return columns | {ORACLE: Column(scores)}


@dataclass(frozen=True, eq=False)
class StoredChunk:
    """The stored columns of a chunk by method, and the wall and processor seconds that they took."""

    columns: dict[str, Column] = field(default_factory=dict)
    seconds: float = 0.0
    processor_seconds: float = 0.0


def _path(folder: Path, chunk: Chunk) -> Path:
    return folder / FOLDER / f"{chunk.bed}_{chunk.n:03d}_{chunk.first:05d}_{chunk.count}.npz"


def read_chunk(folder: Path, chunk: Chunk) -> StoredChunk:
    """Read the columns of a chunk that are stored and up to date."""
    try:
        with np.load(_path(folder, chunk), allow_pickle=False) as file:
            methods = [name.removesuffix(".key") for name in file.files if name.endswith(".key")]
            columns = {
                method: Column(file[f"{method}.scores"], int(file[f"{method}.failures"]))
                for method in methods
                if str(file[f"{method}.key"]) == column_key(method)
            }
            return StoredChunk(columns, float(file["seconds"]), float(file["processor_seconds"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return StoredChunk()


def write_chunk(folder: Path, chunk: Chunk, stored: StoredChunk) -> None:
    """Write a chunk in one move, so that a kill leaves whole files only."""
    arrays: dict[str, Any] = {"seconds": stored.seconds, "processor_seconds": stored.processor_seconds}
    for method, column in stored.columns.items():
        arrays |= {
            f"{method}.key": column_key(method),
            f"{method}.scores": column.scores,
            f"{method}.failures": column.failures,
        }
    path = _path(folder, chunk)
    make_folder(path.parent)
    with replacing(path) as file:
        np.savez(file, **arrays)
