"""Judge bandwidths on tasks: scores in bits at points of the true density.

Independent draws (paper, eq. 9) and Gauss-Hermite nodes (Appendix C.1) are both points with weights that sum to 1. The
score is that of training (`research.training.objective`), here in float64 throughout: every sum of kernels is shifted
by its nearest value, so that nothing underflows however small h is. Evaluation points are taken in blocks of
neighbours, side by side in SIMD lanes; values too far from a block to matter (together less than 3e-17 of a sum) are
left out.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive, mass_and_slope
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.sort import first_at_least
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks import TaskBatch
from amortized_kde.research.tasks.batch import FlatSamples
from amortized_kde.score import LN2, NODES, gauss_hermite

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Whole SIMD registers for the paper's 1024 draws and 256 nodes, and narrow enough to leave most far values out.
_BLOCK = 64
# exp(-38) is 3e-17.
_NEGLIGIBLE = 38.0


@compiled
def _squared_distances(points: Array, at: Array, per_h: float, out: Array) -> float:
    """Write squared distances, in bandwidths, of evaluation points to their nearest value; return the largest."""
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


class JudgedRows(NamedTuple):
    """Tasks with one bandwidth each, for the compiled loop; values of a task ascend, and so does its row of `at`."""

    values: Array
    offsets: Index
    bandwidths: Array
    lower: float
    upper: float
    at: Array
    weights: Array


@entry
def exact_score_rows(rows: JudgedRows, scores: Array, slopes: Array, start: int, stop: int) -> None:
    """Write L and dL/dlog h of tasks start .. stop - 1."""
    values, offsets, bandwidths, at, weights = rows.values, rows.offsets, rows.bandwidths, rows.at, rows.weights
    shifts, totals, weighted = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for t in range(start, stop):
        points, h = values[offsets[t] : offsets[t + 1]], bandwidths[t]
        inside, inside_slope = 0.0, 0.0
        for x in points:
            z, dz = mass_and_slope(x, h, rows.lower, rows.upper)
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


@dataclass(frozen=True, eq=False)
class Judge(FlatSamples):
    """Samples (flat values and offsets), their bounds, and ascending points (tasks, m) with weights (m,)."""

    bounds: tuple[float, float]
    points: Array
    weights: Array

    def scores(self, h: Array, *, threads: int | None = None) -> tuple[Array, Array]:
        """Return the score (tasks,) at one bandwidth a task, and its derivative with respect to log h, both in bits.

        Exact to float64, however much a bandwidth undersmooths.
        """
        scores, slopes = np.empty(len(self)), np.empty(len(self))
        rows = JudgedRows(self.values, self.offsets, h, *self.bounds, self.points, self.weights)
        run_in_pieces(
            lambda start, stop: exact_score_rows(rows, scores, slopes, start, stop),
            len(self),
            operations=float(self.values.size) * self.points.shape[1],
            threads=threads,
        )
        return scores / LN2, slopes / LN2

    def only(self, chosen: Flags) -> "Judge":
        """Return the chosen tasks alone."""
        if chosen.all():
            return self
        sizes = np.diff(self.offsets)
        offsets = np.concatenate([[0], np.cumsum(sizes[chosen])])
        return Judge(self.values[np.repeat(chosen, sizes)], offsets, self.bounds, self.points[chosen], self.weights)

    def thinned(self, every: int) -> "Judge":
        """Return these tasks judged at every `every`-th point: rougher and faster."""
        weights = self.weights[::every] / self.weights[::every].sum()
        return Judge(self.values, self.offsets, self.bounds, self.points[:, ::every].copy(), weights)


def judge_by_draws(batch: TaskBatch) -> Judge:
    """Judge each task at its own evaluation draws (paper, eq. 9)."""
    count = batch.draws.shape[1]
    points = np.sort(batch.draws, axis=1)
    return Judge(batch.values, batch.offsets, batch.bounds, points, np.full(count, 1.0 / count))


def judge_by_nodes(batch: TaskBatch, order: int = NODES) -> Judge:
    """Judge standard normal tasks by the Gauss-Hermite sum (paper, Appendix C.1)."""
    nodes, weights = gauss_hermite(order)
    return Judge(batch.values, batch.offsets, batch.bounds, np.tile(nodes, (len(batch), 1)), weights)
