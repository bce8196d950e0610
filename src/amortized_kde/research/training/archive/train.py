"""Train on an archive: decide on the earlier part, score the later one, and fit what was decided on all of it."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._files import locked
from amortized_kde._types import Flags
from amortized_kde.errors import InvalidSampleError
from amortized_kde.learned.adaptive.features import CONVENTIONS
from amortized_kde.research.training.archive.decide import Decisions, Fitted, decide, fit
from amortized_kde.research.training.archive.design import Design
from amortized_kde.research.training.archive.occurrence import check_atoms
from amortized_kde.research.training.archive.pairs import Pairs, folds_of
from amortized_kde.research.training.archive.recipe import ArchiveRecipe
from amortized_kde.research.training.archive.report import Report, compare, draw_report, write_report
from amortized_kde.research.training.checkpoint import CARD, LOG, WEIGHTS, write_log, write_model

# The last of this many runs of days is held out for the report.
_PARTS = 5
# Fewest days, so that every block of time has one, and pairs in the earlier and the later part.
_FEWEST_DAYS, _FEWEST_FITTED, _FEWEST_SCORED = 10, 50, 10
REPORT, REPORT_PICTURE = "report.csv", "report.png"
FILES = (CARD, WEIGHTS, REPORT, REPORT_PICTURE, LOG)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was decided, the model fitted on all pairs, the report on held-out pairs, and which those were."""

    decisions: Decisions
    fitted: Fitted
    report: Report
    held_out: Flags


def train_archive(
    recipe: ArchiveRecipe, pairs: Pairs, out: Path, *, say: Callable[[str], None] | None = None
) -> Outcome:
    """Train on the earlier four fifths of the days, score the last fifth, and fit the same again on all of them.

    The model, ``report.csv``, ``report.png`` and the log of the tuning are written to `out`, when all are there.

    Parameters
    ----------
    recipe : ArchiveRecipe
        From `archive_recipe`.
    pairs : Pairs
        From `read_pairs`.
    out : Path
        A folder; created if missing.
    say : callable, optional
        Called with a sentence about every decision.

    Returns
    -------
    Outcome

    Raises
    ------
    InvalidSampleError
        If the archive has too few days or pairs.
    InvalidParameterError
        If the observations of the earlier part are never, or always, at an atom.
    UnwritableFileError
        If the folder cannot be written to, or another process writes to it.
    """
    late = held_out(pairs)
    early, scored = pairs.where(~late), pairs.where(late)
    if early.atoms:
        check_atoms(Design(early))
    decided = decide(early, recipe, say=say)
    report = compare(recipe, decided, early, scored, fit(early, recipe, decided))
    recent = pairs
    if recipe.window is not None:
        recent = pairs.where(pairs.days > pairs.days.max() - recipe.window)
    fitted = fit(recent, recipe, decided)
    with locked(out, FILES):
        write_log(out, list(decided.log))
        write_report(report, out / REPORT)
        draw_report(report, out / REPORT_PICTURE)
        write_model(out, dict(fitted.model.arrays), _card(recipe, decided, fitted, report))
    return Outcome(decided, fitted, report, late)


def held_out(pairs: Pairs) -> Flags:
    """Return which pairs are of the last fifth of the days.

    Raises
    ------
    InvalidSampleError
        If there are too few days or pairs.
    """
    days = np.unique(pairs.days).size
    if days < _FEWEST_DAYS:
        raise InvalidSampleError(
            f"the archive has {days} days with forecasts and observations, too few to hold some out: at least "
            f"{_FEWEST_DAYS} are needed."
        )
    late = np.asarray(folds_of(pairs.days, _PARTS) == _PARTS - 1)
    for what, count, fewest in (("earlier", (~late).sum(), _FEWEST_FITTED), ("last", late.sum(), _FEWEST_SCORED)):
        if count < fewest:
            raise InvalidSampleError(
                f"the {what} days of the archive hold {count} pairs, but at least {fewest} are needed."
            )
    return late


def _card(recipe: ArchiveRecipe, decided: Decisions, fitted: Fitted, report: Report) -> dict[str, Any]:
    last = report.rows[-1]
    card: dict[str, Any] = {
        "name": recipe.name,
        "recipe": recipe.as_card(),
        "seed": recipe.seed,
        "kept_step": decided.steps,
        "last_step": decided.log[-1].step if decided.log else 0,
        "validation_score_bits": last.bits,
        "package_version": importlib.metadata.version("amortized-kde"),
        "command": recipe.command,
        "conventions": CONVENTIONS,
        "decisions": list(decided.reasons),
        "report": {"verdict": report.verdict, "rows": [asdict(row) for row in report.rows]},
    }
    if fitted.calibration is not None:
        card["calibration"] = fitted.calibration.as_card()
    return card
