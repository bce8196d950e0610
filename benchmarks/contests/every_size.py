"""One estimator against the classical selectors at every sample size, with known and unknown bounds.

A cell is a world, a size, and whether the bounds are known; its samples do not depend on the latter. Scores are means
over 1024 draws from each true density. With few values a single task can cost thousands of bits, so that the standard
error of a mean says little; the report therefore has the median difference too.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.research.reproduction.protocol import TRUTH, BalancedWorld
from amortized_kde.research.reproduction.tables import write_csv
from amortized_kde.research.tasks import MixtureWorld, TaskBatch, World, draw_tasks, make_pool
from contests.marron_wand import MarronWandWorld
from contests.scores import CellScores, file_name, kept_scores, mean_of_cells, verdict, weights_of
from contests.task_scores import scores_of_method

# Used nowhere else: neither in training nor in validation nor for another table.
SEED = 8_130_000_000
WORLDS: dict[str, Callable[[], World]] = {
    "families": lambda: BalancedWorld(make_pool()),
    "mixtures": lambda: MixtureWorld(32),
    "Marron-Wand": MarronWandWorld,
}
# As many tasks of each size as can be scored in an evening. The fifteen Marron-Wand densities repeat, so that a
# thousand samples of each are enough.
TASKS = dict.fromkeys((2, 3, 5, 10, 30, 100, 256), 50_000) | {1_000: 2_000, 10_000: 300, 100_000: 40, 1_000_000: 10}
SIZES = tuple(TASKS)
_MOST_TASKS = {"Marron-Wand": 15_000}
# R's count of distances takes time proportional to n^2: 14 s for a sample of 10^5.
_MOST_VALUES = {"sheather-jones-r": 10_000}
# A chunk of this many values takes some 40 MB with its draws.
_CHUNK_VALUES, _CHUNK_TASKS = 5_000_000, 2_500
# The tasks of every size begin at a multiple of this number, so that sizes share none.
_TASKS_A_SIZE = 1_000_000
_COLUMNS = (
    *("world", "bounds", "n", "method", "tasks", "score_bits", "standard_error"),
    *("difference_bits", "difference_error", "median_difference_bits", "verdict", "failures"),
)


@dataclass(frozen=True)
class SizeCell:
    """A world, a size, whether the bounds are known, and the number of tasks."""

    world: str
    n: int
    known: bool
    tasks: int

    @property
    def bounds(self) -> str:
        """``"known"`` or ``"unknown"``."""
        return "known" if self.known else "unknown"

    def chunks(self) -> list[tuple[int, int]]:
        """Return the first task and the number of tasks of every chunk."""
        step = max(1, min(_CHUNK_TASKS, _CHUNK_VALUES // self.n))
        return [(first, min(step, self.tasks - first)) for first in range(0, self.tasks, step)]

    def draw(self, world: World, first: int, count: int) -> TaskBatch:
        """Draw the tasks of a chunk."""
        start = SIZES.index(self.n) * _TASKS_A_SIZE + first
        return draw_tasks(world, count, seed=SEED + list(WORLDS).index(self.world), first=start, sizes=self.n)


Results = Mapping[SizeCell, Mapping[str, CellScores]]


def cell_of(world: str, n: int, *, known: bool, most: int) -> SizeCell:
    """Return the cell with the number of tasks that its world and size have at full scale, at most `most`."""
    return SizeCell(world, n, known, min(TASKS[n], _MOST_TASKS.get(world, most), most))


def has_column(method: str, n: int) -> bool:
    """Return whether a method can be scored at this size in reasonable time."""
    return n <= _MOST_VALUES.get(method, n)


def score_cell(
    cell: SizeCell,
    methods: Sequence[str],
    world: World,
    folder: Path,
    *,
    report: Callable[[int], object] = lambda tasks: None,
) -> dict[str, CellScores]:
    """Score methods on the tasks of a cell, chunk by chunk; chunks that are on disk are read.

    The files of a learned method carry the checksum of its weights, so that new weights are scored anew. `report`
    is called with the number of tasks after each chunk.
    """
    parts: dict[str, list[CellScores]] = {method: [] for method in methods if has_column(method, cell.n)}
    for first, count in cell.chunks():
        # Drawn once for a chunk, and only if a file is missing.
        batch = cache(partial(cell.draw, world, first, count))
        for method, columns in parts.items():
            name = file_name("every_size", cell.world, cell.n, first, count, cell.bounds, method, weights_of(method))
            columns.append(kept_scores(folder / name, partial(_score_chunk, method, batch, cell)))
        report(count)
    return {method: _join(columns) for method, columns in parts.items()}


def _score_chunk(method: str, batch: Callable[[], TaskBatch], cell: SizeCell) -> CellScores:
    return scores_of_method(method, batch(), Bounds(*batch().bounds) if cell.known else OPEN)


def _join(columns: Sequence[CellScores]) -> CellScores:
    failures: Counter[str] = Counter()
    for column in columns:
        failures.update(column.failures)
    return CellScores(np.concatenate([column.scores for column in columns], axis=1), failures)


def write_sizes(path: Path, results: Results, *, under_test: str) -> None:
    """Write a line for every cell and method; differences are the method under test minus that method."""
    lines: list[Sequence[Any]] = []
    for cell, columns in results.items():
        for method, column in columns.items():
            paired = columns[under_test].scores - column.scores
            mean, difference = mean_of_cells(column.scores), mean_of_cells(paired)
            judged = "" if method in (under_test, TRUTH) else verdict(difference)
            numbers = (mean.count, mean.value, mean.standard_error, difference.value, difference.standard_error)
            rest = (float(np.median(paired)), judged, sum(column.failures.values()))
            lines.append((cell.world, cell.bounds, cell.n, method, *numbers, *rest))
    write_csv(path, _COLUMNS, lines)


def report_sizes(results: Results, *, under_test: str, methods: Sequence[str]) -> list[str]:
    """Return lines of text: the difference to each rival in every cell, with verdicts, and the number of losses."""
    rivals = [method for method in methods if method not in (under_test, TRUTH)]
    lines: list[str] = []
    verdicts: Counter[str] = Counter()
    for cell, columns in results.items():
        mean = mean_of_cells(columns[under_test].scores)
        above = mean_of_cells(columns[under_test].scores - columns[TRUTH].scores)
        lines += ["", f"{cell.world}, bounds {cell.bounds}, n = {cell.n}: {mean.count} tasks"]
        lines.append(f"  {under_test} {mean.value:.4f}, {above.value:.4f} ± {above.standard_error:.4f} above the truth")
        for rival in rivals:
            if rival in columns:
                lines.append(_against(columns[under_test], columns[rival], rival, verdicts))
            else:
                lines.append(f"    {rival:<18} left out: its time grows with the square of n")
    return [*lines, "", f"{under_test} is worse in {verdicts['worse']} of {verdicts.total()} comparisons"]


def _against(ours: CellScores, other: CellScores, rival: str, verdicts: Counter[str]) -> str:
    difference, median = mean_of_cells(ours.scores - other.scores), float(np.median(ours.scores - other.scores))
    judged, failures = verdict(difference), sum(other.failures.values())
    verdicts[judged] += 1
    note = f"  ({failures} without an answer)" if failures else ""
    paired = f"{difference.value:+10.4f} ± {difference.standard_error:.4f}"
    return f"    {rival:<18}{paired}  {judged}; median {median:+.4f}{note}"
