"""What the adaptive models read off a sample, in its own frame, and the ladder of bandwidths that they answer with.

Ascending samples and their bounds enter; location and scale, anchors (the points at which the network is asked), and
features of the sample and of each anchor leave. All features are the same for a sample and its mirror image, so that
what follows from them is equivariant under shift, scale and reflection by construction. The network is not known here.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from amortized_kde.features import moments
from amortized_kde.numerics.neighbours import neighbour_rows
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.sample import Samples

__all__ = ["CONVENTIONS", "EXPONENTS", "LARGEST", "POINT_FEATURES", "SAMPLE_FEATURES", "Description", "describe"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Bandwidths are 2^8 to 2^-16 times the sample's scale: a far outlier needs the first, data over decades the last.
EXPONENTS = np.arange(8.0, -16.5, -1.0)
# Up to so many points the network is asked at each.
_MANY = 256
# Of larger samples at about so many, equally spaced in rank but for the tails.
_CELLS = 192
# The largest sample of the training tasks. Of a larger one so many values are described, chosen once and for all.
LARGEST = 4096
_CHOICE = stream_words(4096, 0)
_PROBABILITIES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4])
# Where the points' asymmetry is read: rungs 2^2 to 2^-8.
_SIDES = slice(6, 17)
# A distance to a bound, in units of the scale, is told between these.
_NEAREST, _FARTHEST = 1e-5, 1e3
_ODD = 3 + _PROBABILITIES.size

_RUNGS = [f"2^{exponent:g}" for exponent in EXPONENTS]
_ODD_NAMES = ["skewness", "mean", "bounds", *(f"asymmetry at {p:g}" for p in _PROBABILITIES)]
SAMPLE_FEATURES = (
    *("log n", "1/n", "1/sqrt n", "log sd", "log kurtosis"),
    *(f"log spread at {p:g}" for p in _PROBABILITIES),
    *("spacing mean", "spacing sd", "spacing skewness", "ties"),
    *("nearer bound", "farther bound"),
    *(f"|{name}|" for name in _ODD_NAMES),
    *(f"{name} x skewness" for name in _ODD_NAMES[1:]),
    *(f"{name} x bounds" for name in _ODD_NAMES[3:]),
    *(f"mean crowd at {rung}" for rung in _RUNGS),
    *(f"sd of crowd at {rung}" for rung in _RUNGS),
)
POINT_FEATURES = (
    *(f"crowd at {rung}" for rung in _RUNGS),
    *(f"side at {rung}" for rung in _RUNGS[_SIDES]),
    *("|position|", "nearer bound", "farther bound", "position x bound"),
    *(f"position x {name}" for name in _ODD_NAMES),
)


CONVENTIONS = {
    "frame": "origin: median; unit: sqrt(sd x IQR/1.349), IQR/1.349 taken as at least sd/1024; of a constant sample a "
    "quarter of the distance of its two bounds, or the distance to its one",
    "ladder": "bandwidths 2^8, 2^7, ..., 2^-16 units",
    "sizes": f"of more than {LARGEST} values that many are described, chosen once; bandwidths shrink as n^(-1/5)",
    "crowd": "ln(0.02 + sum over the other points of exp(-d^2/2h^2)/Z) at each rung",
    "features": "standardised, and held inside the range of the training tasks; the same for a mirrored sample",
}


@dataclass(frozen=True, eq=False)
class Description:
    """Samples as the adaptive models see them; `usable` says which have a scale at all.

    Of those that are `narrow` the middle half, though not constant, lies within the finest bandwidth.

    `bandwidths` is (samples, rungs), `points` (anchors, features), `wholes` (samples, features); sample t has the
    anchors number ``offsets[t]`` to ``offsets[t + 1] - 1``; anchor a is its value number ``anchors[a]`` and stands for
    the share ``masses[a]`` of its values.
    """

    usable: Flags
    narrow: Flags
    locations: Array
    scales: Array
    bandwidths: Array
    anchors: Index
    offsets: Index
    masses: Array
    points: Array
    wholes: Array


def describe(samples: Samples, lower: Array, upper: Array, *, threads: int | None = None) -> Description:
    """Describe ascending samples, each with its own bounds (infinite where open)."""
    whole = samples
    samples, chosen = _thinned(samples)
    raw = moments(samples, threads=threads)
    n, sd = raw[:, 0], raw[:, 2]
    quantiles = _quantiles(samples, np.concatenate([_PROBABILITIES, [0.5, 0.25, 0.75], 1.0 - _PROBABILITIES]))
    count = _PROBABILITIES.size
    low, middle, high = quantiles[:, :count], quantiles[:, count], quantiles[:, count + 3 :]
    quartiles = quantiles[:, count + 2] - quantiles[:, count + 1]
    scales = _scales(sd, quartiles, raw[:, 5], lower, upper)
    usable = (scales > 0.0) & (scales < math.inf) & (n > 0)
    unit = np.where(usable, scales, 1.0)
    narrow = (quartiles > 0.0) & (quartiles < unit * 2.0 ** EXPONENTS[-1])
    anchors, offsets, masses = _anchors(samples.sizes)
    bandwidths = unit[:, None] * 2.0**EXPONENTS
    crowds, sides = np.empty((anchors.size, EXPONENTS.size)), np.empty((anchors.size, EXPONENTS.size))
    pooled = np.empty((len(samples), 2 * EXPONENTS.size))
    sizes = samples.sizes
    room = int(np.max(sizes, initial=1))
    run_in_pieces(
        lambda i, j: neighbour_rows(
            samples.values,
            samples.offsets,
            lower,
            upper,
            bandwidths,
            anchors,
            offsets,
            masses,
            room,
            crowds,
            sides,
            pooled,
            i,
            j,
        ),
        len(samples),
        operations=10.0 * float(np.sum(sizes * np.minimum(sizes, float(_MANY)))),
        threads=threads,
    )
    odd = np.empty((len(samples), _ODD))
    gaps = _logs((raw[:, 5] - lower) / unit), _logs((upper - raw[:, 6]) / unit)
    odd[:, 0] = np.arcsinh(raw[:, 3])
    odd[:, 1] = np.arcsinh((raw[:, 1] - middle) / unit)
    odd[:, 2] = 0.25 * (gaps[0] - gaps[1])
    odd[:, 3:] = np.arcsinh(((high - middle[:, None]) - (middle[:, None] - low)) / unit[:, None])
    wholes = np.concatenate(
        [
            _sizes(n),
            np.log(sd / unit + 1e-6)[:, None],
            np.log(raw[:, 4])[:, None],
            np.log((high - low) / unit[:, None] + 1e-4),
            _spacings(samples, unit, anchors, offsets),
            np.sort(np.stack(gaps, axis=1), axis=1),
            np.abs(odd),
            odd[:, 1:] * odd[:, :1],
            odd[:, 3:] * odd[:, 2:3],
            *_mean_and_sd(pooled),
        ],
        axis=1,
    )
    at = samples.values[np.repeat(samples.offsets[:-1], np.diff(offsets)) + anchors]
    own = np.repeat(np.arange(len(samples)), np.diff(offsets))
    position = np.arcsinh(2.0 * (at - middle[own]) / unit[own])
    below, above = _logs((at - lower[own]) / unit[own]), _logs((upper[own] - at) / unit[own])
    points = _points(crowds, sides, position, below, above, odd[own])
    if chosen:
        anchors, masses = _in_the_whole(anchors, offsets, masses, whole.sizes, chosen)
    return Description(usable, narrow, middle, unit, bandwidths, anchors, offsets, masses, points, wholes)


def _logs(distance: Array) -> Array:
    return np.asarray(np.log(np.clip(distance, 0.0, _FARTHEST) + _NEAREST))


def _sizes(n: Array) -> Array:
    told = np.clip(n, 1.0, LARGEST)
    return np.stack([np.log(told), 1.0 / told, told**-0.5], axis=1)


def _quantiles(samples: Samples, probabilities: Array) -> Array:
    """Quantiles (samples, probabilities) by linear interpolation at (n - 1) p, from the middle value outwards."""
    n = np.maximum(samples.sizes, 1)[:, None]
    place = (n - 1) * probabilities
    below = np.minimum(place.astype(np.int64), n - 1)
    starts = np.minimum(samples.offsets[:-1], max(samples.values.size - 1, 0))[:, None]
    values = samples.values if samples.values.size else np.zeros(1)
    first = values[starts + below]
    second = values[np.minimum(starts + np.minimum(below + 1, n - 1), values.size - 1)]
    return np.asarray(first + (place - below) * (second - first))


def _scales(sd: Array, quartiles: Array, value: Array, lower: Array, upper: Array) -> Array:
    """The geometric mean of sd and interquartile range/1.349; of a constant sample what its bounds give."""
    spread = np.sqrt(sd) * np.sqrt(np.maximum(quartiles / 1.349, sd / 1024.0))
    with np.errstate(invalid="ignore"):
        width = np.where(np.isinf(upper - lower), np.minimum(value - lower, upper - value), 0.25 * (upper - lower))
    return np.asarray(np.where(sd > 0.0, spread, width))


@lru_cache(maxsize=256)
def _ranks(n: int) -> tuple[Index, Array]:
    """The anchors' ranks in a sample of n, and their masses: mirror-symmetric, and dense in the tails."""
    if n <= _MANY:
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


def _thinned(samples: Samples) -> tuple[Samples, dict[int, Index]]:
    """The samples, those larger than LARGEST thinned to that size, and the ranks that are left of these."""
    chosen = {int(t): _choice(int(samples.sizes[t])) for t in np.flatnonzero(samples.sizes > LARGEST)}
    if not chosen:
        return samples, chosen
    rows = [samples.values[samples.offsets[t] : samples.offsets[t + 1]] for t in range(len(samples))]
    rows = [row[chosen[t]] if t in chosen else row for t, row in enumerate(rows)]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return Samples(np.concatenate(rows), offsets, samples.shape, samples.unusable), chosen


def _in_the_whole(
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


def _anchors(sizes: Index) -> tuple[Index, Index, Array]:
    if sizes.max(initial=0) <= _MANY:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        own = np.repeat(offsets[:-1], sizes)
        return np.arange(offsets[-1]) - own, offsets, np.repeat(1.0 / np.maximum(sizes, 1), sizes)
    found = [_ranks(int(n)) for n in sizes]
    offsets = np.concatenate([[0], np.cumsum([ranks.size for ranks, _ in found])])
    return np.concatenate([f[0] for f in found]), offsets, np.concatenate([f[1] for f in found])


def _mean_and_sd(pooled: Array) -> tuple[Array, Array]:
    mean, variance = np.split(pooled, 2, axis=1)
    return mean, np.sqrt(variance + 1e-6)


def _spacings(samples: Samples, unit: Array, anchors: Index, offsets: Index) -> Array:
    """Mean, sd and skewness of log-spacings, and the share of ties, of the spacings to both sides of the anchors."""
    own = np.repeat(np.arange(len(samples)), np.diff(offsets))
    place, last = samples.offsets[:-1][own] + anchors, samples.sizes[own] - 1
    before, after = np.flatnonzero(anchors > 0), np.flatnonzero(anchors < last)
    right = np.concatenate([place[before], place[after] + 1])
    own = np.concatenate([own[before], own[after]])
    spacing = (samples.values[right] - samples.values[right - 1]) * samples.sizes[own] / unit[own]
    logs, count = np.log(spacing + 1e-4), len(samples)
    number = np.maximum(np.bincount(own, minlength=count), 1)
    mean = np.bincount(own, logs, minlength=count) / number
    off = logs - mean[own]
    sd = np.sqrt(np.bincount(own, off**2, minlength=count) / number + 1e-2)
    skewness = np.bincount(own, off**3, minlength=count) / number / sd**3
    ties = np.bincount(own, spacing == 0.0, minlength=count) / number
    return np.stack([mean, sd, np.clip(skewness, -5.0, 5.0), ties], axis=1)


def _points(crowds: Array, sides: Array, position: Array, below: Array, above: Array, odd: Array) -> Array:
    out = np.empty((position.size, len(POINT_FEATURES)))
    rungs, given = crowds.shape[1], sides[:, _SIDES].shape[1]
    out[:, :rungs] = crowds
    out[:, rungs : rungs + given] = sides[:, _SIDES]
    rest = out[:, rungs + given :]
    rest[:, 0] = np.abs(position)
    rest[:, 1], rest[:, 2] = np.minimum(below, above), np.maximum(below, above)
    rest[:, 3] = position * (below - above)
    rest[:, 4:] = position[:, None] * odd
    return out
