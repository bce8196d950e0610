"""What the commands print: facts in lines or as JSON, and progress bars."""

import json
import math
import sys
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from amortized_kde.research.reproduction.protocol import Chunk
    from amortized_kde.research.training.checkpoint import Progress

# Labels of facts whose names do not read well.
_LABELS = {"interval_90": "90 % interval", "files": "wrote"}
# Characters that a terminal obeys instead of showing.
_CONTROL = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))


def print_json(facts: dict[str, Any]) -> None:
    """Print facts as JSON, with null for NaN and infinity."""
    typer.echo(json.dumps(_finite(facts), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_facts(facts: dict[str, Any]) -> None:
    """Print one fact per line, with aligned labels."""
    labels = {name: _LABELS.get(name, name.replace("_", " ")) for name in facts if facts[name] != []}
    width = max(map(len, labels.values()))
    for name, label in labels.items():
        # Names of files and columns must not move the cursor or ring the bell; in a pipe nothing is bold.
        words = _in_words(facts[name]).translate(_CONTROL)
        typer.echo(f"{typer.style(label.ljust(width), bold=True)}  {words}")


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return " to ".join(map(_in_words, value)) if any(end is not None for end in value) else "none"
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _bar(label: str, state: str, **options: Any) -> Any:
    """Return a progress bar with a label before it, and state and times after it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), TextColumn(state), TimeElapsedColumn())
    return Progress(*columns, TextColumn("left"), TimeRemainingColumn(), **options)


class WorkBar:
    """A line on standard error: the step, the fraction of the work that is done, the time left."""

    def __init__(self, total: float) -> None:
        from rich.console import Console

        self._bar = _bar(
            "{task.description}",
            "{task.percentage:.0f} %",
            # Standard output is for results.
            console=Console(file=sys.stderr),
            redirect_stdout=False,
            speed_estimate_period=600.0,
        )
        self._total = total
        self._task = self._bar.add_task("", total=total)
        self._texts: list[str] = []

    def __enter__(self) -> "WorkBar":
        self._bar.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bar.stop()
        for text in self._texts:
            typer.echo(text)

    def begin(self, step: str) -> None:
        """Show the name of a step."""
        self._bar.update(self._task, description=step)

    def say(self, text: str) -> None:
        """Print a text after the bar is gone."""
        self._texts.append(text)

    def advance(self, cost: float) -> None:
        """Add to the work that is done."""
        self._bar.advance(self._task, cost)

    def reach(self, done: float, total: float) -> None:
        """Set the work that is done, and all of it."""
        self._bar.update(self._task, completed=done, total=total)

    def count(self, chunk: "Chunk", fresh: bool) -> None:
        """Add a chunk; one from an earlier run is taken out of the work, so that the time left stays right."""
        if fresh:
            self.advance(chunk.cost)
        else:
            self._total -= chunk.cost
            self._bar.update(self._task, total=self._total)


class TrainingBar:
    """A line with step, score, validation and time left."""

    def __init__(self, steps: int) -> None:
        self._bar = _bar("step {task.completed:.0f}/{task.total:.0f}", "{task.fields[scores]}")
        self._task = self._bar.add_task("train", total=steps, scores="")

    def __enter__(self) -> "TrainingBar":
        self._bar.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bar.stop()

    def __call__(self, progress: "Progress") -> None:
        """Show the progress of a run."""
        if not progress.log:
            return
        validated = progress.best_score < math.inf
        best = f"best {progress.best_score:.4f} at {progress.best_step}" if validated else "not yet validated"
        self._bar.update(self._task, completed=progress.step, scores=f"score {progress.log[-1].score:.4f}, {best}")
