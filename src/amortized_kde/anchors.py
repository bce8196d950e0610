"""Which values of a sample the adaptive models are asked about: all of a small sample, some of a large one.

Sizes or samples enter; ranks and the masses that they stand for leave. All choices are mirror-symmetric.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.sample import Samples

__all__ = ["LARGEST", "MANY", "anchors_of", "in_the_whole", "ranks_of", "thinned"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Up to so many points the network is asked at each.
MANY = 256
# Of larger samples at about so many, equally spaced in rank but for the tails.
_CELLS = 192
# The largest sample of the training tasks. Of a larger one so many values are described, chosen once and for all.
LARGEST = 4096
_CHOICE = stream_words(4096, 0)


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
    """LARGEST ranks of n, at random but always the same, and mirror-symmetric: features are then those of a sample."""
    half = np.argpartition(indexed_uniforms(_CHOICE, 0, n // 2), LARGEST // 2 - 1)[: LARGEST // 2]
    return np.sort(np.concatenate([half, n - 1 - half]))


def thinned(samples: Samples) -> tuple[Samples, dict[int, Index]]:
    """The samples, those larger than LARGEST thinned to that size, and the ranks that are left of these."""
    chosen = {int(t): _choice(int(samples.sizes[t])) for t in np.flatnonzero(samples.sizes > LARGEST)}
    if not chosen:
        return samples, chosen
    rows = [samples.values[samples.offsets[t] : samples.offsets[t + 1]] for t in range(len(samples))]
    rows = [row[chosen[t]] if t in chosen else row for t, row in enumerate(rows)]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return Samples(np.concatenate(rows), offsets, samples.shape, samples.unusable), chosen


def in_the_whole(
    anchors: Index, offsets: Index, masses: Array, sizes: Index, chosen: dict[int, Index]
) -> tuple[Index, Array]:
    """Ranks and masses of the anchors of thinned samples in the whole ones."""
    anchors, masses = anchors.copy(), masses.copy()
    for t, ranks in chosen.items():
        rows = slice(offsets[t], offsets[t + 1])
        anchors[rows] = ranks[anchors[rows]]
        # Half of the values between two anchors each, and those beyond the outermost.
        between = 0.5 * (np.diff(anchors[rows]) - 1)
        first, last = anchors[rows][0], sizes[t] - 1 - anchors[rows][-1]
        masses[rows] = (1.0 + np.append(first, between) + np.append(between, last)) / sizes[t]
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
