"""Methods side by side on one sample: densities for the picture, held-out scores for the table.

What would take too long for a page is left out or computed on fewer values, and the page says so.
"""

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

import amortized_kde as akde
from amortized_kde._compare import FOLDS, ComparisonRow
from amortized_kde._types import Array
from amortized_kde.app.curves import Limits, compute_drawing
from amortized_kde.data.reading import read_bounds, read_sample
from amortized_kde.data.support import check_inside
from amortized_kde.density import Modes
from amortized_kde.errors import AmortizedKdeError, AmortizedKdeWarning, DegenerateSampleError
from amortized_kde.selection import SELECTORS, find_selector, smooth, ways_unlike

DEFAULT_METHODS = ("amortized", "sheather-jones", "silverman")
# Methods that visit all pairs of values: the most that they get, and the seconds that this takes.
_OF_PAIRS = {"sheather-jones-r": (20_000, 1.0)}
# Seconds that other slow methods take for a million values, of the kind that takes longest.
_SECONDS_PER_MILLION = {"sheather-jones": 9.0, "lcv": 9.0, "lscv": 2.0, "isj": 0.5, "amortized": 2.0}
# Values that are held out in turn; larger samples are subsampled to this size.
_MOST_SCORED = 3_000
# Before the first visitor comes: a small sample, and one large enough for binned kernels.
_WARM_UP_SIZES = (50, 10_000)
# Visitors are threads of one process, which has only one list of warning filters.
_TURN = threading.Lock()


@contextmanager
def in_turn(*, quiet: bool = False) -> Iterator[None]:
    """Compute while nobody else does; with `quiet`, without the library's warnings."""
    with _TURN, warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", AmortizedKdeWarning)
        yield


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method's density and its modes, or a sentence why there is none; and a remark on the density, if any."""

    method: str
    density: akde.KernelDensity | None
    failure: str | None
    modes: Modes | None = None
    note: str | None = None


@dataclass(frozen=True, eq=False)
class Scores:
    """Rows of `amortized_kde.compare` by method, best first, and how values were held out."""

    rows: dict[str, ComparisonRow]
    protocol: str


def method_names() -> tuple[str, ...]:
    """Return the methods that the page offers: all but the second name of the default."""
    return tuple(name for name in akde.selectors() if name != "amortized:adaptive")


def check_spread(values: Array) -> None:
    """Raise `DegenerateSampleError` if a sample has no spread."""
    if values.size == 1:
        raise DegenerateSampleError("a single value has no spread; a density needs at least two different ones.")
    if values.min() == values.max():
        raise DegenerateSampleError(
            f"all {values.size:,} values equal {values[0]:g}; a density needs at least two different ones."
        )


def expected_seconds(method: str, size: int) -> float:
    """Return about how long a method takes for a sample of this size.

    Examples
    --------
    >>> expected_seconds("lcv", 500_000), expected_seconds("scott", 500_000), expected_seconds("lcv", 100)
    (4.5, 0.0, 0.0)
    """
    if method in _OF_PAIRS:
        most, seconds = _OF_PAIRS[method]
        return round(seconds * (min(size, most) / most) ** 2, 1)
    return round(_SECONDS_PER_MILLION.get(method, 0.0) * size / 1e6, 1)


def fit_method(values: Array, method: str, bounds: Limits) -> Fitted:
    """Return a method's density, of a random part of the values if all would take minutes; failures become sentences.

    Raises
    ------
    InvalidBoundsError
        If the sample does not lie inside the bounds.

    Examples
    --------
    >>> fit_method(np.array([1.0, 2.0, 4.0]), "scott", (None, None)).failure is None
    True
    """
    check_inside(np.sort(values), read_bounds(bounds))
    part, note = _part(values, method)
    try:
        # Warnings come with the scores.
        with in_turn(quiet=True):
            density = akde.fit(part, bounds=bounds, method=method)
            return Fitted(method, density, None, density.modes(), note)
    except AmortizedKdeError as error:
        return Fitted(method, None, str(error))


def _part(values: Array, method: str) -> tuple[Array, str | None]:
    most, seconds = _OF_PAIRS.get(method, (values.size, 0.0))
    if values.size <= most:
        return values, None
    minutes = max(seconds * (values.size / most) ** 2 / 60.0, 1.0)
    note = f"estimated from {most:,} values drawn at random; all {values.size:,} would take about {minutes:.0f} min"
    return _drawn(values, most), note


def change_by_hand(density: akde.KernelDensity, factor: float) -> tuple[akde.KernelDensity, Modes]:
    """Return the density with its bandwidths multiplied by a factor, and its modes."""
    changed = density.smoothed(factor)
    return changed, changed.modes()


def score_methods(values: Array, methods: Sequence[str], bounds: Limits) -> Scores:
    """Score the methods on held-out values; of a large sample, on a random subsample.

    Examples
    --------
    >>> score_methods(np.arange(20.0) ** 2, ["scott"], (0.0, None)).protocol
    '10-fold held-out score'
    """
    drawn = _drawn(values, _MOST_SCORED)
    with in_turn():
        rows = akde.compare(drawn, methods=methods, bounds=bounds).rows
    protocol = f"{FOLDS}-fold held-out score" if drawn.size > FOLDS else "leave-one-out score"
    if drawn is not values:
        protocol += f" of {_MOST_SCORED:,} values drawn at random from {values.size:,}, to save time"
    asked = {find_selector(name, "density").name: name for name in methods}
    return Scores({asked[row.method]: row for row in rows}, protocol)


def _drawn(values: Array, most: int) -> Array:
    return values if values.size <= most else np.random.default_rng(0).choice(values, most, replace=False)


def how_unlike(values: Array, bounds: Limits) -> list[str]:
    """Return the ways in which a sample is unlike all training data of the default model.

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
    """Return the held-out score of a method whose bandwidths are multiplied by a factor, None if a fit fails.

    Folds are those of `score_methods`.

    Examples
    --------
    >>> values, bounds = np.arange(20.0) ** 2, (0.0, None)
    >>> score = score_methods(values, ["scott"], bounds).rows["scott"].score.value
    >>> round(score_by_hand(values, "scott", bounds, 1.0) - score, 9)
    0.0
    """
    drawn = read_sample(_drawn(values, _MOST_SCORED)).values
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


def warm_up() -> None:
    """Compile or load all that the first visitor would wait for."""
    for size in _WARM_UP_SIZES:
        points = np.sort(np.random.default_rng(1).normal(size=size))
        for bounds in ((None, None), (-10.0, None)):
            density = fit_method(points, DEFAULT_METHODS[0], bounds).density
            assert density is not None
            compute_drawing({"": density}, points, bounds, name="")
            how_unlike(points, bounds)
    score_methods(points[:50], DEFAULT_METHODS, (None, None))
