"""The paired bootstrap of Appendix C.4: scores of several methods on the same tasks enter, replicated means leave.

Each replicate draws as many task indices as there are tasks, with replacement, and uses them for all methods.
"""

import numpy as np

from amortized_kde._types import Array, Words
from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.streams import next_uniform, start_stream, stream_words
from amortized_kde.numerics.threads import run_in_pieces

# Replicates, and the percentiles that bound a 90 % interval (Appendix C.4).
REPLICATES = 1000
LIMITS = (5.0, 95.0)
# The streams that tasks use are numbered from 0 (tasks/protocol.py).
_RESAMPLING = 100


@entry
def _resample(scores: Array, words: Words, means: Array, start: int, stop: int) -> None:
    """Write the means (methods,) of replicates start .. stop - 1, each from its own stream."""
    state = np.empty(4, np.uint64)
    tasks = scores.shape[0]
    for r in range(start, stop):
        start_stream(state, words, r)
        means[r] = 0.0
        for _ in range(tasks):
            i = int(next_uniform(state) * tasks)
            for k in range(scores.shape[1]):
                means[r, k] += scores[i, k]
        means[r] /= tasks


def bootstrap_means(
    scores: Array, *, seed: int, stream: int = 0, replicates: int = REPLICATES, threads: int | None = None
) -> Array:
    """Give the mean score of every method over the tasks of every replicate.

    Parameters
    ----------
    scores : array of shape (tasks, methods)
    seed, stream : int
        Of the task indices; other streams of a seed are independent.
    replicates : int
        1000 in the paper.
    threads : int, optional
        At most so many threads; the answer does not depend on it.

    Returns
    -------
    array of shape (replicates, methods)

    Examples
    --------
    >>> bootstrap_means(np.array([[1.0, 3.0], [1.0, 5.0]]), seed=1, replicates=3)[:, 0]
    array([1., 1., 1.])
    """
    means = np.empty((replicates, scores.shape[1]))
    # Sums of what lies above the lowest score round less.
    lowest = scores.min(axis=0)
    table, words = np.ascontiguousarray(scores - lowest), stream_words(seed, _RESAMPLING + stream)
    run_in_pieces(
        lambda start, stop: _resample(table, words, means, start, stop),
        replicates,
        operations=float(replicates) * table.size,
        threads=threads,
    )
    means += lowest
    return means
