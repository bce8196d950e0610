"""Densities at many arguments from binned kernels, with a stated error.

Kernels at sixteen Chebyshev nodes stand for all in a cell that is at most a bandwidth wide (`gather.py`). Seen from a
distance of u bandwidths their sum is off by r(u) of itself, with r growing from 1e-16 at u = 0 to 1e-10 at 7 and 5e-9
at 8. With `highest` = sum over rungs of C_k / (h_k sqrt(2 pi)), C_k the sum of a rung's coefficients, what the kernels
farther than 8 bandwidths away are off is at most r(8) exp(-32) = 1e-22 of that, and what is left out beyond a reach of
R bandwidths is exp(-R^2/2) of it. So a sum q is right to

    5e-9 q + (1e-22 + exp(-R^2/2)) highest <= 1e-8 q    wherever q >= 2e8 (1e-22 + exp(-R^2/2)) highest,

which is tried for two reaches; the shorter is most often enough. Smaller sums are left to those who add all kernels.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.exponential import exp_nonpositive
from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.mixture import Rungs, first_in

__all__ = ["TOLERANCE", "Bins", "binned_density", "bins_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# What a binned density may be off, relative to itself.
TOLERANCE = 1e-8
# In bandwidths.
_REACHES = np.array([7.5, 10.0])
_LEAST = 2.0 / TOLERANCE * (1e-22 + np.exp(-0.5 * _REACHES**2))


class Bins(NamedTuple):
    """Rungs with the heights of their kernels' peaks instead of coefficients, and the sum of all heights."""

    places: Array
    heights: Array
    offsets: Index
    bandwidths: Array
    highest: float


def bins_of(rungs: Rungs) -> Bins:
    """Divide the coefficients by h sqrt(2 pi)."""
    heights = rungs.coefficients / (math.sqrt(2.0 * math.pi) * rungs.spread)
    return Bins(rungs.places, heights, rungs.offsets, rungs.bandwidths, float(heights.sum()))


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
                reach = reaches[r] * bandwidths[k]
                start = first_in(places, offsets[k], offsets[k + 1], x - reach)
                stop = first_in(places, start, offsets[k + 1], x + reach)
                per_bandwidth, part = 1.0 / bandwidths[k], 0.0
                for i in range(start, stop):
                    u = (x - places[i]) * per_bandwidth
                    part += heights[i] * exp_nonpositive(-0.5 * u * u)
                total += part
            if total >= least[r] * highest:
                out[j] = total
                break
