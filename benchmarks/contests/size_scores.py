"""One estimator against the classical selectors at every sample size, with bounds that are told and not.

A world, a size and a method enter; scores at 1024 draws from each true density leave, in bits, one a task. Where bounds
are not told, the samples are the same, and nobody knows that the truth ends anywhere.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import numpy as np

from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.learned.adaptive.anchors import LARGEST_TRAINED
from amortized_kde.research.reproduction.judge import judge_by_draws
from amortized_kde.research.reproduction.protocol import TRUTH, BalancedWorld
from amortized_kde.research.tasks import MixtureWorld, TaskBatch, World, draw_tasks, make_pool
from amortized_kde.score import LN2
from amortized_kde.selection import FAILURES, SELECTORS
from contests.adaptive import adaptive_scores
from contests.marron_wand import MarronWandWorld
from contests.rival_store import CellScores, file_name, kept_scores
from contests.rivals import CLASSICAL, FALL_BACK, fit_or_fall_back

# Serves nothing else: neither training nor validation nor any other table.
SEED = 8_130_000_000
WORLDS: dict[str, Callable[[], World]] = {
    "families": lambda: BalancedWorld(make_pool()),
    "mixtures": lambda: MixtureWorld(32),
    "Marron-Wand": MarronWandWorld,
}
# Tasks of each size: as many as an evening allows. The Marron-Wand densities do not differ from task to task, so that a
# thousand samples of each are enough.
TASKS = dict.fromkeys((2, 3, 5, 10, 30, 100, 256), 50_000) | {1_000: 2_000, 10_000: 300, 100_000: 40, 1_000_000: 10}
SIZES = tuple(TASKS)
_MOST_TASKS = {"Marron-Wand": 15_000}
# R's way of counting distances takes time by n^2: 14 s for a sample of 10^5.
_MOST_VALUES = {"sheather-jones-r": 10_000}
# Values in a chunk: some 40 MB with its draws.
_CHUNK_VALUES, _CHUNK_TASKS = 5_000_000, 2_500
# Room for the tasks of one size; every size begins at a multiple of it.
_TASKS_A_SIZE = 1_000_000


@dataclass(frozen=True)
class SizeCell:
    """A world, a size, whether the bounds are told, and how many tasks."""

    world: str
    n: int
    told: bool
    tasks: int

    @property
    def bounds(self) -> str:
        """In a word, whether the bounds are told."""
        return "known" if self.told else "unknown"

    def chunks(self) -> list[tuple[int, int]]:
        """Give the first task and the number of tasks of every chunk."""
        step = max(1, min(_CHUNK_TASKS, _CHUNK_VALUES // self.n))
        return [(first, min(step, self.tasks - first)) for first in range(0, self.tasks, step)]

    def draw(self, world: World, first: int, count: int) -> TaskBatch:
        """Draw the tasks of a chunk."""
        start = SIZES.index(self.n) * _TASKS_A_SIZE + first
        return draw_tasks(world, count, seed=SEED + list(WORLDS).index(self.world), first=start, sizes=self.n)


def cell_of(world: str, n: int, *, told: bool, most: int) -> SizeCell:
    """Give the cell with as many tasks as its world and size have at full scale, but at most `most`."""
    return SizeCell(world, n, told, min(TASKS[n], _MOST_TASKS.get(world, most), most))


def has_column(method: str, n: int) -> bool:
    """Whether a method can be asked at this size in reasonable time."""
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

    A learned method's files carry the digest of all shipped models: with other weights they are computed anew. `report`
    is told how many tasks a chunk had when it is done.
    """
    parts: dict[str, list[CellScores]] = {method: [] for method in methods if has_column(method, cell.n)}
    for first, count in cell.chunks():
        # Drawn once a chunk, and only if a column is missing.
        batch = cache(partial(cell.draw, world, first, count))
        for method, columns in parts.items():
            name = file_name("every_size", cell.world, cell.n, first, count, cell.bounds, method, _weights(method))
            columns.append(kept_scores(folder / name, partial(_score_chunk, method, batch, cell)))
        report(count)
    return {method: _join(columns) for method, columns in parts.items()}


def _score_chunk(method: str, batch: Callable[[], TaskBatch], cell: SizeCell) -> CellScores:
    return scores_of_method(method, batch(), Bounds(*batch().bounds) if cell.told else OPEN)


def scores_of_method(method: str, batch: TaskBatch, bounds: Bounds, *, threads: int | None = None) -> CellScores:
    """Give the mean score (1, tasks) of a method at each task's own draws; told `bounds`, infinite where it is not.

    The bandwidths of a classical selector, and the shares of an adaptive estimator unless samples are large, are scored
    for the whole batch at once; whatever `fit` makes of another method is evaluated task by task.
    """
    if method == TRUTH:
        return CellScores(batch.true_scores()[None])
    if method in CLASSICAL:
        return _by_bandwidth(method, batch, bounds, threads)
    adaptive = SELECTORS[method].adaptive if method in SELECTORS else None
    if adaptive is not None and batch.sizes.max() <= LARGEST_TRAINED:
        lower, upper = (np.full(len(batch), end) for end in bounds)
        points = np.sort(batch.draws, axis=1)
        scores = adaptive_scores(adaptive(), batch.samples, lower, upper, points, threads=threads)
        return CellScores(scores[None])
    failures: Counter[str] = Counter()
    samples = np.split(batch.values, batch.offsets[1:-1])
    logs = [fit_or_fall_back(method, x, bounds, failures)(y) for x, y in zip(samples, batch.draws, strict=True)]
    return CellScores(np.mean(logs, axis=1)[None] / -LN2, failures)


def _by_bandwidth(method: str, batch: TaskBatch, bounds: Bounds, threads: int | None) -> CellScores:
    h, codes, _ = SELECTORS[method].select(batch.samples, bounds, threads=threads)
    failed = np.isnan(h)
    if failed.any():
        h = np.where(failed, SELECTORS[FALL_BACK].select(batch.samples, bounds, threads=threads).bandwidths, h)
    judge = replace(judge_by_draws(batch), bounds=(bounds.lower, bounds.upper))
    said = Counter(FAILURES[code] for code in codes[failed].tolist())
    return CellScores(judge.scores(h, threads=threads)[0][None], said)


def _join(columns: Sequence[CellScores]) -> CellScores:
    failures: Counter[str] = Counter()
    for column in columns:
        failures.update(column.failures)
    return CellScores(np.concatenate([column.scores for column in columns], axis=1), failures)


def _weights(method: str) -> str:
    """Digest of the shipped models, for methods that depend on them."""
    if method in (TRUTH, *CLASSICAL):
        return "0"
    digest = hashlib.sha256()
    for path in sorted(Path(str(files("amortized_kde.learned"))).rglob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
