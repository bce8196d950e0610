"""Real columns: splits into values to fit and values to score, mean scores of methods, and their report.

Rounded data have no density: an estimate with spikes at the ties could score as low as one likes. So a column with
ties is dequantised once, for all methods: every value is drawn uniformly from half a rounding unit on each side of it.

Scores are in bits with the column's interquartile range as the unit of length, so that columns can be compared. The
score at one outcome is capped at 40 bits for every method, and counted. A method without an answer gets Silverman's,
and is counted too. A method wins a column against a rival if its mean score is lower.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import Bounds
from amortized_kde.research.reproduction.tables import write_csv
from amortized_kde.score import LN2, Mean
from contests.real_columns import RealColumn, read_column, sizes_for
from contests.rivals import FALL_BACK, R_RIVALS, ask_r, fit_or_fall_back
from contests.scores import CAP, CellScores, mean_of_cells, verdict

MOST_SCORED = 2_000
# Relative to the largest value: sums of decimal fractions differ by rounding although they are equal.
_EQUAL = 1e-12
ZERO = "outcomes where the density is zero"
CAPPED = f"outcomes of more than {CAP:g} bits, counted as {CAP:g}"
_COLUMNS = (
    *("column", "n", "lower", "upper", "method", "splits", "score_bits", "standard_error"),
    *("difference_bits", "difference_error"),
)
# Losses of more bits than this on a column are listed.
_LISTED_LOSS = 0.1
# The fraction of columns that the method should win.
TARGET_WINS = 0.75


class Split(NamedTuple):
    """A sample to fit, ascending, and held-out values to score."""

    sample: Array
    outcomes: Array


def rounding_unit(values: Array) -> float:
    """Return the unit to which values were rounded; 0 if no two are equal.

    It is the median distance from a tied value to the nearest different one. Tied values are dense, so that most are
    one unit away from the next; the median ignores those that were recorded more finely.

    Examples
    --------
    >>> rounding_unit(np.array([1.5, 1.5, 2.0, 2.0, 2.5, 2.5, 7.0, 7.25]))
    0.5
    """
    ascending = np.sort(values)
    apart = np.diff(ascending) > _EQUAL * max(abs(ascending[0]), abs(ascending[-1]))
    distinct = ascending[np.concatenate([[True], apart])]
    counts = np.diff(np.flatnonzero(np.concatenate([[True], apart, [True]])))
    if distinct.size < 2 or counts.max() == 1:
        return 0.0
    gaps = np.concatenate([[np.inf], np.diff(distinct), [np.inf]])
    nearest = np.minimum(gaps[:-1], gaps[1:])
    return float(np.quantile(np.repeat(nearest, np.where(counts > 1, counts, 0)), 0.5, method="lower"))


def dequantise(values: Array, bounds: Bounds, *, rng: np.random.Generator) -> Array:
    """Draw every value uniformly from half a rounding unit on each side of it, inside the bounds.

    Values without ties are returned unchanged.
    """
    half = 0.5 * rounding_unit(values)
    if half == 0.0:
        return values.copy()
    return np.asarray(rng.uniform(np.maximum(values - half, bounds.lower), np.minimum(values + half, bounds.upper)))


def smooth_column(column: RealColumn) -> Array:
    """Read a column and dequantise it, with the same values at every call."""
    rng = np.random.default_rng(_digits(column))
    return dequantise(read_column(column), read_bounds(column.bounds), rng=rng)


def make_splits(column: RealColumn, values: Array, n: int, count: int, *, seed: int) -> list[Split]:
    """Split a column `count` times at random into n values to fit and at most 2000 others to score.

    Split k depends on the column's name, n, the seed and k, not on `count`.
    """
    splits = []
    for k in range(count):
        order = np.random.default_rng([_digits(column), n, seed, k]).permutation(values.size)
        chosen = values[order[: n + MOST_SCORED]]
        splits.append(Split(np.sort(chosen[:n]), chosen[n:]))
    return splits


def _digits(column: RealColumn) -> int:
    """A seed from a column's name, the same on every machine."""
    return int.from_bytes(hashlib.sha256(column.name.encode()).digest()[:8], "big")


@dataclass(frozen=True, eq=False)
class RealCell:
    """A column with a sample size, its splits, and the base-2 logarithm of the unit of length."""

    column: RealColumn
    n: int
    splits: Sequence[Split]
    log_unit: float

    @property
    def bounds(self) -> Bounds:
        """Hard limits, infinite where open."""
        return read_bounds(self.column.bounds)


def cells_of(columns: Sequence[RealColumn], splits: int, *, seed: int) -> list[RealCell]:
    """Read columns and split them at every size that they have enough values for."""
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
    """Return the mean score (cells, splits) of a method."""
    failures: Counter[str] = Counter()
    logs = _by_r(method, cells, failures) if method in R_RIVALS else _here(method, cells, failures)
    splits = [(cell, split) for cell in cells for split in cell.splits]
    means = [_mean_score(cell, log, failures) for (cell, _), log in zip(splits, logs, strict=True)]
    return CellScores(np.reshape(means, (len(cells), -1)), failures)


def _mean_score(cell: RealCell, log_densities: Array, failures: Counter[str]) -> float:
    # With the interquartile range as the unit, the density is multiplied by that range.
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
    """Score all cells in one process of R."""
    tasks = [(cell.bounds, split) for cell in cells for split in cell.splits]
    answers, messages = ask_r(
        method, [s.sample for _, s in tasks], [b for b, _ in tasks], [s.outcomes for _, s in tasks]
    )
    failures.update(messages)
    for (bounds, split), log in zip(tasks, answers, strict=True):
        if np.isnan(log).any():
            log[:] = fit_or_fall_back(FALL_BACK, split.sample, bounds, failures)(split.outcomes)
    return answers


@dataclass(frozen=True)
class RealResult:
    """Scores (cells, splits) by method, with the method under test."""

    cells: Sequence[RealCell]
    under_test: str
    scores: Mapping[str, CellScores]

    @property
    def rivals(self) -> list[str]:
        """All methods but the one under test."""
        return [method for method in self.scores if method != self.under_test]

    def rows(self, n: int | None) -> list[int]:
        """Return the indices of the cells of a size, or of all."""
        return [k for k, cell in enumerate(self.cells) if n is None or cell.n == n]

    def mean(self, method: str, rows: Sequence[int]) -> Mean:
        """Return the mean score of a method over cells."""
        return mean_of_cells(list(self.scores[method].scores[rows]))

    def difference(self, rival: str, rows: Sequence[int]) -> Mean:
        """Return the mean difference of the method under test minus a rival; negative means better."""
        return mean_of_cells(list(self.scores[self.under_test].scores[rows] - self.scores[rival].scores[rows]))

    def wins(self, rival: str, rows: Sequence[int]) -> int:
        """Return the number of cells whose mean score is lower than the rival's."""
        return sum(self.difference(rival, [k]).value < 0.0 for k in rows)


def write_real(path: Path, result: RealResult) -> None:
    """Write a line for every column, size and method."""
    write_csv(path, _COLUMNS, [_row(result, k, method) for k in range(len(result.cells)) for method in result.scores])


def _row(result: RealResult, k: int, method: str) -> Sequence[Any]:
    cell, mean, difference = result.cells[k], result.mean(method, [k]), result.difference(method, [k])
    limits = ("" if end is None else end for end in cell.column.bounds)
    numbers = (mean.count, mean.value, mean.standard_error, difference.value, difference.standard_error)
    return (cell.column.name, cell.n, *limits, method, *numbers)


def report_real(result: RealResult) -> list[str]:
    """Return lines of text: scores by column, wins against each rival, losses and failures."""
    sizes = sorted({cell.n for cell in result.cells})
    lines = [f"{k:>4}  {method}" for k, method in enumerate(result.scores)]
    lines += [line for n in sizes for line in _by_column(result, n)]
    lines += [line for n in (*sizes, None) for line in _against_rivals(result, n)]
    return [*lines, *_losses(result), *_failures(result)]


def _by_column(result: RealResult, n: int) -> list[str]:
    lines = ["", f"n = {n}: mean score by column, methods numbered as above"]
    lines.append(" " * 38 + "".join(f"{k:8d}" for k in range(len(result.scores))))
    for k in result.rows(n):
        means = "".join(f"{result.mean(method, [k]).value:8.3f}" for method in result.scores)
        lines.append(f"{result.cells[k].column.name[:37]:<38}{means}")
    return lines


def _against_rivals(result: RealResult, n: int | None) -> list[str]:
    rows = result.rows(n)
    what = "all sizes" if n is None else f"n = {n}"
    mean = result.mean(result.under_test, rows)
    lines = ["", f"{what}: {len(rows)} cells; {result.under_test} has the mean score {mean.value:.4f}"]
    for rival in result.rivals:
        difference, wins = result.difference(rival, rows), result.wins(rival, rows)
        reached = "" if wins >= TARGET_WINS * len(rows) else "   below three quarters"
        paired = f"{difference.value:+8.4f} ± {difference.standard_error:.4f} {verdict(difference):<9}"
        lines.append(f"  against {rival:<22}{paired} wins {wins:3d} = {wins / len(rows):4.0%}{reached}")
    return lines


def _losses(result: RealResult) -> list[str]:
    lines, count = [], 0
    for k, cell in enumerate(result.cells):
        lost = {rival: result.difference(rival, [k]).value for rival in result.rivals}
        lost = {rival: bits for rival, bits in sorted(lost.items(), key=lambda item: -item[1]) if bits > _LISTED_LOSS}
        count += len(lost)
        if lost:
            listing = ", ".join(f"{bits:.2f} to {rival}" for rival, bits in lost.items())
            lines.append(f"  {cell.column.name}, n = {cell.n}: {listing}")
    pairs = len(result.cells) * len(result.rivals)
    return [
        "",
        f"{result.under_test} loses more than {_LISTED_LOSS:g} bits in {count} of {pairs} cells and rivals",
        *lines,
    ]


def _failures(result: RealResult) -> list[str]:
    outcomes = sum(split.outcomes.size for cell in result.cells for split in cell.splits)
    fits = sum(len(cell.splits) for cell in result.cells)
    lines = ["", f"of {fits} fits and {outcomes} outcomes a method:"]
    for method, column in result.scores.items():
        lines += [f"  {method:<24}{count:9d}  {what}" for what, count in column.failures.items() if count]
    return lines
