"""Sums of Gaussian kernels: q(x) = sum over points i and rungs k of c_ik phi((x - x_i)/h_k)/h_k.

One description serves one bandwidth and several: ``points`` (n,) ascending, ``bandwidths`` (r,), and for the
coefficients their share of the rung's largest, ``shares`` (r, n) = c_ik / max_i c_ik, with ``peaks`` (r,) =
log(max_i c_ik / (h_k sqrt(2 pi))). All sums are direct and in float64; their logarithm is exact however far
the argument lies from the points.
"""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.exponential import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

__all__ = ["log_density", "log_density_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Terms smaller than exp(-38) = 3e-17 of a lower bound of the sum, all of them together, are left out.
_NEGLIGIBLE = 38.0
# A sum below this was shifted too far (weights over hundreds of decades); it is done again with its true maximum.
_TOO_SMALL = 1e-200


@compiled
def _nearest_distance(points: Array, x: float) -> tuple[int, float]:
    right = first_at_least(points, x)
    if right == points.size:
        return right - 1, x - points[right - 1]
    if right > 0 and x - points[right - 1] < points[right] - x:
        return right - 1, x - points[right - 1]
    return right, points[right] - x


@compiled
def _exact_log_sum(points: Array, shares: Array, bandwidths: Array, peaks: Array, x: float) -> float:
    """The slow sure way: every term, rescaled whenever a larger one comes."""
    largest, total = -math.inf, 0.0
    for k in range(bandwidths.size):
        for i in range(points.size):
            u = (x - points[i]) / bandwidths[k]
            term = peaks[k] + math.log(shares[k, i]) - 0.5 * u * u
            if term > largest:
                total *= math.exp(largest - term)
                largest = term
            if term > -math.inf:
                total += math.exp(term - largest)
    return largest + math.log(total)


@compiled
def _log_density_at(points: Array, shares: Array, bandwidths: Array, peaks: Array, x: float) -> float:
    nearest, distance = _nearest_distance(points, x)
    lower, upper = -math.inf, -math.inf
    for k in range(bandwidths.size):
        u = distance / bandwidths[k]
        at_best = peaks[k] - 0.5 * u * u
        upper = max(upper, at_best)
        if shares[k, nearest] > 0.0:
            lower = max(lower, at_best + math.log(shares[k, nearest]))
    # Weights over hundreds of decades: no window can be told from the nearest point.
    total, ordinary = 0.0, upper - lower < 600.0
    floor = lower - _NEGLIGIBLE - math.log(points.size * bandwidths.size)
    for k in range(bandwidths.size):
        if peaks[k] <= floor or not ordinary:
            continue
        reach = bandwidths[k] * math.sqrt(2.0 * (peaks[k] - floor))
        start = first_at_least(points, x - reach)
        stop = first_at_least(points, x + reach)
        per_bandwidth, shift = 1.0 / bandwidths[k], peaks[k] - upper
        row = shares[k]
        part = 0.0
        for i in range(start, stop):
            u = (x - points[i]) * per_bandwidth
            part += row[i] * exp_nonpositive(max(min(shift - 0.5 * u * u, 0.0), LOWEST_EXPONENT))
        total += part
    if total < _TOO_SMALL:
        return _exact_log_sum(points, shares, bandwidths, peaks, x)
    return upper + math.log(total)


@entry
def log_density(
    points: Array,
    shares: Array,
    bandwidths: Array,
    peaks: Array,
    at: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write log q at ``at[start:stop]`` to ``out``; NaN stays NaN and infinity gets minus infinity."""
    for j in range(start, stop):
        out[j] = -math.inf if math.isinf(at[j]) else math.nan
        if math.isfinite(at[j]):
            out[j] = _log_density_at(points, shares, bandwidths, peaks, at[j])


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
    longest = 1
    for row in range(start, stop):
        longest = max(longest, offsets[row + 1] - offsets[row])
    shares = np.ones((1, longest))
    bounded = lower > -math.inf or upper < math.inf
    for row in range(start, stop):
        points = values[offsets[row] : offsets[row + 1]]
        h = bandwidths[row : row + 1]
        if points.size == 0 or not (h[0] > 0.0) or points[0] < lower or points[-1] > upper:
            out[row] = math.nan
            continue
        mass = float(points.size)
        if bounded:
            mass = 0.0
            for x in points:
                mass += central_mass((lower - x) / h[0], (upper - x) / h[0])
        peaks = np.array([-math.log(mass * h[0]) - 0.5 * math.log(2.0 * math.pi)])
        for j in range(at.shape[1]):
            x = at[row, j]
            out[row, j] = math.nan if math.isnan(x) else -math.inf
            if lower <= x <= upper and math.isfinite(x):
                out[row, j] = _log_density_at(points, shares, h, peaks, x)
