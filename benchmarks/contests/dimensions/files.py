"""What a full run writes: a table by bed, size, part and method; the claims; and a figure."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._files import write_file
from amortized_kde.density.plotting import new_figure, save_figure
from amortized_kde.research.reproduction.tables import write_csv
from contests.dimensions.judgement import Contest, judgement_text
from contests.dimensions.peers import ORACLE
from contests.dimensions.report import Cell

NAMES = ("dimensions.csv", "dimensions.md", "dimensions.png")
_COLUMNS = (
    *("bed", "n", "part", "method", "tests", "mean_bits", "standard_error", "median_bits", "raw_mean_bits"),
    *("difference_bits", "difference_error", "failures", "tests_with_zeros", "milliseconds"),
)
_MARKERS = "osD^vPX*<>hp"


def write_run(folder: Path, cells: Sequence[Cell], under_test: str) -> None:
    """Write the files of a run; differences are of the method under test minus each method, on common tests."""
    folder.mkdir(parents=True, exist_ok=True)
    contest = Contest(cells, under_test)
    write_csv(folder / NAMES[0], _COLUMNS, [row for cell in cells for row in _rows(contest, cell)])
    write_file(folder / NAMES[1], judgement_text(contest))
    _draw(folder / NAMES[2], cells, under_test)


def _rows(contest: Contest, cell: Cell) -> Iterator[Sequence[Any]]:
    """Rows of all tests of a cell, of each dimension, and of each family."""
    dimensions = np.array([f"d = {task.sample.shape[1]}" for task in cell.tasks])
    families = np.array([task.family for task in cell.tasks])
    parts = {"all": np.ones(len(cell.tasks), dtype=bool)}
    for labels in (dimensions, families):
        if len(set(labels)) > 1:
            parts |= {str(label): labels == label for label in dict.fromkeys(labels)}
    for part, chosen in parts.items():
        yield _row(contest, cell, part, [k for k in range(len(cell.tasks)) if chosen[k]])


def _row(contest: Contest, cell: Cell, part: str, chosen: Sequence[int]) -> Sequence[Any]:
    scores, keys = [cell.scores[k] for k in chosen], [cell.tasks[k].key for k in chosen]
    floored, raw = np.array([s.floored for s in scores]), np.array([s.raw for s in scores])
    ours = contest.scores(cell.bed, cell.n)
    differences = np.array([ours[key] - value for key, value in zip(keys, floored, strict=True) if key in ours])
    return (
        *(cell.bed, cell.n, part, cell.method, len(chosen)),
        *(np.mean(floored), _error(floored), np.median(floored), np.mean(raw)),
        *((np.mean(differences), _error(differences)) if differences.size else ("", "")),
        *(sum(bool(s.failure) for s in scores), sum(s.zeros > 0 for s in scores)),
        1000.0 * np.mean([s.seconds for s in scores]),
    )


def _error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def _draw(path: Path, cells: Sequence[Cell], under_test: str) -> None:
    """Mean floored scores over n, one panel for each bed."""
    beds = list(dict.fromkeys(cell.bed for cell in cells))
    figure = new_figure(4.2 * len(beds), 4.4)
    methods = list(dict.fromkeys(cell.method for cell in cells))
    for column, bed in enumerate(beds):
        axes = figure.add_subplot(1, len(beds), column + 1)
        for number, method in enumerate(methods):
            mine = sorted((c.n, float(np.mean(c.floored()))) for c in cells if (c.bed, c.method) == (bed, method))
            if not mine or not _in_every_dimension(cells, bed, method):
                continue
            bold = method == under_test
            axes.plot(
                *zip(*mine, strict=True),
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                color="black" if bold else f"C{number % 10}",
                linewidth=2.2 if bold else 1.0,
                linestyle="--" if method == ORACLE else "-",
                label=method,
            )
        axes.set_xscale("log")
        sizes = sorted({cell.n for cell in cells if cell.bed == bed})
        axes.set_xticks(sizes, [str(n) for n in sizes])
        axes.set_xticks([], minor=True)
        axes.set_title(bed)
        axes.set_xlabel("n")
        if bed != "real":
            axes.set_yscale("log")
        if column == 0:
            axes.set_ylabel("mean KL in bits; real: excess over a normal model")
    figure.axes[0].legend(fontsize=7)
    save_figure(figure.axes[0], str(path))


def _in_every_dimension(cells: Sequence[Cell], bed: str, method: str) -> bool:
    """Whether a method has as many tests as any: means over other dimensions cannot be compared."""
    counts = {cell.method: len(cell.tasks) for cell in cells if cell.bed == bed}
    return counts[method] == max(counts.values())
