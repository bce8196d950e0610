"""Score adaptive estimates at their evaluation points, with its derivative with respect to every share.

For a sample x_1..x_n, bandwidths h_k, shares w_ik that sum to 1 over k, and evaluation points y_j,

    q(y) = (1 - eps) p(y) + eps b(y),    p(y) = (1/n) sum_i sum_k w_ik phi((y - x_i)/h_k) / (h_k Z_ik),
    L = -(1/m) sum_j log q(y_j),         dL/dw_ik = -(1/m) sum_j (1 - eps) phi(...) / (n h_k Z_ik q(y_j)).

Shares are given at anchors and interpolated linearly in rank at the other points; derivatives are distributed over the
two neighbouring anchors accordingly. Bandwidths descend by powers of sqrt(2): squaring a kernel turns h into h/sqrt(2),
so one exponential serves several rungs. Scores are in nats.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Flags, Index
from amortized_kde.numerics.gaussian import exp2_nonpositive_single, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.neighbours import inverse_masses
from amortized_kde.numerics.sort import first_at_least
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.training.bandwidth_score import BoundedSamples, Points

Floats = NDArray[np.float32] | NDArray[np.float64]

# Squarings of a kernel before its exponential is computed afresh: each doubles the relative error.
_SQUARINGS = 6
# Kernels are cut off at this many bandwidths: in float32 (training) at 7e-10 of their peak, in float64 at 5e-32.
_REACH_SINGLE, _REACH = 6.5, 12.0
# Smaller shares are skipped: in training they change neither the score nor the network noticeably.
_SMALLEST_SINGLE, _SMALLEST = 1e-6, 1e-300
_LN2 = math.log(2.0)
_PER_H = math.sqrt(0.5 / _LN2)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


class Ladder(NamedTuple):
    """Mixtures of bandwidths: `bandwidths` (tasks, rungs), `shares` (anchors, rungs), background `epsilons` (tasks,).

    Task t has the anchors ``offsets[t]`` to ``offsets[t + 1] - 1``; anchor a is value ``anchors[a]`` of its sample.
    """

    bandwidths: Array
    anchors: Index
    offsets: Index
    shares: Array
    epsilons: Array


class Shape(NamedTuple):
    """What the roughness of q needs: the true densities f (tasks, m) at the evaluation points, and its weight (tasks,).

    The roughness is the sum of |d_{j+1} - d_j| / max f over neighbouring evaluation points, d = q - f: twice the height
    of every ripple that the truth does not have, relative to its peak. It also takes evaluation points that are not
    `judged` (tasks, m), at which q is not scored.
    """

    truth: Array
    weight: Array
    judged: Flags


class Scratch(NamedTuple):
    """Memory for one task: a kernel, the sums of kernels and the ratios (1 - eps) / (n q), (m,) each.

    In float32 kernels are computed faster and cut off earlier than in float64.
    """

    kernel: Floats
    totals: Floats
    ratios: Floats


class Slopes(NamedTuple):
    """Derivatives of the scores with respect to the shares (anchors, rungs) and the epsilons (tasks,)."""

    shares: Array
    epsilons: Array


def ladder_scores(samples: BoundedSamples, ladder: Ladder, points: Points, *, threads: int | None = None) -> Array:
    """Return the score L (tasks,) in nats, computed in float64 on at most `threads` threads (default: all cores)."""
    slopes = Slopes(np.zeros((0, ladder.shares.shape[1])), np.empty(len(points.at)))
    return _scores(samples, ladder, points, _no_shape(points), slopes, np.float64, threads)


def ladder_scores_and_slopes(
    samples: BoundedSamples,
    ladder: Ladder,
    points: Points,
    shape: Shape | None = None,
    *,
    precision: type[np.floating] = np.float32,
) -> tuple[Array, Slopes]:
    """Return the score L (tasks,) in nats and its derivatives, computed in float32, which is faster, or float64.

    With a `shape`, the weighted roughness is added to L.
    """
    slopes = Slopes(np.zeros(ladder.shares.shape), np.empty(len(points.at)))
    return _scores(samples, ladder, points, shape or _no_shape(points), slopes, precision, None), slopes


def _no_shape(points: Points) -> Shape:
    return Shape(np.empty((0, 0)), np.zeros(len(points.at)), np.empty((0, 0), bool))


def _scores(
    samples: BoundedSamples,
    ladder: Ladder,
    points: Points,
    shape: Shape,
    slopes: Slopes,
    precision: type[np.floating],
    threads: int | None,
) -> Array:
    count, width = points.at.shape
    scores = np.empty(count)

    def work(start: int, stop: int) -> None:
        scratch = Scratch(*np.empty((3, width), precision))
        score_rows(samples, ladder, points, shape, scratch, scores, slopes, start, stop)

    run_in_pieces(work, count, operations=float(samples.values.size) * width, threads=threads)
    return scores


@entry
def score_rows(
    samples: BoundedSamples,
    ladder: Ladder,
    points: Points,
    shape: Shape,
    scratch: Scratch,
    scores: Array,
    slopes: Slopes,
    start: int,
    stop: int,
) -> None:
    """Write L of tasks start .. stop - 1, with roughness, dL/deps, and dL/dw unless ``slopes.shares`` has no rows.

    Rows of `points.at` must ascend; ``slopes.shares`` must be zero.
    """
    totals, ratios, count = scratch.totals, scratch.ratios, points.at.shape[1]
    values, offsets, lower, upper = samples
    bandwidths, anchors, anchor_offsets, shares, epsilons = ladder
    at, background = points
    rungs = bandwidths.shape[1]
    share, slope, halves = np.empty(rungs), np.zeros(rungs), np.empty(rungs, np.int64)
    for t in range(start, stop):
        sample, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        first, last = anchor_offsets[t], anchor_offsets[t + 1] - 1
        for k in range(rungs):
            halves[k] = np.int64(np.rint(2.0 * math.log2(h[0] / h[k])))
        inverse = np.empty((rungs, sample.size))
        inverse_masses(sample, sample.size, None, 0, h, lower[t], upper[t], inverse)
        totals[:] = 0.0
        score, epsilon_slope = 0.0, 0.0
        for sweep in range(2 if slopes.shares.shape[0] > 0 else 1):
            a = first
            for i in range(sample.size):
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
                    _visit(sample[i], share, inverse[:, i], h, halves, at[t], scratch, None)
                else:
                    slope[:] = 0.0
                    _visit(sample[i], share, inverse[:, i], h, halves, at[t], scratch, slope)
                    for k in range(rungs):
                        slopes.shares[a, k] -= (1.0 - part) * slope[k]
                    if part > 0.0:
                        for k in range(rungs):
                            slopes.shares[a + 1, k] -= part * slope[k]
            if sweep == 0:
                scale, eps = 1.0 / (sample.size * _SQRT_2PI), epsilons[t]
                judged = shape.judged[t].sum() if shape.judged.shape[0] > 0 else count
                for j in range(count):
                    if judged < count and not shape.judged[t, j]:
                        ratios[j] = 0.0
                        continue
                    p = totals[j] * scale
                    q = (1.0 - eps) * p + eps * background[t, j]
                    score -= math.log(q)
                    epsilon_slope -= (background[t, j] - p) / q
                    ratios[j] = (1.0 - eps) * scale / (q * judged)
                score, epsilon_slope = score / judged, epsilon_slope / judged
                if shape.weight[t] > 0.0:
                    rough, slope_of_rough = _add_roughness(
                        totals, ratios, scale, eps, background[t], shape.truth[t], shape.weight[t]
                    )
                    score += rough
                    epsilon_slope += slope_of_rough
        scores[t], slopes.epsilons[t] = score, epsilon_slope


@compiled
def _add_roughness(
    totals: Floats, ratios: Floats, scale: float, eps: float, background: Array, truth: Array, weight: float
) -> tuple[float, float]:
    """Return the weighted roughness and its derivative by eps, and subtract its derivatives by q from the ratios."""
    per_peak, rough, epsilon_slope, before = weight / truth.max(), 0.0, 0.0, 0.0
    last = truth.size - 1
    for j in range(truth.size):
        p = totals[j] * scale
        here = (1.0 - eps) * p + eps * background[j] - truth[j]
        after = 0.0
        if j < last:
            step = (1.0 - eps) * totals[j + 1] * scale + eps * background[j + 1] - truth[j + 1] - here
            rough += abs(step)
            after = math.copysign(per_peak, step)
        # A local maximum of q - f counts twice, a minimum minus twice, and an end once.
        ratios[j] -= (before - after) * (1.0 - eps) * scale
        epsilon_slope += (before - after) * (background[j] - p)
        before = after
    return per_peak * rough, epsilon_slope


@compiled
def _visit(
    x: float,
    shares: Array,
    inverse: Array,
    bandwidths: Array,
    halves: Index,
    at: Array,
    scratch: Scratch,
    slopes: Array | None,
) -> None:
    """Add the kernels at x to the totals; with `slopes`, write the sums of kernels times ratios there instead."""
    kernel, totals, ratios = scratch
    single = kernel.itemsize == 4
    reach, smallest = (_REACH_SINGLE, _SMALLEST_SINGLE) if single else (_REACH, _SMALLEST)
    low, high, fresh, last = 0, at.size, -_SQUARINGS - 1, 0
    for k in range(bandwidths.size):
        if shares[k] < smallest:
            continue
        h = bandwidths[k]
        low += first_at_least(at[low:high], x - reach * h)
        high = low + first_at_least(at[low:high], x + reach * h)
        if low == high:
            break
        near = kernel[low:high]
        if halves[k] - fresh > _SQUARINGS:
            fresh = halves[k]
            if single:
                _start_single(at[low:high], x, _PER_H / h, near)
            else:
                _start(at[low:high], x, _PER_H / h, near)
        else:
            _sharpen(near, halves[k] - last)
        last = halves[k]
        if slopes is None:
            _add(shares[k] * inverse[k] / h, near, totals[low:high])
        else:
            slopes[k] = _product(near, ratios[low:high]) * inverse[k] / h


@compiled
def _start_single(at: Array, x: float, per_h: float, kernel: Floats) -> None:
    """Write 2^(-((at - x) per_h)^2), which is the Gaussian kernel for per_h = sqrt(log2(e)/2)/h."""
    for j in range(at.size):
        u = np.float32((at[j] - x) * per_h)
        kernel[j] = exp2_nonpositive_single(-u * u)


@compiled
def _start(at: Array, x: float, per_h: float, kernel: Floats) -> None:
    for j in range(at.size):
        u = (at[j] - x) * per_h
        kernel[j] = exp_nonpositive(-u * u * _LN2)


@compiled
def _sharpen(kernel: Floats, squarings: int) -> None:
    """Square the kernel `squarings` times."""
    for _ in range(squarings // 2):
        for j in range(kernel.size):
            square = kernel[j] * kernel[j]
            kernel[j] = square * square
    if squarings % 2:
        for j in range(kernel.size):
            kernel[j] *= kernel[j]


@compiled
def _add(peak: float, kernel: Floats, totals: Floats) -> None:
    for j in range(kernel.size):
        totals[j] += peak * kernel[j]


@compiled
def _product(kernel: Floats, ratios: Floats) -> float:
    total = kernel[0] * ratios[0]
    for j in range(1, kernel.size):
        total += kernel[j] * ratios[j]
    return total
