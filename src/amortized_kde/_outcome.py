"""What a selector answers for each sample: a bandwidth and a code that says how it was come by."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

OK = 0
ZERO_IQR = 1
NO_SOLUTION = 2
# This and more: the sample is unlike the training tasks (selectors/ladder.py).
UNLIKE = 16
TOO_FEW = -1
CONSTANT = -2
TOO_SPARSE = -3
ALPHA_NOT_FINITE = -4
NO_BRACKET = -5

FALLBACKS: dict[int, str] = {
    ZERO_IQR: "the interquartile range is 0 (ties), so the standard deviation alone gives the scale",
    NO_SOLUTION: "the Sheather-Jones equation has no solution, so Silverman's rule gives the bandwidth",
}
FAILURES: dict[int, str] = {
    TOO_FEW: "fewer than two values carry no scale",
    CONSTANT: "all values are equal, so there is no scale",
    TOO_SPARSE: "R's bw.SJ stops here: sample is too sparse to find TD",
    ALPHA_NOT_FINITE: "R's bw.SJ stops here: sample is too sparse to find alph2",
    NO_BRACKET: "R's bw.SJ stops here: no solution in the specified range of bandwidths",
}


class Selection(NamedTuple):
    """Bandwidths (NaN where there is none) and codes, one for each sample; codes > 0 are fallbacks, < 0 failures."""

    bandwidths: NDArray[np.float64]
    codes: NDArray[np.int64]
