"""The broad world: tasks of all kinds, each with its own bounds, some of them rounded or resampled.

Task i under a seed is the same in every batch that holds it, on any number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags, Index
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.tasks.batch import FlatSamples, check_counts, given_sizes, mean_bits
from amortized_kde.research.tasks.broad.bounds import CHANCES, PILOT, measure, plan_bounds, set_bounds
from amortized_kde.research.tasks.broad.kinds import (
    KINDS,
    allowed_pairs,
    choose_kinds,
    choose_known_bounds,
    choose_sizes,
)
from amortized_kde.research.tasks.broad.settings import Settings, Sources, fill_settings
from amortized_kde.research.tasks.broad.ties import choose_ties, tie_samples
from amortized_kde.research.tasks.compounds import Compounds, truncate
from amortized_kde.research.tasks.mixtures import PAPER
from amortized_kde.research.tasks.sampling import empty_parts
from amortized_kde.research.tasks.worlds import make_pool

Sizes = int | range | Sequence[int] | Index

# Streams from which no other world draws.
_KIND, _KNOWN_BOUNDS, _SIZE, _SETTING, _PILOT, _SAMPLE, _DRAWS, _TIES = range(100, 108)
# Not the pool from which the paper's tables are made.
_POOL_SEED = 20_270
# A setting and a draw cost about as much as this many additions.
_SETTING_COST, _COST = 3000.0, 30.0


@dataclass(frozen=True, eq=False)
class BroadBatch(FlatSamples):
    """Tasks: sample t is ``values[offsets[t]:offsets[t + 1]]``, ascending, and is judged at ``draws[t]``.

    Attributes
    ----------
    values : array of shape (n_1 + ... + n_tasks,)
        All samples, one after the other, each ascending, perhaps rounded.
    offsets : array of shape (tasks + 1,), int64
        Where each sample begins.
    draws : array of shape (tasks, m)
        Independent draws from each true density, never rounded.
    lower, upper : array of shape (tasks,)
        The bounds that an estimator knows, infinite where open. Samples and draws lie inside.
    kinds : array of shape (tasks,), int64
        The kind of the density, an index into `KINDS`.
    known_bounds : array of shape (tasks,), int64
        Which bounds are known, an index into `KNOWN_BOUNDS`: 0, both natural ones; 1, one; 2, none; 3, two that are
        far wider than the data.
    units : array of shape (tasks,)
        The unit to which the sample was rounded; 0 where it was not.
    resampled : array of shape (tasks,), bool
        Whether the sample was drawn from itself with replacement.
    truths : Compounds
        The true densities, before rounding.
    """

    draws: Array
    lower: Array
    upper: Array
    kinds: Index
    known_bounds: Index
    units: Array
    resampled: Flags
    truths: Compounds

    def true_logpdf(self, x: ArrayLike) -> Array:
        """Return the natural log of the true densities (tasks, m) at x, (m,) for all or (tasks, m)."""
        return self.truths.logpdf(x)

    def true_scores(self) -> Array:
        """Return the mean score (tasks,), in bits, of each true density at its own draws."""
        return mean_bits(self.true_logpdf(self.draws))


def broad_batch(
    count: int,
    *,
    seed: int,
    first: int = 0,
    draws: int = 256,
    sizes: Sizes | None = None,
    large: float = 1.0,
    kinds: Sequence[str] | None = None,
    known_bounds: Sequence[int] | None = None,
    threads: int | None = None,
) -> BroadBatch:
    """Draw tasks first .. first + count - 1 of the broad world.

    Parameters
    ----------
    count : int
        Number of tasks.
    seed : int
        Names the infinite sequence of tasks from which these are taken.
    first : int
        Index of the first task.
    draws : int
        Evaluation draws a task, m.
    sizes : int, range, or array of shape (count,), optional
        One n for all; a range from which each task draws its own, uniformly; or the n of each. By default n is
        log-uniform on 1 .. 4096, and for one task in four uniform on 5 .. 256.
    large : float
        Between 0 and 1: factor of the probability of log-uniform sizes above 256.
    kinds : sequence of str, optional
        Only these of `KINDS`.
    known_bounds : sequence of int, optional
        Only these indices into `KNOWN_BOUNDS`. Samples of one value have at least one known bound even so.
    threads : int, optional
        At most this many threads; default: all cores. The tasks do not depend on it.

    Raises
    ------
    InvalidParameterError
        If a count, size, kind or index of known bounds is out of range, or no task has such a kind and bounds.

    Examples
    --------
    >>> batch = broad_batch(4, seed=1, sizes=10, kinds=["gamma"], known_bounds=[1])
    >>> batch.values.shape, batch.draws.shape
    ((40,), (4, 256))
    >>> bool((np.isfinite(batch.lower) ^ np.isfinite(batch.upper)).all())
    True
    """
    check_counts(count, first, draws, seed)
    size_words = stream_words(seed, _SIZE)
    if sizes is None:
        chosen_sizes = choose_sizes(indexed_uniforms(size_words, first, count), large=large)
    else:
        chosen_sizes = given_sizes(sizes, count, words=size_words, first=first)
    allowed = allowed_pairs(kinds, known_bounds)
    u_kind, u_known = (indexed_uniforms(stream_words(seed, s), first, count) for s in (_KIND, _KNOWN_BOUNDS))
    chosen_kinds = choose_kinds(u_kind, allowed)
    chosen_bounds = choose_known_bounds(u_known, chosen_kinds, chosen_sizes, allowed)
    return _Making(seed, first, threads).batch(chosen_kinds, chosen_bounds, chosen_sizes, draws)


@cache
def _sources() -> Sources:
    pool = make_pool(seed=_POOL_SEED).densities
    return Sources(PAPER.constants, pool.codes, pool.origins, pool.slopes, pool.shapes)


@dataclass(frozen=True)
class _Making:
    """The address of a run of tasks, and the steps that make them."""

    seed: int
    first: int
    threads: int | None

    def batch(self, kinds: Index, known_bounds: Index, sizes: Index, draws: int) -> BroadBatch:
        settings = self._settings(kinds, known_bounds)
        chance = {name: settings.chances[:, j] for j, name in enumerate(CHANCES)}
        plan = plan_bounds(kinds, known_bounds, settings, chance)
        pilot = truncate(settings.parts, plan.cut_low, plan.cut_high)
        scale = measure(self._draw(pilot, np.arange(kinds.size + 1) * PILOT, _PILOT).reshape(-1, PILOT))
        lower, upper = set_bounds(plan, kinds, settings, scale, chance)
        truths = truncate(settings.parts, np.maximum(plan.cut_low, lower), np.minimum(plan.cut_high, upper))
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        drawn = self._draw(truths, np.arange(kinds.size + 1) * draws, _DRAWS).reshape(kinds.size, draws)
        values = self._draw(truths, offsets, _SAMPLE, ascending=True)
        ties = choose_ties(chance, scale.spread, settings.low, settings.high)
        tie_samples(values, offsets, ties, lower, upper, stream_words(self.seed, _TIES), self.first, 0, kinds.size)
        _free_constants(values, offsets, np.where(ties.units > 0.0, ties.units, scale.spread), lower, upper)
        return BroadBatch(values, offsets, drawn, lower, upper, kinds, known_bounds, ties.units, ties.resampled, truths)

    def _settings(self, kinds: Index, known_bounds: Index) -> Settings:
        count, words = kinds.size, stream_words(self.seed, _SETTING)
        out = Settings(empty_parts(count), np.empty(count), np.empty(count), np.empty((count, len(CHANCES))))
        sources = _sources()
        self._run(
            lambda a, b: fill_settings(out, kinds, known_bounds, sources, words, self.first, a, b),
            count,
            _SETTING_COST * count,
        )
        # As in `draw_mixtures`: a draw finds its component sooner, and the law is the same.
        mixtures = kinds == KINDS.index("mixture")
        out.parts.weights[mixtures] = -np.sort(-out.parts.weights[mixtures], axis=1)
        return out

    def _draw(self, truths: Compounds, offsets: Index, purpose: int, *, ascending: bool = False) -> Array:
        out, words = np.empty(offsets[-1]), stream_words(self.seed, purpose)

        def work(start: int, stop: int) -> None:
            truths.fill(out, offsets, words=words, first=self.first, start=start, stop=stop)
            for t in range(start, stop) if ascending else ():
                out[offsets[t] : offsets[t + 1]].sort()

        self._run(work, len(truths), _COST * out.size)
        return out

    def _run(self, work: Callable[[int, int], object], count: int, operations: float) -> None:
        run_in_pieces(work, count, operations=operations, threads=self.threads)


def _free_constants(values: Array, offsets: Index, steps: Array, lower: Array, upper: Array) -> None:
    """Move bounds away from constant samples that lie on them, by a unit: a point has no density."""
    smallest, constant = values[offsets[:-1]], values[offsets[:-1]] == values[offsets[1:] - 1]
    lower -= np.where(constant & (smallest <= lower), steps, 0.0)
    upper += np.where(constant & (smallest >= upper), steps, 0.0)
