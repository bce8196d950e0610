"""A contest on known densities as a table, as lines to print and as a picture: one method against all rivals.

Excesses by size and method enter; a CSV file, text and a PNG file leave.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure
from amortized_kde.research.reproduction.tables import write_csv
from amortized_kde.score import Mean
from contests.contest import ORACLE
from contests.paired import mean_of_cells, verdict
from contests.rival_store import CellScores

_COLUMNS = (
    *("n", "density", "method", "replicates", "excess_bits", "standard_error"),
    *("difference_bits", "difference_error", "verdict", "failures"),
)
_ALL = "all"
# So many of the losses are listed, the largest.
_LISTED = 15
# The picture of single densities is at this size.
_DRAWN_SIZE = 100
_MARKERS = "osD^vPX*<>hp"


@dataclass(frozen=True)
class ContestResult:
    """Excess by size and method, of one of which the table is about; cells are the densities."""

    densities: Sequence[str]
    under_test: str
    excess: Mapping[int, Mapping[str, CellScores]]

    @property
    def methods(self) -> list[str]:
        """All methods, in order."""
        return list(dict.fromkeys(method for columns in self.excess.values() for method in columns))

    def mean(self, n: int, method: str, density: int | None = None) -> Mean:
        """Give the mean excess of a method, over all densities or on one."""
        return mean_of_cells(self._cells(self.excess[n][method].scores, density))

    def difference(self, n: int, method: str, density: int | None = None) -> Mean:
        """Give the paired difference of the method under test to another; negative means that it is better."""
        columns = self.excess[n]
        return mean_of_cells(self._cells(columns[self.under_test].scores - columns[method].scores, density))

    def _cells(self, scores: Array, density: int | None) -> Sequence[Array]:
        return list(scores) if density is None else [scores[density]]


def write_contest(path: Path, result: ContestResult) -> None:
    """Write a line for every size, density and method, and one over all densities."""
    write_csv(path, _COLUMNS, [line for n in result.excess for line in _lines(result, n)])


def _lines(result: ContestResult, n: int) -> list[Sequence[Any]]:
    lines: list[Sequence[Any]] = []
    cells: list[tuple[str, int | None]] = [(_ALL, None), *((name, k) for k, name in enumerate(result.densities))]
    for name, density in cells:
        for method, column in result.excess[n].items():
            mean, difference = result.mean(n, method, density), result.difference(n, method, density)
            failures = sum(column.failures.values()) if density is None else ""
            numbers = (mean.count, mean.value, mean.standard_error, difference.value, difference.standard_error)
            told = "" if method in (result.under_test, ORACLE) else verdict(difference)
            lines.append((n, name, method, *numbers, told, failures))
    return lines


def report_contest(result: ContestResult) -> list[str]:
    """Give lines of text: means and verdicts by method, failures, and the densities on which the method loses."""
    lines = []
    for n, columns in result.excess.items():
        count = result.mean(n, result.under_test).count
        lines += ["", f"n = {n}: mean excess in bits over {len(result.densities)} densities, {count} samples"]
        for method in columns:
            lines.append(_line(result, n, method))
            lines += [f"      failed {times} times: {what}" for what, times in columns[method].failures.items()]
    return lines + _losses(result)


def _line(result: ContestResult, n: int, method: str) -> str:
    mean, difference = result.mean(n, method), result.difference(n, method)
    text = f"  {method:<24}{mean.value:9.4f} ± {mean.standard_error:.4f}"
    if method == result.under_test:
        return text
    told = "knows the truth" if method == ORACLE else verdict(difference)
    return f"{text}   {result.under_test} {difference.value:+9.4f} ± {difference.standard_error:.4f}  {told}"


def _losses(result: ContestResult) -> list[str]:
    """The oracle knows the truth: to lose against it is no loss."""
    cells = [
        (result.difference(n, method, k), n, name, method)
        for n, columns in result.excess.items()
        for method in columns
        for k, name in enumerate(result.densities)
        if method not in (result.under_test, ORACLE)
    ]
    lost = sorted((cell for cell in cells if verdict(cell[0]) == "worse"), key=lambda cell: -cell[0].value)
    lines = ["", f"{result.under_test} is worse in {len(lost)} of {len(cells)} cells of one density, n and rival:"]
    for difference, n, name, method in lost[:_LISTED]:
        lines.append(f"  {difference.value:+.4f} ± {difference.standard_error:.4f}  n = {n:<5} {name:<24} {method}")
    return lines + ([f"  and {len(lost) - _LISTED} smaller ones"] if len(lost) > _LISTED else [])


def draw_contest(path: Path, result: ContestResult, *, title: str) -> None:
    """Draw mean excess against n, and beside it the excess on every density at n = 100."""
    figure = new_figure(12.0, 6.0)
    left, right = figure.subplots(1, 2)
    sizes = list(result.excess)
    n = _DRAWN_SIZE if _DRAWN_SIZE in result.excess else sizes[-1]
    places = np.arange(len(result.densities))
    for k, method in enumerate(result.methods):
        drawn = [size for size in sizes if method in result.excess[size]]
        means = [result.mean(size, method) for size in drawn]
        style = _style(method, k, result.under_test)
        values, errors = [mean.value for mean in means], [mean.standard_error for mean in means]
        left.errorbar(drawn, values, errors, label=method, capsize=2.0, **style)
        if method in result.excess[n]:
            right.plot(result.excess[n][method].scores.mean(axis=1), places, **(style | {"linestyle": ""}))
    left.set(xscale="log", yscale="log", xlabel="n", ylabel="mean excess over the true density (bits)", title=title)
    left.set_xticks(sizes, [str(size) for size in sizes])
    left.set_xticks([], minor=True)
    left.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=6, fontsize=8)
    right.set(xscale="log", xlabel="mean excess (bits)", title=f"each density, n = {n}")
    right.set_yticks(places, result.densities)
    right.invert_yaxis()
    right.grid(axis="y", alpha=0.3)
    for axis in (left.yaxis, right.xaxis):
        axis.set_major_formatter("{x:g}")
    save_figure(left, str(path))


def _style(method: str, number: int, under_test: str) -> dict[str, Any]:
    """The method under test is thick, the oracle black and dotted."""
    if method == under_test:
        return {"color": COLOURS[1], "linewidth": 2.5, "marker": "o", "markersize": 8, "zorder": 5}
    if method == ORACLE:
        return {"color": "black", "linestyle": ":", "marker": "|"}
    others = [colour for k, colour in enumerate(COLOURS) if k not in (1, 6)]
    return {"color": others[number % 5], "marker": _MARKERS[number % 12], "linewidth": 1.0, "markersize": 5}
