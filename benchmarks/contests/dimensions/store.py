"""Scores of peers on disk, one line of JSON for each test, so that an interrupted run continues where it stopped."""

import json
from collections.abc import Iterable
from pathlib import Path

from contests.dimensions.beds import Task
from contests.dimensions.scoring import Score

# Increase it when a test or a peer of the same name would get other numbers.
_FORMAT = "1"


def scores_file(folder: Path, bed: str, n: int, method: str) -> Path:
    """Return the file with the scores of a method on a bed at one size."""
    safe = "".join(c if c.isalnum() else "-" for c in method)
    return folder / f"dimensions_{_FORMAT}" / f"{bed}_{n}_{safe}.jsonl"


def read_scores(path: Path) -> dict[str, Score]:
    """Return the scores in a file by the key of their test; a line that was cut off is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            entry = json.loads(line)
            key = str(entry.pop("task"))
            found[key] = Score(**entry)
        except (json.JSONDecodeError, TypeError, KeyError):
            continue
    return found


def append_scores(path: Path, scores: Iterable[tuple[Task, Score]]) -> None:
    """Add scores to the end of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for task, score in scores:
            file.write(json.dumps({"task": task.key, **score._asdict()}) + "\n")
