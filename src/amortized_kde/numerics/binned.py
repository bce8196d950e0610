"""Densities at many arguments from binned kernels, with a stated error.

Kernels at sixteen Chebyshev nodes stand for all in a cell that is at most 1.5 bandwidths wide (`gather.py`). Seen from
a distance of u bandwidths their sum is off by r(u) of itself, with r growing from 3e-14 at u = 0 to 1e-9 at 6 and 3e-7
at 7.5. With `highest` = sum over rungs of C_k / (h_k sqrt(2 pi)), C_k the sum of a rung's coefficients, what kernels
farther away are off is at most r(7.5) exp(-7.5^2/2) = 2e-19 of that, and what is left out beyond a reach of R
bandwidths is exp(-R^2/2) of it. So a sum q is right to

    3e-7 q + (2e-19 + exp(-R^2/2)) highest <= 1e-6 q    wherever q >= (2e-19 + exp(-R^2/2)) highest / 7e-7,

which is tried for two reaches; the shorter is most often enough. Smaller sums are left to those who add all kernels.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.mixture import Rungs, first_in

# What a binned density may be off, relative to itself.
TOLERANCE = 1e-6
# So many cells make a bandwidth.
CELLS_PER_BANDWIDTH = 2.0 / 3.0
# In bandwidths.
_REACHES = np.array([7.0, 9.5])
# Kernels are added a few registers at a time, for single ones are slow.
_FILL = 32
_LEAST = (2e-19 + np.exp(-0.5 * _REACHES**2)) / (0.7 * TOLERANCE)


class Bins(NamedTuple):
    """Rungs with the heights of their kernels' peaks instead of coefficients, and the sum of all heights.

    Each rung is followed by `_FILL` kernels of height 0, so that sums need not end with its last.
    """

    places: Array
    heights: Array
    offsets: Index
    bandwidths: Array
    highest: float


def bins_of(rungs: Rungs) -> Bins:
    """Divide the coefficients by h sqrt(2 pi)."""
    heights = rungs.coefficients / (math.sqrt(2.0 * math.pi) * rungs.spread)
    ends = np.repeat(rungs.offsets[1:], _FILL)
    return Bins(
        np.insert(rungs.places, ends, rungs.places[ends - 1]),
        np.insert(heights, ends, 0.0),
        rungs.offsets + _FILL * np.arange(rungs.offsets.size),
        rungs.bandwidths,
        float(heights.sum()),
    )


def binned_density(bins: Bins, at: Array, known: Array) -> Array:
    """Give known + q at each of `at`, right to `TOLERANCE` of itself, or NaN where bins cannot tell so well."""
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
    """Write the sums, with the first reach that is enough."""
    for j in range(at.size):
        x = at[j]
        out[j] = math.nan
        for r in range(reaches.size if math.isfinite(x) else 0):
            total = known[j]
            for k in range(bandwidths.size):
                reach, end = reaches[r] * bandwidths[k], offsets[k + 1] - _FILL
                start = first_in(places, offsets[k], end, x - reach)
                stop = first_in(places, start, end, x + reach)
                stop = start + (stop - start + _FILL - 1) // _FILL * _FILL
                per_bandwidth, part = 1.0 / bandwidths[k], 0.0
                for i in range(start, stop):
                    u = (x - places[i]) * per_bandwidth
                    part += heights[i] * exp_nonpositive(max(-0.5 * u * u, LOWEST_EXPONENT))
                total += part
            if total >= least[r] * highest:
                out[j] = total
                break
