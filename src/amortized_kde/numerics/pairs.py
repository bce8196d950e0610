"""Sums over the pairs of an ascending row: exact, or binned where there are too many pairs.

Each value counts as m equal ones, and a pair as the product of its counts. Without counts (None, which to the compiler
is another type) the loops are compiled as if there were none. D is the squared distance of a pair in bandwidths.
"""

import math
from collections.abc import Iterator

import numpy as np

from amortized_kde._types import Array
from amortized_kde.numerics.gaussian import exp_nonpositive
from amortized_kde.numerics.jit import compiled, in_numpy

# Up to this many values every pair is visited; beyond, pairs are counted by distance.
LARGEST_EXACT = 5000
# exp(-D/2) D^3 < 2e-18 beyond; the distance is rounded up from the square root.
NEGLIGIBLE_SQUARED_DISTANCE = 110.0
_NEGLIGIBLE_DISTANCE = 10.5


@compiled
def pair_sum(ascending: Array, counts: Array | None, h: float, c3: float, c2: float, c1: float, c0: float) -> float:
    """Return the sum over i < j of m_i m_j exp(-D/2) (c3 D^3 + c2 D^2 + c1 D + c0), D = ((x_j - x_i)/h)^2."""
    per_h = 1.0 / h
    total = 0.0
    stop = 0
    for i in range(ascending.size):
        while stop < ascending.size and ascending[stop] - ascending[i] < _NEGLIGIBLE_DISTANCE * h:
            stop += 1
        part = 0.0
        if counts is None:
            for j in range(i + 1, stop):
                u = (ascending[j] - ascending[i]) * per_h
                d = u * u
                part += exp_nonpositive(-0.5 * d) * (((c3 * d + c2) * d + c1) * d + c0)
        else:
            for j in range(i + 1, stop):
                u = (ascending[j] - ascending[i]) * per_h
                d = u * u
                part += counts[j] * exp_nonpositive(-0.5 * d) * (((c3 * d + c2) * d + c1) * d + c0)
            part *= counts[i]
        total += part
    return total


def _pairs(
    ascending: Array, counts: Array | None, reach: float, factors: Array | None = None
) -> Iterator[tuple[Array, Array | float, Array | float]]:
    """Distances of the pairs whose ranks differ by 1, 2, ... within reach, m_i m_j, and (f_i + f_j) / 2."""
    for lag in range(1, ascending.size):
        away = ascending[lag:] - ascending[:-lag]
        if away.min() >= reach:
            break
        both = 1.0 if factors is None else 0.5 * (factors[lag:] + factors[:-lag])
        yield away, 1.0 if counts is None else counts[lag:] * counts[:-lag], both


# Sums are NumPy's numbers, which divide by 0 as compiled ones do.
@in_numpy(pair_sum)
def _pair_sum(ascending: Array, counts: Array | None, h: float, c3: float, c2: float, c1: float, c0: float) -> float:
    total = np.float64(0.0)
    for away, numbers, _ in _pairs(ascending, counts, _NEGLIGIBLE_DISTANCE * h):
        d = np.minimum((away / h) ** 2, NEGLIGIBLE_SQUARED_DISTANCE)
        total += np.sum(numbers * np.exp(-0.5 * d) * (((c3 * d + c2) * d + c1) * d + c0))
    return total


@compiled
def lag_sum(
    pairs: Array, lags: Array, step: float, h: float, c3: float, c2: float, c1: float, c0: float, most: float
) -> float:
    """Return `pair_sum` for ``pairs[l]`` pairs that are ``lags[l]`` steps apart, which is about l.

    Lags l with D = (l step/h)^2 >= most, itself at most 1300, are left out.
    """
    per_h = step / h
    stop = min(float(lags.size), math.ceil(math.sqrt(most) / per_h))
    total = 0.0
    for lag in range(int(stop)):
        u = lags[lag] * per_h
        d = u * u
        total += pairs[lag] * exp_nonpositive(-0.5 * d) * (((c3 * d + c2) * d + c1) * d + c0)
    return total


@in_numpy(lag_sum)
def _lag_sum(
    pairs: Array, lags: Array, step: float, h: float, c3: float, c2: float, c1: float, c0: float, most: float
) -> float:
    stop = int(min(float(lags.size), math.ceil(math.sqrt(most) * h / step)))
    d = (lags[:stop] * step / h) ** 2
    return np.float64(np.sum(pairs[:stop] * np.exp(-0.5 * d) * (((c3 * d + c2) * d + c1) * d + c0)))


@compiled
def lag_counts(ascending: Array, counts: Array | None, factors: Array | None, step: float, longest: int) -> Array:
    """Count the pairs i < j by the distance of their bins of width `step`, for 0 to `longest` bins.

    Row 0 has the sums of m_i m_j, and row 1 the mean distance of the bins' centroids, in steps, so that values on a
    lattice (rounded data) keep their distances. Pairs within a bin have distance 0. Row 2 has the sums of
    m_i m_j (f_i + f_j)/2 with the factors f.
    """
    # Bins are centred on the median, so that a mirrored row has mirrored bins. They are whole float64 numbers, because
    # an outlier's index can exceed every integer.
    centre = 0.5 * (ascending[(ascending.size - 1) // 2] + ascending[ascending.size // 2])
    bins, centroids = np.empty(ascending.size), np.zeros(ascending.size)
    masses, factored_masses = np.zeros(ascending.size), np.zeros(ascending.size)
    lags = np.zeros((3, longest + 1))
    used = 0
    for i in range(ascending.size):
        position = (ascending[i] - centre) / step
        if used == 0 or bins[used - 1] != np.rint(position):
            bins[used] = np.rint(position)
            used += 1
        g = used - 1
        count = 1.0 if counts is None else counts[i]
        factored = count if factors is None else count * factors[i]
        lags[0, 0] += count * masses[g]
        lags[2, 0] += 0.5 * (count * factored_masses[g] + factored * masses[g])
        masses[g] += count
        factored_masses[g] += factored
        centroids[g] += count * (position - centroids[g]) / masses[g]
    for i in range(used):
        j = i + 1
        while j < used and bins[j] - bins[i] <= longest:
            lag, pairs = int(bins[j] - bins[i]), masses[i] * masses[j]
            lags[0, lag] += pairs
            lags[1, lag] += pairs * (centroids[j] - centroids[i])
            lags[2, lag] += 0.5 * (masses[i] * factored_masses[j] + factored_masses[i] * masses[j])
            j += 1
    for lag in range(longest + 1):
        if lags[0, lag] > 0.0:
            lags[1, lag] /= lags[0, lag]
    return lags


@compiled
def squared_kernel_sums(ascending: Array, counts: Array | None, factors: Array | None, h: float) -> tuple[float, float]:
    """Return the sums over i < j of m_i m_j E and of m_i m_j (f_i + f_j) E^2 / 2, E = exp(-D/4), D = ((x_j - x_i)/h)^2.

    These are the two terms of LSCV. Without counts the factors f are 1 too.
    """
    per_h = 0.5 / h
    wide, narrow = 0.0, 0.0
    stop = 0
    for i in range(ascending.size):
        # exp(-D/4) < 1e-17 beyond 12.6 bandwidths.
        while stop < ascending.size and ascending[stop] - ascending[i] < 12.6 * h:
            stop += 1
        part_wide, part_narrow = 0.0, 0.0
        if counts is None or factors is None:
            for j in range(i + 1, stop):
                u = (ascending[j] - ascending[i]) * per_h
                e = exp_nonpositive(-u * u)
                part_wide += e
                part_narrow += e * e
        else:
            for j in range(i + 1, stop):
                u = (ascending[j] - ascending[i]) * per_h
                e = exp_nonpositive(-u * u)
                part_wide += counts[j] * e
                part_narrow += (factors[i] + factors[j]) * counts[j] * e * e
            part_wide, part_narrow = counts[i] * part_wide, 0.5 * counts[i] * part_narrow
        wide += part_wide
        narrow += part_narrow
    return wide, narrow


@in_numpy(squared_kernel_sums)
def _squared_kernel_sums(
    ascending: Array, counts: Array | None, factors: Array | None, h: float
) -> tuple[float, float]:
    wide, narrow = np.float64(0.0), np.float64(0.0)
    for away, numbers, both in _pairs(ascending, counts, 12.6 * h, factors):
        e = np.exp(-((away * (0.5 / h)) ** 2))
        wide += np.sum(numbers * e)
        narrow += np.sum(numbers * both * e * e)
    return wide, narrow
