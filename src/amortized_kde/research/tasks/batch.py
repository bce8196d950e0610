"""Batches of tasks, in flat arrays for compiled loops: a sample, evaluation draws and the true density of each.

A world, a number of tasks and a seed enter, a `TaskBatch` leaves. Task i under a seed is the same in every batch that
holds it, on any number of threads. Features, estimators and scores of estimates are not known here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.data.sample import Samples
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks.protocol import DRAWS, SAMPLE, SIZE, Truths, World

# n ~ Unif{5, ..., 256} and 1024 evaluation draws (paper, sections 3.1 to 3.3 and Appendix C).
SIZES = range(5, 257)
_DRAWS = 1024
# A draw costs about as much as this many additions.
_COST = 30.0


@dataclass(frozen=True, eq=False)
class TaskBatch:
    """Tasks: sample t is ``values[offsets[t]:offsets[t + 1]]``, ascending, and is judged at ``draws[t]``.

    Attributes
    ----------
    values : array of shape (n_1 + ... + n_tasks,)
        All samples, one after the other. Their order carries no information, so each is sorted.
    offsets : array of shape (tasks + 1,), int64
        Where each sample begins.
    draws : array of shape (tasks, m)
        Independent draws from each true density, in the order drawn.
    truths : Truths
        The true densities.
    bounds : (float, float)
        The interval on which they live.
    """

    values: Array
    offsets: Index
    draws: Array
    truths: Truths
    bounds: tuple[float, float]

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> Index:
        """The n of each task."""
        return np.diff(self.offsets)

    @property
    def samples(self) -> Samples:
        """The samples as the rest of the package takes them."""
        return Samples(self.values, self.offsets, (len(self),), np.zeros(len(self), bool))

    def true_scores(self) -> Array:
        """Give the mean score (tasks,), in bits, of each true density at its own draws."""
        return np.asarray(self.truths.logpdf(self.draws).mean(axis=1) / -math.log(2.0))


def draw_tasks(
    world: World,
    count: int,
    *,
    seed: int,
    first: int = 0,
    sizes: int | range | Sequence[int] | Index = SIZES,
    draws: int = _DRAWS,
    threads: int | None = None,
) -> TaskBatch:
    """Draw tasks first .. first + count - 1 of a world.

    Parameters
    ----------
    world : World
        From `world`, or `own_world`.
    count : int
        How many tasks.
    seed : int
        Names the endless sequence of tasks, of which this is a run.
    first : int
        Index of the first task.
    sizes : int, range, or array of shape (count,)
        One n for all; a range from which each task draws its own, uniformly; or the n of each. Neither a
        task's density nor its evaluation draws depend on it.
    draws : int
        Evaluation draws a task, m.
    threads : int, optional
        The most threads to use; the tasks do not depend on it.

    Raises
    ------
    InvalidParameterError
        If a count or a size is out of range.

    Examples
    --------
    >>> from amortized_kde.research.tasks.worlds import world
    >>> batch = draw_tasks(world("gmm8"), 3, seed=1, sizes=10, draws=4)
    >>> batch.values.shape, batch.draws.shape
    ((30,), (3, 4))
    >>> later = draw_tasks(world("gmm8"), 1, seed=1, first=2, sizes=10, draws=4)
    >>> bool((later.draws[0] == batch.draws[2]).all())
    True
    """
    if count < 1 or first < 0 or draws < 0 or seed < 0:
        raise InvalidParameterError(
            f"count must be at least 1, and first, draws and seed at least 0, not {count}, {first}, {draws}, {seed}."
        )
    offsets = np.concatenate([[0], np.cumsum(given_sizes(sizes, count, words=stream_words(seed, SIZE), first=first))])
    truths = world.truths(count, seed=seed, first=first, threads=threads)
    batch = TaskBatch(np.empty(offsets[-1]), offsets, np.empty((count, draws)), truths, world.bounds)
    _fill(batch, seed, first, threads)
    return batch


def given_sizes(sizes: int | range | Sequence[int] | Index, count: int, *, words: Words, first: int) -> Index:
    """Give the n of each task from what `draw_tasks` takes for sizes."""
    if isinstance(sizes, range) and len(sizes) > 0:
        u = indexed_uniforms(words, first, count)
        chosen = sizes.start + sizes.step * np.floor(u * len(sizes)).astype(np.int64)
    else:
        chosen = np.asarray(sizes)
        if chosen.dtype.kind not in "iu" or chosen.shape not in ((), (count,)):
            raise InvalidParameterError(f"sizes must be a whole number, a range or {count} whole numbers.")
        chosen = np.broadcast_to(chosen, (count,)).astype(np.int64)
    if chosen.min() < 1:
        raise InvalidParameterError(f"A sample needs at least one value; the smallest size is {chosen.min()}.")
    return chosen


def _fill(batch: TaskBatch, seed: int, first: int, threads: int | None) -> None:
    sample_words, draw_words = stream_words(seed, SAMPLE), stream_words(seed, DRAWS)
    draws, evenly = batch.draws.reshape(-1), np.arange(len(batch) + 1) * batch.draws.shape[1]

    def work(start: int, stop: int) -> None:
        batch.truths.fill(batch.values, batch.offsets, words=sample_words, first=first, start=start, stop=stop)
        batch.truths.fill(draws, evenly, words=draw_words, first=first, start=start, stop=stop)
        for t in range(start, stop):
            batch.values[batch.offsets[t] : batch.offsets[t + 1]].sort()

    operations = _COST * (batch.values.size + batch.draws.size)
    run_in_pieces(work, len(batch), operations=operations, threads=threads)
