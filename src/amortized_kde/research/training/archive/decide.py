"""Decide and fit all parts of a model on pairs: calibration, kernel or network, tuning; then fit them again on others.

Every decision is made by scores of blocks of time that were not fitted, inside the pairs given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from amortized_kde._types import Array, Flags
from amortized_kde.ensembles.calibration import Calibration
from amortized_kde.ensembles.options import Options
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import load_model
from amortized_kde.research.training.archive.calibrate import (
    FOLDS,
    WORTH,
    Choice,
    choose,
    fit_calibration,
    fold_calibrations,
)
from amortized_kde.research.training.archive.pairs import Pairs, folds_of
from amortized_kde.research.training.archive.predictive import Trained, cell_log_density
from amortized_kde.research.training.archive.recipe import SCRATCH, ArchiveRecipe, find_start
from amortized_kde.research.training.checkpoint import LogRow

if TYPE_CHECKING:
    from amortized_kde.research.training.archive.problem import Moved

# Probabilities of the kernel, and spreads of the moved members relative to that of the kernel, that are tried.
_SHARES, _STRETCHES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0), (0.8, 0.9, 1.0)
# With more than this share of the kernel, tuning the network cannot pay.
_TUNED_BELOW = 0.75
# Pairs on which the kernel's share is decided.
_MOST_PAIRS = 6000
_LN2 = float(np.log(2.0))

Say = Callable[[str], None]


@dataclass(frozen=True)
class Decisions:
    """What was decided, and the sentences that say why.

    Attributes
    ----------
    choice : Choice or None
        Of the calibration; None without one.
    share, stretch : float
        Of the calibration.
    steps : int
        Steps that the network is tuned for.
    reasons : tuple of str
    log : tuple of LogRow
        Of the tuning that decided on the steps.
    """

    choice: Choice | None
    share: float = 0.0
    stretch: float = 1.0
    steps: int = 0
    reasons: tuple[str, ...] = ()
    log: tuple[LogRow, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A calibration, None without one, and the network's model."""

    calibration: Calibration | None
    model: Model

    def predictive(self, pairs: Pairs) -> Trained:
        """Return the predictive distributions of pairs."""
        plain = Options.read(bounds=pairs.limits, atoms=pairs.atoms)
        options = replace(plain, calibration=self.calibration, covariates=pairs.inputs(), warn=False)
        return Trained(pairs.members, options, self.model)


def start_model(recipe: ArchiveRecipe) -> Model:
    """Return the model before tuning; that of scratch is of no use untuned, so the shipped one stands for it."""
    return find_start(recipe.start) or load_model(recipe.network.output)


def decide(pairs: Pairs, recipe: ArchiveRecipe, *, say: Say | None = None) -> Decisions:
    """Return what suits the pairs best."""
    reasons: list[str] = []

    def note(sentence: str) -> None:
        reasons.append(sentence)
        if say is not None:
            say(sentence)

    folds = folds_of(pairs.days, FOLDS)
    if recipe.calibration:
        choice = choose(pairs, season=recipe.season, window=recipe.window, say=note)
        parts: Sequence[tuple[Flags, Calibration | None]] = fold_calibrations(pairs, choice, folds)
        found = Decisions(choice, *_decide_share(pairs, parts, start_model(recipe), note))
    else:
        found, parts = Decisions(None), [(np.ones(len(pairs), bool), None)]
    if recipe.tuning and found.share < _TUNED_BELOW:
        found = _decide_tuning(pairs, recipe, found, parts, note)
    return replace(found, reasons=tuple(reasons))


def _decide_share(
    pairs: Pairs, parts: Sequence[tuple[Flags, Calibration | None]], model: Model, note: Say
) -> tuple[float, float]:
    """Return the share of the kernel and the stretch of the members with the best scores."""
    table = _mixture_scores(pairs, parts, model)
    best = min(table, key=lambda key: table[key])
    alone = table[1.0, 1.0]
    if table[best] > alone - WORTH:
        best = (1.0, 1.0)
    note(
        f"kernel's share {best[0]:g}, members stretched by {best[1]:g}: {table[best]:.4f} bits; kernel alone "
        f"{alone:.4f}"
    )
    return best


def _mixture_scores(
    pairs: Pairs, parts: Sequence[tuple[Flags, Calibration | None]], model: Model
) -> dict[tuple[float, float], float]:
    """Return mean scores away from the atoms in bits, by share and stretch."""
    away = pairs.at_atom < 0
    few = np.random.default_rng(0).random(len(pairs)) < _MOST_PAIRS / max(int(away.sum()), 1)
    kernel = _part_scores(pairs, parts, away & few, model, 1.0, 1.0)
    table = {(1.0, 1.0): -float(kernel.mean()) / _LN2}
    for stretch in _STRETCHES:
        members = _part_scores(pairs, parts, away & few, model, 0.0, stretch)
        for share in _SHARES[:-1]:
            with np.errstate(divide="ignore"):
                mixed = np.logaddexp(np.log(share) + kernel, np.log1p(-share) + members)
            table[share, stretch] = -float(mixed.mean()) / _LN2
    return table


def _part_scores(
    pairs: Pairs,
    parts: Sequence[tuple[Flags, Calibration | None]],
    wanted: Flags,
    model: Model,
    share: float,
    stretch: float,
) -> Array:
    """Return log-densities of wanted pairs, each by the calibration of its part."""
    found = []
    for part, calibration in parts:
        here = pairs.where(part & wanted)
        if len(here):
            changed = None if calibration is None else replace(calibration, share=share, stretch=stretch)
            found.append(cell_log_density(Fitted(changed, model).predictive(here), here))
    return np.concatenate(found)


def _decide_tuning(
    pairs: Pairs,
    recipe: ArchiveRecipe,
    found: Decisions,
    parts: Sequence[tuple[Flags, Calibration | None]],
    note: Say,
) -> Decisions:
    """Tune on all days but the last fold's, and keep as many steps as pay there."""
    from amortized_kde.research.training.archive.problem import tune

    moved = moved_members(pairs, parts, found.stretch)
    late = folds_of(pairs.days, FOLDS) == FOLDS - 1
    usable = moved.usable & (pairs.at_atom < 0)
    if min(np.sum(usable & late), np.sum(usable & ~late)) < 2:
        return found
    tuned = tune(recipe, moved.where(usable & ~late), moved.where(usable & late))
    if recipe.calibration:
        last = [(part & late, calibration) for part, calibration in parts]
        before, after = (_mixture_scores(pairs, last, model) for model in (start_model(recipe), tuned.model))
        best = min(after, key=lambda key: after[key])
        old, new = before[found.share, found.stretch], after[best]
    else:
        best, (old, new) = (
            (0.0, 1.0),
            (float(tuned.log[0].validation or 0.0), min(r.validation or 0.0 for r in tuned.log)),
        )
    worth = recipe.start == SCRATCH or (tuned.steps > 0 and new < old - WORTH)
    note(f"tuning by {tuned.steps} steps: {new:.4f} bits against {old:.4f}, {'kept' if worth else 'left out'}")
    if not worth:
        return replace(found, log=tuple(tuned.log))
    steps = max(tuned.steps, recipe.every)
    return replace(found, share=best[0], stretch=best[1], steps=steps, log=tuple(tuned.log))


def moved_members(pairs: Pairs, parts: Sequence[tuple[Flags, Calibration | None]], stretch: float) -> "Moved":
    """Return members and outcomes on the scale on which densities are made, each by the calibration of its part."""
    from amortized_kde.research.training.archive.problem import Moved

    members, outcomes, bounds = pairs.members.copy(), pairs.observations.copy(), pairs.bounds
    members[np.isin(members, pairs.atoms)] = np.nan
    for part, calibration in parts:
        if calibration is not None:
            here, chosen = pairs.where(part), replace(calibration, stretch=stretch)
            members[part] = chosen.correct(here.members, here.inputs()).members
            outcomes[part], bounds = chosen.scale.forward(here.observations), chosen.limits
    return Moved(members, outcomes, bounds)


def fit(pairs: Pairs, recipe: ArchiveRecipe, decided: Decisions) -> Fitted:
    """Fit on the pairs what was decided, on others or on the same."""
    calibration = None
    parts: Sequence[tuple[Flags, Calibration | None]] = [(np.ones(len(pairs), bool), None)]
    if decided.choice is not None:
        fitted = fit_calibration(pairs, decided.choice)
        calibration = replace(fitted, share=decided.share, stretch=decided.stretch)
        parts = [(parts[0][0], calibration)]
    model = start_model(recipe)
    if decided.steps:
        from amortized_kde.research.training.archive.problem import tune

        moved = moved_members(pairs, parts, decided.stretch)
        model = tune(recipe, moved.where(moved.usable & (pairs.at_atom < 0)), steps=decided.steps).model
    return Fitted(calibration, model)
