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
from amortized_kde.data.sample import Sample, normalised
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


def fit_method(sample: Sample, method: str, bounds: Limits) -> Fitted:
    """Return a method's density, of a random part of the values if all would take minutes; failures become sentences.

    Raises
    ------
    InvalidBoundsError
        If the sample does not lie inside the bounds.

    Examples
    --------
    >>> fit_method(read_sample([1.0, 2.0, 4.0]), "scott", (None, None)).failure is None
    True
    """
    check_inside(sample.values, read_bounds(bounds))
    part, note = _part(sample, method)
    try:
        # Warnings come with the scores.
        with in_turn(quiet=True):
            density = akde.fit(part.values, bounds=bounds, method=method, weights=part.weights)
            return Fitted(method, density, None, density.modes(), note)
    except AmortizedKdeError as error:
        return Fitted(method, None, str(error))


def _part(sample: Sample, method: str) -> tuple[Sample, str | None]:
    size = sample.values.size
    most, seconds = _OF_PAIRS.get(method, (size, 0.0))
    if size <= most:
        return sample, None
    minutes = max(seconds * (size / most) ** 2 / 60.0, 1.0)
    note = f"estimated from {most:,} values drawn at random; all {size:,} would take about {minutes:.0f} min"
    return _drawn(sample, most), note


def change_by_hand(density: akde.KernelDensity, factor: float) -> tuple[akde.KernelDensity, Modes]:
    """Return the density with its bandwidths multiplied by a factor, and its modes."""
    changed = density.smoothed(factor)
    return changed, changed.modes()


def score_methods(sample: Sample, methods: Sequence[str], bounds: Limits) -> Scores:
    """Score the methods on held-out values; of a large sample, on a random subsample.

    Examples
    --------
    >>> score_methods(read_sample(np.arange(20.0) ** 2), ["scott"], (0.0, None)).protocol
    '10-fold held-out score'
    """
    drawn = _drawn(sample, _MOST_SCORED)
    with in_turn():
        rows = akde.compare(drawn.values, methods=methods, bounds=bounds, weights=drawn.weights).rows
    protocol = f"{FOLDS}-fold held-out score" if drawn.values.size > FOLDS else "leave-one-out score"
    if drawn is not sample:
        protocol += f" of {_MOST_SCORED:,} values drawn at random from {sample.values.size:,}, to save time"
    asked = {find_selector(name, "density").name: name for name in methods}
    return Scores({asked[row.method]: row for row in rows}, protocol)


def _drawn(sample: Sample, most: int) -> Sample:
    """Return a random part of a sample that has more values than `most`."""
    if sample.values.size <= most:
        return sample
    at = np.sort(np.random.default_rng(0).choice(sample.values.size, most, replace=False))
    weights = None if sample.weights is None else normalised(sample.weights[at], np.array([0, most]))
    return Sample(sample.values[at], weights)


def how_unlike(sample: Sample, bounds: Limits) -> list[str]:
    """Return the ways in which a sample is unlike all training data of the default model.

    Examples
    --------
    >>> how_unlike(read_sample(np.arange(50.0)), (None, None))
    []
    """
    adaptive = SELECTORS["amortized"].adaptive
    assert adaptive is not None
    limits = read_bounds(bounds)
    answer = smooth(adaptive(), sample.as_batch(), np.array([limits.lower]), np.array([limits.upper]))
    return ways_unlike(answer.unlike[0])


def score_by_hand(sample: Sample, method: str, bounds: Limits, factor: float) -> float | None:
    """Return the held-out score of a method whose bandwidths are multiplied by a factor, None if a fit fails.

    Folds are those of `score_methods`.

    Examples
    --------
    >>> sample, bounds = read_sample(np.arange(20.0) ** 2), (0.0, None)
    >>> score = score_methods(sample, ["scott"], bounds).rows["scott"].score.value
    >>> abs(score_by_hand(sample, "scott", bounds, 1.0) - score) < 1e-9
    True
    """
    drawn = _drawn(sample, _MOST_SCORED)
    x, w = drawn.values, np.full(drawn.values.size, 1.0 / drawn.values.size) if drawn.weights is None else drawn.weights
    fold = np.random.default_rng(0).permutation(x.size) % min(FOLDS, x.size)
    total = 0.0
    try:
        with in_turn(quiet=True):
            for k in range(int(fold.max()) + 1):
                kept, held = fold != k, fold == k
                density = akde.fit(x[kept], bounds=bounds, method=method, weights=w[kept]).smoothed(factor)
                total += float(np.sum(w[held] * akde.log_score(density, x[held])))
    except AmortizedKdeError:
        return None
    return total


def warm_up() -> None:
    """Compile or load all that the first visitor would wait for."""
    for size in _WARM_UP_SIZES:
        sample = read_sample(np.random.default_rng(1).normal(size=size))
        for bounds in ((None, None), (-10.0, None)):
            density = fit_method(sample, DEFAULT_METHODS[0], bounds).density
            assert density is not None
            compute_drawing({"": density}, sample, bounds, name="")
            how_unlike(sample, bounds)
    score_methods(_drawn(sample, 50), DEFAULT_METHODS, (None, None))
