"""Which values of a sample the adaptive models are asked about: all of a small sample, some of a large one.

Sizes or samples enter; ranks and the masses that they stand for leave. All choices are mirror-symmetric. Where weights
differ, ranks are counted in weight: a choice among n ranks becomes one among n equal parts of all the weight.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples, evened_among_ties
from amortized_kde.numerics.streams import indexed_uniforms, stream_words

# Up to so many points the network is asked at each.
MANY = 256
# Of larger samples at about so many, equally spaced in rank but for the tails.
_CELLS = 192
# The largest sample of the training tasks. Of a larger one so many values are described, chosen once and for all.
LARGEST_TRAINED = 4096
_CHOICE = stream_words(4096, 0)
# Where the middle of a part lies between two values but for rounding, it belongs to the outer one.
_ROUNDING = 1e-9


@lru_cache(maxsize=256)
def ranks_of(n: int) -> tuple[Index, Array]:
    """The anchors' ranks in a sample of n, and their masses: mirror-symmetric, and dense in the tails."""
    if n <= MANY:
        return np.arange(n), np.full(n, 1.0 / max(n, 1))
    half, rank = [], 0
    while rank < (n - 1) / 2:
        half.append(rank)
        rank += max(1, min(rank // 4, n // _CELLS))
    left = np.array(half)
    middle = [n // 2] if n % 2 else []
    ranks = np.unique(np.concatenate([left, middle, n - 1 - left]).astype(np.int64))
    masses = np.gradient(ranks.astype(np.float64))
    return ranks, masses / masses.sum()


@lru_cache(maxsize=16)
def _choice(n: int) -> Index:
    """LARGEST_TRAINED ranks of n, random but always the same, and mirror-symmetric."""
    uniforms = indexed_uniforms(_CHOICE, 0, n // 2)
    # The smallest of these are sought among those few that may be: twelve standard deviations more than expected.
    few = np.flatnonzero(uniforms < (LARGEST_TRAINED / 2 + 12.0 * (LARGEST_TRAINED / 2) ** 0.5) / (n // 2))
    half = few[np.argpartition(uniforms[few], LARGEST_TRAINED // 2 - 1)[: LARGEST_TRAINED // 2]]
    return np.sort(np.concatenate([half, n - 1 - half]))


def thinned(samples: Samples) -> tuple[Samples, dict[int, Index]]:
    """The samples, those larger than LARGEST_TRAINED thinned to that size, and the ranks that are left of these."""
    if samples.weights is not None:
        return _thinned_by_weight(samples)
    chosen = {int(t): _choice(int(samples.sizes[t])) for t in np.flatnonzero(samples.sizes > LARGEST_TRAINED)}
    if not chosen:
        return samples, chosen
    rows = [samples.values[samples.offsets[t] : samples.offsets[t + 1]] for t in range(len(samples))]
    rows = [row[chosen[t]] if t in chosen else row for t, row in enumerate(rows)]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return Samples(np.concatenate(rows), offsets, samples.shape, samples.unusable), chosen


def in_the_whole(
    anchors: Index, offsets: Index, masses: Array, whole: Samples, chosen: dict[int, Index]
) -> tuple[Index, Array]:
    """Ranks and masses of the anchors of thinned samples in the whole ones."""
    anchors, masses, sizes = anchors.copy(), masses.copy(), whole.sizes
    for t, ranks in chosen.items():
        rows = slice(offsets[t], offsets[t + 1])
        anchors[rows] = ranks[anchors[rows]]
        # Half of the values between two anchors each, and those beyond the outermost.
        between = 0.5 * (np.diff(anchors[rows]) - 1)
        first, last = anchors[rows][0], sizes[t] - 1 - anchors[rows][-1]
        masses[rows] = (1.0 + np.append(first, between) + np.append(between, last)) / sizes[t]
        if whole.unequal[t]:
            masses[rows] = _weight_around(_evened(whole, t), anchors[rows])
    return anchors, masses


def anchors_of(sizes: Index) -> tuple[Index, Index, Array]:
    """The anchors' ranks of all samples, where each sample's begin, and their masses."""
    if sizes.max(initial=0) <= MANY:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        own = np.repeat(offsets[:-1], sizes)
        return np.arange(offsets[-1]) - own, offsets, np.repeat(1.0 / np.maximum(sizes, 1), sizes)
    found = [ranks_of(int(n)) for n in sizes]
    offsets = np.concatenate([[0], np.cumsum([ranks.size for ranks, _ in found])])
    return np.concatenate([f[0] for f in found]), offsets, np.concatenate([f[1] for f in found])


class Anchors(NamedTuple):
    """Anchors of all samples; those of sample t have the numbers ``offsets[t]`` to ``offsets[t + 1] - 1``.

    Anchor a is its sample's value number ``ranks[a]`` and stands for the share ``masses[a]`` of it. Its place is its
    rank, and its vote among the sample's anchors 1; with weights the place is that of a rank counted in weight, and the
    vote says for how many anchors it stands.
    """

    ranks: Index
    offsets: Index
    masses: Array
    places: Array
    votes: Array


def place_anchors(samples: Samples, counts: Array) -> Anchors:
    """Give the anchors of samples of which each value stands for so many, tied values for equally many."""
    ranks, offsets, masses = anchors_of(samples.sizes)
    if samples.weights is None:
        return Anchors(ranks, offsets, masses, ranks.astype(np.float64), np.ones(ranks.size))
    ranks, offsets, votes = _ranks_by_weight(samples, counts, ranks, offsets)
    own = np.repeat(np.arange(len(samples)), np.diff(offsets))
    at, unequal = samples.offsets[own] + ranks, samples.unequal[own]
    # Of small samples all values are anchors.
    masses = np.where(unequal, counts[at] / samples.effective_sizes[own], 1.0 / samples.sizes[own])
    for t in np.flatnonzero(samples.sizes > MANY):
        rows = slice(offsets[t], offsets[t + 1])
        if samples.unequal[t]:
            masses[rows] = _weight_around(counts[samples.offsets[t] : samples.offsets[t + 1]], ranks[rows])
        else:
            masses[rows] = ranks_of(int(samples.sizes[t]))[1]
    before = np.concatenate([[0.0], np.cumsum(counts)])[samples.offsets[own]]
    places = middles_of(counts)[at] - before - 0.5
    return Anchors(ranks, offsets, masses, np.where(unequal, places, ranks), votes)


def _ranks_by_weight(samples: Samples, counts: Array, ranks: Index, offsets: Index) -> tuple[Index, Index, Array]:
    """The anchors' ranks, where each sample's begin, and their votes."""
    own = np.repeat(np.arange(len(samples)), np.diff(offsets))
    votes = np.where(samples.unequal[own], counts[samples.offsets[own] + ranks], 1.0)
    large = np.flatnonzero(samples.unequal & (samples.sizes > MANY))
    if not large.size:
        return ranks, offsets, votes
    rows, ballots = np.split(ranks, offsets[1:-1]), np.split(votes, offsets[1:-1])
    for t in large:
        parts = max(int(samples.effective_sizes[t] + _ROUNDING), MANY)
        times = _times_met(counts[samples.offsets[t] : samples.offsets[t + 1]], ranks_of(parts)[0], parts)
        kept = times > 0.0
        # Shares are interpolated between anchors, so these reach both ends.
        kept[[0, -1]] = True
        rows[t], ballots[t] = np.flatnonzero(kept), times[kept]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return np.concatenate(rows), offsets, np.concatenate(ballots)


def _times_met(counts: Array, parts: Index, of: int) -> Array:
    """How often each value holds the middle of one of these parts, if all counts are cut into so many equal ones."""
    last, below, above = of - 1, np.cumsum(counts), np.cumsum(counts[::-1])
    # Each half from its own end, so that mirrored values are met as often; the middle part belongs to both.
    width = 0.5 * (below[-1] + above[-1]) / of
    low, high = parts[2 * parts <= last], last - parts[2 * parts >= last]
    met = np.searchsorted(below, (low + 0.5 - _ROUNDING) * width)
    met_above = counts.size - 1 - np.searchsorted(above, (high + 0.5 - _ROUNDING) * width)
    times = np.concatenate([np.where(2 * half == last, 0.5, 1.0) for half in (low, high)])
    return np.bincount(np.concatenate([met, met_above]), times, minlength=counts.size).astype(np.float64)


def _weight_around(weights: Array, ranks: Index) -> Array:
    """The share of all weight that each of these ranks has if the values between two share theirs linearly in place."""
    at, places = np.arange(weights.size), middles_of(weights)
    left = np.clip(np.searchsorted(ranks, at, side="right") - 1, 0, max(ranks.size - 2, 0))
    right = np.minimum(left + 1, ranks.size - 1)
    width = places[ranks[right]] - places[ranks[left]]
    part = np.clip((places - places[ranks[left]]) / np.where(width > 0.0, width, 1.0), 0.0, 1.0)
    shares = ((left, 1.0 - part), (right, part))
    total = sum(np.bincount(side, weights * share, minlength=ranks.size) for side, share in shares)
    return np.asarray(total / weights.sum())


def middles_of(weights: Array) -> Array:
    """Half of each value's weight, and all weight below it."""
    return np.asarray(np.cumsum(weights) - 0.5 * weights)


def _evened(samples: Samples, t: int) -> Array:
    """The weights of sample t, equal among tied values."""
    assert samples.weights is not None
    own = slice(samples.offsets[t], samples.offsets[t + 1])
    return evened_among_ties(samples.values[own], samples.weights[own], samples.offsets[[t, t + 1]] - own.start)


def _thinned_by_weight(samples: Samples) -> tuple[Samples, dict[int, Index]]:
    """The same with weights: LARGEST_TRAINED parts of the weight are chosen, and a value counts as often as it is met.

    There are as many parts as the effective size, so that the choice is that of an equally weighted sample.
    """
    assert samples.weights is not None
    chosen, values, weights = {}, [], []
    for t in range(len(samples)):
        own = slice(samples.offsets[t], samples.offsets[t + 1])
        row, shares = samples.values[own], samples.weights[own]
        if row.size > LARGEST_TRAINED and samples.unequal[t]:
            parts = max(int(samples.effective_sizes[t] + _ROUNDING), LARGEST_TRAINED)
            times = _times_met(
                _evened(samples, t), _choice(parts) if parts > LARGEST_TRAINED else np.arange(LARGEST_TRAINED), parts
            )
            chosen[t] = np.flatnonzero(times)
            row, shares = row[chosen[t]], times[chosen[t]] / LARGEST_TRAINED
        elif row.size > LARGEST_TRAINED:
            chosen[t] = _choice(row.size)
            row, shares = row[chosen[t]], np.full(LARGEST_TRAINED, 1.0 / LARGEST_TRAINED)
        values.append(row)
        weights.append(shares)
    offsets = np.concatenate([[0], np.cumsum([row.size for row in values])]).astype(np.int64)
    flat = np.concatenate([*values, np.empty(0)]), offsets, samples.shape, samples.unusable
    return Samples(*flat, np.concatenate([*weights, np.empty(0)])), chosen
