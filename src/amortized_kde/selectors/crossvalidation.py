"""Cross-validation: least squares on the paper's grid (Appendix A.3), and leave-one-out likelihood.

``lscv`` minimises the least-squares criterion over 60 bandwidths from 0.2 to 5 times Silverman's; criteria within
1e-12 of each other are tied and the smaller index wins. Above n = 5000 pairs are counted in bins of a sixteenth of the
smallest candidate.

``lcv`` maximises the mean leave-one-out log-density, of the truncated estimator where there are bounds. The search runs
over a ladder of half-octaves from 2^-10 times Silverman's bandwidth up to the larger of 2^6 times it and the range,
and ends with a root of the derivative around the best rung. Tied values are left out together: otherwise the criterion
is unbounded at h = 0. Above 5000 distinct values they are gathered in bins of h/16.
"""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.leave_one_out import log_score_and_slope
from amortized_kde.numerics.pairs import LARGEST_EXACT, lag_counts, lag_sum, squared_kernel_sums
from amortized_kde.numerics.roots import ROOT, SEARCH, advance
from amortized_kde.selectors.outcome import OK
from amortized_kde.selectors.rules import silverman_of

__all__ = ["lcv_rows", "lscv_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

GRID = 60
GRID_LOW, GRID_HIGH = 0.2, 5.0
TIED = 1e-12
LADDER_LOW, LADDER_HIGH = -10, 6


@compiled
def _criterion(unit: Array, lags: Array, step: float, h: float) -> float:
    """CV(h) of the paper, eq. A.17, from the pairs i < j and the n terms on the diagonal."""
    n = unit.size
    if lags.shape[1] > 0:
        # exp(-D/4) at h is exp(-D/2) at h * sqrt(2).
        wide = lag_sum(lags, step, h * math.sqrt(2.0), 0.0, 0.0, 0.0, 1.0, 80.0)
        narrow = lag_sum(lags, step, h, 0.0, 0.0, 0.0, 1.0, 80.0)
    else:
        wide, narrow = squared_kernel_sums(unit, h)
    integral = (n + 2.0 * wide) / (n * n * h * math.sqrt(4.0 * math.pi))
    left_out = 4.0 * narrow / (n * (n - 1.0) * h * math.sqrt(2.0 * math.pi))
    return integral - left_out


@compiled
def _lscv(ascending: Array, reference: float) -> float:
    """The grid's minimiser, in units of Silverman's bandwidth."""
    unit = (ascending - ascending[ascending.size // 2]) / reference
    step = GRID_LOW / 16.0
    lags = np.empty((2, 0))
    if unit.size > LARGEST_EXACT:
        lags = lag_counts(unit, step, int(min(unit[-1] - unit[0], 13.0 * GRID_HIGH) / step))
    criteria = np.empty(GRID)
    for k in range(GRID):
        criteria[k] = _criterion(unit, lags, step, GRID_LOW * (GRID_HIGH / GRID_LOW) ** (k / (GRID - 1.0)))
    threshold = criteria.min() + TIED * abs(criteria.min())
    best = 0
    while criteria[best] > threshold:
        best += 1
    return reference * GRID_LOW * (GRID_HIGH / GRID_LOW) ** (best / (GRID - 1.0))


@entry
def lscv_rows(
    values: Array, offsets: Index, lower: float, upper: float, out: Array, codes: Index, first: int, last: int
) -> None:
    """Write the least-squares cross-validation bandwidth of every row."""
    for row in range(first, last):
        ascending = values[offsets[row] : offsets[row + 1]]
        reference, codes[row] = silverman_of(ascending)
        out[row] = _lscv(ascending, reference) if codes[row] >= OK else math.nan


@compiled
def _distinct(ascending: Array) -> tuple[Array, Array]:
    """The distinct values and how often each occurs."""
    values, counts = np.empty(ascending.size), np.zeros(ascending.size)
    used = 0
    for x in ascending:
        if used == 0 or values[used - 1] != x:
            values[used] = x
            used += 1
        counts[used - 1] += 1.0
    return values[:used].copy(), counts[:used].copy()


@compiled
def _lcv(ascending: Array, reference: float, lower: float, upper: float) -> float:
    """The likelihood's maximiser on the ladder, refined by the root of the derivative with respect to log h."""
    origin = ascending[ascending.size // 2]
    unit = (ascending - origin) / reference
    low, high = (lower - origin) / reference, (upper - origin) / reference
    values, counts = _distinct(unit)
    top = max(LADDER_HIGH, math.ceil(math.log2(unit[-1] - unit[0])))
    rungs = 2 * int(top - LADDER_LOW) + 1
    best, best_score = 0, 0.0
    for k in range(rungs):
        score, _ = log_score_and_slope(values, counts, 2.0 ** (LADDER_LOW + 0.5 * k), low, high)
        if k == 0 or score > best_score + TIED * abs(best_score):
            best, best_score = k, score
    if best in (0, rungs - 1):
        return reference * 2.0 ** (LADDER_LOW + 0.5 * best)
    middle = LADDER_LOW + 0.5 * best
    # The derivative has its root between the neighbours of the best rung.
    search = np.zeros(SEARCH)
    search[0], search[1], search[2] = middle - 0.5, middle + 0.5, 1e-13
    trial = advance(search, math.nan)
    while not math.isnan(trial):
        _, slope = log_score_and_slope(values, counts, 2.0**trial, low, high)
        trial = advance(search, slope)
    return reference * 2.0 ** (middle if math.isnan(search[ROOT]) else search[ROOT])


@entry
def lcv_rows(
    values: Array, offsets: Index, lower: float, upper: float, out: Array, codes: Index, first: int, last: int
) -> None:
    """Write the leave-one-out likelihood bandwidth of every row."""
    for row in range(first, last):
        ascending = values[offsets[row] : offsets[row + 1]]
        reference, codes[row] = silverman_of(ascending)
        out[row] = _lcv(ascending, reference, lower, upper) if codes[row] >= OK else math.nan
