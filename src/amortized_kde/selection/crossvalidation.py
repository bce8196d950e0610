"""Cross-validation: least squares on the paper's grid (Appendix A.3), and leave-one-out likelihood.

``lscv`` minimises the least-squares criterion over 60 bandwidths from 0.2 to 5 times Silverman's; criteria within
1e-12 of each other are tied, and the smaller index wins. Above n = 5000, pairs are counted in bins of a sixteenth of
the smallest candidate.

``lcv`` maximises the mean leave-one-out log-density, of the truncated estimator where there are bounds. The search runs
over half octaves from 2^-10 times Silverman's bandwidth up to the larger of 2^6 times it and the range, and ends with a
root of the derivative around the best of these. Tied values are left out together; otherwise the criterion is unbounded
at h = 0. Above 5000 distinct values, values are gathered in bins of h/16.

With weights, both take the weighted mean over i of the leave-one-out density sum_{j != i} w_j K(x_i - x_j) / (1 - w_i).
"""

import math

import numpy as np

from amortized_kde._outcome import OK
from amortized_kde._types import Array
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.leave_one_out import distinct_values, log_score_and_slope
from amortized_kde.numerics.pairs import LARGEST_EXACT, lag_counts, lag_sum, squared_kernel_sums
from amortized_kde.numerics.roots import ROOT, SEARCH, advance
from amortized_kde.selection.rules import Rows, counts_of, silverman_of, size_of, values_of

GRID = 60
GRID_LOW, GRID_HIGH = 0.2, 5.0
TIED = 1e-12
LOWEST_OCTAVE, HIGHEST_OCTAVE = -10, 6


@compiled
def _criterion(
    unit: Array,
    counts: Array | None,
    factors: Array | None,
    n: float,
    spare: float,
    lags: Array,
    step: float,
    h: float,
) -> float:
    """CV(h) of the paper, eq. A.17, from the pairs i < j and the n terms on the diagonal."""
    if lags.shape[1] > 0:
        # exp(-D/4) at h is exp(-D/2) at h * sqrt(2).
        wide = lag_sum(lags[0], lags[1], step, h * math.sqrt(2.0), 0.0, 0.0, 0.0, 1.0, 80.0)
        narrow = lag_sum(lags[2], lags[1], step, h, 0.0, 0.0, 0.0, 1.0, 80.0)
    else:
        wide, narrow = squared_kernel_sums(unit, counts, factors, h)
    integral = (n + 2.0 * wide) / (n * n * h * math.sqrt(4.0 * math.pi))
    left_out = 4.0 * narrow / (n * spare * h * math.sqrt(2.0 * math.pi))
    return integral - left_out


@compiled
def _left_out_factors(counts: Array | None, n: float, spare: float) -> Array | None:
    """(1 - 1/n) / (1 - w_i), the factor of the other weights when a value is left out."""
    if counts is None:
        return None
    factors, heaviest, others = np.empty(counts.size), 0, 0.0
    for i in range(counts.size):
        factors[i] = spare / (n - counts[i])
        if counts[i] > counts[heaviest]:
            heaviest = i
    for i in range(counts.size):
        others += counts[i] if i != heaviest else 0.0
    # The heaviest value can be nearly all of n, and the difference mere rounding.
    if others < 0.5 * n:
        factors[heaviest] = spare / others
    return factors


@compiled
def _lscv(ascending: Array, counts: Array | None, n: float, spare: float, reference: float) -> float:
    """The grid's minimiser, in units of Silverman's bandwidth."""
    factors = _left_out_factors(counts, n, spare)
    unit = (ascending - ascending[ascending.size // 2]) / reference
    step = GRID_LOW / 16.0
    lags = np.empty((3, 0))
    if unit.size > LARGEST_EXACT:
        longest = int(min(unit[-1] - unit[0], 13.0 * GRID_HIGH) / step)
        lags = lag_counts(unit, counts, factors, step, longest)
    criteria = np.empty(GRID)
    for k in range(GRID):
        h = GRID_LOW * (GRID_HIGH / GRID_LOW) ** (k / (GRID - 1.0))
        criteria[k] = _criterion(unit, counts, factors, n, spare, lags, step, h)
    threshold = criteria.min() + TIED * abs(criteria.min())
    best = 0
    while criteria[best] > threshold:
        best += 1
    return reference * GRID_LOW * (GRID_HIGH / GRID_LOW) ** (best / (GRID - 1.0))


@entry
def lscv_rows(rows: Rows, start: int, stop: int) -> None:
    """Write the least-squares cross-validation bandwidth of every row."""
    for row in range(start, stop):
        ascending = values_of(rows, row)
        reference, rows.codes[row] = silverman_of(ascending, rows.spreads, row)
        rows.bandwidths[row] = math.nan
        if rows.codes[row] >= OK:
            n, spare = size_of(ascending, rows.spreads, row)
            rows.bandwidths[row] = _lscv(ascending, counts_of(rows.counts, rows.offsets, row), n, spare, reference)


@compiled
def _lcv(ascending: Array, counts: Array | None, reference: float, lower: float, upper: float) -> float:
    """The maximiser of the likelihood over half octaves, refined by a root of its derivative with respect to log h."""
    origin = ascending[ascending.size // 2]
    unit = (ascending - origin) / reference
    low, high = (lower - origin) / reference, (upper - origin) / reference
    values, masses = distinct_values(unit, counts)
    top = max(HIGHEST_OCTAVE, math.ceil(math.log2(unit[-1] - unit[0])))
    candidates = 2 * int(top - LOWEST_OCTAVE) + 1
    best, best_score = 0, 0.0
    for k in range(candidates):
        score, _ = log_score_and_slope(values, masses, 2.0 ** (LOWEST_OCTAVE + 0.5 * k), low, high)
        if k == 0 or score > best_score + TIED * abs(best_score):
            best, best_score = k, score
    if best in (0, candidates - 1):
        return reference * 2.0 ** (LOWEST_OCTAVE + 0.5 * best)
    middle = LOWEST_OCTAVE + 0.5 * best
    # The derivative has its root between the neighbours of the best candidate.
    search = np.zeros(SEARCH)
    search[0], search[1], search[2] = middle - 0.5, middle + 0.5, 1e-13
    trial = advance(search, math.nan)
    while not math.isnan(trial):
        _, slope = log_score_and_slope(values, masses, 2.0**trial, low, high)
        trial = advance(search, slope)
    return reference * 2.0 ** (middle if math.isnan(search[ROOT]) else search[ROOT])


@entry
def lcv_rows(rows: Rows, start: int, stop: int) -> None:
    """Write the leave-one-out likelihood bandwidth of every row."""
    for row in range(start, stop):
        ascending = values_of(rows, row)
        reference, rows.codes[row] = silverman_of(ascending, rows.spreads, row)
        rows.bandwidths[row] = math.nan
        if rows.codes[row] >= OK:
            counts = counts_of(rows.counts, rows.offsets, row)
            rows.bandwidths[row] = _lcv(ascending, counts, reference, rows.lower, rows.upper)
