"""Closed-form rules: Silverman's (paper, Appendix A.1) and Scott's in R's form."""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import interquartile_range, standard_deviation
from amortized_kde.selectors.outcome import CONSTANT, OK, TOO_FEW, ZERO_IQR

__all__ = ["robust_scale", "scott_rows", "silverman_of", "silverman_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# IQR of the standard normal, as Silverman (1986) and R's bw.nrd0 round it; bw.SJ rounds it to 1.349.
NORMAL_IQR = 1.34


@compiled
def robust_scale(ascending: Array, normal_iqr: float) -> tuple[float, int]:
    """Give min(sd, IQR / normal_iqr), or sd where the IQR is 0, and the code that says so."""
    if ascending.size < 2:
        return math.nan, TOO_FEW
    if ascending[-1] == ascending[0]:
        return math.nan, CONSTANT
    sd = standard_deviation(ascending)
    iqr = interquartile_range(ascending)
    if iqr <= 0.0:
        return sd, ZERO_IQR
    return min(sd, iqr / normal_iqr), OK


@compiled
def silverman_of(ascending: Array) -> tuple[float, int]:
    """Give 0.9 min(sd, IQR/1.34) n^(-1/5) (paper, eq. A.2)."""
    scale, code = robust_scale(ascending, NORMAL_IQR)
    return 0.9 * scale * ascending.size**-0.2, code


@entry
def silverman_rows(
    values: Array, offsets: Index, lower: float, upper: float, out: Array, codes: Index, start: int, stop: int
) -> None:
    """Write Silverman's bandwidth of every row."""
    for row in range(start, stop):
        out[row], codes[row] = silverman_of(values[offsets[row] : offsets[row + 1]])


@entry
def scott_rows(
    values: Array, offsets: Index, lower: float, upper: float, out: Array, codes: Index, start: int, stop: int
) -> None:
    """Write 1.06 min(sd, IQR/1.34) n^(-1/5) (R's bw.nrd) of every row."""
    for row in range(start, stop):
        ascending = values[offsets[row] : offsets[row + 1]]
        scale, codes[row] = robust_scale(ascending, NORMAL_IQR)
        out[row] = 1.06 * scale * ascending.size**-0.2
