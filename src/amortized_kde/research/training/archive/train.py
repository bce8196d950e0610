"""Train on an archive, and score the model on held-out time."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde.errors import InvalidSampleError
from amortized_kde.learned.store import load_model, read_model
from amortized_kde.research.training.archive.pairs import HELD_OUT, TRAINING, VALIDATION, Pairs, Split, split_time
from amortized_kde.research.training.archive.problem import ArchiveProblem
from amortized_kde.research.training.archive.recipe import ArchiveRecipe, find_start
from amortized_kde.research.training.archive.scores import Report, compare, write_report
from amortized_kde.research.training.checkpoint import Progress
from amortized_kde.research.training.loop import run

# Fewest pairs in a part.
_FEWEST = 20


@dataclass(frozen=True)
class Outcome:
    """Where the training ended, how time was split, and the report, None if it stopped before the last step."""

    progress: Progress
    split: Split
    report: Report | None


def train_archive(
    recipe: ArchiveRecipe,
    pairs: Pairs,
    out: Path,
    *,
    resume: bool = False,
    report: Callable[[Progress], None] | None = None,
    stop_at: int | None = None,
) -> Outcome:
    """Train on the archive's training blocks, keep the best step on its validation blocks, score the held-out ones.

    Checkpoint, log, model and ``report.csv`` are written to `out`.

    Parameters
    ----------
    recipe : ArchiveRecipe
        From `archive_recipe`.
    pairs : Pairs
        From `read_pairs`.
    out : Path
        A folder; created if missing.
    resume : bool
        Continue from the folder's checkpoint, if it has one.
    report : callable, optional
        Called with the progress after every step.
    stop_at : int, optional
        Stop after this step, without model or report.

    Returns
    -------
    Outcome

    Raises
    ------
    InvalidSampleError
        If the archive has too few time steps, or one of the three parts too few pairs.
    InvalidParameterError
        If the folder's checkpoint belongs to another recipe or archive.
    """
    split = split_pairs(pairs)
    progress = run(ArchiveProblem(recipe, pairs, split), out, resume=resume, report=report, stop_at=stop_at)
    if progress.step < recipe.steps:
        return Outcome(progress, split, None)
    tuned, untuned = read_model(out), find_start(recipe.start) or load_model(recipe.network.output)
    stored = tuned.card.get("dressing")
    numbers = None if stored is None else np.array([stored[name] for name in ("shift", "slope", "spread")])
    found = compare(pairs, split, untuned=untuned, tuned=tuned, numbers=numbers, seed=recipe.seed)
    write_report(found, out / "report.csv")
    return Outcome(progress, split, found)


def split_pairs(pairs: Pairs) -> Split:
    """Split the archive's time, and check that every part has enough pairs.

    Raises
    ------
    InvalidSampleError
        If the archive has too few time steps, or one of the three parts too few pairs.
    """
    split = split_time(pairs.steps)
    part = split.part_of(pairs.times)
    for name, number in (("training", TRAINING), ("validation", VALIDATION), ("the report", HELD_OUT)):
        count = int(np.sum(part == number))
        if count < _FEWEST:
            raise InvalidSampleError(
                f"the blocks of time for {name} hold {count} pairs, but at least {_FEWEST} are needed."
            )
    return split
