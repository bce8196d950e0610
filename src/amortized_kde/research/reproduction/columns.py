"""One method on one chunk of tasks: a column of scores.

Chunks and names of methods enter, scores in bits leave, one a task. A method that has no answer for a sample gets
Silverman's bandwidth there, and is counted. A column depends on its chunk and its method only, not on the other
columns, and is computed on one thread: so it has the same bits whatever else runs.
"""

from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True, eq=False)
class Column:
    """Scores (tasks,) in bits, and for how many tasks the method had no answer."""

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
    """Name what a column depends on besides its chunk: a model's weights, for one."""
    learned = method.startswith("amortized:")
    return f"{_FORMAT}:{load_model(method.removeprefix('amortized:')).card['sha256']}" if learned else _FORMAT


def select_bandwidths(method: str, tasks: Tasks) -> Selection:
    """Ask a method, or the oracle, for one bandwidth a task; where it has none, Silverman's, and the code says why.

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
    """Let the oracle be no worse than any other single bandwidth: its search can miss the lowest valley."""
    if ORACLE not in columns:
        return columns
    scores = np.min([column.scores for name, column in columns.items() if name != TRUTH], axis=0)
    return columns | {ORACLE: Column(scores)}
