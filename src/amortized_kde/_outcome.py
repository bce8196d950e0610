"""The result of a bandwidth selector, with a code for each sample: how its bandwidth was found or why there is none."""

from typing import NamedTuple

from amortized_kde._types import Array, Flags, Index

# Positive codes come with a bandwidth, negative ones without.
OK = 0
ZERO_IQR = 1
NO_SOLUTION = 2
UNLIKE_TRAINING = 3
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
    TOO_FEW: "a single value has no scale",
    CONSTANT: "all values are equal, so there is no scale",
    TOO_SPARSE: "R's bw.SJ stops here: sample is too sparse to find TD",
    ALPHA_NOT_FINITE: "R's bw.SJ stops here: sample is too sparse to find alph2",
    NO_BRACKET: "R's bw.SJ stops here: no solution in the specified range of bandwidths",
}


class Selection(NamedTuple):
    """Bandwidths of many samples.

    Attributes
    ----------
    bandwidths : ndarray of shape (samples,)
        Data units; NaN where there is none.
    codes : ndarray of shape (samples,)
        `OK`, a fallback (positive) or a failure (negative).
    unlike : ndarray of bool, of shape (samples, ways), optional
        In which ways a sample with the code `UNLIKE_TRAINING` differs from a model's training tasks.
    """

    bandwidths: Array
    codes: Index
    unlike: Flags | None = None
