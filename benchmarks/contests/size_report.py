"""Scores at every size as a table and as lines to print: one method against all others, cell by cell.

Scores by cell and method enter; a CSV file and text leave. A cell is a world, a size, and whether bounds are told. With
few values a single task can cost thousands of bits, and then the standard error of a mean says little; so the median of
the differences stands beside it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde.research.reproduction.protocol import TRUTH
from amortized_kde.research.reproduction.tables import write_csv
from contests.paired import mean_of_cells, verdict
from contests.rival_store import CellScores
from contests.size_scores import SizeCell

Results = Mapping[SizeCell, Mapping[str, CellScores]]

_COLUMNS = (
    *("world", "bounds", "n", "method", "tasks", "score_bits", "standard_error"),
    *("difference_bits", "difference_error", "median_difference_bits", "verdict", "failures"),
)


def write_sizes(path: Path, results: Results, *, under_test: str) -> None:
    """Write a line for every cell and method; differences are those of the method under test to it."""
    lines: list[Sequence[Any]] = []
    for cell, columns in results.items():
        for method, column in columns.items():
            paired = columns[under_test].scores - column.scores
            mean, difference = mean_of_cells(column.scores), mean_of_cells(paired)
            told = "" if method in (under_test, TRUTH) else verdict(difference)
            numbers = (mean.count, mean.value, mean.standard_error, difference.value, difference.standard_error)
            rest = (float(np.median(paired)), told, sum(column.failures.values()))
            lines.append((cell.world, cell.bounds, cell.n, method, *numbers, *rest))
    write_csv(path, _COLUMNS, lines)


def report_sizes(results: Results, *, under_test: str, methods: Sequence[str]) -> list[str]:
    """Give lines of text: in every cell, the difference to each rival with a verdict, and how many were bad."""
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
    told, failures = verdict(difference), sum(other.failures.values())
    verdicts[told] += 1
    note = f"  ({failures} without an answer)" if failures else ""
    paired = f"{difference.value:+10.4f} ± {difference.standard_error:.4f}"
    return f"    {rival:<18}{paired}  {told}; median {median:+.4f}{note}"
