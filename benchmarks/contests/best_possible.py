"""What no estimator can beat on the paper's random mixtures: the answers of one that knows how these tasks are made.

Tasks enter; two estimates of each leave. The mean of all densities that a sample leaves possible has the lowest
expected score of all that can be estimated from the sample; and the bandwidth that is best if that mean is the truth,
the lowest of all that a selector can choose: a score is linear in the truth.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.research.reproduction.judge import Judge
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.research.tasks import TaskBatch
from amortized_kde.research.tasks.densities import Densities
from contests.mixture_posterior import mean_densities

# The narrowest component of a mixture is seven cells wide.
_CELLS = 1000


class BestPossible(NamedTuple):
    """The score (tasks,), in bits, of the best density, and the best bandwidth (tasks,)."""

    scores: Array
    bandwidths: Array


def best_possible(batch: TaskBatch, judge: Judge, *, sweeps: int, seed: int) -> BestPossible:
    """Give what a statistician could do who knows how mixtures are drawn, and computes long enough.

    Parameters
    ----------
    batch : TaskBatch
        Of a world of the paper's mixtures.
    judge : Judge
        Where the densities are judged.
    sweeps : int
        Length of the chains, that is of the computation (`tasks/mixture_posterior.py`).
    seed : int
        Of the chains.
    """
    samples, truths = batch.samples, batch.truths
    if not isinstance(truths, Densities):
        raise TypeError("only the paper's mixtures have a known posterior.")
    means = mean_densities(samples, truths.shapes, sweeps=sweeps, cells=_CELLS, seed=seed)
    # Linear between the middles of cells, and level beyond the last.
    middles = np.asarray((np.arange(_CELLS) + 0.5) * (2.0 / _CELLS) - 1.0, np.float64)
    at = np.stack([np.interp(points, middles, mean) for points, mean in zip(judge.points, means, strict=True)])
    chosen = [_best_bandwidth(samples.values[a:b], middles, mean) for a, b, mean in _rows(samples.offsets, means)]
    return BestPossible(-np.log2(at) @ judge.weights, np.array(chosen))


def _rows(offsets: NDArray[np.int64], means: Array) -> list[tuple[int, int, Array]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), means, strict=True))


def _best_bandwidth(values: Array, middles: Array, mean: Array) -> float:
    judge = Judge(values, np.array([0, values.size]), (-1.0, 1.0), middles[None], mean / mean.sum())
    return float(best_bandwidths(judge, threads=1)[0])
