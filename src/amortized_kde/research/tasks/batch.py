"""Worlds of tasks, and batches of tasks drawn from them: samples, evaluation draws and true densities.

Task i under a seed is the same in every batch that holds it, on any number of threads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index, Words
from amortized_kde.data.sample import Samples
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.numerics.threads import run_in_pieces

# n ~ Unif{5, ..., 256} and 1024 evaluation draws (paper, sections 3.1 to 3.3 and Appendix C).
SIZES = range(5, 257)
_DRAWS = 1024
# A draw costs about as much as this many additions.
_COST = 30.0
# A task's density, its n, its sample and its evaluation draws come from four streams, so that none depends on
# the others: a task with another n keeps its density and its draws.
SETTING, SIZE, SAMPLE, DRAWS = range(4)


class Truths(Protocol):
    """The true densities of a run of tasks; `Densities` is one."""

    def __len__(self) -> int: ...

    def logpdf(self, x: ArrayLike) -> Array:
        """Return natural log-densities (tasks, m) at x, (m,) for all or (tasks, m), one row for each."""
        ...

    def fill(self, out: Array, offsets: Index, *, words: Words, first: int, start: int, stop: int) -> None:
        """Write draws of tasks start .. stop - 1 to ``out[offsets[t]:offsets[t + 1]]``, from stream first + t."""
        ...


class World(Protocol):
    """A distribution over densities."""

    @property
    def name(self) -> str:
        """Name of the world in tables and cards."""
        ...

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval on which all its densities live; infinite for the whole line."""
        ...

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Truths:
        """Return the densities of tasks first .. first + count - 1; each depends on the seed and its index only."""
        ...


@dataclass(frozen=True, eq=False)
class FlatSamples:
    """Samples one after the other: sample t is ``values[offsets[t]:offsets[t + 1]]``, ascending."""

    values: Array
    offsets: Index

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> Index:
        """The n of each task."""
        return np.diff(self.offsets)

    @property
    def samples(self) -> Samples:
        """The samples in the form that selectors take."""
        return Samples(self.values, self.offsets, (len(self),), np.zeros(len(self), bool))


@dataclass(frozen=True, eq=False)
class TaskBatch(FlatSamples):
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

    draws: Array
    truths: Truths
    bounds: tuple[float, float]

    def true_scores(self) -> Array:
        """Return the mean score (tasks,), in bits, of each true density at its own draws."""
        return mean_bits(self.truths.logpdf(self.draws))


def mean_bits(log_densities: Array) -> Array:
    """Return the mean score (tasks,) in bits from natural log-densities (tasks, m)."""
    return np.asarray(log_densities.mean(axis=1) / -math.log(2.0))


def check_counts(count: int, first: int, draws: int, seed: int) -> None:
    """Raise an error if a number of tasks, a first index, a number of draws or a seed is out of range."""
    if count < 1 or first < 0 or draws < 0 or seed < 0:
        raise InvalidParameterError(
            f"count must be at least 1, and first, draws and seed at least 0, not {count}, {first}, {draws}, {seed}."
        )


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
        Number of tasks.
    seed : int
        Names the infinite sequence of tasks from which these are taken.
    first : int
        Index of the first task.
    sizes : int, range, or array of shape (count,)
        One n for all; a range from which each task draws its own, uniformly; or the n of each. Neither a
        task's density nor its evaluation draws depend on it.
    draws : int
        Evaluation draws a task, m.
    threads : int, optional
        At most this many threads; default: all cores. The tasks do not depend on it.

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
    check_counts(count, first, draws, seed)
    offsets = np.concatenate([[0], np.cumsum(given_sizes(sizes, count, words=stream_words(seed, SIZE), first=first))])
    truths = world.truths(count, seed=seed, first=first, threads=threads)
    batch = TaskBatch(np.empty(offsets[-1]), offsets, np.empty((count, draws)), truths, world.bounds)
    _fill(batch, seed, first, threads)
    return batch


def given_sizes(sizes: int | range | Sequence[int] | Index, count: int, *, words: Words, first: int) -> Index:
    """Return the n of each task from the `sizes` of `draw_tasks`."""
    if isinstance(sizes, range) and len(sizes) > 0:
        u = indexed_uniforms(words, first, count)
        chosen = sizes.start + sizes.step * np.floor(u * len(sizes)).astype(np.int64)
    else:
        chosen = np.asarray(sizes)
        if chosen.dtype.kind not in "iu" or chosen.shape not in ((), (count,)):
            raise InvalidParameterError(f"sizes must be a whole number, a range or {count} whole numbers.")
        chosen = np.broadcast_to(chosen, (count,)).astype(np.int64)
    if chosen.min() < 1:
        raise InvalidParameterError(f"a sample needs at least one value; the smallest size is {chosen.min()}.")
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
