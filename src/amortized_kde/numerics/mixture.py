"""Sums of Gaussian kernels: q(x) = sum over rungs k and their places i of c_ki phi((x - x_ki)/h_k)/h_k.

One description serves one bandwidth and many: rung k has ``bandwidths[k]`` and the ascending places ``places[a:b]``,
where ``a, b = offsets[k : k + 2]``. Coefficients are given as shares of their rung's largest, ``shares`` = c_ki / max_i
c_ki, with ``peaks[k]`` = log(max_i c_ki / (h_k sqrt(2 pi))). No rung is empty. All sums are direct and in float64;
their logarithm is exact however far the argument lies from the places.
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
# Such a sum, exp(-460) of the largest term at best, is nothing beside what is larger than exp(-400) of it.
_NEVER = 400.0


@compiled
def _nearest_distance(points: Array, x: float) -> tuple[int, float]:
    right = first_at_least(points, x)
    if right == points.size:
        return right - 1, x - points[right - 1]
    if right > 0 and x - points[right - 1] < points[right] - x:
        return right - 1, x - points[right - 1]
    return right, points[right] - x


@compiled
def _exact_log_sum(places: Array, shares: Array, offsets: Index, bandwidths: Array, peaks: Array, x: float) -> float:
    """The slow sure way: every term, rescaled whenever a larger one comes."""
    largest, total = -math.inf, 0.0
    for k in range(bandwidths.size):
        for i in range(offsets[k], offsets[k + 1]):
            u = (x - places[i]) / bandwidths[k]
            term = peaks[k] + math.log(shares[i]) - 0.5 * u * u
            if term > largest:
                total *= math.exp(largest - term)
                largest = term
            if term > -math.inf:
                total += math.exp(term - largest)
    return largest + math.log(total)


@compiled
def _log_density_at(
    places: Array, shares: Array, offsets: Index, bandwidths: Array, peaks: Array, x: float, known: float
) -> float:
    """Logarithm of the sum at x, without terms that are negligible beside it or beside exp(known)."""
    lower, upper = known, -math.inf
    for k in range(bandwidths.size):
        nearest, distance = _nearest_distance(places[offsets[k] : offsets[k + 1]], x)
        u = distance / bandwidths[k]
        at_best = peaks[k] - 0.5 * u * u
        upper = max(upper, at_best)
        lower = max(lower, at_best + math.log(shares[offsets[k] + nearest]))
    # Weights over hundreds of decades: no window can be told from the nearest point.
    total, ordinary = 0.0, upper - lower < 600.0
    floor = lower - _NEGLIGIBLE - math.log(places.size)
    for k in range(bandwidths.size):
        if peaks[k] <= floor or not ordinary:
            continue
        reach = bandwidths[k] * math.sqrt(2.0 * (peaks[k] - floor))
        points, row = places[offsets[k] : offsets[k + 1]], shares[offsets[k] : offsets[k + 1]]
        start = first_at_least(points, x - reach)
        stop = first_at_least(points, x + reach)
        per_bandwidth, shift = 1.0 / bandwidths[k], peaks[k] - upper
        part = 0.0
        for i in range(start, stop):
            u = (x - points[i]) * per_bandwidth
            part += row[i] * exp_nonpositive(max(min(shift - 0.5 * u * u, 0.0), LOWEST_EXPONENT))
        total += part
    if total >= _TOO_SMALL:
        return upper + math.log(total)
    if known > upper - _NEVER:
        return -math.inf
    return _exact_log_sum(places, shares, offsets, bandwidths, peaks, x)


@entry
def log_density(
    places: Array,
    shares: Array,
    offsets: Index,
    bandwidths: Array,
    peaks: Array,
    at: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Add q at ``at[start:stop]`` to what `out` holds; both are logarithms, and minus infinity is nothing.

    NaN stays NaN, and at infinity nothing is added.
    """
    for j in range(start, stop):
        if math.isnan(at[j]):
            out[j] = math.nan
        elif math.isfinite(at[j]):
            known = out[j]
            log = _log_density_at(places, shares, offsets, bandwidths, peaks, at[j], known)
            if known > -math.inf:
                log = max(log, known) + math.log1p(math.exp(-abs(log - known)))
            out[j] = log


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
    shares, whole = np.ones(longest), np.zeros(2, np.int64)
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
        whole[1] = points.size
        for j in range(at.shape[1]):
            x = at[row, j]
            out[row, j] = math.nan if math.isnan(x) else -math.inf
            if lower <= x <= upper and math.isfinite(x):
                out[row, j] = _log_density_at(points, shares, whole, h, peaks, x, -math.inf)
