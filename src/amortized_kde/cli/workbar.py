"""Bars of work done and time left, for commands that take minutes or an hour."""

import math
import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from amortized_kde.research.reproduction.protocol import Chunk
    from amortized_kde.research.training.checkpoint import Progress


class WorkBar:
    """A live line on standard error: the step, the share of the work that is done, the time left."""

    def __init__(self, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            # Standard output belongs to the results.
            console=Console(file=sys.stderr),
            redirect_stdout=False,
            speed_estimate_period=600.0,
        )
        self._total = total
        self._task = self._bar.add_task("", total=total)
        self._said: list[str] = []

    def __enter__(self) -> "WorkBar":
        self._bar.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bar.stop()
        for text in self._said:
            typer.echo(text)

    def begin(self, step: str) -> None:
        """Name what is being done."""
        self._bar.update(self._task, description=step)

    def say(self, text: str) -> None:
        """Keep a text until the bar is gone."""
        self._said.append(text)

    def advance(self, cost: float) -> None:
        """Count work that was done."""
        self._bar.advance(self._task, cost)

    def reach(self, done: float, total: float) -> None:
        """Say how much is done, and of how much."""
        self._bar.update(self._task, completed=done, total=total)

    def count(self, chunk: "Chunk", fresh: bool) -> None:
        """Count a chunk; one that an earlier run computed is taken out of the work instead, lest it look quick."""
        if fresh:
            self.advance(chunk.cost)
        else:
            self._total -= chunk.cost
            self._bar.update(self._task, total=self._total)


class TrainingBar:
    """A live line: step, score, validation, time left."""

    def __init__(self, steps: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.fields[scores]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._task = self._bar.add_task("train", total=steps, scores="")

    def __enter__(self) -> "TrainingBar":
        self._bar.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bar.stop()

    def __call__(self, progress: "Progress") -> None:
        """Show where a run stands."""
        if not progress.log:
            return
        known = progress.best_score < math.inf
        best = f"best {progress.best_score:.4f} at {progress.best_step}" if known else "not yet validated"
        self._bar.update(self._task, completed=progress.step, scores=f"score {progress.log[-1].score:.4f}, {best}")
