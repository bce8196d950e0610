"""The score of `objective.py` in float64 throughout, for judging: quicker, if the evaluation points ascend.

L(h) and dL/dlog h as defined there. Every sum of kernels is shifted by its nearest point, so nothing underflows however
small h is. Evaluation points are taken in blocks of neighbours, side by side in SIMD lanes; values too far from a block
to matter (together less than 3e-17 of a sum) are left out.
"""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.exponential import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.gaussian import mass_and_slope
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.order import first_at_least

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Whole SIMD registers for the paper's 1024 draws and 256 nodes, and narrow enough to leave most far values out.
_BLOCK = 64
# exp(-38) is 3e-17.
_NEGLIGIBLE = 38.0


@compiled
def _squared_distances(points: Array, at: Array, per_h: float, out: Array) -> float:
    """Write the squared distance, in bandwidths, of each evaluation point to its nearest value; give the largest."""
    right, largest = first_at_least(points, at[0]), 0.0
    for j in range(at.size):
        while right < points.size and points[right] < at[j]:
            right += 1
        distance = math.inf
        if right < points.size:
            distance = points[right] - at[j]
        if right > 0:
            distance = min(distance, at[j] - points[right - 1])
        out[j] = (distance * per_h) ** 2
        largest = max(largest, out[j])
    return largest


@compiled
def _block_sums(points: Array, at: Array, per_h: float, shifts: Array, totals: Array, weighted: Array) -> None:
    """Write sum_i exp((shift - D_i)/2) and the same sum weighted by D_i, for each evaluation point."""
    totals[:], weighted[:] = 0.0, 0.0
    for x in points:
        for j in range(at.size):
            u = (at[j] - x) * per_h
            d = u * u
            e = exp_nonpositive(max(min(0.5 * (shifts[j] - d), 0.0), LOWEST_EXPONENT))
            totals[j] += e
            weighted[j] += e * d


@entry
def exact_score_rows(
    values: Array,
    offsets: Index,
    bandwidths: Array,
    limits: tuple[float, float],
    at: Array,
    weights: Array,
    scores: Array,
    slopes: Array,
    start: int,
    stop: int,
) -> None:
    """Write L and dL/dlog h of tasks start .. stop - 1; values of a task ascend, and so does its row of `at`."""
    shifts, totals, weighted = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for t in range(start, stop):
        points, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        inside, inside_slope = 0.0, 0.0
        for x in points:
            z, dz = mass_and_slope(x, h, limits[0], limits[1])
            inside += z
            inside_slope += dz
        score, slope = math.log(inside * h) + _LOG_SQRT_2PI, 1.0 + inside_slope / inside
        for first in range(0, at.shape[1], _BLOCK):
            y, v = at[t, first : first + _BLOCK], weights[first : first + _BLOCK]
            largest = _squared_distances(points, y, 1.0 / h, shifts)
            reach = h * math.sqrt(largest + 2.0 * (_NEGLIGIBLE + math.log(points.size))) * (1.0 + 1e-12)
            near = points[first_at_least(points, y[0] - reach) : first_at_least(points, y[-1] + reach)]
            _block_sums(near, y, 1.0 / h, shifts, totals, weighted)
            for j in range(y.size):
                score -= v[j] * (math.log(totals[j]) - 0.5 * shifts[j])
                slope -= v[j] * (weighted[j] / totals[j])
        scores[t], slopes[t] = score, slope
