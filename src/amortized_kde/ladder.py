"""What the adaptive models read off a sample, in its own frame, and the ladder of bandwidths that they answer with.

Ascending samples and their bounds enter; location and scale, anchors (the points at which the network is asked), and
features of the sample and of each anchor leave. All features are the same for a sample and its mirror image, so that
what follows from them is equivariant under shift, scale and reflection by construction. The network is not known here.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from amortized_kde.anchors import LARGEST, MANY, anchors_of, in_the_whole, thinned
from amortized_kde.features import moments
from amortized_kde.numerics.neighbours import AROUND, FEW, NEAR, anchor_rows, pair_rows, region_rows
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.sample import Samples

__all__ = [
    "ANSWERS",
    "CONVENTIONS",
    "EXPONENTS",
    "POINT_FEATURES",
    "SAMPLE_FEATURES",
    "Description",
    "describe",
]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Bandwidths are 2^8 to 2^-16 times the sample's scale: a far outlier needs the first, data over decades the last.
EXPONENTS = np.arange(8.0, -16.5, -1.0)
# The rungs of the answer: half an octave apart where most samples have theirs. Two kernels an octave apart, mixed to
# the width between them, have a tenth more variance than one of that width.
ANSWERS = np.sort(np.concatenate([EXPONENTS, np.arange(0.5, -6.0, -1.0)]))[::-1]
_PROBABILITIES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4])
# Where the points' asymmetry is read: rungs 2^2 to 2^-8.
_SIDES = slice(6, 17)
# Where the mean crowd of a point's region is read: rungs 2^2 to 2^-12.
_LOCAL = slice(6, 21)
_ENDS = np.array([_SIDES.start, _SIDES.stop])
_CROWDED = EXPONENTS.size + (_SIDES.stop - _SIDES.start) + 2 * (_LOCAL.stop - _LOCAL.start)
_COLUMNS = np.array([_LOCAL.start, _LOCAL.stop, EXPONENTS.size + _SIDES.stop - _SIDES.start])
_PARTS = np.array([NEAR, AROUND])
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
    *(f"mean crowd within n/{part} ranks at {rung}" for part in (NEAR, AROUND) for rung in _RUNGS[_LOCAL]),
    *("|position|", "nearer bound", "farther bound", "position x bound"),
    *(f"position x {name}" for name in _ODD_NAMES),
)


CONVENTIONS = {
    "frame": "origin: median; unit: sqrt(sd x IQR/1.349), IQR/1.349 taken as at least sd/1024; of a constant sample a "
    "quarter of the distance of its two bounds, or the distance to its one",
    "ladder": "bandwidths 2^8, 2^7, ..., 2^-16 units; of the answer also 2^0.5, 2^-0.5, ..., 2^-5.5",
    "sizes": f"of more than {LARGEST} values that many are described, chosen once; bandwidths shrink as n^(-1/5)",
    "crowd": "ln(0.02 + sum over the other points of exp(-d^2/2h^2)/Z) at each rung",
    "features": "standardised, and held inside the range of the training tasks; the same for a mirrored sample",
}


@dataclass(frozen=True, eq=False)
class Description:
    """Samples as the adaptive models see them; `usable` says which have a scale at all.

    Of those that are `narrow` the middle half, or clusters, though not constant, lie within the finest bandwidth.

    `bandwidths` is (samples, rungs of the answer), `points` (anchors, features), `wholes` (samples, features). Sample t
    has the anchors number ``offsets[t]`` to ``offsets[t + 1] - 1``; anchor a is its value number ``anchors[a]`` and
    stands for the share ``masses[a]`` of its values.
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
    samples, chosen = thinned(samples)
    raw = moments(samples, threads=threads)
    n, sd = raw[:, 0], raw[:, 2]
    quantiles = _quantiles(samples, np.concatenate([_PROBABILITIES, [0.5, 0.25, 0.75], 1.0 - _PROBABILITIES]))
    count = _PROBABILITIES.size
    low, middle, high = quantiles[:, :count], quantiles[:, count], quantiles[:, count + 3 :]
    quartiles = quantiles[:, count + 2] - quantiles[:, count + 1]
    scales = _scales(sd, quartiles, raw[:, 5], lower, upper)
    usable = (scales > 0.0) & (scales < math.inf) & (n > 0)
    unit = np.where(usable, scales, 1.0)
    anchors, offsets, masses = anchors_of(samples.sizes)
    rungs = unit[:, None] * 2.0**EXPONENTS
    points = np.empty((anchors.size, len(POINT_FEATURES)))
    _fill_crowds(samples, (lower, upper), rungs, anchors, offsets, points, threads)
    crowds, pooled = points[:, : EXPONENTS.size], np.zeros((len(samples), 2 * EXPONENTS.size))
    np.log(crowds, out=crowds)
    region_rows(samples.sizes, anchors, offsets, masses, _PARTS, _COLUMNS, points, pooled, 0, len(samples))
    mean, variance = np.split(pooled, 2, axis=1)
    spacings = _spacings(samples, unit, anchors, offsets)
    narrow = (quartiles > 0.0) & (quartiles < unit * 2.0 ** EXPONENTS[-1])
    # Even the finest kernel sees a quarter of the sample around most points, and that is not for ties.
    narrow |= (mean[:, -1] > np.log(0.25 * np.maximum(n, 8.0))) & (spacings[:, 3] < 0.5)
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
            spacings,
            np.sort(np.stack(gaps, axis=1), axis=1),
            np.abs(odd),
            odd[:, 1:] * odd[:, :1],
            odd[:, 3:] * odd[:, 2:3],
            mean,
            np.sqrt(variance + 1e-6),
        ],
        axis=1,
    )
    at = samples.values[np.repeat(samples.offsets[:-1], np.diff(offsets)) + anchors]
    own = np.repeat(np.arange(len(samples)), np.diff(offsets))
    position = np.arcsinh(2.0 * (at - middle[own]) / unit[own])
    below, above = _logs((at - lower[own]) / unit[own]), _logs((upper[own] - at) / unit[own])
    _place(points[:, _CROWDED:], position, below, above, odd[own])
    if chosen:
        anchors, masses = in_the_whole(anchors, offsets, masses, whole.sizes, chosen)
    bandwidths = unit[:, None] * 2.0**ANSWERS
    return Description(usable, narrow, middle, unit, bandwidths, anchors, offsets, masses, points, wholes)


def _fill_crowds(
    samples: Samples,
    bounds: tuple[Array, Array],
    rungs: Array,
    anchors: Index,
    offsets: Index,
    points: Array,
    threads: int | None,
) -> None:
    sizes = samples.sizes
    for loop, wanted in ((pair_rows, sizes <= FEW), (anchor_rows, sizes > FEW)):
        if not wanted.any():
            continue
        room = int(sizes[wanted].max())
        run_in_pieces(
            partial(loop, samples.values, samples.offsets, *bounds, rungs, anchors, offsets, room, _ENDS, points),
            len(samples),
            operations=10.0 * float(np.sum(sizes[wanted] * np.minimum(sizes[wanted], float(MANY)))),
            threads=threads,
        )


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


def _spacings(samples: Samples, unit: Array, anchors: Index, offsets: Index) -> Array:
    """Mean, sd and skewness of log-spacings, and the share of ties, of the spacings to both sides of the anchors."""
    place = np.repeat(samples.offsets[:-1], np.diff(offsets)) + anchors
    # How often the spacing before a value is meant; the first of a sample has none before it.
    meant = np.bincount(np.concatenate([place, place + 1]), minlength=samples.values.size + 1)
    meant[samples.offsets] = 0
    right = np.flatnonzero(meant)
    own = np.repeat(np.arange(len(samples)), samples.sizes)[right]
    spacing = (samples.values[right] - samples.values[right - 1]) * (samples.sizes / unit)[own]
    logs, times = np.log(spacing + 1e-4), meant[right].astype(np.float64)

    def sums(values: Array) -> Array:
        return np.asarray(np.bincount(own, values, minlength=len(samples)), np.float64)

    number = np.maximum(sums(times), 1.0)
    mean = sums(times * logs) / number
    off = logs - mean[own]
    square = times * off * off
    sd = np.sqrt(sums(square) / number + 1e-2)
    skewness = sums(square * off) / number / sd**3
    return np.stack([mean, sd, np.clip(skewness, -5.0, 5.0), sums(times * (spacing == 0.0)) / number], axis=1)


def _place(out: Array, position: Array, below: Array, above: Array, odd: Array) -> None:
    out[:, 0] = np.abs(position)
    out[:, 1], out[:, 2] = np.minimum(below, above), np.maximum(below, above)
    out[:, 3] = position * (below - above)
    out[:, 4:] = position[:, None] * odd
