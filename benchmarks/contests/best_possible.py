"""The best possible estimates on the paper's random mixtures: those of a Bayesian who knows how tasks are made.

The posterior mean density has the lowest expected score of all estimates from the sample. The score is linear in the
true density, so the bandwidth that is best if the posterior mean is the truth has the lowest expected score of all
selectors.
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

# Of the grid on [-1, 1]; the narrowest component of a mixture spans seven cells.
_CELLS = 1000


class BestPossible(NamedTuple):
    """The score (tasks,) of the best density in bits, and the best bandwidth (tasks,)."""

    scores: Array
    bandwidths: Array


def best_possible(batch: TaskBatch, judge: Judge, *, sweeps: int, seed: int) -> BestPossible:
    """Return the score of the posterior mean density of each task, and the bandwidth that is best for it.

    Parameters
    ----------
    batch : TaskBatch
        Tasks of a world of the paper's mixtures.
    judge : Judge
        The points and weights of the score.
    sweeps : int
        Length of the Markov chains (`mixture_posterior`).
    seed : int
        Seed of the chains.
    """
    samples, truths = batch.samples, batch.truths
    if not isinstance(truths, Densities):
        raise TypeError("only the paper's mixtures have a known posterior.")
    means = mean_densities(samples, truths.shapes, sweeps=sweeps, cells=_CELLS, seed=seed)
    # Linear between the middles of cells, constant in the outer half cells.
    middles = np.asarray((np.arange(_CELLS) + 0.5) * (2.0 / _CELLS) - 1.0, np.float64)
    at = np.stack([np.interp(points, middles, mean) for points, mean in zip(judge.points, means, strict=True)])
    chosen = [_best_bandwidth(samples.values[a:b], middles, mean) for a, b, mean in _rows(samples.offsets, means)]
    return BestPossible(-np.log2(at) @ judge.weights, np.array(chosen))


def _rows(offsets: NDArray[np.int64], means: Array) -> list[tuple[int, int, Array]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), means, strict=True))


def _best_bandwidth(values: Array, middles: Array, mean: Array) -> float:
    judge = Judge(values, np.array([0, values.size]), (-1.0, 1.0), middles[None], mean / mean.sum())
    return float(best_bandwidths(judge, threads=1)[0])
