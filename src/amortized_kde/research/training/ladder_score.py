"""The score of adaptive estimates at their evaluation points, and its derivative by every share.

For a sample x_1..x_n, bandwidths h_k, shares w_ik that sum to 1 over k, and evaluation points y_j,

    q(y) = (1 - eps) p(y) + eps b(y),    p(y) = (1/n) sum_i sum_k w_ik phi((y - x_i)/h_k) / (h_k Z_ik),
    L = -(1/m) sum_j log q(y_j),         dL/dw_ik = -(1/m) sum_j (1 - eps) phi(...) / (n h_k Z_ik q(y_j)).

Shares are given at anchors, some of the points, and lie between theirs at the others, linearly in rank; so do the
derivatives go back. Bandwidths descend by powers of sqrt(2), for squaring a kernel moves it to h/sqrt(2): one
exponential serves several. Two passes over the kernels, in natural logarithms (nats).
"""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import exp2_nonpositive_single, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.neighbours import inverse_masses
from amortized_kde.numerics.sort import first_at_least

Single = NDArray[np.float32] | NDArray[np.float64]

# So often a kernel is squared at most before an exponential is taken anew: each time its error doubles.
_SQUARINGS = 6
# In training a share so small moves neither the score nor, times its derivative, the network.
_NEGLIGIBLE = 1e-6
_TINIEST = 1e-300
_LN2 = math.log(2.0)
_PER_H = math.sqrt(0.5 / _LN2)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


@compiled
def _start(at: Array, x: float, per_h: float, kernel: Single) -> None:
    """Write 2^(-((at - x) per_h)^2), which is the Gaussian kernel for per_h = sqrt(log2(e)/2)/h."""
    for j in range(at.size):
        u = np.float32((at[j] - x) * per_h)
        kernel[j] = exp2_nonpositive_single(-u * u)


@compiled
def _start_exactly(at: Array, x: float, per_h: float, kernel: Single) -> None:
    for j in range(at.size):
        u = (at[j] - x) * per_h
        kernel[j] = exp_nonpositive(-u * u * _LN2)


@compiled
def _sharpen(kernel: Single, squarings: int) -> None:
    """Square so many times."""
    for _ in range(squarings // 2):
        for j in range(kernel.size):
            square = kernel[j] * kernel[j]
            kernel[j] = square * square
    if squarings % 2:
        for j in range(kernel.size):
            kernel[j] *= kernel[j]


@compiled
def _add(peak: float, kernel: Single, totals: Single) -> None:
    for j in range(kernel.size):
        totals[j] += peak * kernel[j]


@compiled
def _product(kernel: Single, ratios: Single) -> float:
    total = kernel[0] * ratios[0]
    for j in range(1, kernel.size):
        total += kernel[j] * ratios[j]
    return total


@compiled
def _visit(
    x: float,
    shares: Array,
    inverse: Array,
    bandwidths: Array,
    halves: Index,
    at: Array,
    reach: float,
    exact: bool | None,
    kernel: Single,
    totals: Single,
    ratios: Single,
    slopes: Array,
) -> None:
    """Add the kernels at x to `totals`; or, if `slopes` has room, write the sums of kernels times `ratios` there."""
    low, high, fresh, last = 0, at.size, -_SQUARINGS - 1, 0
    least = _NEGLIGIBLE if exact is None else _TINIEST
    for k in range(bandwidths.size):
        if shares[k] < least:
            continue
        h = bandwidths[k]
        low += first_at_least(at[low:high], x - reach * h)
        high = low + first_at_least(at[low:high], x + reach * h)
        if low == high:
            break
        near = kernel[low:high]
        if halves[k] - fresh > _SQUARINGS:
            fresh = halves[k]
            if exact is None:
                _start(at[low:high], x, _PER_H / h, near)
            else:
                _start_exactly(at[low:high], x, _PER_H / h, near)
        else:
            _sharpen(near, halves[k] - last)
        last = halves[k]
        if slopes.size == 0:
            _add(shares[k] * inverse[k] / h, near, totals[low:high])
        else:
            slopes[k] = _product(near, ratios[low:high]) * inverse[k] / h


@entry
def ladder_score_rows(
    values: Array,
    offsets: Index,
    lower: Array,
    upper: Array,
    bandwidths: Array,
    anchors: Index,
    anchor_offsets: Index,
    shares: Array,
    epsilons: Array,
    at: Array,
    background: Array,
    reach: float,
    exact: bool | None,
    kernel: Single,
    totals: Single,
    ratios: Single,
    scores: Array,
    slopes: Array,
    epsilon_slopes: Array,
    start: int,
    stop: int,
) -> None:
    """Write L, dL/dw at the anchors and dL/deps of tasks start .. stop - 1; rows of `at` ascend.

    With `slopes` of no rows only the scores are written. Kernels count out to `reach` bandwidths.
    """
    rungs, count = bandwidths.shape[1], at.shape[1]
    wanted = slopes.shape[0] > 0
    share, slope, none, halves = np.empty(rungs), np.zeros(rungs), np.zeros(0), np.empty(rungs, np.int64)
    for t in range(start, stop):
        points, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        first, last = anchor_offsets[t], anchor_offsets[t + 1] - 1
        for k in range(rungs):
            halves[k] = np.int64(np.rint(2.0 * math.log2(h[0] / h[k])))
        inverse = np.empty((rungs, points.size))
        inverse_masses(points, None, h, lower[t], upper[t], inverse)
        totals[:] = 0.0
        score, epsilon_slope = 0.0, 0.0
        for sweep in range(2 if wanted else 1):
            a = first
            for i in range(points.size):
                while a < last and anchors[a + 1] <= i:
                    a += 1
                part = 0.0
                if anchors[a] < i and a < last:
                    part = (i - anchors[a]) / (anchors[a + 1] - anchors[a])
                for k in range(rungs):
                    share[k] = (1.0 - part) * shares[a, k]
                if part > 0.0:
                    for k in range(rungs):
                        share[k] += part * shares[a + 1, k]
                if sweep == 0:
                    _visit(
                        points[i], share, inverse[:, i], h, halves, at[t], reach, exact, kernel, totals, ratios, none
                    )
                else:
                    slope[:] = 0.0
                    _visit(
                        points[i], share, inverse[:, i], h, halves, at[t], reach, exact, kernel, totals, ratios, slope
                    )
                    for k in range(rungs):
                        slopes[a, k] -= (1.0 - part) * slope[k]
                    if part > 0.0:
                        for k in range(rungs):
                            slopes[a + 1, k] -= part * slope[k]
            if sweep == 0:
                scale, eps = 1.0 / (points.size * _SQRT_2PI), epsilons[t]
                for j in range(count):
                    p = totals[j] * scale
                    q = (1.0 - eps) * p + eps * background[t, j]
                    score -= math.log(q)
                    epsilon_slope -= (background[t, j] - p) / q
                    ratios[j] = (1.0 - eps) * scale / (q * count)
        scores[t], epsilon_slopes[t] = score / count, epsilon_slope / count
