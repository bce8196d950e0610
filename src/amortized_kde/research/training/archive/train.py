"""The whole way from pairs to a model and its report."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde.errors import InvalidSampleError
from amortized_kde.learned.store import load_model, read_model
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.archive.recipe import ArchiveRecipe, find_start
from amortized_kde.research.training.archive.report import Report, compare, write_report
from amortized_kde.research.training.archive.source import ArchiveSource
from amortized_kde.research.training.archive.split import HELD_OUT, TRAINING, VALIDATION, Split, split_time
from amortized_kde.research.training.checkpoint import Progress
from amortized_kde.research.training.ladder.loop import train_ladder

# A part with fewer pairs says nothing.
_FEWEST = 20


@dataclass(frozen=True)
class Outcome:
    """Where the training ended, how time was split, and the report; None if it left off before the last step."""

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
    """Train on the archive's training blocks, keep the best step by its validation blocks, and judge on held-out ones.

    Checkpoint, log, model and ``report.csv`` are written to `out`; options as in `training.loop.train`.

    Raises
    ------
    InvalidSampleError
        If the archive has too few time steps, or a part of it too few pairs.
    """
    split = split_pairs(pairs)
    source = ArchiveSource(recipe, pairs, split)
    progress = train_ladder(recipe, out, source=source, resume=resume, report=report, stop_at=stop_at)
    if progress.step < recipe.steps:
        return Outcome(progress, split, None)
    tuned, untuned = read_model(out), find_start(recipe.start) or load_model(recipe.network.output)
    stored = tuned.card.get("dressing")
    numbers = None if stored is None else np.array([stored[name] for name in ("shift", "slope", "spread")])
    found = compare(pairs, split, untuned=untuned, tuned=tuned, numbers=numbers, seed=recipe.seed)
    write_report(found, out / "report.csv")
    return Outcome(progress, split, found)


def split_pairs(pairs: Pairs) -> Split:
    """Split the archive's time, and see that every part has pairs.

    Raises
    ------
    InvalidSampleError
        If the archive has too few time steps, or a part of it too few pairs.
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
