"""The tables of a reproduction, read back, and what a verdict from them is.

A missing table is empty or None, so that a part can be drawn and judged before the rest has run.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.research.reproduction.protocol import BEDS, STEPS
from amortized_kde.research.reproduction.run import read_record

Row = dict[str, str]

# A bootstrap over C blocks understates the variance by a factor (C - 1)/C: a tenth at the most.
_FEWEST_CHUNKS = 10
# The paper's number of replicates and its limits (Appendix C.4). The seed is the paper's for training.
_REPLICATES, _LIMITS, _SEED = 1000, (0.05, 0.95), 2026


@dataclass(frozen=True)
class Curve:
    """One method along the sample sizes: means in bits, with their 5 % and 95 % bootstrap limits."""

    score: Array
    score_lower: Array
    score_upper: Array
    excess: Array
    excess_lower: Array
    excess_upper: Array
    median_excess: Array
    failures: Array


@dataclass(frozen=True)
class Difference:
    """Mean score of one method minus another's on the same tasks, along the sample sizes, with 90 % limits.

    `paired` says whether the limits are paired; if not, they are too wide.
    """

    mean: Array
    lower: Array
    upper: Array
    paired: bool

    @property
    def verdicts(self) -> Index:
        """-1 where the first is surely lower, 1 where it is surely higher, 0 where the limits include zero."""
        return np.where(self.upper < 0.0, -1, np.where(self.lower > 0.0, 1, 0)).astype(np.int64)


@dataclass(frozen=True)
class BedScores:
    """The scores of all methods on one test bed.

    `chunks` are mean scores (sizes, chunks) by method, and `weights` (sizes, chunks) their numbers of tasks; both are
    empty if there are too few chunks.
    """

    name: str
    sizes: Index
    tasks: Index
    curves: Mapping[str, Curve]
    chunks: Mapping[str, Array]
    weights: Array

    def only(self, methods: Iterable[str]) -> tuple[str, ...]:
        """Return those of the methods that the bed has."""
        return tuple(method for method in methods if method in self.curves)

    def difference(self, method: str, other: str) -> Difference:
        """Return the score of a method minus another's on the same tasks.

        The limits are the 5 % and 95 % points of 1000 paired bootstrap means over chunks of tasks, the same chunks for
        all methods. Without chunk means they are taken from the worse ends of the two bootstrap intervals of the
        excess, which makes them too wide.
        """
        a, b = self.curves[method], self.curves[other]
        mean = a.score - b.score
        if method not in self.chunks or other not in self.chunks:
            return Difference(mean, a.excess_lower - b.excess_upper, a.excess_upper - b.excess_lower, False)
        weighted = self.weights * (self.chunks[method] - self.chunks[other])
        picks = np.random.default_rng(_SEED).integers(0, weighted.shape[1], (_REPLICATES, weighted.shape[1]))
        means = weighted[:, picks].sum(axis=2) / self.weights[:, picks].sum(axis=2)
        lower, upper = np.quantile(means, _LIMITS, axis=1)
        return Difference(mean, lower, upper, True)


@dataclass(frozen=True)
class Evidence:
    """Everything that a folder of results holds."""

    folder: Path
    beds: Mapping[str, BedScores]

    def rows(self, name: str) -> list[Row]:
        """Return the rows of another table, by file name; empty if it is missing."""
        return _rows(self.folder / name)

    @cached_property
    def run(self) -> dict[str, Any]:
        """The record of how the tables were made."""
        return read_record(self.folder)


@dataclass(frozen=True)
class Verdict:
    """Our number in words, and whether the claim holds by its criterion; None if a table that it needs is missing.

    `exceptions` says where it fails, if it holds elsewhere.
    """

    number: str
    holds: bool | None
    exceptions: str = ""

    @property
    def word(self) -> str:
        """The verdict as the report prints it."""
        if self.holds is None:
            return "not run"
        if self.holds:
            return "holds"
        return f"holds except {self.exceptions}" if self.exceptions else "does not hold"


NOT_RUN = Verdict("not run", None)
Judgement = Callable[[Evidence], Verdict]


def step_indices(sizes: Index) -> list[int]:
    """Return the indices of the sizes at which trends are read."""
    return list(dict.fromkeys(int(np.abs(sizes - n).argmin()) for n in STEPS))


def list_sizes(chosen: Sequence[int], grid: Sequence[int]) -> str:
    """Write sample sizes, three or more neighbours on the grid of all sizes as a range.

    Examples
    --------
    >>> list_sizes([5, 7, 50, 75, 100], [5, 6, 7, 20, 50, 75, 100])
    '5, 7, 50 to 100'
    """
    runs: list[list[int]] = []
    for n in chosen:
        if runs and grid.index(n) == grid.index(runs[-1][-1]) + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def read_evidence(folder: Path) -> Evidence:
    """Read the tables that ``reproduce`` wrote into a folder."""
    beds = {name: bed for name in BEDS if (bed := _read_bed(folder, name)) is not None}
    return Evidence(folder, beds)


def _rows(path: Path) -> list[Row]:
    if not path.is_file():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _read_bed(folder: Path, name: str) -> BedScores | None:
    rows = _rows(folder / f"{name}.csv")
    if not rows:
        return None
    sizes = sorted({int(row["n"]) for row in rows})
    found = {(row["method"], int(row["n"])): row for row in rows}
    methods = [m for m in dict.fromkeys(row["method"] for row in rows) if all((m, n) in found for n in sizes)]
    curves = {method: _curve([found[method, n] for n in sizes]) for method in methods}
    tasks = np.array([int(found[methods[0], n]["tasks"]) for n in sizes], np.int64)
    return BedScores(
        name, np.array(sizes, np.int64), tasks, curves, *_chunks(_rows(folder / f"chunks_{name}.csv"), sizes)
    )


def _curve(rows: list[Row]) -> Curve:
    columns = (
        *("score_bits", "score_lower", "score_upper", "excess_bits", "excess_lower", "excess_upper"),
        *("median_excess_bits", "failures"),
    )
    return Curve(*(np.array([float(row[column]) for row in rows]) for column in columns))


def _chunks(rows: list[Row], sizes: list[int]) -> tuple[dict[str, Array], Array]:
    """Return mean scores (sizes, chunks) by method, where every size has the same chunks, and numbers of tasks."""
    found = {(row["method"], int(row["n"]), row["chunk"]): row for row in rows}
    names = list(dict.fromkeys(row["chunk"] for row in rows))
    methods = [
        method
        for method in dict.fromkeys(row["method"] for row in rows)
        if all((method, n, chunk) in found for n in sizes for chunk in names)
    ]
    if len(names) < _FEWEST_CHUNKS or not methods:
        return {}, np.empty((len(sizes), 0))

    def table(method: str, column: str) -> Array:
        return np.array([[float(found[method, n, chunk][column]) for chunk in names] for n in sizes])

    return {method: table(method, "score_bits") for method in methods}, table(methods[0], "tasks")
