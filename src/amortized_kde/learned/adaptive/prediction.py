"""Predictions of the learned models in the sample's own frame: `adaptive` and `single`.

    q(x) = (1 - eps) sum_i v_i sum_k w_ik K_hk(x - x_i) / Z_ik + eps b(x),   w_i = softmax(net(sample, x_i))
    h = scale exp(net(sample))                                               for `single`

v_i are the points' weights, 1/n by default; if they differ, n is their effective size. Above n = 4096, the largest
sample of the training tasks, the network is evaluated as if n were 4096; bandwidths shrink further as n^(-1/5), the
rate of the classical rules, and the background's probability as 1/n. `large.py` then corrects the predictions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from amortized_kde._outcome import CONSTANT, OK, TOO_FEW, UNLIKE_TRAINING, Selection
from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.sample import Sample, Samples, evened_among_ties
from amortized_kde.data.support import Bounds
from amortized_kde.learned.adaptive.anchors import LARGEST_TRAINED, midpoints
from amortized_kde.learned.adaptive.ends import narrowed_ends
from amortized_kde.learned.adaptive.features import RUNG_EXPONENTS, SAMPLE_FEATURES, Description, describe
from amortized_kde.learned.adaptive.large import averaged_shares, bandwidth_multiplier, moved_bandwidth
from amortized_kde.learned.adaptive.network import LadderNetwork, Standards
from amortized_kde.learned.model import Model
from amortized_kde.numerics.floats import ordinary_exponents, times_power
from amortized_kde.numerics.threads import Scratch, run_in_pieces

# Points per run: what is kept of them is then about 20 megabytes, and calls between compiled loops take little time.
_POINTS_PER_RUN, _POINTS_PER_RUN_SINGLE = 30_000, 60_000
_MOST_SAMPLES_PER_RUN = 5_000
# Beyond the range of the training tasks by this fraction of it, a feature is far outside.
_FAR = 0.25
# Features that people understand: on which side of the training range, and what that means.
_WORDS = {
    "log sd": (1.0, "its standard deviation is larger relative to its interquartile range"),
    "log kurtosis": (1.0, "its outliers are farther out"),
    "log spread at 0": (1.0, "its range is wider relative to its interquartile range"),
    "spacing mean": (-1.0, "its values lie more closely together"),
    "spacing sd": (1.0, "its spacings differ more"),
    "|skewness|": (1.0, "it is more skewed"),
}
_NARROW = "its middle half, or clusters of it, are narrower than the finest bandwidth"
_DECADES = "its values span decades: fit their logarithms instead"
# The ways in which a sample can be unlike the training tasks.
_WAYS = (*(words for _, words in _WORDS.values()), _NARROW, _DECADES)
_CHECKED = [SAMPLE_FEATURES.index(name) for name in _WORDS]
_SIGNS = np.array([sign for sign, _ in _WORDS.values()])
# The smallest positive float64; results in tiny units must not be rounded to 0.
_SMALLEST = 5e-324
# Logarithms of the ladder's bandwidths, relative to the widest.
_LOG_RUNGS = math.log(2.0) * (RUNG_EXPONENTS - RUNG_EXPONENTS[0])


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The adaptive prediction for many samples.

    Attributes
    ----------
    bandwidths : ndarray of shape (samples, rungs)
        Descending, in data units.
    anchors : ndarray of shape (anchors,)
        Ranks of the anchors in their samples.
    offsets : ndarray of shape (samples + 1,)
        Sample t has the anchors ``offsets[t] .. offsets[t + 1] - 1``.
    masses : ndarray of shape (anchors,)
        Weight of each anchor in a mean over all values of its sample.
    shares : ndarray of shape (anchors, rungs)
        Between two anchors, shares are interpolated linearly in rank, which is counted in weight.
    epsilons : ndarray of shape (samples,)
        Probability of the background.
    locations, scales : ndarray of shape (samples,)
        Of the background, where a side is open.
    codes : ndarray of shape (samples,)
        As in `Selection`.
    unlike : ndarray of bool, of shape (samples, ways)
        The ways in which a sample is unlike the training tasks (`ways_unlike`).
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
    """Evaluate the adaptive model for ascending samples, each with its own bounds.

    All points are described at once. With a `scratch` the shares are written there, and overwritten by those of the
    next samples. Samples of tiny or huge numbers are evaluated times a power of two.
    """
    exponents = _exponents(samples)
    if exponents.any():
        ends = times_power(lower, exponents), times_power(upper, exponents)
        found = _smooth(model, _times_power(samples, exponents), *ends, threads=threads, scratch=scratch)
        return replace(
            found,
            bandwidths=np.maximum(times_power(found.bandwidths, -exponents[:, None]), _SMALLEST),
            locations=times_power(found.locations, -exponents),
            scales=np.maximum(times_power(found.scales, -exponents), _SMALLEST),
        )
    return _smooth(model, samples, lower, upper, threads=threads, scratch=scratch)


def _exponents(samples: Samples) -> Index:
    """Powers of two that make each sample's largest number ordinary."""
    # Most batches are ordinary as a whole, which one quick pass shows.
    sizes = np.abs(samples.values)
    ends = np.array([sizes.max(initial=0.0), sizes.min(where=sizes > 0.0, initial=1.0)])
    if not ordinary_exponents(ends).any():
        return np.zeros(len(samples), np.int64)
    largest = np.zeros(len(samples))
    used = samples.sizes > 0
    largest[used] = np.maximum.reduceat(sizes, samples.offsets[:-1][used])
    return ordinary_exponents(largest)


def _times_power(samples: Samples, exponents: Index) -> Samples:
    return replace(samples, values=times_power(samples.values, np.repeat(exponents, samples.sizes)))


def _smooth(
    model: Model,
    samples: Samples,
    lower: Array,
    upper: Array,
    *,
    threads: int | None,
    scratch: Scratch | None,
) -> Smoothing:
    found = describe(samples, lower, upper, threads=threads, scratch=scratch)
    network: LadderNetwork = model.network
    sample_of_point = np.repeat(np.arange(len(samples)), np.diff(found.offsets))
    sizes = np.maximum(found.sizes, 1.0)
    shares, epsilons = network.shares_and_background(
        found.of_samples, sizes, found.points.blocks(scratch or Scratch()), sample_of_point, scratch=scratch
    )
    size_ratio = _size_ratio(samples, found)
    bandwidths = found.bandwidths * size_ratio[:, None] ** -0.2
    for t in np.flatnonzero(_beyond(samples, found, size_ratio)).tolist():
        rows, ends = slice(found.offsets[t], found.offsets[t + 1]), (float(lower[t]), float(upper[t]))
        shares[rows] = averaged_shares(shares[rows], bandwidths[t], size_ratio[t])
        local = shares[rows] @ np.log(bandwidths[t])
        one = samples.between(t, t + 1)
        factor = bandwidth_multiplier(one, ends, found.anchors[rows], local, size_ratio[t])
        bandwidths[t] *= factor
        local += math.log(factor)
        shares[rows] = narrowed_ends(shares[rows], RUNG_EXPONENTS, one, ends, found.anchors[rows], local, size_ratio[t])
    return Smoothing(
        bandwidths,
        found.anchors,
        found.offsets,
        found.masses,
        shares,
        epsilons / size_ratio,
        found.locations,
        found.scales,
        *_codes(samples, found, network.standards),
    )


def ladder_of_one(answer: Smoothing, sample: Sample) -> tuple[Array, Array]:
    """Return the first sample's rungs (r,), ascending, and the shares of each of its n points, (r, n).

    Rungs that no point uses are left out. Tied points with unequal weights have equal shares, because they are
    indistinguishable.
    """
    n = sample.values.size
    anchors, shares = answer.anchors[: answer.offsets[1]], answer.shares[: answer.offsets[1]]
    used = np.flatnonzero(shares.any(axis=0))[::-1]
    kept = np.ascontiguousarray(shares[:, used].T)
    places, whole = np.arange(n, dtype=np.float64), np.array([0, n])
    weights = sample.as_batch().weights
    if weights is not None:
        places = midpoints(evened_among_ties(sample.values, weights, whole))
    if anchors.size < n:
        kept = np.stack([np.interp(places, places[anchors], row) for row in kept])
    if weights is not None:
        kept = np.stack([evened_among_ties(sample.values, row, whole) for row in kept])
    return answer.bandwidths[0, used], kept


def ladder_at_anchors(answer: Smoothing, n: int) -> tuple[Array, Array, Index]:
    """Return the first sample's rungs (r,), ascending, the shares at its anchors (r, a), and their ranks (a,).

    The first and the last of its n points are added to the anchors, with the shares of the nearest.
    """
    anchors, shares = answer.anchors[: answer.offsets[1]], answer.shares[: answer.offsets[1]]
    used = np.flatnonzero(shares.any(axis=0))[::-1]
    ranks = np.unique(np.concatenate([[0], anchors, [n - 1]]))
    return answer.bandwidths[0, used], np.stack([np.interp(ranks, anchors, shares[:, k]) for k in used]), ranks


def select_adaptive(
    model: Model, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
) -> Selection:
    """Return the effective bandwidth of each adaptive estimate: the geometric mean over points and rungs."""

    def predict(part: Samples, threads: int | None, scratch: Scratch) -> Selection:
        answer = smooth(model, part, *_ends(bounds, len(part)), threads=threads, scratch=scratch)
        sample_of_anchor = np.repeat(np.arange(len(part)), np.diff(answer.offsets))
        logs = answer.masses * np.einsum("ak,k->a", answer.shares, _LOG_RUNGS)
        mean = np.bincount(sample_of_anchor, logs, minlength=len(part))
        h = np.where(answer.codes >= OK, answer.bandwidths[:, 0] * np.exp(mean), np.nan)
        return Selection(h, answer.codes, answer.unlike)

    return _select(predict, samples, threads)


def select_single(
    model: Model, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
) -> Selection:
    """Return one bandwidth per sample."""
    network: LadderNetwork = model.network

    def predict(given: Samples, threads: int | None, scratch: Scratch) -> Selection:
        exponents = _exponents(given)
        part = _times_power(given, exponents) if exponents.any() else given
        lower, upper = (times_power(end, exponents) for end in _ends(bounds, len(part)))
        found = describe(part, lower, upper, points=False, threads=threads, scratch=scratch)
        ratio, size_ratio = np.exp(network.log_bandwidths(found.of_samples)), _size_ratio(part, found)
        h = np.where(found.usable, found.scales * ratio * size_ratio**-0.2, np.nan)
        for t in np.flatnonzero(_beyond(part, found, size_ratio)).tolist():
            ends = float(lower[t]), float(upper[t])
            h[t] = moved_bandwidth(part.between(t, t + 1), ends, float(h[t]), size_ratio[t])
        return Selection(np.maximum(times_power(h, -exponents), _SMALLEST), *_codes(part, found, network.standards))

    return _select(predict, samples, threads, _POINTS_PER_RUN_SINGLE)


def _select(
    predict: Callable[[Samples, int | None, Scratch], Selection],
    samples: Samples,
    threads: int | None,
    values_per_run: int = _POINTS_PER_RUN,
) -> Selection:
    """Predict run by run, and join the selections."""
    h, codes = np.full(len(samples), np.nan), np.zeros(len(samples), np.int64)
    unlike = np.zeros((len(samples), len(_WAYS)), bool)

    def work(start: int, stop: int, threads: int | None, scratch: Scratch) -> None:
        h[start:stop], codes[start:stop], unlike[start:stop] = predict(samples.between(start, stop), threads, scratch)

    in_runs(work, samples, threads=threads, values_per_run=values_per_run)
    return Selection(h, codes, unlike)


def in_runs(
    work: Callable[[int, int, int | None, Scratch], None],
    samples: Samples,
    *,
    threads: int | None,
    values_per_run: int = _POINTS_PER_RUN,
) -> None:
    """Call ``work(start, stop, threads, scratch)`` on runs of samples with about `values_per_run` values each.

    Several runs go side by side. Arrays that a run takes from the scratch are overwritten by the next.
    """
    edges, scratch = [0], Scratch()
    while edges[-1] < len(samples):
        end = samples.offsets[edges[-1]] + values_per_run
        stop = int(np.searchsorted(samples.offsets, end, side="right")) - 1
        edges.append(min(max(stop, edges[-1] + 1), edges[-1] + _MOST_SAMPLES_PER_RUN, len(samples)))
    runs = list(pairwise(edges))
    if len(runs) == 1:
        work(*runs[0], threads, scratch)
        return

    def several(first: int, last: int) -> None:
        for start, stop in runs[first:last]:
            work(start, stop, 1, scratch)

    run_in_pieces(several, len(runs), operations=math.inf, threads=threads)


def ways_unlike(flags: Flags) -> list[str]:
    """Return in words the ways in which a sample is unlike the training tasks; `flags` is its row of `unlike`."""
    return [words for words, flag in zip(_WAYS, flags, strict=True) if flag]


def _size_ratio(samples: Samples, found: Description) -> Array:
    """n over the number of values that were described."""
    return np.asarray(np.maximum(samples.effective_sizes / np.maximum(found.sizes, 1.0), 1.0))


def _beyond(samples: Samples, found: Description, size_ratio: Array) -> Flags:
    """Samples larger than those of the training tasks."""
    return np.asarray(found.usable & (size_ratio > 1.0) & (samples.sizes > LARGEST_TRAINED))


def _ends(bounds: Bounds, count: int) -> tuple[Array, Array]:
    return np.full(count, bounds.lower), np.full(count, bounds.upper)


def _codes(samples: Samples, found: Description, standards: Standards) -> tuple[Index, Flags]:
    """The code of each sample, and the ways in which it is unlike the training tasks."""
    _, _, low, high = standards.whole[:, _CHECKED]
    end = np.where(_SIGNS > 0.0, high, low)
    far = _SIGNS * (found.of_samples[:, _CHECKED] - end) > _FAR * (high - low)
    unlike = np.concatenate([far, found.narrow[:, None], found.decades[:, None]], axis=1) & found.usable[:, None]
    scaled = np.where(unlike.any(axis=1), UNLIKE_TRAINING, OK)
    return np.where(found.usable, scaled, np.where(samples.sizes < 2, TOO_FEW, CONSTANT)).astype(np.int64), unlike
