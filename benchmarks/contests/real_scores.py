"""Estimators on real columns: mean scores of outcomes that were not fitted, one a split.

Scores are in bits with the column's interquartile range as the unit of length, so that columns can be compared. An
estimate may be zero, or next to it, at an outcome: a point's score is cut at 40 bits, for every method, and counted.
A method without an answer gets Silverman's, and is counted too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import Bounds
from amortized_kde.score import LN2
from contests.r_rivals import R_RIVALS, ask_r
from contests.real_columns import RealColumn, sizes_for
from contests.real_splits import Split, make_splits, smooth_column
from contests.rival_store import CellScores
from contests.rivals import FALL_BACK, fit_or_fall_back

CAP = 40.0
ZERO = "outcomes where the density is zero"
CAPPED = f"outcomes of more than {CAP:g} bits, counted as {CAP:g}"


@dataclass(frozen=True, eq=False)
class RealCell:
    """A column with a sample size: its splits, and the base-2 logarithm of the unit of length."""

    column: RealColumn
    n: int
    splits: Sequence[Split]
    log_unit: float

    @property
    def bounds(self) -> Bounds:
        """Hard limits, infinite where open."""
        return read_bounds(self.column.bounds)


def cells_of(columns: Sequence[RealColumn], splits: int, *, seed: int) -> list[RealCell]:
    """Read columns and split them, at all sizes that they serve."""
    cells = []
    for column in columns:
        values = smooth_column(column)
        low, high = np.quantile(values, [0.25, 0.75])
        for n in sizes_for(column):
            cells.append(
                RealCell(column, n, make_splits(column, values, n, splits, seed=seed), float(np.log2(high - low)))
            )
    return cells


def score_real(method: str, cells: Sequence[RealCell]) -> CellScores:
    """Give the mean score (cells, splits) of a method."""
    failures: Counter[str] = Counter()
    logs = _by_r(method, cells, failures) if method in R_RIVALS else _here(method, cells, failures)
    splits = [(cell, split) for cell in cells for split in cell.splits]
    means = [_mean_score(cell, log, failures) for (cell, _), log in zip(splits, logs, strict=True)]
    return CellScores(np.reshape(means, (len(cells), -1)), failures)


def _mean_score(cell: RealCell, log_densities: Array, failures: Counter[str]) -> float:
    # In units of the interquartile range a density is larger, and its score lower, by the logarithm of that range.
    scores = log_densities / -LN2 - cell.log_unit
    failures[ZERO] += int(np.sum(scores == np.inf))
    failures[CAPPED] += int(np.sum(scores > CAP))
    return float(np.mean(np.minimum(scores, CAP)))


def _here(method: str, cells: Sequence[RealCell], failures: Counter[str]) -> list[Array]:
    return [
        fit_or_fall_back(method, split.sample, cell.bounds, failures)(split.outcomes)
        for cell in cells
        for split in cell.splits
    ]


def _by_r(method: str, cells: Sequence[RealCell], failures: Counter[str]) -> list[Array]:
    """All cells in one process."""
    tasks = [(cell.bounds, split) for cell in cells for split in cell.splits]
    answers, said = ask_r(method, [s.sample for _, s in tasks], [b for b, _ in tasks], [s.outcomes for _, s in tasks])
    failures.update(said)
    for (bounds, split), log in zip(tasks, answers, strict=True):
        if np.isnan(log).any():
            log[:] = fit_or_fall_back(FALL_BACK, split.sample, bounds, failures)(split.outcomes)
    return answers
