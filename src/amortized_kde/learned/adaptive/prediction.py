"""The learned models in the sample's own frame: `adaptive`, shares of a ladder for every point, and `single`.

    q(x) = (1 - eps) sum_i v_i sum_k w_ik K_hk(x - x_i) / Z_ik + eps b(x),   w_i = softmax(net(sample, x_i))
    h = scale exp(net(sample))                                               for `single`

v_i are the points' weights, 1/n unless others are given; then n is their effective size. Above n = 4096, the largest
sample of the training tasks, the networks are asked as if n were that; their bandwidths shrink on as n^(-1/5), the rate
of the classical rules, and the background's probability as 1/n. The adaptive answer is then carried over to all values
(`large.py`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amortized_kde._outcome import CONSTANT, OK, TOO_FEW, UNLIKE_TRAINING, Selection
from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.sample import Sample, Samples, evened_among_ties
from amortized_kde.data.support import Bounds
from amortized_kde.learned.adaptive.anchors import LARGEST_TRAINED, middles_of
from amortized_kde.learned.adaptive.features import ANSWERS, SAMPLE_FEATURES, Description, describe
from amortized_kde.learned.adaptive.large import common_factor, evened
from amortized_kde.learned.adaptive.network import LadderNetwork, Standards
from amortized_kde.learned.store import Model
from amortized_kde.numerics.scratch import Scratch
from amortized_kde.numerics.threads import run_in_pieces

# Points that are described at a time: their features are then a few megabytes.
_AT_ONCE = 10_000
# Samples at a time, however few values they have.
_MOST = 5_000
# A feature this share of its range beyond it is far outside the training tasks.
_FAR = 0.25
# Features that can be told in words: on which side of their range, and how.
_WORDS = {
    "log sd": (1.0, "its standard deviation is larger for the spread of its middle half"),
    "log kurtosis": (1.0, "its outliers are farther out"),
    "log spread at 0": (1.0, "its range is wider for the spread of its middle half"),
    "spacing mean": (-1.0, "its values crowd more closely together"),
    "spacing sd": (1.0, "its spacings differ more"),
    "|skewness|": (1.0, "it is more skewed"),
}
# Logarithms of the ladder's bandwidths, relative to the widest.
_STEPS = math.log(2.0) * (ANSWERS - ANSWERS[0])
_NARROW = "its middle half, or clusters of it, are narrower than the finest bandwidth"
# The ways in which a sample can be unlike the training tasks.
_WAYS = (*(words for _, words in _WORDS.values()), _NARROW)
_TOLD = [SAMPLE_FEATURES.index(name) for name in _WORDS]
_SIGNS = np.array([sign for sign, _ in _WORDS.values()])


@dataclass(frozen=True, eq=False)
class Smoothing:
    """What the adaptive model answers for many samples.

    Sample t has the bandwidths ``bandwidths[t]`` (rungs,), descending, and the anchors number ``offsets[t]`` to
    ``offsets[t + 1] - 1``; anchor a is its value number ``anchors[a]`` and has the shares ``shares[a]``. Between two
    anchors shares lie linearly in rank, which is counted in weight, so that in a mean over all values anchor a counts
    ``masses[a]``. The background has the probability ``epsilons[t]``, and where a side is open, ``locations[t]`` and
    ``scales[t]``. ``unlike[t]`` marks the ways in which the sample is unlike the training tasks (`ways_unlike`).
    """

    bandwidths: Array
    anchors: Index
    offsets: Index
    masses: Array
    shares: Array
    epsilons: Array
    locations: Array
    scales: Array
    codes: Index
    unlike: Flags


def smooth(
    model: Model,
    samples: Samples,
    lower: Array,
    upper: Array,
    *,
    threads: int | None = None,
    scratch: Scratch | None = None,
) -> Smoothing:
    """Ask the adaptive model about ascending samples, each with its own bounds; all points are described at once.

    With a `scratch` the shares lie there, and are overwritten by those of the next samples.
    """
    found = describe(samples, lower, upper, threads=threads, scratch=scratch)
    network = _network(model)
    own = np.repeat(np.arange(len(samples)), np.diff(found.offsets))
    told: NDArray[Any] = np.maximum(found.sizes, 1.0)
    shares, epsilons = network.shares_and_background(found.wholes, told, found.points, own, scratch=scratch)
    beyond = _beyond(samples, found)
    bandwidths = found.bandwidths * beyond[:, None] ** -0.2
    for t in np.flatnonzero(found.usable & (beyond > 1.0) & (samples.sizes > LARGEST_TRAINED)).tolist():
        rows, ends = slice(found.offsets[t], found.offsets[t + 1]), (float(lower[t]), float(upper[t]))
        shares[rows] = evened(shares[rows], bandwidths[t], beyond[t])
        local = shares[rows] @ np.log(bandwidths[t])
        bandwidths[t] *= common_factor(samples.between(t, t + 1), ends, found.anchors[rows], local, beyond[t])
    return Smoothing(
        bandwidths,
        found.anchors,
        found.offsets,
        found.masses,
        shares,
        epsilons / beyond,
        found.locations,
        found.scales,
        *_codes(samples, found, network.standards),
    )


def ladder_of_one(answer: Smoothing, sample: Sample) -> tuple[Array, Array]:
    """Give the first sample's rungs (r,), ascending, and the shares of them that each of its n points has, (r, n).

    Rungs that no point uses are left out. Tied points with unequal weights have equal shares, for nothing tells which
    of them has which weight.
    """
    n = sample.values.size
    anchors, shares = answer.anchors[: answer.offsets[1]], answer.shares[: answer.offsets[1]]
    used = np.flatnonzero(shares.any(axis=0))[::-1]
    kept = np.ascontiguousarray(shares[:, used].T)
    places, whole = np.arange(n, dtype=np.float64), np.array([0, n])
    weights = sample.as_batch().weights
    if weights is not None:
        places = middles_of(evened_among_ties(sample.values, weights, whole))
    if anchors.size < n:
        kept = np.stack([np.interp(places, places[anchors], row) for row in kept])
    if weights is not None:
        kept = np.stack([evened_among_ties(sample.values, row, whole) for row in kept])
    return answer.bandwidths[0, used], kept


def ladder_at_anchors(answer: Smoothing, n: int) -> tuple[Array, Array, Index]:
    """Give the first sample's rungs (r,), ascending, the shares of them at its anchors (r, a), and these (a,).

    The first and the last of its n points are among the anchors: there shares are those of the nearest one.
    """
    anchors, shares = answer.anchors[: answer.offsets[1]], answer.shares[: answer.offsets[1]]
    used = np.flatnonzero(shares.any(axis=0))[::-1]
    ranks = np.unique(np.concatenate([[0], anchors, [n - 1]]))
    return answer.bandwidths[0, used], np.stack([np.interp(ranks, anchors, shares[:, k]) for k in used]), ranks


def select_adaptive(model: Model, samples: Samples, bounds: Bounds, *, threads: int | None = None) -> Selection:
    """Give the effective single bandwidth of each adaptive estimate: the mean over points and rungs, in logarithms."""
    h, codes = np.full(len(samples), np.nan), np.zeros(len(samples), np.int64)
    unlike = np.zeros((len(samples), len(_WAYS)), bool)

    def work(start: int, stop: int, threads: int | None, scratch: Scratch) -> None:
        part = samples.between(start, stop)
        answer = smooth(model, part, *_ends(bounds, len(part)), threads=threads, scratch=scratch)
        codes[start:stop], unlike[start:stop] = answer.codes, answer.unlike
        own = np.repeat(np.arange(len(part)), np.diff(answer.offsets))
        mean = np.bincount(own, answer.masses * np.einsum("ak,k->a", answer.shares, _STEPS), minlength=len(part))
        h[start:stop] = np.where(answer.codes >= OK, answer.bandwidths[:, 0] * np.exp(mean), np.nan)

    in_chunks(work, samples, threads=threads)
    return Selection(h, codes, unlike)


def select_single(model: Model, samples: Samples, bounds: Bounds, *, threads: int | None = None) -> Selection:
    """Give one bandwidth a sample."""
    h, codes = np.full(len(samples), np.nan), np.zeros(len(samples), np.int64)
    unlike = np.zeros((len(samples), len(_WAYS)), bool)
    network = _network(model)

    def work(start: int, stop: int, threads: int | None, scratch: Scratch) -> None:
        part = samples.between(start, stop)
        found = describe(part, *_ends(bounds, len(part)), threads=threads, scratch=scratch)
        codes[start:stop], unlike[start:stop] = _codes(part, found, network.standards)
        ratio = np.exp(network.log_bandwidths(found.wholes))
        h[start:stop] = np.where(found.usable, found.scales * ratio * _beyond(part, found) ** -0.2, np.nan)

    in_chunks(work, samples, threads=threads)
    return Selection(h, codes, unlike)


def ways_unlike(unlike: Flags) -> list[str]:
    """Describe the ways (ways,) in which one sample is unlike the training tasks."""
    return [words for words, marked in zip(_WAYS, unlike, strict=True) if marked]


def _beyond(samples: Samples, found: Description) -> Array:
    """How many times larger the samples are than what was described of them."""
    return np.asarray(np.maximum(samples.effective_sizes / np.maximum(found.sizes, 1.0), 1.0))


@cache
def _network(model: Model) -> LadderNetwork:
    return LadderNetwork.of(model.arrays)


def _ends(bounds: Bounds, count: int) -> tuple[Array, Array]:
    return np.full(count, bounds.lower), np.full(count, bounds.upper)


def in_chunks(
    work: Callable[[int, int, int | None, Scratch], None],
    samples: Samples,
    *,
    threads: int | None,
    at_once: int = _AT_ONCE,
) -> None:
    """Call ``work(start, stop, threads, scratch)`` on runs of some `at_once` values each, several side by side.

    What a run takes from the scratch is lost to the next one.
    """
    edges, scratch = [0], Scratch()
    while edges[-1] < len(samples):
        stop = int(np.searchsorted(samples.offsets, samples.offsets[edges[-1]] + at_once, side="right")) - 1
        edges.append(min(max(stop, edges[-1] + 1), edges[-1] + _MOST, len(samples)))
    runs = list(pairwise(edges))
    if len(runs) == 1:
        work(*runs[0], threads, scratch)
        return

    def several(first: int, last: int) -> None:
        for start, stop in runs[first:last]:
            work(start, stop, 1, scratch)

    run_in_pieces(several, len(runs), operations=math.inf, threads=threads)


def _codes(samples: Samples, found: Description, standards: Standards) -> tuple[Index, Flags]:
    """Return the code of each sample and the ways in which it is unlike the training tasks."""
    _, _, low, high = standards.whole[:, _TOLD]
    end = np.where(_SIGNS > 0.0, high, low)
    far = _SIGNS * (found.wholes[:, _TOLD] - end) > _FAR * (high - low)
    unlike = np.concatenate([far, found.narrow[:, None]], axis=1) & found.usable[:, None]
    scaled = np.where(unlike.any(axis=1), UNLIKE_TRAINING, OK)
    return np.where(found.usable, scaled, np.where(samples.sizes < 2, TOO_FEW, CONSTANT)).astype(np.int64), unlike
