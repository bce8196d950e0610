"""Tasks with the points at which estimates of them are judged: bandwidths enter, scores in bits leave.

Where a task is judged by independent draws from its true density (paper, eq. 9) or by Gauss-Hermite nodes (Appendix
C.1) makes no difference here: both are points and weights that sum to 1. Which method chose a bandwidth is not known.
"""

from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.sample import Samples
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.reproduction.exact_scores import exact_score_rows
from amortized_kde.research.tasks import TaskBatch
from amortized_kde.score import LN2, NODES, gauss_hermite


@dataclass(frozen=True, eq=False)
class Judge:
    """Samples (flat values and offsets), their bounds, and the points (tasks, m) with weights (m,) that judge them.

    The points of a task ascend.
    """

    values: Array
    offsets: Index
    bounds: tuple[float, float]
    points: Array
    weights: Array

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def samples(self) -> Samples:
        """The samples as selectors take them."""
        return Samples(self.values, self.offsets, (len(self),), np.zeros(len(self), bool))

    def scores(self, h: Array, *, threads: int | None = None) -> tuple[Array, Array]:
        """Give the score (tasks,) at one bandwidth a task, and its derivative by log h, both in bits.

        Exact to float64, however much a bandwidth undersmooths.
        """
        scores, slopes = np.empty(len(self)), np.empty(len(self))
        judged = (self.values, self.offsets, h, self.bounds, self.points, self.weights, scores, slopes)
        run_in_pieces(
            lambda start, stop: exact_score_rows(*judged, start, stop),
            len(self),
            operations=float(self.values.size) * self.points.shape[1],
            threads=threads,
        )
        return scores / LN2, slopes / LN2

    def only(self, chosen: Flags) -> "Judge":
        """Give the chosen tasks alone."""
        if chosen.all():
            return self
        sizes = np.diff(self.offsets)
        offsets = np.concatenate([[0], np.cumsum(sizes[chosen])])
        return Judge(self.values[np.repeat(chosen, sizes)], offsets, self.bounds, self.points[chosen], self.weights)

    def thinned(self, every: int) -> "Judge":
        """Give the same tasks judged at every so-manieth point: rougher and quicker."""
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
