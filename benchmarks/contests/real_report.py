"""Scores on real columns as a table and as lines to print: one method against all rivals, column by column.

Scores by method enter; a CSV file and text leave. A method wins a column against a rival if its mean score is lower.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amortized_kde.research.reproduction.tables import write_csv
from amortized_kde.score import Mean
from contests.paired import mean_of_cells, verdict
from contests.real_scores import RealCell
from contests.rival_store import CellScores

_COLUMNS = (
    *("column", "n", "lower", "upper", "method", "splits", "score_bits", "standard_error"),
    *("difference_bits", "difference_error"),
)
# A loss of more than so many bits on a column is listed.
_LOSS = 0.1
# The share of columns to be won.
TARGET = 0.75


@dataclass(frozen=True)
class RealResult:
    """Scores (cells, splits) by method, of one of which the table is about."""

    cells: Sequence[RealCell]
    under_test: str
    scores: Mapping[str, CellScores]

    @property
    def rivals(self) -> list[str]:
        """All methods but the one under test."""
        return [method for method in self.scores if method != self.under_test]

    def rows(self, n: int | None) -> list[int]:
        """Give the cells of a size, or all."""
        return [k for k, cell in enumerate(self.cells) if n is None or cell.n == n]

    def mean(self, method: str, rows: Sequence[int]) -> Mean:
        """Give the mean score of a method over cells."""
        return mean_of_cells(list(self.scores[method].scores[rows]))

    def difference(self, rival: str, rows: Sequence[int]) -> Mean:
        """Give the mean difference to a rival over cells; negative means that the method is better."""
        return mean_of_cells(list(self.scores[self.under_test].scores[rows] - self.scores[rival].scores[rows]))

    def wins(self, rival: str, rows: Sequence[int]) -> int:
        """Give the number of cells whose mean score is lower than the rival's."""
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
    """Give lines of text: the score of every method on every column, wins against each rival, losses, failures."""
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
        reached = "" if wins >= TARGET * len(rows) else "   below three quarters"
        paired = f"{difference.value:+8.4f} ± {difference.standard_error:.4f} {verdict(difference):<9}"
        lines.append(f"  against {rival:<22}{paired} wins {wins:3d} = {wins / len(rows):4.0%}{reached}")
    return lines


def _losses(result: RealResult) -> list[str]:
    lines, count = [], 0
    for k, cell in enumerate(result.cells):
        lost = {rival: result.difference(rival, [k]).value for rival in result.rivals}
        lost = {rival: bits for rival, bits in sorted(lost.items(), key=lambda item: -item[1]) if bits > _LOSS}
        count += len(lost)
        if lost:
            listing = ", ".join(f"{bits:.2f} to {rival}" for rival, bits in lost.items())
            lines.append(f"  {cell.column.name}, n = {cell.n}: {listing}")
    pairs = len(result.cells) * len(result.rivals)
    return ["", f"{result.under_test} loses more than {_LOSS:g} bits in {count} of {pairs} cells and rivals", *lines]


def _failures(result: RealResult) -> list[str]:
    outcomes = sum(split.outcomes.size for cell in result.cells for split in cell.splits)
    fits = sum(len(cell.splits) for cell in result.cells)
    lines = ["", f"of {fits} fits and {outcomes} outcomes a method:"]
    for method, column in result.scores.items():
        lines += [f"  {method:<24}{count:9d}  {what}" for what, count in column.failures.items() if count]
    return lines
