"""Anchors: the values at which the adaptive models are evaluated, all of a small sample and some of a large one.

All choices are mirror-symmetric. Where weights differ, ranks are counted in weight: a choice among n ranks becomes a
choice among n equal parts of the total weight.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples, evened_among_ties
from amortized_kde.numerics.streams import indexed_uniforms, stream_words

# Up to this size every value is an anchor; of larger samples about _SPACED, equally spaced in rank but for the tails.
ALL_ANCHORS_TO = 256
_SPACED = 192
# The largest sample of the training tasks. Of a larger sample this many values are described, always the same ranks.
LARGEST_TRAINED = 4096
_CHOICE = stream_words(4096, 0)
# Where the middle of a part lies between two values up to rounding, it belongs to the outer one.
_ROUNDING = 1e-9


class Anchors(NamedTuple):
    """Anchors of all samples.

    Attributes
    ----------
    ranks : ndarray of shape (anchors,)
        Of the anchors in their samples.
    offsets : ndarray of shape (samples + 1,)
        Sample t has the anchors ``offsets[t] .. offsets[t + 1] - 1``.
    masses : ndarray of shape (anchors,)
        The fraction of its sample that an anchor represents.
    positions : ndarray of shape (anchors,)
        Ranks, counted in weight where weights differ.
    multiplicities : ndarray of shape (anchors,)
        How many anchors of an equally weighted sample an anchor counts as; 1 without weights.
    """

    ranks: Index
    offsets: Index
    masses: Array
    positions: Array
    multiplicities: Array

    @property
    def sample_of_anchor(self) -> Index:
        """The sample that each anchor belongs to."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))


@lru_cache(maxsize=256)
def anchors_of_size(n: int) -> tuple[Index, Array]:
    """Return ranks and masses of the anchors of a sample of n: mirror-symmetric, and dense in the tails."""
    if n <= ALL_ANCHORS_TO:
        return np.arange(n), np.full(n, 1.0 / max(n, 1))
    half, rank = [], 0
    while rank < (n - 1) / 2:
        half.append(rank)
        rank += max(1, min(rank // 4, n // _SPACED))
    left = np.array(half)
    middle = [n // 2] if n % 2 else []
    ranks = np.unique(np.concatenate([left, middle, n - 1 - left]).astype(np.int64))
    masses = np.gradient(ranks.astype(np.float64))
    return ranks, masses / masses.sum()


def _anchors_by_rank(sizes: Index) -> tuple[Index, Index, Array]:
    """Ranks, offsets and masses of the anchors of all samples."""
    if sizes.max(initial=0) <= ALL_ANCHORS_TO:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        first = np.repeat(offsets[:-1], sizes)
        return np.arange(offsets[-1]) - first, offsets, np.repeat(1.0 / np.maximum(sizes, 1), sizes)
    found = [anchors_of_size(int(n)) for n in sizes]
    offsets = np.concatenate([[0], np.cumsum([ranks.size for ranks, _ in found])])
    return np.concatenate([f[0] for f in found]), offsets, np.concatenate([f[1] for f in found])


def place_anchors(samples: Samples, counts: Array) -> Anchors:
    """Return the anchors of samples whose values count as `counts` equal ones each; tied values count alike."""
    ranks, offsets, masses = _anchors_by_rank(samples.sizes)
    if samples.weights is None:
        return Anchors(ranks, offsets, masses, ranks.astype(np.float64), np.ones(ranks.size))
    ranks, offsets, multiplicities = _anchors_by_weight(samples, counts, ranks, offsets)
    sample = np.repeat(np.arange(len(samples)), np.diff(offsets))
    at, unequal = samples.offsets[sample] + ranks, samples.unequal[sample]
    # All values of small samples are anchors.
    masses = np.where(unequal, counts[at] / samples.effective_sizes[sample], 1.0 / samples.sizes[sample])
    for t in np.flatnonzero(samples.sizes > ALL_ANCHORS_TO):
        rows = slice(offsets[t], offsets[t + 1])
        if samples.unequal[t]:
            masses[rows] = _masses_by_weight(counts[samples.offsets[t] : samples.offsets[t + 1]], ranks[rows])
        else:
            masses[rows] = anchors_of_size(int(samples.sizes[t]))[1]
    before = np.concatenate([[0.0], np.cumsum(counts)])[samples.offsets[sample]]
    positions = midpoints(counts)[at] - before - 0.5
    return Anchors(ranks, offsets, masses, np.where(unequal, positions, ranks), multiplicities)


def _anchors_by_weight(samples: Samples, counts: Array, ranks: Index, offsets: Index) -> tuple[Index, Index, Array]:
    """Ranks, offsets and multiplicities of the anchors; where weights are equal, the ranks given."""
    sample = np.repeat(np.arange(len(samples)), np.diff(offsets))
    multiplicities = np.where(samples.unequal[sample], counts[samples.offsets[sample] + ranks], 1.0)
    large = np.flatnonzero(samples.unequal & (samples.sizes > ALL_ANCHORS_TO))
    if not large.size:
        return ranks, offsets, multiplicities
    rows, times = np.split(ranks, offsets[1:-1]), np.split(multiplicities, offsets[1:-1])
    for t in large:
        parts = max(int(samples.effective_sizes[t] + _ROUNDING), ALL_ANCHORS_TO)
        hits = _hits(counts[samples.offsets[t] : samples.offsets[t + 1]], anchors_of_size(parts)[0], parts)
        kept = hits > 0.0
        # Shares are interpolated between anchors, so these reach both ends.
        kept[[0, -1]] = True
        rows[t], times[t] = np.flatnonzero(kept), hits[kept]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return np.concatenate(rows), offsets, np.concatenate(times)


def _hits(counts: Array, chosen: Index, parts: int) -> Array:
    """How many middles of chosen parts each value holds, if the total count is cut into equal parts."""
    last, below, above = parts - 1, np.cumsum(counts), np.cumsum(counts[::-1])
    # Each half from its own end, so that mirrored values are hit as often; the middle part belongs to both.
    width = 0.5 * (below[-1] + above[-1]) / parts
    low, high = chosen[2 * chosen <= last], last - chosen[2 * chosen >= last]
    hit = np.searchsorted(below, (low + 0.5 - _ROUNDING) * width)
    hit_above = counts.size - 1 - np.searchsorted(above, (high + 0.5 - _ROUNDING) * width)
    times = np.concatenate([np.where(2 * half == last, 0.5, 1.0) for half in (low, high)])
    return np.bincount(np.concatenate([hit, hit_above]), times, minlength=counts.size).astype(np.float64)


def _masses_by_weight(weights: Array, ranks: Index) -> Array:
    """The fraction of the weight at each rank if every value's is split linearly between the two nearest ranks."""
    at, positions = np.arange(weights.size), midpoints(weights)
    left = np.clip(np.searchsorted(ranks, at, side="right") - 1, 0, max(ranks.size - 2, 0))
    right = np.minimum(left + 1, ranks.size - 1)
    width = positions[ranks[right]] - positions[ranks[left]]
    part = np.clip((positions - positions[ranks[left]]) / np.where(width > 0.0, width, 1.0), 0.0, 1.0)
    split = ((left, 1.0 - part), (right, part))
    total = sum(np.bincount(side, weights * fraction, minlength=ranks.size) for side, fraction in split)
    return np.asarray(total / weights.sum())


def midpoints(weights: Array) -> Array:
    """Return the weight below each value plus half its own."""
    return np.asarray(np.cumsum(weights) - 0.5 * weights)


@lru_cache(maxsize=16)
def _choice(n: int) -> Index:
    """LARGEST_TRAINED ranks of n: random, mirror-symmetric and always the same."""
    uniforms = indexed_uniforms(_CHOICE, 0, n // 2)
    # Sort only candidates for the smallest: twelve standard deviations more than expected.
    few = np.flatnonzero(uniforms < (LARGEST_TRAINED / 2 + 12.0 * (LARGEST_TRAINED / 2) ** 0.5) / (n // 2))
    half = few[np.argpartition(uniforms[few], LARGEST_TRAINED // 2 - 1)[: LARGEST_TRAINED // 2]]
    return np.sort(np.concatenate([half, n - 1 - half]))


def thinned(samples: Samples) -> tuple[Samples, dict[int, Index]]:
    """Return the samples, those larger than LARGEST_TRAINED thinned to that size, and the ranks kept of these."""
    if samples.weights is not None:
        return _thinned_by_weight(samples)
    chosen = {int(t): _choice(int(samples.sizes[t])) for t in np.flatnonzero(samples.sizes > LARGEST_TRAINED)}
    if not chosen:
        return samples, chosen
    rows = [samples.values[samples.offsets[t] : samples.offsets[t + 1]] for t in range(len(samples))]
    rows = [row[chosen[t]] if t in chosen else row for t, row in enumerate(rows)]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return Samples(np.concatenate(rows), offsets, samples.shape, samples.unusable), chosen


def _thinned_by_weight(samples: Samples) -> tuple[Samples, dict[int, Index]]:
    """Thin by weight: LARGEST_TRAINED parts of the weight are chosen, and a value counts as often as it is hit.

    There are as many parts as the effective size, so that the choice is that of an equally weighted sample.
    """
    assert samples.weights is not None
    chosen, values, weights = {}, [], []
    for t in range(len(samples)):
        rows = slice(samples.offsets[t], samples.offsets[t + 1])
        row, weight = samples.values[rows], samples.weights[rows]
        if row.size > LARGEST_TRAINED and samples.unequal[t]:
            parts = max(int(samples.effective_sizes[t] + _ROUNDING), LARGEST_TRAINED)
            wanted = _choice(parts) if parts > LARGEST_TRAINED else np.arange(LARGEST_TRAINED)
            hits = _hits(_weights_alike_among_ties(samples, t), wanted, parts)
            chosen[t] = np.flatnonzero(hits)
            row, weight = row[chosen[t]], hits[chosen[t]] / LARGEST_TRAINED
        elif row.size > LARGEST_TRAINED:
            chosen[t] = _choice(row.size)
            row, weight = row[chosen[t]], np.full(LARGEST_TRAINED, 1.0 / LARGEST_TRAINED)
        values.append(row)
        weights.append(weight)
    offsets = np.concatenate([[0], np.cumsum([row.size for row in values])]).astype(np.int64)
    flat = np.concatenate([*values, np.empty(0)]), offsets, samples.shape, samples.unusable
    return Samples(*flat, np.concatenate([*weights, np.empty(0)])), chosen


def in_full_samples(
    anchors: Index, offsets: Index, masses: Array, full: Samples, chosen: dict[int, Index]
) -> tuple[Index, Array]:
    """Convert ranks and masses of anchors in thinned samples to those in the full samples."""
    anchors, masses, sizes = anchors.copy(), masses.copy(), full.sizes
    for t, ranks in chosen.items():
        rows = slice(offsets[t], offsets[t + 1])
        anchors[rows] = ranks[anchors[rows]]
        # Half of the values between two anchors go to each, and those outside to the outermost.
        between = 0.5 * (np.diff(anchors[rows]) - 1)
        first, last = anchors[rows][0], sizes[t] - 1 - anchors[rows][-1]
        masses[rows] = (1.0 + np.append(first, between) + np.append(between, last)) / sizes[t]
        if full.unequal[t]:
            masses[rows] = _masses_by_weight(_weights_alike_among_ties(full, t), anchors[rows])
    return anchors, masses


def _weights_alike_among_ties(samples: Samples, t: int) -> Array:
    """The weights of sample t, equal among tied values."""
    assert samples.weights is not None
    rows = slice(samples.offsets[t], samples.offsets[t + 1])
    return evened_among_ties(samples.values[rows], samples.weights[rows], samples.offsets[[t, t + 1]] - rows.start)
