"""What the adaptive models read off a sample, in its own frame, and the ladder of bandwidths that they answer with.

Ascending samples and their bounds enter; location and scale, anchors (the points at which the network is asked), and
features of the sample and of each anchor leave. All features are the same for a sample and its mirror image, so that
what follows from them is equivariant under shift, scale and reflection by construction. The network is not known here.

With weights w, which sum to 1, n is Kish's effective size 1/sum w^2, a point stands for n w_i points, and all means are
weighted; equal weights give, to the last bit, what none give.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.sample import Samples, evened_among_ties, moments, quantiles
from amortized_kde.learned.adaptive.anchors import (
    LARGEST_TRAINED,
    MANY,
    Anchors,
    in_the_whole,
    middles_of,
    place_anchors,
    thinned,
)
from amortized_kde.numerics.neighbours import AROUND, FEW, NEAR, anchor_rows, pair_rows, region_rows
from amortized_kde.numerics.scratch import Scratch
from amortized_kde.numerics.threads import run_in_pieces

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
    "sizes": f"of more than {LARGEST_TRAINED} values that many are described, chosen once; bandwidths shrink as "
    "n^(-1/5)",
    "crowd": "ln(0.02 + sum over the other points of exp(-d^2/2h^2)/Z) at each rung",
    "features": "standardised, and held inside the range of the training tasks; the same for a mirrored sample",
}


@dataclass(frozen=True, eq=False)
class Description:
    """Samples as the adaptive models see them; `usable` says which have a scale at all.

    Of those that are `narrow` the middle half, or clusters, though not constant, lie within the finest bandwidth.

    `bandwidths` is (samples, rungs of the answer), `points` (anchors, features), `wholes` (samples, features). Sample t
    has the anchors number ``offsets[t]`` to ``offsets[t + 1] - 1``; anchor a is its value number ``anchors[a]`` and
    stands for the share ``masses[a]`` of its values. `sizes` are the effective sizes of what was described.
    """

    usable: Flags
    narrow: Flags
    sizes: Array
    locations: Array
    scales: Array
    bandwidths: Array
    anchors: Index
    offsets: Index
    masses: Array
    points: Array
    wholes: Array


def describe(
    samples: Samples, lower: Array, upper: Array, *, threads: int | None = None, scratch: Scratch | None = None
) -> Description:
    """Describe ascending samples, each with its own bounds (infinite where open).

    With a `scratch` the points' features lie there, and are overwritten by those of the next samples.
    """
    whole = samples
    samples, chosen = thinned(samples)
    raw = moments(samples, threads=threads)
    n, sd = raw[:, 0], raw[:, 2]
    at = quantiles(samples, np.concatenate([_PROBABILITIES, [0.5, 0.25, 0.75], 1.0 - _PROBABILITIES]))
    count = _PROBABILITIES.size
    low, middle, high = at[:, :count], at[:, count], at[:, count + 3 :]
    quartiles = at[:, count + 2] - at[:, count + 1]
    scales = _scales(sd, quartiles, raw[:, 5], lower, upper)
    usable = (scales > 0.0) & (scales < math.inf) & (n > 0)
    unit = np.where(usable, scales, 1.0)
    counts = _counts(samples)
    placed = place_anchors(samples, counts)
    anchors, offsets, masses = placed[:3]
    rungs = unit[:, None] * 2.0**EXPONENTS
    points = (scratch or Scratch()).take("points", anchors.size, len(POINT_FEATURES))
    _fill_crowds(samples, counts, (lower, upper), rungs, placed, points, threads)
    crowds, pooled = points[:, : EXPONENTS.size], np.zeros((len(samples), 2 * EXPONENTS.size))
    np.log(crowds, out=crowds)
    regions = (samples.effective_sizes, placed.places, offsets, masses, _PARTS, _COLUMNS)
    region_rows(*regions, points, pooled, 0, len(samples))
    mean, variance = np.split(pooled, 2, axis=1)
    spacings = _spacings(samples, counts, unit, placed)
    narrow = (quartiles > 0.0) & (quartiles < unit * 2.0 ** EXPONENTS[-1])
    # Even the finest kernel sees a quarter of the sample around most points, and that is not for ties.
    narrow |= (mean[:, -1] > np.log(0.25 * np.maximum(n, 8.0))) & (spacings[:, 3] < 0.5)
    odd = np.empty((len(samples), _ODD))
    # The quantiles at 0 and 1 are the ends, but for weights: they hardly know of an end that hardly counts.
    gaps = _logs((low[:, 0] - lower) / unit), _logs((upper - high[:, 0]) / unit)
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
    own = np.repeat(np.arange(len(samples)), np.diff(offsets))
    x = samples.values[samples.offsets[own] + anchors]
    position = np.arcsinh(2.0 * (x - middle[own]) / unit[own])
    below, above = _logs((x - lower[own]) / unit[own]), _logs((upper[own] - x) / unit[own])
    _place(points[:, _CROWDED:], position, below, above, odd, own)
    if chosen:
        anchors, masses = in_the_whole(anchors, offsets, masses, whole, chosen)
    bandwidths = unit[:, None] * 2.0**ANSWERS
    return Description(usable, narrow, n, middle, unit, bandwidths, anchors, offsets, masses, points, wholes)


def _counts(samples: Samples) -> Array:
    """For how many points each value stands: tied ones, which nothing tells apart, for equally many."""
    if samples.weights is None:
        return samples.counts
    return evened_among_ties(samples.values, samples.counts, samples.offsets)


def _fill_crowds(
    samples: Samples,
    counts: Array,
    bounds: tuple[Array, Array],
    rungs: Array,
    placed: Anchors,
    points: Array,
    threads: int | None,
) -> None:
    sizes = samples.sizes
    for loop, wanted in ((pair_rows, sizes <= FEW), (anchor_rows, sizes > FEW)):
        if not wanted.any():
            continue
        largest = int(sizes[wanted].max())
        given = (samples.values, samples.offsets, counts, *bounds, rungs, placed.ranks, placed.offsets)
        run_in_pieces(
            partial(loop, *given, largest, _ENDS, points),
            len(samples),
            operations=10.0 * float(np.sum(sizes[wanted] * np.minimum(sizes[wanted], float(MANY)))),
            threads=threads,
        )


def _logs(distance: Array) -> Array:
    return np.asarray(np.log(np.clip(distance, 0.0, _FARTHEST) + _NEAREST))


def _sizes(n: Array) -> Array:
    told = np.clip(n, 1.0, LARGEST_TRAINED)
    return np.stack([np.log(told), 1.0 / told, told**-0.5], axis=1)


def _scales(sd: Array, quartiles: Array, value: Array, lower: Array, upper: Array) -> Array:
    """The geometric mean of sd and interquartile range/1.349; of a constant sample what its bounds give."""
    spread = np.sqrt(sd) * np.sqrt(np.maximum(quartiles / 1.349, sd / 1024.0))
    with np.errstate(invalid="ignore"):
        width = np.where(np.isinf(upper - lower), np.minimum(value - lower, upper - value), 0.25 * (upper - lower))
    return np.asarray(np.where(sd > 0.0, spread, width))


def _spacings(samples: Samples, counts: Array, unit: Array, placed: Anchors) -> Array:
    """Mean, sd and skewness of log-spacings, and the share of ties, of the spacings to both sides of the anchors."""
    own, spacing, votes = _beside(samples, placed)
    if samples.weights is not None:
        own, spacing, votes = _with_weights(samples, counts, placed, own, spacing, votes)
    spacing = spacing * (samples.effective_sizes / unit)[own]
    # With weights rounding may keep an interpolated value off the one that it is.
    tied = spacing <= np.where(samples.unequal, 1e-9, 0.0)[own]
    logs = np.log(spacing + 1e-4)

    def sums(values: Array) -> Array:
        return np.asarray(np.bincount(own, values, minlength=len(samples)), np.float64)

    number = sums(votes)
    number = np.where(number > 0.0, number, 1.0)
    mean = sums(votes * logs) / number
    off = logs - mean[own]
    square = votes * off * off
    sd = np.sqrt(sums(square) / number + 1e-2)
    skewness = sums(square * off) / number / sd**3
    return np.stack([mean, sd, np.clip(skewness, -5.0, 5.0), sums(votes * tied) / number], axis=1)


def _beside(samples: Samples, placed: Anchors) -> tuple[Index, Array, Array]:
    """To which sample the spacings beside anchors belong, how wide they are, and how often each is meant."""
    place = np.repeat(samples.offsets[:-1], np.diff(placed.offsets)) + placed.ranks
    # Counted at the value above; the first of a sample has no spacing below it.
    meant = np.bincount(np.concatenate([place, place + 1]), minlength=samples.values.size + 1)
    meant[samples.offsets] = 0
    above = np.flatnonzero(meant)
    own = np.repeat(np.arange(len(samples)), samples.sizes)[above]
    return own, samples.values[above] - samples.values[above - 1], meant[above].astype(np.float64)


def _with_weights(
    samples: Samples, counts: Array, placed: Anchors, own: Index, spacing: Array, votes: Array
) -> tuple[Index, Array, Array]:
    """The same, but for samples with unequal weights what weights make of it."""
    rows = np.repeat(np.arange(len(samples)), np.diff(placed.offsets))
    here = samples.offsets[rows] + placed.ranks
    equal, unequal = ~samples.unequal[own], samples.unequal[rows]
    parts = [(own[equal], spacing[equal], votes[equal])]
    for side in (-1, 1):
        away, ballots = _to_one_side(samples, counts, placed, rows, here, side)
        parts.append((rows[unequal], away[unequal], ballots[unequal]))
    owns, spacings, counted = zip(*parts, strict=True)
    return np.concatenate(owns), np.concatenate(spacings), np.concatenate(counted)


def _to_one_side(
    samples: Samples, counts: Array, placed: Anchors, own: Index, here: Index, side: int
) -> tuple[Array, Array]:
    """How far it is from each anchor to the next value on one side, and its vote.

    That reaches as far as one of n equally weighted points does on average, so that values which hardly count do not
    part others. At the end of a sample the vote is less if there is less weight beyond the anchor.
    """
    x, middles = samples.values, middles_of(counts)
    end = samples.offsets[own + 1] - 1 if side > 0 else samples.offsets[own]
    to_end = np.abs(middles[end] - middles[here])
    reach, beyond = np.minimum(to_end, 1.0), np.minimum(to_end + 0.5 * (counts[end] - counts[here]), 1.0)
    away = np.abs(np.interp(middles[here] + side * reach, middles, x) - x[here]) / np.maximum(reach, 1e-300)
    return away, placed.votes * beyond


def _place(out: Array, position: Array, below: Array, above: Array, odd: Array, own: Index) -> None:
    out[:, 0] = np.abs(position)
    out[:, 1], out[:, 2] = np.minimum(below, above), np.maximum(below, above)
    out[:, 3] = position * (below - above)
    # Column by column, which needs little memory at a time.
    for column, feature in enumerate(odd.T, 4):
        np.multiply(position, feature[own], out=out[:, column])
