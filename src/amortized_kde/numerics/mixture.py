"""Sums of Gaussian kernels: q(x) = sum over rungs k and their places i of c_ki phi((x - x_ki)/h_k)/h_k.

Sums are direct and in float64; their logarithms are exact at any distance from the places.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, LOWEST_LOG, central_mass, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry, in_numpy
from amortized_kde.numerics.workload import one_sample

# Terms that together are less than exp(-38) = 3e-17 of a lower bound of the sum are left out.
_NEGLIGIBLE = 38.0
# A sum below this was shifted too far (weights over hundreds of decades); it is summed again, relative to its maximum.
_TOO_SMALL = 1e-200
# Such a sum, at most exp(-460) of the largest possible term, does not matter beside exp(-400) of that term.
_DOMINATED = 400.0
# Where no term can be above this, the largest is the sum to 1e-15: weights and counts change it by less than 800.
_FAR = -1e18
# Terms of exact sums that are kept at once, half a megabyte, which fits in the cache.
_MOST_TERMS = 2**16
# A value of a sample has kernels on up to this many rungs, and costs as much in NumPy as this many terms.
_KERNELS_PER_VALUE, _TERMS_PER_VALUE = 25, 1 << 14


class Rungs(NamedTuple):
    """Kernels by bandwidth: rung k has ``bandwidths[k]`` and the kernels ``offsets[k]:offsets[k + 1]``.

    Places ascend within a rung, coefficients are not zero, and no rung is empty.
    """

    places: Array
    coefficients: Array
    offsets: Index
    bandwidths: Array

    @property
    def spread(self) -> Array:
        """Bandwidth of each kernel."""
        return np.repeat(self.bandwidths, np.diff(self.offsets))

    def mirrored(self) -> "Rungs":
        """Return the kernels of q(-x)."""
        offsets = self.offsets[-1] - self.offsets[::-1]
        return Rungs(-self.places[::-1], self.coefficients[::-1], offsets, self.bandwidths[::-1])


class Peaks(NamedTuple):
    """Rungs prepared for sums: coefficients relative to the largest of the rung, and the log-density of its peak."""

    places: Array
    relative: Array
    offsets: Index
    bandwidths: Array
    peaks: Array


def peaks_of(rungs: Rungs) -> Peaks:
    """Return the rungs with the coefficients of each divided by the largest."""
    largest = np.maximum.reduceat(np.abs(rungs.coefficients), rungs.offsets[:-1])
    relative = rungs.coefficients / np.repeat(largest, np.diff(rungs.offsets))
    peaks = np.log(largest / rungs.bandwidths) - 0.5 * math.log(2.0 * math.pi)
    return Peaks(rungs.places, relative, rungs.offsets, rungs.bandwidths, peaks)


def log_density(ladder: Peaks, at: Array, known: Array, *, condensed: bool = False) -> Array:
    """Return the logarithm of exp(known) + q at each of `at`; NaN stays NaN, and at infinity q is 0.

    Terms that are negligible beside exp(known) are left out. Sums that are too small for `condensed` kernels are NaN.
    """
    out = np.empty(at.size)
    with one_sample(max(ladder.places.size // _KERNELS_PER_VALUE, ladder.places.size * at.size // _TERMS_PER_VALUE)):
        _log_density(*ladder, at, known, out)
    small = np.flatnonzero(np.isnan(out) & np.isfinite(at))
    if small.size and not condensed:
        out[small] = _exact_log_sums(ladder, at[small])
    np.logaddexp(out, known, out=out, where=(known > -math.inf) & ~np.isnan(out))
    return out


@compiled
def first_in(places: Array, low: int, high: int, x: float) -> int:
    """Return the first index in [low, high) whose place is >= x, or `high`; a slice would take longer to compile."""
    while low < high:
        middle = (low + high) // 2
        if places[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _log_density_at(
    places: Array, relative: Array, offsets: Index, bandwidths: Array, peaks: Array, x: float, known: float
) -> float:
    """Logarithm of the sum at x, without terms that are negligible beside it or beside exp(known); NaN if too small."""
    lower, upper = known, -math.inf
    for k in range(bandwidths.size):
        nearest = first_in(places, offsets[k], offsets[k + 1], x)
        is_past_last = nearest == offsets[k + 1]
        if is_past_last or (nearest > offsets[k] and x - places[nearest - 1] < places[nearest] - x):
            nearest -= 1
        # As below, bit for bit: half its square can be 1e17, and the exponential of its rounding 0.
        u = (x - places[nearest]) * (1.0 / bandwidths[k])
        at_best = peaks[k] - 0.5 * u * u
        at_least = at_best + math.log(abs(relative[nearest]))
        upper = at_best if at_best > upper else upper
        lower = at_least if at_least > lower else lower
    if upper < _FAR:
        return upper
    total, floor = 0.0, lower - _NEGLIGIBLE - math.log(places.size)
    for k in range(bandwidths.size):
        # Weights over hundreds of decades: the nearest point does not bound the window.
        if peaks[k] <= floor or upper - lower >= 600.0:
            continue
        # The nearest place must not be lost to rounding.
        reach = (1.0 + 1e-15) * bandwidths[k] * math.sqrt(2.0 * (peaks[k] - floor)) + 2.3e-16 * abs(x)
        start = first_in(places, offsets[k], offsets[k + 1], x - reach)
        stop = first_in(places, start, offsets[k + 1], x + reach)
        per_bandwidth, shift = 1.0 / bandwidths[k], peaks[k] - upper
        part = 0.0
        for i in range(start, stop):
            u = (x - places[i]) * per_bandwidth
            part += relative[i] * exp_nonpositive(max(min(shift - 0.5 * u * u, 0.0), LOWEST_EXPONENT))
        total += part
    if total >= _TOO_SMALL:
        return upper + math.log(total)
    return -math.inf if known > upper - _DOMINATED else math.nan


@entry
def _log_density(
    places: Array, relative: Array, offsets: Index, bandwidths: Array, peaks: Array, at: Array, known: Array, out: Array
) -> None:
    """Write the logarithm of q, NaN where the sum is too small to be right."""
    for j in range(at.size):
        out[j] = math.nan if math.isnan(at[j]) else -math.inf
        if math.isfinite(at[j]):
            out[j] = _log_density_at(places, relative, offsets, bandwidths, peaks, at[j], known[j])


@in_numpy(_log_density)
def _log_density_in_numpy(
    places: Array, relative: Array, offsets: Index, bandwidths: Array, peaks: Array, at: Array, known: Array, out: Array
) -> None:
    """Write what `_log_density` does, from every term; sums are never too small."""
    out[:] = np.where(np.isnan(at), math.nan, -math.inf)
    finite = np.flatnonzero(np.isfinite(at))
    out[finite] = _exact_log_sums(Peaks(places, relative, offsets, bandwidths, peaks), at[finite])


def _exact_log_sums(ladder: Peaks, at: Array) -> Array:
    """The sums of every term, relative to the largest: slow, but never too small."""
    sizes = np.diff(ladder.offsets)
    bandwidths, out = np.repeat(ladder.bandwidths, sizes), np.empty(at.size)
    rows = max(1, _MOST_TERMS // ladder.places.size)
    # Squares of 1e200 bandwidths overflow to infinity, whose exponential is the correct 0.
    with np.errstate(over="ignore", divide="ignore"):
        heights = np.repeat(ladder.peaks, sizes) + np.log(np.abs(ladder.relative))
        for start in range(0, at.size, rows):
            u = (at[start : start + rows, None] - ladder.places) / bandwidths
            terms = heights - 0.5 * u * u
            largest = terms.max(axis=1)
            terms -= np.where(np.isfinite(largest), largest, 0.0)[:, None]
            # Kernels that stand for others can be negative.
            out[start : start + rows] = largest + np.log((np.exp(terms) * np.sign(ladder.relative)).sum(axis=1))
    return out


@entry
def log_density_rows(
    values: Array,
    offsets: Index,
    weights: Array | None,
    bandwidths: Array,
    lower: float,
    upper: float,
    at: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the log-densities of many samples: row r of `at` (rows, m) under sample r with ``bandwidths[r]``.

    NaN where weights over hundreds of decades leave a sum too small to be right.
    """
    longest = 1
    for row in range(start, stop):
        longest = max(longest, offsets[row + 1] - offsets[row])
    relative, whole = np.ones(longest), np.zeros(2, np.int64)
    bounded = lower > -math.inf or upper < math.inf
    for row in range(start, stop):
        points = values[offsets[row] : offsets[row + 1]]
        h = bandwidths[row : row + 1]
        if points.size == 0 or not (h[0] > 0.0) or points[0] < lower or points[-1] > upper:
            out[row] = math.nan
            continue
        mass = float(points.size)
        if weights is not None:
            # Relative to the largest, as `_log_density_at` expects.
            given = weights[offsets[row] : offsets[row + 1]]
            relative[: points.size] = given / given.max()
            mass = relative[: points.size].sum()
        if bounded:
            mass = 0.0
            for i in range(points.size):
                mass += relative[i] * central_mass((lower - points[i]) / h[0], (upper - points[i]) / h[0])
        peaks = np.array([-math.log(mass * h[0]) - 0.5 * math.log(2.0 * math.pi)])
        whole[1] = points.size
        for j in range(at.shape[1]):
            x = at[row, j]
            out[row, j] = math.nan if math.isnan(x) else -math.inf
            if lower <= x <= upper and math.isfinite(x):
                found = _log_density_at(points, relative, whole, h, peaks, x, -math.inf)
                out[row, j] = LOWEST_LOG if found < LOWEST_LOG else found
