"""Densities at many arguments from binned kernels, with a bounded error.

Kernels at sixteen Chebyshev nodes stand for all in a cell that is at most 1.5 bandwidths wide (`gather.py`). Seen from
a distance of u bandwidths, their sum has a relative error r(u), which grows from 3e-14 at u = 0 to 1e-9 at 6 and 3e-7
at 7.5. Let `highest` = sum over rungs of C_k / (h_k sqrt(2 pi)), with C_k the sum of a rung's coefficients. Kernels
farther away contribute an error of at most r(7.5) exp(-7.5^2/2) = 2e-19 of that, and those left out beyond R bandwidths
at most exp(-R^2/2). So the error of a sum q is at most

    3e-7 q + (2e-19 + exp(-R^2/2)) highest <= 1e-6 q    wherever q >= (2e-19 + exp(-R^2/2)) highest / 7e-7.

Two values of R are tried; the smaller is usually enough. Sums that are too small for both are NaN.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.mixture import Rungs, first_in

# Largest relative error of a binned density.
TOLERANCE = 1e-6
CELLS_PER_BANDWIDTH = 2.0 / 3.0
# Values of R, in bandwidths.
_REACHES = np.array([7.0, 9.5])
# Kernels are summed a few SIMD registers at a time; a remainder would be summed one by one.
_PADDING = 32
_LEAST = (2e-19 + np.exp(-0.5 * _REACHES**2)) / (0.7 * TOLERANCE)


class Bins(NamedTuple):
    """Rungs with the heights of their kernels' peaks instead of coefficients, and the sum of all heights.

    Each rung is followed by `_PADDING` kernels of height 0, so that a sum can run past its last.
    """

    places: Array
    heights: Array
    offsets: Index
    bandwidths: Array
    highest: float


def bins_of(rungs: Rungs) -> Bins:
    """Return padded rungs, with coefficients divided by h sqrt(2 pi)."""
    heights = rungs.coefficients / (math.sqrt(2.0 * math.pi) * rungs.spread)
    ends = np.repeat(rungs.offsets[1:], _PADDING)
    return Bins(
        np.insert(rungs.places, ends, rungs.places[ends - 1]),
        np.insert(heights, ends, 0.0),
        rungs.offsets + _PADDING * np.arange(rungs.offsets.size),
        rungs.bandwidths,
        float(heights.sum()),
    )


def binned_density(bins: Bins, at: Array, known: Array) -> Array:
    """Return known + q at each of `at`, with a relative error of at most `TOLERANCE`, or NaN."""
    out = np.empty(at.size)
    _binned_density(*bins, _REACHES, _LEAST, at, known, out)
    return out


@entry
def _binned_density(
    places: Array,
    heights: Array,
    offsets: Index,
    bandwidths: Array,
    highest: float,
    reaches: Array,
    least: Array,
    at: Array,
    known: Array,
    out: Array,
) -> None:
    """Write the sums, with the smallest reach that is enough."""
    for j in range(at.size):
        x = at[j]
        out[j] = math.nan
        for r in range(reaches.size if math.isfinite(x) else 0):
            total = known[j]
            for k in range(bandwidths.size):
                reach, end = reaches[r] * bandwidths[k], offsets[k + 1] - _PADDING
                start = first_in(places, offsets[k], end, x - reach)
                stop = first_in(places, start, end, x + reach)
                stop = start + (stop - start + _PADDING - 1) // _PADDING * _PADDING
                per_bandwidth, part = 1.0 / bandwidths[k], 0.0
                for i in range(start, stop):
                    u = (x - places[i]) * per_bandwidth
                    part += heights[i] * exp_nonpositive(max(-0.5 * u * u, LOWEST_EXPONENT))
                total += part
            if total >= least[r] * highest:
                out[j] = total
                break
