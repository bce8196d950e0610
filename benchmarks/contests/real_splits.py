"""Real columns made ready to judge densities: rounded values are spread over what they stand for, then split.

Values, bounds and a seed enter; samples to fit and outcomes to score leave, the same for every method. Data that were
rounded have no density, and the score of an estimate that puts spikes on the ties could be as low as one likes. So a
column with ties is dequantised once: every value is drawn uniformly from half a rounding unit on each side of it.
"""

import hashlib
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import Bounds
from contests.real_columns import RealColumn, read_column

MOST_SCORED = 2_000
# Values that differ by less than this part of the largest are equal: sums of decimal fractions do.
_EQUAL = 1e-12


class Split(NamedTuple):
    """A sample to fit, ascending, and outcomes to score."""

    sample: Array
    outcomes: Array


def rounding_unit(values: Array) -> float:
    """Find the unit to which values were rounded; 0 if no two are equal.

    It is the median, over all values that are not alone, of the distance to the nearest other value. Where values are
    tied they are dense, so that the nearest other value is one unit away; the median leaves out what is recorded
    more finely here and there.

    Examples
    --------
    >>> rounding_unit(np.array([1.5, 1.5, 2.0, 2.0, 2.5, 2.5, 7.0, 7.25]))
    0.5
    """
    ascending = np.sort(values)
    apart = np.diff(ascending) > _EQUAL * max(abs(ascending[0]), abs(ascending[-1]))
    distinct = ascending[np.concatenate([[True], apart])]
    counts = np.diff(np.flatnonzero(np.concatenate([[True], apart, [True]])))
    if distinct.size < 2 or counts.max() == 1:
        return 0.0
    gaps = np.concatenate([[np.inf], np.diff(distinct), [np.inf]])
    nearest = np.minimum(gaps[:-1], gaps[1:])
    return float(np.quantile(np.repeat(nearest, np.where(counts > 1, counts, 0)), 0.5, method="lower"))


def dequantise(values: Array, bounds: Bounds, *, rng: np.random.Generator) -> Array:
    """Draw every value from half a rounding unit on each side of it, and inside the bounds.

    Values without ties stay as they are.
    """
    half = 0.5 * rounding_unit(values)
    if half == 0.0:
        return values.copy()
    return np.asarray(rng.uniform(np.maximum(values - half, bounds.lower), np.minimum(values + half, bounds.upper)))


def smooth_column(column: RealColumn) -> Array:
    """Read a column and dequantise it; the same values at every call."""
    rng = np.random.default_rng(_digits(column))
    return dequantise(read_column(column), read_bounds(column.bounds), rng=rng)


def make_splits(column: RealColumn, values: Array, n: int, count: int, *, seed: int) -> list[Split]:
    """Split a column `count` times at random: n values to fit, and the others, at most 2000, to score.

    Splits depend on the column's name, n, the seed and their number, not on how many there are.
    """
    splits = []
    for k in range(count):
        order = np.random.default_rng([_digits(column), n, seed, k]).permutation(values.size)
        chosen = values[order[: n + MOST_SCORED]]
        splits.append(Split(np.sort(chosen[:n]), chosen[n:]))
    return splits


def _digits(column: RealColumn) -> int:
    """A number from a column's name, the same on every machine."""
    return int.from_bytes(hashlib.sha256(column.name.encode()).digest()[:8], "big")
