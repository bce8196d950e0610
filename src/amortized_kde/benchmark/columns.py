"""One method on one chunk of tasks: a column of scores.

Chunks and names of methods enter, scores in bits leave, one a task. A method that has no answer for a sample gets
Silverman's bandwidth there, and is counted. A column depends on its chunk and its method only, not on the other
columns, and is computed on one thread: so it has the same bits whatever else runs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from amortized_kde.benchmark.judge import Judge
from amortized_kde.benchmark.oracle import best_bandwidths
from amortized_kde.benchmark.protocol import BEDS, ORACLE, TRUTH, Chunk
from amortized_kde.domain import Bounds
from amortized_kde.models import load_model
from amortized_kde.score import LN2
from amortized_kde.selectors import SELECTORS
from amortized_kde.tasks import Truths, World, draw_tasks

__all__ = ["Column", "Tasks", "column_key", "compute_column", "lower_oracle", "make_tasks"]

Array = NDArray[np.float64]

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


def compute_column(method: str, tasks: Tasks) -> Column:
    """Score one method on the tasks of a chunk."""
    return _SPECIAL[method](tasks) if method in _SPECIAL else _selected(method, tasks)


def _truth(tasks: Tasks) -> Column:
    logs = tasks.truths.logpdf(tasks.judge.points)
    return Column(np.sum(logs * tasks.judge.weights, axis=1) / -LN2)


def _oracle(tasks: Tasks) -> Column:
    return Column(tasks.judge.scores(best_bandwidths(tasks.judge, threads=1), threads=1)[0])


def _selected(method: str, tasks: Tasks) -> Column:
    samples, bounds = tasks.judge.samples, Bounds(*tasks.judge.bounds)
    h = SELECTORS[method].select(samples, bounds, threads=1).bandwidths
    failed = np.isnan(h)
    if failed.any():
        h = np.where(failed, SELECTORS[_FALL_BACK].select(samples, bounds, threads=1).bandwidths, h)
    return Column(tasks.judge.scores(h, threads=1)[0], int(failed.sum()))


_SPECIAL: dict[str, Callable[[Tasks], Column]] = {TRUTH: _truth, ORACLE: _oracle}


def lower_oracle(columns: dict[str, Column]) -> dict[str, Column]:
    """Let the oracle be no worse than any other single bandwidth: its search can miss the lowest valley."""
    if ORACLE not in columns:
        return columns
    scores = np.min([column.scores for name, column in columns.items() if name != TRUTH], axis=0)
    return columns | {ORACLE: Column(scores)}
