"""Scores of adaptive estimates of many samples at once, in float64: samples and judging points enter, bits leave."""

import math

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.sample import Samples
from amortized_kde.density.background import log_density
from amortized_kde.learned.store import Model
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.training.ladder_score import ladder_score_rows
from amortized_kde.selection import Smoothing, smooth

# Samples taken together: those of 256 values and 1024 points then need some 30 megabytes.
_AT_ONCE = 200
# Kernels count out to so many bandwidths, where they are 5e-32 of their peak.
_REACH = 12.0


def adaptive_scores(
    model: Model, samples: Samples, lower: Array, upper: Array, points: Array, *, threads: int | None = None
) -> Array:
    """Give the mean score (samples,) in bits of the adaptive estimate of each sample at its row of `points`.

    Parameters
    ----------
    model : Model
        With the output ``adaptive``.
    samples : Samples
        Ascending.
    lower, upper : array of shape (samples,)
        Told bounds, infinite where open.
    points : array of shape (samples, m)
        Where each estimate is judged, ascending in each row.
    threads : int, optional
        At most so many threads; the scores do not depend on it.
    """
    scores = np.empty(len(samples))
    for start in range(0, len(samples), _AT_ONCE):
        rows = slice(start, min(start + _AT_ONCE, len(samples)))
        part = samples.between(rows.start, rows.stop)
        answer = smooth(model, part, lower[rows], upper[rows], threads=threads)
        scores[rows] = _scores(part, lower[rows], upper[rows], answer, points[rows], threads)
    return scores / math.log(2.0)


def _scores(
    samples: Samples, lower: Array, upper: Array, answer: Smoothing, points: Array, threads: int | None
) -> Array:
    placed = {"lower": lower, "upper": upper, "location": answer.locations, "scale": answer.scales}
    background = np.exp(log_density(points, **{name: value[:, None] for name, value in placed.items()}))
    scores, unused = np.empty(len(samples)), np.empty(len(samples))
    none = np.zeros((0, answer.shares.shape[1]))

    def work(start: int, stop: int) -> None:
        kernel, totals, ratios = np.empty((3, points.shape[1]))
        ladder_score_rows(
            samples.values,
            samples.offsets,
            lower,
            upper,
            answer.bandwidths,
            answer.anchors,
            answer.offsets,
            answer.shares,
            answer.epsilons,
            points,
            background,
            _REACH,
            True,
            kernel,
            totals,
            ratios,
            scores,
            none,
            unused,
            start,
            stop,
        )

    run_in_pieces(work, len(samples), operations=float(samples.values.size) * points.shape[1], threads=threads)
    return scores
