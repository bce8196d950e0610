"""Score methods on tests: ours always anew, peers only where the store has no score yet."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from contests.dimensions.beds import Task
from contests.dimensions.peers import DIMENSIONS_OF, METHODS, ORACLE, score_oracle
from contests.dimensions.r_peers import BOUNDED_ONLY, R_PEERS, score_in_r
from contests.dimensions.real_tables import REAL
from contests.dimensions.scoring import Fit, LogDensity, Score, score_fit
from contests.dimensions.store import append_scores, read_scores, scores_file

# Tests between two writes to the store.
_BATCH = 25
Progress = Callable[[int], None]


def import_fit(path: str) -> Fit:
    """Return a function given as ``module:name``: fit(X, bounds=None), to a density or a log-density."""
    module, _, name = path.partition(":")
    if not name:
        raise ValueError(f"{path!r} is no import path: write module:function.")
    fit = getattr(import_module(module), name)

    def as_log_density(sample: Any, bounds: Any = None) -> LogDensity:
        found = fit(sample) if bounds is None else fit(sample, bounds=bounds)
        return getattr(found, "logpdf", found)

    return as_log_density


def score_ours(fit: Fit, tasks: Sequence[Task], progress: Progress = lambda done: None) -> list[Score]:
    """Score one of our functions on tests."""
    scores = []
    for task in tasks:
        scores.append(score_fit(fit, task))
        progress(1)
    return scores


def score_peer(
    method: str, tasks: Sequence[Task], folder: Path, progress: Progress = lambda done: None
) -> dict[str, Score]:
    """Return the scores of a peer on tests of one bed and size, by their key; new ones are added to the store."""
    if not tasks:
        return {}
    path = scores_file(folder, tasks[0].bed, tasks[0].sample.shape[0], method)
    known = read_scores(path)
    missing = [task for task in tasks if task.key not in known]
    progress(len(tasks) - len(missing))
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        scores = answer_peer(method, batch)
        append_scores(path, zip(batch, scores, strict=True))
        known |= {task.key: score for task, score in zip(batch, scores, strict=True)}
        progress(len(batch))
    return {task.key: known[task.key] for task in tasks}


def answer_peer(method: str, tasks: Sequence[Task]) -> list[Score]:
    """Score a peer on tests, without the store."""
    if method == ORACLE:
        return [score_oracle(task) for task in tasks]
    if method in R_PEERS:
        return score_in_r(method, tasks)
    return [score_fit(METHODS[method], task) for task in tasks]


def applies(method: str, task: Task) -> bool:
    """Return whether a peer exists for the dimension of a test, and for its bounds."""
    dimensions = {**DIMENSIONS_OF, **R_PEERS}.get(method)
    if method in R_PEERS and task.bed == REAL:
        # Left out in more dimensions to save time.
        dimensions = (2,)
    has_dimension = dimensions is None or task.sample.shape[1] in dimensions
    return has_dimension and (task.bounds is not None or method not in BOUNDED_ONLY)
