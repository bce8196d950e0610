"""Choose and fit a calibration: terms, kernel, penalty and scale by cross-validation over blocks of time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.ensembles.calibration import Calibration
from amortized_kde.research.training.archive.design import GROUPS, Design
from amortized_kde.research.training.archive.likelihood import LocationScale
from amortized_kde.research.training.archive.occurrence import Occurrence, choose_occurrence, fit_occurrence
from amortized_kde.research.training.archive.pairs import SEASON_DAYS, Pairs, folds_of

FOLDS = 5
# A part that improves the cross-validated score by less than this, in bits, is left out.
WORTH = 1e-3
_PENALTIES = (1.0, 10.0)
_POWERS = (1.0 / 3.0,)
# Pairs that a place's own correction is shrunk by, towards none.
_SHRINKAGES = (2.0, 8.0, 30.0, 100.0)
# Pairs that choices are made on; a choice of many more would be the same.
_MOST_PAIRS = 30_000
_LN2 = float(np.log(2.0))


@dataclass(frozen=True)
class Choice:
    """What is not estimated but chosen.

    Attributes
    ----------
    power : float
        Scale of the calibration.
    kernel : str
    groups : tuple of str
        Groups of terms, of `GROUPS`.
    penalty : float
    shrinkage : float or None
        Pairs that the correction of a place is shrunk by; None without such corrections.
    occurrence : Occurrence or None
        Terms of the probability of the atoms.
    """

    power: float = 1.0
    kernel: str = "logistic"
    groups: tuple[str, ...] = ()
    penalty: float = 1.0
    shrinkage: float | None = None
    occurrence: Occurrence | None = None


class _Fitted:
    """A location-scale model with corrections of places: coefficients, and corrections (places, 2)."""

    def __init__(self, theta: Array, effects: Array | None) -> None:
        self.theta, self.effects = theta, effects

    def shifted(self, model: LocationScale, places: Index | None) -> LocationScale:
        """Return the model with the corrections of places as known shifts."""
        if self.effects is None or places is None:
            return model
        return replace(model, shifts=(self.effects[places, 0], self.effects[places, 1]))


def fit_calibration(pairs: Pairs, choice: Choice) -> Calibration:
    """Return the calibration of all pairs for a choice."""
    design = Design(pairs, choice.power)
    model, location, spread = design.rows(choice.groups, choice.kernel, choice.penalty)
    places, names = (None, ()) if choice.shrinkage is None else design.place_numbers
    fitted = _fit(model, np.flatnonzero(design.away), places, len(names), choice.shrinkage)
    effects = {} if fitted.effects is None else dict(zip(names, map(tuple, fitted.effects.tolist()), strict=True))
    occurrence = () if choice.occurrence is None else fit_occurrence(design, choice.occurrence)
    parts: dict[str, Any] = design.unscale(location, spread, fitted.theta)
    return replace(
        design.blank, **parts, places=effects, occurrence=occurrence, kernel=choice.kernel, share=1.0, stretch=1.0
    )


def _fit(
    model: LocationScale,
    rows: Index,
    places: Index | None,
    count: int,
    shrinkage: float | None,
    start: Array | None = None,
) -> _Fitted:
    """Fit the rows, and in turn the corrections of places, each shrunk towards none."""
    theta = model.where(rows).fit(start)
    if places is None or shrinkage is None:
        return _Fitted(theta, None)
    found = _Fitted(theta, np.zeros((count, 2)))
    here = places[rows]
    for _ in range(2):
        found.effects = _place_effects(model.where(rows), found.theta, here, count, shrinkage)
        found.theta = found.shifted(model, places).where(rows).fit(found.theta)
    return found


def _place_effects(model: LocationScale, theta: Array, places: Index, count: int, shrinkage: float) -> Array:
    """Return the corrections of mu and log sigma of each place."""
    mu, log, _ = model.moments(theta)
    weights = np.exp(-2.0 * log)
    typical = float(np.median(weights))
    sums = np.bincount(places, weights * (model.outcomes - mu), minlength=count)
    shift = sums / (np.bincount(places, weights, minlength=count) + shrinkage * typical)
    squares = weights * (model.outcomes - mu - shift[places]) ** 2
    # Relative to all places: the mean square of all is not 1 where the kernel has heavy tails.
    squares = squares / squares.mean()
    sizes = np.bincount(places, minlength=count)
    spread = 0.5 * np.log((np.bincount(places, squares, minlength=count) + shrinkage) / (sizes + shrinkage))
    return np.stack([shift, spread], axis=1)


def cross_validated(design: Design, choice: Choice, folds: Index, window: int | None = None) -> Array:
    """Return scores in bits of observations away from the atoms, each by a fit without its fold; 0 elsewhere.

    With a window, a fold is scored by a fit of that many days before it, and 0 if there are fewer.
    """
    model, _, _ = design.rows(choice.groups, choice.kernel, choice.penalty)
    places, names = (None, ()) if choice.shrinkage is None else design.place_numbers
    start = _fit(model, np.flatnonzero(design.away), None, 0, None).theta
    out = np.zeros(len(design.pairs))
    for fold in np.unique(folds):
        others = fitted_rows(design.pairs.days, folds == fold, window)
        if others is None:
            continue
        rows, rest = (np.flatnonzero(design.away & part) for part in (others, folds == fold))
        fitted = _fit(model, rows, places, len(names), choice.shrinkage, start)
        out[rest] = fitted.shifted(model, places).where(rest).scores(fitted.theta)
    out[out != 0.0] -= design.log_slope[out != 0.0]
    return out / _LN2


def fitted_rows(days: Index, scored: Flags, window: int | None) -> Flags | None:
    """Return the pairs that are fitted to score others: all the rest, or a window of days before; None if too few."""
    if window is None:
        return ~scored
    first = int(days[scored].min())
    return np.asarray((days >= first - window) & (days < first)) if first - window >= days.min() else None


def choose(
    pairs: Pairs, *, season: bool = True, window: int | None = None, say: Callable[[str], None] | None = None
) -> Choice:
    """Choose groups of terms, kernel, penalty, scale and corrections of places by cross-validation.

    Parameters
    ----------
    pairs : Pairs
        Those that are fitted; nothing else is looked at.
    season : bool
        Whether harmonics of the year may be used, where days of the year are known.
    window : int, optional
        Days before a forecast that are fitted; default: all.
    say : callable, optional
        Called with a sentence about every decision.
    """
    chosen = pairs if len(pairs) <= _MOST_PAIRS else pairs.where(_thin(pairs))
    days = int(np.ptp(chosen.days)) + 1
    folds = folds_of(chosen.days, FOLDS if window is None else max(5 * days // window, FOLDS))
    season = season and (window is None or window >= SEASON_DAYS)
    root = chosen.bounds.lower in chosen.atoms and np.isinf(chosen.bounds.upper)
    search = _Search(chosen, folds, window, say or (lambda sentence: None), Choice(0.5 if root else 1.0))
    for group, (_, _, needs) in GROUPS.items():
        if _available(chosen, group, season) and (needs is None or needs in search.best.groups):
            search.consider(group, groups=(*search.best.groups, group))
    for power in _POWERS if root else ():
        search.consider(f"power {power:.3g}", power=power)
    for penalty in _PENALTIES[1:] if search.best.groups else ():
        search.consider(f"penalty {penalty:g}", penalty=penalty)
    search.consider("normal kernel", kernel="normal")
    if chosen.places is not None and 1 < np.unique(chosen.places).size <= len(chosen) / 3:
        for shrinkage in _SHRINKAGES:
            search.consider(f"places, shrunk by {shrinkage:g} pairs", shrinkage=shrinkage)
    if not chosen.atoms:
        return search.best
    design = Design(chosen, search.best.power)
    return replace(search.best, occurrence=choose_occurrence(design, folds, season=season, say=say))


def _thin(pairs: Pairs) -> Flags:
    step = -(-len(pairs) // _MOST_PAIRS)
    # A stride that is prime to the number of places would keep all of them; random rows do.
    return np.random.default_rng(0).random(len(pairs)) < 1.0 / step


def _available(pairs: Pairs, group: str, season: bool) -> bool:
    if "season" in group or group == "second harmonic":
        return season and pairs.has_season
    if group == "covariates":
        return any(name != "day_of_year" for name in pairs.covariates)
    return group != "members" or bool(pairs.names)


class _Search:
    """The best choice so far, with its cross-validated score."""

    def __init__(
        self, pairs: Pairs, folds: Index, window: int | None, say: Callable[[str], None], first: Choice
    ) -> None:
        self.pairs, self.folds, self.window, self.say = pairs, folds, window, say
        self._designs: dict[float, Design] = {}
        self.best, self.score = first, self._evaluate(first)

    def consider(self, what: str, **changes: Any) -> None:
        """Take a changed choice if it is better."""
        candidate = replace(self.best, **changes)
        score = self._evaluate(candidate)
        kept = score < self.score - WORTH
        self.say(f"{what}: {score:.4f} bits against {self.score:.4f}, {'kept' if kept else 'left out'}")
        if kept:
            self.best, self.score = candidate, score

    def _evaluate(self, choice: Choice) -> float:
        if choice.power not in self._designs:
            self._designs[choice.power] = Design(self.pairs, choice.power)
        design = self._designs[choice.power]
        scores = cross_validated(design, choice, self.folds, self.window)
        return float(np.sum(scores) / max(int(np.sum(scores != 0.0)), 1))


def fold_calibrations(pairs: Pairs, choice: Choice, folds: Index) -> Sequence[tuple[Flags, Calibration]]:
    """Return for every fold its pairs, and the calibration that was fitted without them."""
    parts = [np.asarray(folds == fold) for fold in np.unique(folds)]
    return [(part, fit_calibration(pairs.where(~part), choice)) for part in parts]
