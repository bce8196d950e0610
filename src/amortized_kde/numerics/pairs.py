"""Sums over the pairs of an ascending row: exact, or binned where there are too many pairs."""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.exponential import exp_nonpositive
from amortized_kde.numerics.jit import compiled

__all__ = ["LARGEST_EXACT", "lag_counts", "lag_sum", "pair_sum", "squared_kernel_sums"]

Array = NDArray[np.float64]

# Up to this many values every pair is visited; beyond, pairs are counted by distance.
LARGEST_EXACT = 5000
# exp(-D/2) D^3 < 2e-18 for D > 110.
_FARTHEST = 10.5


@compiled
def pair_sum(ascending: Array, h: float, c3: float, c2: float, c1: float, c0: float) -> float:
    """Give the sum over i < j of exp(-D/2) (c3 D^3 + c2 D^2 + c1 D + c0), D = ((x_j - x_i)/h)^2."""
    per_h = 1.0 / h
    total = 0.0
    stop = 0
    for i in range(ascending.size):
        while stop < ascending.size and ascending[stop] - ascending[i] < _FARTHEST * h:
            stop += 1
        part = 0.0
        for j in range(i + 1, stop):
            u = (ascending[j] - ascending[i]) * per_h
            d = u * u
            part += exp_nonpositive(-0.5 * d) * (((c3 * d + c2) * d + c1) * d + c0)
        total += part
    return total


@compiled
def lag_sum(lags: Array, step: float, h: float, c3: float, c2: float, c1: float, c0: float, farthest: float) -> float:
    """Give the same sum where ``lags[0, l]`` pairs are ``lags[1, l]`` steps apart, which is about l.

    Lags l from D = (l step/h)^2 >= farthest (at most 1300) are left out.
    """
    per_h = step / h
    stop = min(float(lags.shape[1]), math.ceil(math.sqrt(farthest) / per_h))
    total = 0.0
    for lag in range(int(stop)):
        u = lags[1, lag] * per_h
        d = u * u
        total += lags[0, lag] * exp_nonpositive(-0.5 * d) * (((c3 * d + c2) * d + c1) * d + c0)
    return total


@compiled
def lag_counts(ascending: Array, step: float, longest: int) -> Array:
    """Count the pairs i < j by the distance of their bins of width `step`, for 0 to `longest` bins.

    Row 0 has the counts and row 1 the mean distance of the bins' centroids, in steps, so that values on a lattice
    (rounded data) keep their distances. Pairs within a bin have distance 0.
    """
    # Bins lie about the median, so that the mirrored row has the mirrored bins. They are whole float64 numbers: an
    # outlier's index may exceed every integer.
    centre = 0.5 * (ascending[(ascending.size - 1) // 2] + ascending[ascending.size // 2])
    bins, masses, centroids = np.empty(ascending.size), np.zeros(ascending.size), np.zeros(ascending.size)
    used = 0
    for x in ascending:
        position = (x - centre) / step
        if used == 0 or bins[used - 1] != np.rint(position):
            bins[used] = np.rint(position)
            used += 1
        masses[used - 1] += 1.0
        centroids[used - 1] += (position - centroids[used - 1]) / masses[used - 1]
    lags = np.zeros((2, longest + 1))
    for i in range(used):
        lags[0, 0] += 0.5 * masses[i] * (masses[i] - 1.0)
        j = i + 1
        while j < used and bins[j] - bins[i] <= longest:
            lag, pairs = int(bins[j] - bins[i]), masses[i] * masses[j]
            lags[0, lag] += pairs
            lags[1, lag] += pairs * (centroids[j] - centroids[i])
            j += 1
    for lag in range(longest + 1):
        lags[1, lag] /= max(lags[0, lag], 1.0)
    return lags


@compiled
def squared_kernel_sums(ascending: Array, h: float) -> tuple[float, float]:
    """Give the sums over i < j of E = exp(-D/4) and of E^2, D = ((x_j - x_i)/h)^2: both terms of LSCV."""
    per_h = 0.5 / h
    wide, narrow = 0.0, 0.0
    stop = 0
    for i in range(ascending.size):
        # exp(-D/4) < 1e-17 beyond 12.6 bandwidths.
        while stop < ascending.size and ascending[stop] - ascending[i] < 12.6 * h:
            stop += 1
        part_wide, part_narrow = 0.0, 0.0
        for j in range(i + 1, stop):
            u = (ascending[j] - ascending[i]) * per_h
            e = exp_nonpositive(-u * u)
            part_wide += e
            part_narrow += e * e
        wide += part_wide
        narrow += part_narrow
    return wide, narrow
