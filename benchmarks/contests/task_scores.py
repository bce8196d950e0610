"""Scores in bits of any method on a batch of tasks, in float64."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds
from amortized_kde.density.background import log_density
from amortized_kde.learned.adaptive.anchors import LARGEST_TRAINED
from amortized_kde.learned.model import Model
from amortized_kde.research.reproduction.judge import judge_by_draws
from amortized_kde.research.reproduction.protocol import TRUTH
from amortized_kde.research.tasks import TaskBatch
from amortized_kde.research.training.bandwidth_score import BoundedSamples, Points
from amortized_kde.research.training.ladder_score import Ladder, ladder_scores
from amortized_kde.score import LN2
from amortized_kde.selection import FAILURES, SELECTORS, Smoothing, smooth
from contests.rivals import FALL_BACK, fit_or_fall_back
from contests.scores import CellScores

# With 256 values and 1024 points a sample, this many samples at once need some 30 megabytes.
_CHUNK = 200


def scores_of_method(method: str, batch: TaskBatch, bounds: Bounds, *, threads: int | None = None) -> CellScores:
    """Return the mean score (1, tasks) of a method at each task's draws; it knows `bounds`, infinite where open.

    Selectors of one bandwidth, and adaptive estimators unless samples are large, are scored for the whole batch at
    once; other methods are fitted and evaluated task by task.
    """
    if method == TRUTH:
        return CellScores(batch.true_scores()[None])
    selector = SELECTORS.get(method)
    if selector is not None and selector.adaptive is None:
        return _by_bandwidth(method, batch, bounds, threads)
    adaptive = None if selector is None else selector.adaptive
    if adaptive is not None and batch.sizes.max() <= LARGEST_TRAINED:
        lower, upper = (np.full(len(batch), end) for end in bounds)
        points = np.sort(batch.draws, axis=1)
        scores = adaptive_scores(adaptive(), batch.samples, lower, upper, points, threads=threads)
        return CellScores(scores[None])
    failures: Counter[str] = Counter()
    samples = np.split(batch.values, batch.offsets[1:-1])
    logs = [fit_or_fall_back(method, x, bounds, failures)(y) for x, y in zip(samples, batch.draws, strict=True)]
    return CellScores(np.mean(logs, axis=1)[None] / -LN2, failures)


def _by_bandwidth(method: str, batch: TaskBatch, bounds: Bounds, threads: int | None) -> CellScores:
    h, codes, _ = SELECTORS[method].select(batch.samples, bounds, threads=threads)
    failed = np.isnan(h)
    if failed.any():
        h = np.where(failed, SELECTORS[FALL_BACK].select(batch.samples, bounds, threads=threads).bandwidths, h)
    judge = replace(judge_by_draws(batch), bounds=(bounds.lower, bounds.upper))
    failures = Counter(FAILURES[code] for code in codes[failed].tolist())
    return CellScores(judge.scores(h, threads=threads)[0][None], failures)


def adaptive_scores(
    model: Model, samples: Samples, lower: Array, upper: Array, points: Array, *, threads: int | None = None
) -> Array:
    """Return the mean score (samples,) in bits of the adaptive estimate of each sample at its row of `points`.

    Parameters
    ----------
    model : Model
        With the output ``adaptive``.
    samples : Samples
        Ascending.
    lower, upper : array of shape (samples,)
        Known bounds, infinite where open.
    points : array of shape (samples, m)
        Where each estimate is scored, ascending in each row.
    threads : int, optional
        At most this many threads; default: all cores. The scores do not depend on it.
    """
    scores = np.empty(len(samples))
    for start in range(0, len(samples), _CHUNK):
        rows = slice(start, min(start + _CHUNK, len(samples)))
        part = samples.between(rows.start, rows.stop)
        answer = smooth(model, part, lower[rows], upper[rows], threads=threads)
        scores[rows] = _scores(part, lower[rows], upper[rows], answer, points[rows], threads)
    return scores / math.log(2.0)


def _scores(
    samples: Samples, lower: Array, upper: Array, answer: Smoothing, points: Array, threads: int | None
) -> Array:
    placed = {"lower": lower, "upper": upper, "location": answer.locations, "scale": answer.scales}
    background = np.exp(log_density(points, **{name: value[:, None] for name, value in placed.items()}))
    ladder = Ladder(answer.bandwidths, answer.anchors, answer.offsets, answer.shares, answer.epsilons)
    bounded = BoundedSamples(samples.values, samples.offsets, lower, upper)
    return ladder_scores(bounded, ladder, Points(points, background), threads=threads)
