"""Sums of Gaussian kernels: q(x) = sum over rungs k and their places i of c_ki phi((x - x_ki)/h_k)/h_k.

One description serves one bandwidth and many, `Rungs`. All sums are direct and in float64; their logarithm is exact
however far the argument lies from the places. Which places matter is found for all arguments at once; only the sums
themselves are compiled, for compiling takes longer than most people's sums.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from amortized_kde.numerics.exponential import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

__all__ = ["Peaks", "Rungs", "log_density", "log_density_rows", "peaks_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Terms smaller than exp(-38) = 3e-17 of a lower bound of the sum, all of them together, are left out.
_NEGLIGIBLE = 38.0
# A sum below this was shifted too far (weights over hundreds of decades); it is done again with its true maximum.
_TOO_SMALL = 1e-200
# Such a sum, exp(-460) of the largest term at best, is nothing beside what is larger than exp(-400) of it.
_NEVER = 400.0
# Arguments at a time: the windows of all rungs then stay in the cache.
_BLOCK = 4096


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
        """Each kernel's bandwidth."""
        return np.repeat(self.bandwidths, np.diff(self.offsets))

    def mirrored(self) -> "Rungs":
        """Give the same kernels with the axis turned around."""
        offsets = self.offsets[-1] - self.offsets[::-1]
        return Rungs(-self.places[::-1], self.coefficients[::-1], offsets, self.bandwidths[::-1])


class Peaks(NamedTuple):
    """Rungs as their sums want them: coefficients as shares of the rung's largest, and the logarithm of its peak."""

    places: Array
    shares: Array
    offsets: Index
    bandwidths: Array
    peaks: Array


def peaks_of(rungs: Rungs) -> Peaks:
    """Divide the coefficients of each rung by the largest."""
    largest = np.maximum.reduceat(np.abs(rungs.coefficients), rungs.offsets[:-1])
    shares = rungs.coefficients / np.repeat(largest, np.diff(rungs.offsets))
    peaks = np.log(largest / rungs.bandwidths) - 0.5 * math.log(2.0 * math.pi)
    return Peaks(rungs.places, shares, rungs.offsets, rungs.bandwidths, peaks)


def log_density(ladder: Peaks, at: Array, known: Array) -> Array:
    """Give the logarithm of exp(known) + q at each of `at`; NaN stays NaN, and at infinity nothing is added.

    Terms that are negligible beside exp(known) are left out.
    """
    out = known.copy()
    # Squares of 1e200 bandwidths overflow, as they should.
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, at.size, _BLOCK):
            here = begin + np.flatnonzero(np.isfinite(at[begin : begin + _BLOCK]))
            out[here] = _log_sums(ladder, at[here], known[here])
    out[np.isnan(at)] = math.nan
    return out


def _log_sums(ladder: Peaks, x: Array, known: Array) -> Array:
    distances, upper, starts, stops = _windows(ladder, x, known)
    out = np.empty(x.size)
    _window_sums(ladder.places, ladder.shares, ladder.bandwidths, ladder.peaks, distances, starts, stops, x, out)
    small = np.isnan(out)
    out[small] = -math.inf
    for j in np.flatnonzero(small & (known <= upper - _NEVER)):
        out[j] = _exact_log_sum(ladder, x[j])
    return np.where(known > -math.inf, np.logaddexp(out, known), out)


def _windows(ladder: Peaks, x: Array, known: Array) -> tuple[Array, Array, Index, Index]:
    """Distance to each rung's nearest place, a bound of the largest term, and which places of each rung matter."""
    shape = ladder.bandwidths.size, x.size
    distances, starts, stops = np.empty(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    upper, lower = np.full(x.size, -math.inf), known.copy()
    rungs = np.split(ladder.places, ladder.offsets[1:-1])
    for k, places in enumerate(rungs):
        right = np.searchsorted(places, x)
        left, right = np.maximum(right - 1, 0), np.minimum(right, places.size - 1)
        to_left, to_right = np.abs(x - places[left]), np.abs(places[right] - x)
        distances[k] = np.minimum(to_left, to_right)
        best = ladder.peaks[k] - 0.5 * (distances[k] / ladder.bandwidths[k]) ** 2
        share = ladder.shares[ladder.offsets[k] + np.where(to_left < to_right, left, right)]
        np.maximum(upper, best, out=upper)
        np.maximum(lower, best + np.log(np.abs(share)), out=lower)
    floor = lower - _NEGLIGIBLE - math.log(ladder.places.size)
    # Weights over hundreds of decades: no window can be told from the nearest point.
    floor[upper - lower >= 600.0] = math.inf
    for k, places in enumerate(rungs):
        reach = ladder.bandwidths[k] * np.sqrt(2.0 * np.maximum(ladder.peaks[k] - floor, 0.0))
        starts[k] = ladder.offsets[k] + np.searchsorted(places, x - reach)
        stops[k] = np.where(reach > 0.0, ladder.offsets[k] + np.searchsorted(places, x + reach), starts[k])
    return distances, upper, starts, stops


@entry
def _window_sums(
    places: Array,
    shares: Array,
    bandwidths: Array,
    peaks: Array,
    distances: Array,
    starts: Index,
    stops: Index,
    at: Array,
    out: Array,
) -> None:
    """Write the logarithm of the sum over the windows, NaN where it is too small to be right."""
    for j in range(at.size):
        upper, total = -math.inf, 0.0
        for k in range(bandwidths.size):
            u = distances[k, j] / bandwidths[k]
            upper = max(upper, peaks[k] - 0.5 * u * u)
        for k in range(bandwidths.size):
            per_bandwidth, shift = 1.0 / bandwidths[k], peaks[k] - upper
            part = 0.0
            for i in range(starts[k, j], stops[k, j]):
                u = (at[j] - places[i]) * per_bandwidth
                part += shares[i] * exp_nonpositive(max(min(shift - 0.5 * u * u, 0.0), LOWEST_EXPONENT))
            total += part
        out[j] = math.nan if total < _TOO_SMALL else upper + math.log(total)


def _exact_log_sum(ladder: Peaks, x: float) -> float:
    """The slow sure way: every term, relative to the largest."""
    sizes = np.diff(ladder.offsets)
    u = (x - ladder.places) / np.repeat(ladder.bandwidths, sizes)
    return float(logsumexp(np.repeat(ladder.peaks, sizes) + np.log(ladder.shares) - 0.5 * u * u))


@compiled
def _log_density_at(points: Array, h: float, peak: float, x: float) -> float:
    """Logarithm of a sum of equal kernels, whose largest term is that of the nearest point."""
    right = first_at_least(points, x)
    distance = math.inf
    if right < points.size:
        distance = points[right] - x
    if right > 0:
        distance = min(distance, x - points[right - 1])
    u = distance / h
    # max() changes nothing, but keeps the compiler from taking the peak out of the sum again.
    upper = max(peak - 0.5 * u * u, -1e308)
    reach = h * math.sqrt(2.0 * (peak - (upper - _NEGLIGIBLE - math.log(points.size))))
    start = first_at_least(points, x - reach)
    stop = first_at_least(points, x + reach)
    total, per_bandwidth, shift = 0.0, 1.0 / h, peak - upper
    for i in range(start, stop):
        u = (x - points[i]) * per_bandwidth
        total += exp_nonpositive(max(min(shift - 0.5 * u * u, 0.0), LOWEST_EXPONENT))
    return upper + math.log(total)


@entry
def log_density_rows(
    values: Array,
    offsets: Index,
    bandwidths: Array,
    lower: float,
    upper: float,
    at: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the log-densities of many samples, row r of `at` (rows, m) under sample r with its own bandwidth."""
    bounded = lower > -math.inf or upper < math.inf
    for row in range(start, stop):
        points = values[offsets[row] : offsets[row + 1]]
        h = bandwidths[row]
        if points.size == 0 or not (h > 0.0) or points[0] < lower or points[-1] > upper:
            out[row] = math.nan
            continue
        mass = float(points.size)
        if bounded:
            mass = 0.0
            for x in points:
                mass += central_mass((lower - x) / h, (upper - x) / h)
        peak = -math.log(mass * h) - 0.5 * math.log(2.0 * math.pi)
        for j in range(at.shape[1]):
            x = at[row, j]
            out[row, j] = math.nan if math.isnan(x) else -math.inf
            if lower <= x <= upper and math.isfinite(x):
                out[row, j] = _log_density_at(points, h, peak, x)
