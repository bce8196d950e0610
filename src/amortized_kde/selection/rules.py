"""Closed-form rules: Silverman's (paper, Appendix A.1) and Scott's in R's form.

Where weights differ, n is Kish's effective size, sd^2 = sum w_i (x_i - mean)^2 / (1 - sum w_i^2), and the quartiles are
those of `numerics/statistics.py`.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._outcome import CONSTANT, OK, TOO_FEW, ZERO_IQR
from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.statistics import interquartile_range, moment_rows, quantile_rows, standard_deviation
from amortized_kde.numerics.threads import run_in_pieces

# IQR of the standard normal, as Silverman (1986) and R's bw.nrd0 round it; bw.SJ rounds it to 1.349.
NORMAL_IQR = 1.34


class Rows(NamedTuple):
    """Many samples as the loops of the classical selectors take them, and their results.

    Attributes
    ----------
    values, offsets : ndarray
        Row r is ``values[offsets[r]:offsets[r + 1]]``, ascending.
    counts : ndarray or None
        How many equally weighted values each value counts as; None where weights are equal, which to the compiler is
        another type, so that loops with weights are compiled only when needed.
    spreads : ndarray of shape (rows, 4) or None
        `weighted_spreads`; None where weights are equal.
    lower, upper : float
        Bounds, infinite where open.
    bandwidths, codes : ndarray of shape (rows,)
        The results.
    """

    values: Array
    offsets: Index
    counts: Array | None
    spreads: Array | None
    lower: float
    upper: float
    bandwidths: Array
    codes: Index


def weighted_spreads(samples: Samples, *, threads: int | None = None) -> Array:
    """Return n, n - 1, sd and interquartile range of samples whose weights differ, (samples, 4)."""
    moments, quartiles = np.empty((len(samples), 8)), np.empty((len(samples), 2))
    assert samples.weights is not None
    rows, wanted, sizes = (samples.values, samples.offsets, samples.weights), samples.unequal, samples.effective_sizes
    at = np.array([0.25, 0.75])

    def work(i: int, j: int) -> None:
        moment_rows(*rows, wanted, moments, i, j)
        quantile_rows(*rows, sizes, wanted, at, quartiles, i, j)

    run_in_pieces(work, len(samples), operations=4.0 * samples.values.size, threads=threads)
    return np.column_stack([moments[:, [0, 7, 2]], quartiles[:, 1] - quartiles[:, 0]])


@compiled
def values_of(rows: Rows, row: int) -> Array:
    """Return the values of a row."""
    return rows.values[rows.offsets[row] : rows.offsets[row + 1]]


@compiled
def size_of(ascending: Array, spreads: Array | None, row: int) -> tuple[float, float]:
    """Return n and n - 1: of the values, or of the weights."""
    if spreads is None:
        return float(ascending.size), ascending.size - 1.0
    return spreads[row, 0], spreads[row, 1]


@compiled
def counts_of(counts: Array | None, offsets: Index, row: int) -> Array | None:
    """Return the counts of a row."""
    return None if counts is None else counts[offsets[row] : offsets[row + 1]]


@compiled
def robust_scale(ascending: Array, spreads: Array | None, row: int, normal_iqr: float) -> tuple[float, int]:
    """Return min(sd, IQR / normal_iqr), or sd where the IQR is 0, and the code of the case."""
    if ascending.size < 2:
        return math.nan, TOO_FEW
    if ascending[-1] == ascending[0]:
        return math.nan, CONSTANT
    if spreads is None:
        sd, iqr = standard_deviation(ascending), interquartile_range(ascending)
    else:
        sd, iqr = spreads[row, 2], spreads[row, 3]
    if iqr <= 0.0:
        return sd, ZERO_IQR
    return min(sd, iqr / normal_iqr), OK


@compiled
def silverman_of(ascending: Array, spreads: Array | None, row: int) -> tuple[float, int]:
    """Return 0.9 min(sd, IQR/1.34) n^(-1/5) (paper, eq. A.2), and the code of the scale."""
    scale, code = robust_scale(ascending, spreads, row, NORMAL_IQR)
    return 0.9 * scale * size_of(ascending, spreads, row)[0] ** -0.2, code


@entry
def silverman_rows(rows: Rows, start: int, stop: int) -> None:
    """Write Silverman's bandwidth of every row."""
    for row in range(start, stop):
        rows.bandwidths[row], rows.codes[row] = silverman_of(values_of(rows, row), rows.spreads, row)


@entry
def scott_rows(rows: Rows, start: int, stop: int) -> None:
    """Write 1.06 min(sd, IQR/1.34) n^(-1/5) (R's bw.nrd) of every row."""
    for row in range(start, stop):
        ascending = values_of(rows, row)
        scale, rows.codes[row] = robust_scale(ascending, rows.spreads, row, NORMAL_IQR)
        rows.bandwidths[row] = 1.06 * scale * size_of(ascending, rows.spreads, row)[0] ** -0.2
