"""Tables of scores: by bed, size and method, and inside beds by dimension and family."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from contests.dimensions.beds import Task
from contests.dimensions.scoring import Score

_WIDTH = 28


class Cell(NamedTuple):
    """Scores of a method on the tests of a bed at one size."""

    bed: str
    n: int
    method: str
    tasks: Sequence[Task]
    scores: Sequence[Score]

    def floored(self) -> Array:
        """Return the floored score of each test."""
        return np.array([score.floored for score in self.scores])

    def by_key(self) -> dict[str, float]:
        """Return the floored score of each test by its key."""
        return {task.key: score.floored for task, score in zip(self.tasks, self.scores, strict=True)}

    def raw(self) -> Array:
        """Return the raw score of each test."""
        return np.array([score.raw for score in self.scores])

    def failures(self) -> int:
        """Return the number of tests without an answer."""
        return sum(bool(score.failure) for score in self.scores)

    def zero_tests(self) -> int:
        """Return the number of tests with a point where the density is zero."""
        return sum(score.zeros > 0 for score in self.scores)


def print_cells(cells: Sequence[Cell]) -> None:
    """Print one line for each bed, size and method, then floored means by dimension and by family."""
    print(f"\n{'bed':<12}{'n':>5}  {'method':<{_WIDTH}}    mean   s.e.  median  raw mean     ms  failed, zero")
    for cell in cells:
        x, raw = cell.floored(), cell.raw()
        error = np.std(x, ddof=1) / np.sqrt(x.size) if x.size > 1 else np.nan
        milliseconds = 1000.0 * np.mean([score.seconds for score in cell.scores])
        print(
            f"{cell.bed:<12}{cell.n:>5}  {cell.method[-_WIDTH:]:<{_WIDTH}}"
            f"{np.mean(x):8.4f}{error:7.3f}{np.median(x):8.4f}{np.mean(raw):10.4f}{milliseconds:7.0f}"
            f"  {cell.failures()}, {cell.zero_tests()} of {x.size}"
        )
    _print_split(cells, "by dimension", lambda task: f"d={task.sample.shape[1]}")
    _print_split([cell for cell in cells if cell.bed != "mixtures"], "by family", lambda task: task.family)


def _print_split(cells: Sequence[Cell], title: str, label: Callable[[Task], str]) -> None:
    """Print mean floored scores of parts of each cell."""
    for bed in dict.fromkeys(cell.bed for cell in cells):
        here = [cell for cell in cells if cell.bed == bed]
        labels = list(dict.fromkeys(label(task) for task in here[0].tasks))
        if len(labels) == 1:
            continue
        heading = "".join(f"{text[:10]:>11}" for text in labels)
        print(f"\n{bed}, {title}: mean in bits\n{'n':>5}  {'method':<{_WIDTH}}{heading}")
        for cell in here:
            which = np.array([label(task) for task in cell.tasks])
            means = "".join(f"{np.mean(cell.floored()[which == text]):11.3f}" for text in labels)
            print(f"{cell.n:>5}  {cell.method[-_WIDTH:]:<{_WIDTH}}{means}")
