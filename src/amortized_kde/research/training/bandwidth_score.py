"""Score kernel estimates between bounds at their evaluation points, with the derivative by the bandwidth.

For a sample x_1..x_n with bandwidth h between two bounds, and evaluation points y_j with weights v_j that sum to 1,

    L(h) = -sum_j v_j log q_h(y_j),   q_h(y) = sum_i phi((y - x_i)/h) / (h sum_i Z_i(h)),

and with D_ij = ((y_j - x_i)/h)^2 and e_ij = exp(-D_ij/2)

    dL/dlog h = 1 - sum_j v_j (sum_i e_ij D_ij / sum_i e_ij) + (sum_i dZ_i/dlog h) / (sum_i Z_i).

Both come from one pass over the kernels, in nats. The fast pass is in float32; a sum that underflows there is computed
again in float64, shifted by the nearest point, as are all sums of the float64 pass.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index, Single
from amortized_kde.numerics.gaussian import (
    LOWEST_EXPONENT,
    LOWEST_EXPONENT_2_SINGLE,
    exp2_nonpositive_single,
    exp_nonpositive,
    mass_and_slope,
)
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.sort import first_at_least

# Below this a float32 sum has lost digits to underflow: 2^-126 is 1e-38.
_TOO_SMALL = np.float32(1e-30)
_ZERO = np.float32(0.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_LOG2_E = 1.4426950408889634


class BoundedSamples(NamedTuple):
    """Ascending samples, ``values[offsets[t]:offsets[t + 1]]`` for task t, with the bounds of each (tasks,)."""

    values: Array
    offsets: Index
    lower: Array
    upper: Array


class Points(NamedTuple):
    """Evaluation points (tasks, m) and the background density there."""

    at: Array
    background: Array


@compiled
def _exact_sums(points: Array, h: float, y: float) -> tuple[float, float]:
    """Return log sum_i e_i and sum_i e_i D_i / sum_i e_i in float64, shifted by the nearest point."""
    right = first_at_least(points, y)
    distance = math.inf
    if right < points.size:
        distance = points[right] - y
    if right > 0:
        distance = min(distance, y - points[right - 1])
    per_h = 1.0 / h
    shift = (distance * per_h) ** 2
    total, weighted = 0.0, 0.0
    for i in range(points.size):
        u = (y - points[i]) * per_h
        d = u * u
        e = exp_nonpositive(max(min(0.5 * (shift - d), 0.0), LOWEST_EXPONENT))
        total += e
        weighted += e * d
    return math.log(total) - 0.5 * shift, weighted / total


@compiled
def _single_sums(points: Single, at: Single, total: Single, weighted: Single) -> None:
    """Write sum_i e_i and sum_i e_i D_i log2(e)/2 for all of `at`, in float32 and in units that turn exp into exp2.

    The inner loop runs over the evaluation points: there are many, so few are left over from whole SIMD registers.
    """
    total[:] = _ZERO
    weighted[:] = _ZERO
    for x in points:
        for j in range(at.size):
            u = at[j] - x
            d = min(u * u, -LOWEST_EXPONENT_2_SINGLE)
            e = exp2_nonpositive_single(-d)
            total[j] += e
            weighted[j] += e * d


@entry
def score_and_slope_rows(
    samples: BoundedSamples,
    bandwidths: Array,
    at: Array,
    weights: Array,
    single: bool,
    scores: Array,
    slopes: Array,
    start: int,
    stop: int,
) -> None:
    """Write L and dL/dlog h of tasks start .. stop - 1, whose evaluation points are the rows of `at` (tasks, m).

    With `single`, sums are in float32.
    """
    values, offsets, lower, upper = samples
    count = at.shape[1]
    scaled, total, weighted = np.empty(count, np.float32), np.zeros(count, np.float32), np.zeros(count, np.float32)
    for t in range(start, stop):
        points = values[offsets[t] : offsets[t + 1]]
        h = bandwidths[t]
        inside, inside_slope = 0.0, 0.0
        for x in points:
            z, dz = mass_and_slope(x, h, lower[t], upper[t])
            inside += z
            inside_slope += dz
        score, slope = math.log(inside * h) + _LOG_SQRT_2PI, 1.0 + inside_slope / inside
        if single:
            per_h = math.sqrt(0.5 * _LOG2_E) / h
            for j in range(count):
                scaled[j] = at[t, j] * per_h
            _single_sums((points * per_h).astype(np.float32), scaled, total, weighted)
        for j in range(count):
            if total[j] > _TOO_SMALL:
                score -= weights[j] * math.log(total[j])
                slope -= weights[j] * (weighted[j] / total[j]) * (2.0 / _LOG2_E)
            else:
                log_sum, mean = _exact_sums(points, h, at[t, j])
                score -= weights[j] * log_sum
                slope -= weights[j] * mean
        scores[t], slopes[t] = score, slope


@entry
def floored_score_and_slope_rows(
    samples: BoundedSamples,
    bandwidths: Array,
    evaluation: Points,
    epsilons: Array,
    scores: Array,
    slopes: Array,
    start: int,
    stop: int,
) -> None:
    """Write the score of (1 - eps) q_h + eps b and its derivative with respect to log h; sums are in float32.

    The background b bounds the score of a point far from all values. Where eps is 0, a sum that underflows is computed
    again in float64.
    """
    values, offsets, lower, upper = samples
    at, background = evaluation
    count = at.shape[1]
    scaled, total, weighted = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(count, np.float32)
    for t in range(start, stop):
        points, h, epsilon = values[offsets[t] : offsets[t + 1]], bandwidths[t], epsilons[t]
        inside, inside_slope = 0.0, 0.0
        for x in points:
            z, dz = mass_and_slope(x, h, lower[t], upper[t])
            inside += z
            inside_slope += dz
        # From the first value, so that an offset costs no digits.
        per_h, origin = math.sqrt(0.5 * _LOG2_E) / h, points[0]
        for j in range(count):
            scaled[j] = (at[t, j] - origin) * per_h
        _single_sums(((points - origin) * per_h).astype(np.float32), scaled, total, weighted)
        peak = (1.0 - epsilon) / (inside * h * math.sqrt(2.0 * math.pi))
        score, slope = 0.0, 0.0
        for j in range(count):
            if epsilon > 0.0 or total[j] > _TOO_SMALL:
                p = peak * total[j]
                q = p + epsilon * background[t, j]
                score -= math.log(q)
                slope += (p - peak * weighted[j] * (2.0 / _LOG2_E) + p * inside_slope / inside) / q
            else:
                log_sum, mean = _exact_sums(points, h, at[t, j])
                score -= log_sum + math.log(peak)
                slope += 1.0 - mean + inside_slope / inside
        scores[t], slopes[t] = score / count, slope / count
