"""Methods side by side on one sample: densities first, for the picture; held-out scores after, for the table.

Values, names and bounds enter; densities or sentences leave. What takes too long for a page is left out or made
smaller, and a sentence says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import amortized_kde as akde
from amortized_kde._compare import FOLDS, PROMINENCE, ComparisonRow
from amortized_kde._types import Array
from amortized_kde.app.turns import in_turn
from amortized_kde.data.reading import read_bounds, read_sample
from amortized_kde.data.support import check_inside
from amortized_kde.density import shape
from amortized_kde.errors import AmortizedKdeError, DegenerateSampleError
from amortized_kde.selection import SELECTORS, smooth, ways_unlike

Limits = tuple[float | None, float | None]

DEFAULT_METHODS = ("amortized", "sheather-jones", "silverman")
# Methods that look at all pairs of points, and the largest sample for which a person would wait.
_PAIRS = frozenset(("sheather-jones", "sheather-jones-r", "lscv", "lcv"))
_MOST_FOR_PAIRS = 50_000
# Observations that are held out in turn; of larger samples as many are drawn.
_MOST_SCORED = 3_000
# Larger samples have modes located to a step of their grid, which no picture shows, and in a tenth of the time.
_MOST_FOR_EXACT_MODES, _GRID = 20_000, 1025


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method's density of the whole sample, or a sentence why there is none."""

    method: str
    density: akde.KernelDensity | None
    failure: str | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Held-out scores by method, and how they were made."""

    rows: dict[str, ComparisonRow]
    protocol: str


def method_names() -> tuple[str, ...]:
    """Give the methods that the page offers: all but the default's second name."""
    return tuple(name for name in akde.selectors() if name != "amortized:adaptive")


def check_spread(values: Array) -> None:
    """Raise `DegenerateSampleError`, with a sentence for the page, if a sample has no spread."""
    if values.size == 1:
        raise DegenerateSampleError("a single value has no spread; a density needs at least two different ones.")
    if values.min() == values.max():
        raise DegenerateSampleError(
            f"all {values.size:,} values equal {values[0]:g}; a density needs at least two different ones."
        )


def fit_methods(values: Array, methods: Sequence[str], bounds: Limits) -> list[Fitted]:
    """Make a density with each method, in the order given; a method that fails spoils no other.

    Raises
    ------
    InvalidBoundsError
        If the sample does not lie inside the bounds.

    Examples
    --------
    >>> [fitted.failure for fitted in fit_methods(np.array([1.0, 2.0, 4.0]), ["scott", "silverman"], (None, None))]
    [None, None]
    """
    check_inside(np.sort(values), read_bounds(bounds))
    return [_fit_one(values, method, bounds) for method in methods]


def _fit_one(values: Array, method: str, bounds: Limits) -> Fitted:
    if method in _PAIRS and values.size > _MOST_FOR_PAIRS:
        return Fitted(method, None, f"looks at all pairs of values, so here for up to {_MOST_FOR_PAIRS:,} of them")
    try:
        # What there is to warn of comes with the scores.
        with in_turn(quiet=True):
            return Fitted(method, akde.fit(values, bounds=bounds, method=method), None)
    except AmortizedKdeError as error:
        return Fitted(method, None, str(error))


def compare(values: Array, methods: Sequence[str], bounds: Limits) -> Comparison:
    """Score the methods on observations that they did not see; of a large sample, on some thousand drawn from it.

    Examples
    --------
    >>> compare(np.arange(20.0) ** 2, ["scott"], (0.0, None)).protocol
    '10-fold held-out score'
    """
    drawn = _drawn(values)
    names = [name for name in methods if name not in _PAIRS or values.size <= _MOST_FOR_PAIRS]
    with in_turn():
        rows = akde.compare(drawn, methods=names, bounds=bounds).rows if names else ()
    protocol = f"{FOLDS}-fold held-out score" if drawn.size > FOLDS else "leave-one-out score"
    if drawn is not values:
        protocol += f" of {_MOST_SCORED:,} values drawn at random from {values.size:,}, to save time"
    return Comparison({row.method: row for row in rows}, protocol)


def _drawn(values: Array) -> Array:
    if values.size <= _MOST_SCORED:
        return values
    return np.random.default_rng(0).choice(values, _MOST_SCORED, replace=False)


def find_modes(density: akde.KernelDensity) -> Array:
    """Give the modes that rise by 2 % of the highest one above their surroundings; of a large sample, on a grid.

    Examples
    --------
    >>> find_modes(akde.KernelDensity([0.0, 0.1, 5.0], bandwidth=0.5)).round(2)
    array([0.05, 5.  ])
    """
    if density.points.size <= _MOST_FOR_EXACT_MODES:
        return density.modes(prominence=PROMINENCE)
    ranks = np.linspace(0.0, density.points.size - 1.0, _GRID).astype(np.int64)
    grid = np.union1d(density.grid(_GRID), density.points[ranks])
    return shape.modes(density.logpdf, grid, PROMINENCE)


def how_unlike(values: Array, bounds: Limits) -> list[str]:
    """Say in what ways a sample is unlike all that the default model was trained on; nothing if it is not.

    Examples
    --------
    >>> how_unlike(np.arange(50.0), (None, None))
    []
    """
    adaptive = SELECTORS["amortized"].adaptive
    assert adaptive is not None
    limits, sample = read_bounds(bounds), read_sample(values)
    answer = smooth(adaptive(), sample.as_batch(), np.array([limits.lower]), np.array([limits.upper]))
    return ways_unlike(answer.unlike[0])


def score_by_hand(values: Array, method: str, bounds: Limits, factor: float) -> float | None:
    """Give the score that `compare` would give the method with all bandwidths times a factor; None if there is none.

    Examples
    --------
    >>> values, bounds = np.arange(20.0) ** 2, (0.0, None)
    >>> score = compare(values, ["scott"], bounds).rows["scott"].score.value
    >>> round(score_by_hand(values, "scott", bounds, 1.0) - score, 9)
    0.0
    """
    drawn = read_sample(_drawn(values)).values
    fold = np.random.default_rng(0).permutation(drawn.size) % min(FOLDS, drawn.size)
    total = 0.0
    try:
        with in_turn(quiet=True):
            for k in range(int(fold.max()) + 1):
                density = akde.fit(drawn[fold != k], bounds=bounds, method=method).smoothed(factor)
                total += float(np.sum(akde.log_score(density, drawn[fold == k])))
    except AmortizedKdeError:
        return None
    return total / drawn.size
