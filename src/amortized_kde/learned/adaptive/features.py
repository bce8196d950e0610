"""Features that the adaptive models read from a sample, in the frame of its own location and scale.

All features are the same for a sample and its mirror image, so that predictions are equivariant under shift, scale and
reflection by construction. With weights w, which sum to 1, n is Kish's effective size 1/sum w^2, a point counts as
n w_i points, and all means are weighted; equal weights give the features without weights to the last bit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.sample import Samples, evened_among_ties, moments, quantiles
from amortized_kde.learned.adaptive.anchors import (
    ALL_ANCHORS_TO,
    LARGEST_TRAINED,
    Anchors,
    in_full_samples,
    place_anchors,
    thinned,
)
from amortized_kde.learned.adaptive.spacings import describe_spacings
from amortized_kde.learned.adaptive.summary import (
    FAR,
    FEATURE_EXPONENTS,
    NEAREST,
    OF_SAMPLE,
    PROBABILITIES,
    RUNGS,
    SIGNED_NAMES,
    Summary,
    names,
)
from amortized_kde.numerics.neighbours import Anchored
from amortized_kde.numerics.points import AROUND, NEAR, Frames, Layout, local_rows, point_rows
from amortized_kde.numerics.threads import Scratch, run_in_pieces
from amortized_kde.numerics.uncompiled import FAINT

# The rungs of the prediction: half an octave apart where most samples have theirs. Two kernels an octave apart, mixed
# to the width between them, have a tenth more variance than one of that width.
RUNG_EXPONENTS = np.sort(np.concatenate([FEATURE_EXPONENTS, np.arange(0.5, -6.0, -1.0)]))[::-1]
# Local densities at bandwidths below this fraction of the standard deviation (100/n times it in large samples) fade
# into those at the next wider one, from this rung on: else the estimate would jump where two equal values move apart.
_FINEST, _FINEST_SIZE, _FADING_FROM = 4e-6, 100.0, 19
# Rungs at which points have a one-sidedness (2^2 to 2^-8) and a mean over their region (2^2 to 2^-12).
_ONE_SIDED_RUNGS = slice(6, 17)
_REGION_RUNGS = slice(6, 21)
_REGIONS = (NEAR, AROUND)
# Points whose features are computed at a time: they stay in the cache of a core.
_POINTS_PER_BLOCK = 1500
# From this many decades between the quantiles at 0.1 and 0.9, counted from a bound or from 0, data belong on a log
# axis; of fewer values these quantiles say little.
_DECADES, _DECADES_SIZE = 3.5, 50

CONVENTIONS = {
    "frame": "origin: median; unit: sqrt(sd x IQR/1.349), with IQR/1.349 at least sd/1024; for a constant sample a "
    "quarter of the distance between its two bounds, or the distance to its only bound",
    "ladder": "bandwidths 2^8, 2^7, ..., 2^-16 units; predictions also have 2^0.5, 2^-0.5, ..., 2^-5.5",
    "sizes": f"of more than {LARGEST_TRAINED} values a fixed choice of that many is described; bandwidths shrink as "
    "n^(-1/5)",
    "local density": "ln(0.02 + sum over the other points of exp(-d^2/2h^2)/Z) at each rung",
    "features": "standardised, and clipped to the range of the training tasks; equal for a mirrored sample",
}


SAMPLE_FEATURES = names(OF_SAMPLE)
# Columns of the points' features, in the order in which the loop writes them.
OF_POINT: dict[str, tuple[str, ...]] = {
    "local density": tuple(f"local density at {rung}" for rung in RUNGS),
    "one-sidedness": tuple(f"one-sidedness at {rung}" for rung in RUNGS[_ONE_SIDED_RUNGS]),
    "region": tuple(
        f"mean local density within n/{part} ranks at {rung}" for part in _REGIONS for rung in RUNGS[_REGION_RUNGS]
    ),
    "position": ("|position|", "nearer bound", "farther bound", "position x bound"),
    "signed": tuple(f"position x {name}" for name in SIGNED_NAMES),
}
POINT_FEATURES = names(OF_POINT.values())
# What many points have: no neighbours at fine rungs, and no bounds.
_USUAL = {"local density": math.log(FAINT), "region": math.log(FAINT)}
USUAL_POINT = np.concatenate([np.full(len(columns), _USUAL.get(kind, 0.0)) for kind, columns in OF_POINT.items()])
USUAL_POINT[[POINT_FEATURES.index(name) for name in ("nearer bound", "farther bound")]] = math.log(FAR + NEAREST)
# As the loop takes them.
_ONE_SIDED = np.array([_ONE_SIDED_RUNGS.start, _ONE_SIDED_RUNGS.stop])
_LAYOUT = Layout(
    np.array([_REGION_RUNGS.start, _REGION_RUNGS.stop]),
    np.array(_REGIONS),
    NEAREST,
    FAR,
)


@dataclass(frozen=True, eq=False)
class PointFeatures:
    """What the points' features, `POINT_FEATURES`, are computed from, a few samples at a time."""

    anchored: Anchored
    frames: Frames
    placed: Anchors
    largest: int
    local: Array

    def blocks(self, scratch: Scratch) -> Iterator[tuple[int, Array]]:
        """Yield the number of the first anchor and the features of some, until all were yielded.

        They are valid until the next are asked for.
        """
        offsets, start, count = self.placed.offsets, 0, self.placed.offsets.size - 1
        while start < count:
            within = int(np.searchsorted(offsets, offsets[start] + _POINTS_PER_BLOCK, side="right")) - 1
            stop = max(within, start + 1)
            first, last = int(offsets[start]), int(offsets[stop])
            out = scratch.take("points", last - first, len(POINT_FEATURES))
            given = self.anchored, self.frames, self.placed.masses, self.placed.positions, _LAYOUT, self.largest
            point_rows(*given, self.local, out, start, stop)
            yield first, out
            start = stop


@dataclass(frozen=True, eq=False)
class Description:
    """Samples as the adaptive models see them.

    Attributes
    ----------
    usable : ndarray of bool, of shape (samples,)
        Whether a sample has a scale.
    narrow : ndarray of bool, of shape (samples,)
        Whether the middle half, or clusters, though not constant, are narrower than the finest bandwidth.
    decades : ndarray of bool, of shape (samples,)
        Whether the values span decades, counted from a bound or, if all are of one sign, from 0.
    sizes : ndarray of shape (samples,)
        Effective sizes of the values that are described.
    locations, scales : ndarray of shape (samples,)
        The frame.
    bandwidths : ndarray of shape (samples, rungs)
        The ladder of the prediction, descending.
    anchors, masses : ndarray of shape (anchors,)
        The points at which the network is evaluated: rank in the sample, and the fraction of it that the anchor
        represents.
    offsets : ndarray of shape (samples + 1,)
        Sample t has the anchors ``offsets[t] .. offsets[t + 1] - 1``.
    points : PointFeatures
        Features of the points.
    of_samples : ndarray of shape (samples, features)
        `SAMPLE_FEATURES`.
    """

    usable: Flags
    narrow: Flags
    decades: Flags
    sizes: Array
    locations: Array
    scales: Array
    bandwidths: Array
    anchors: Index
    offsets: Index
    masses: Array
    points: PointFeatures
    of_samples: Array

    @cached_property
    def of_points(self) -> Array:
        """`POINT_FEATURES` of all anchors, (anchors, features)."""
        return np.concatenate([rows.copy() for _, rows in self.points.blocks(Scratch())])


def describe(
    samples: Samples,
    lower: Array,
    upper: Array,
    *,
    points: bool = True,
    threads: int | None = None,
    scratch: Scratch | None = None,
) -> Description:
    """Describe ascending samples, each with its own bounds (infinite where open).

    Without `points` only the first features of points are computed, those that the features of samples need. With a
    `scratch` they are written there, and overwritten by those of the next samples.
    """
    full = samples
    samples, chosen = thinned(full)
    raw = moments(samples, threads=threads)
    n, sd = raw[:, 0], raw[:, 2]
    at = quantiles(samples, np.concatenate([PROBABILITIES, [0.5, 0.25, 0.75], 1.0 - PROBABILITIES]))
    count, rungs = PROBABILITIES.size, FEATURE_EXPONENTS.size
    median, iqr = at[:, count], at[:, count + 2] - at[:, count + 1]
    scales = _scales(sd, iqr, raw[:, 5], lower, upper)
    usable = (scales > 0.0) & (scales < math.inf) & (n > 0)
    unit = np.where(usable, scales, 1.0)
    counts = _counts(samples)
    placed = place_anchors(samples, counts)
    spacings, equal = describe_spacings(samples, counts, unit, placed)
    # The loop over the points writes it.
    pooled = np.empty((len(samples), 2 * rungs))
    summary = Summary(
        *(n, raw[:, 1], sd, raw[:, 3], raw[:, 4], median, at[:, :count], at[:, count + 3 :]),
        *(unit, lower, upper, spacings, pooled[:, :rungs], pooled[:, rungs:]),
    )
    columns = rungs + _ONE_SIDED_RUNGS.stop - _ONE_SIDED_RUNGS.start if points else rungs
    local = (scratch or Scratch()).take("local", placed.ranks.size, columns)
    of_points = _describe_points(samples, counts, placed, summary, local, pooled, threads)
    narrow = (iqr > 0.0) & (iqr < unit * 2.0 ** FEATURE_EXPONENTS[-1])
    # The finest kernel reaches a quarter of the sample around most points, and not because of ties.
    narrow |= (summary.density_mean[:, -1] > np.log(0.25 * np.maximum(n, 8.0))) & (equal < 0.5)
    of_samples = np.column_stack([feature(summary) for feature in OF_SAMPLE.values()])
    anchors, offsets, masses = placed[:3]
    if chosen:
        anchors, masses = in_full_samples(anchors, offsets, masses, full, chosen)
    bandwidths = unit[:, None] * 2.0**RUNG_EXPONENTS
    decades = _span_decades(at[:, [0, 3, -4, -1]], lower, upper) & (n >= _DECADES_SIZE)
    return Description(
        usable, narrow, decades, n, median, unit, bandwidths, anchors, offsets, masses, of_points, of_samples
    )


def _span_decades(at: Array, lower: Array, upper: Array) -> Flags:
    """Whether samples span decades, given their quantiles at 0, 0.1, 0.9 and 1."""
    smallest, _, _, largest = at.T
    bounded = np.isfinite(lower) | np.isfinite(upper)
    # Distances from a bound, or from 0 where there is none and all values lie on one side of it.
    origin_low = np.where(np.isfinite(lower), lower, np.where(bounded | (smallest <= 0.0), np.nan, 0.0))
    origin_high = np.where(np.isfinite(upper), upper, np.where(bounded | (largest >= 0.0), np.nan, 0.0))
    wide = np.zeros(len(at), bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        for near, far in (
            (at[:, 1] - origin_low, at[:, 2] - origin_low),
            (origin_high - at[:, 2], origin_high - at[:, 1]),
        ):
            wide |= (near > 0.0) & (far / near > 10.0**_DECADES)
    return wide


def _counts(samples: Samples) -> Array:
    """How many equally weighted points each value counts as; tied values, which are indistinguishable, count alike."""
    if samples.weights is None:
        return samples.counts
    return evened_among_ties(samples.values, samples.counts, samples.offsets)


def _scales(sd: Array, iqr: Array, value: Array, lower: Array, upper: Array) -> Array:
    """The geometric mean of sd and interquartile range/1.349; for a constant sample, from its bounds."""
    spread = np.sqrt(sd) * np.sqrt(np.maximum(iqr / 1.349, sd / 1024.0))
    with np.errstate(invalid="ignore"):
        width = np.where(np.isinf(upper - lower), np.minimum(value - lower, upper - value), 0.25 * (upper - lower))
    return np.asarray(np.where(sd > 0.0, spread, width))


def _describe_points(
    samples: Samples,
    counts: Array,
    placed: Anchors,
    summary: Summary,
    local: Array,
    pooled: Array,
    threads: int | None,
) -> PointFeatures:
    """Write the local densities, and their mean and variance; return what is needed for the other features."""
    sizes, rungs = samples.sizes, summary.unit[:, None] * 2.0**FEATURE_EXPONENTS
    bounds, largest = (summary.lower, summary.upper), int(sizes.max(initial=0))
    anchored = Anchored(samples.values, samples.offsets, counts, *bounds, rungs, placed.ranks, placed.offsets)
    run_in_pieces(
        partial(local_rows, anchored, _fading(summary), _ONE_SIDED, placed.masses, largest, local, pooled),
        len(samples),
        operations=10.0 * float(np.sum(sizes * np.minimum(sizes, float(ALL_ANCHORS_TO)))),
        threads=threads,
    )
    median = np.ascontiguousarray(summary.median)
    frames = Frames(samples.effective_sizes, median, summary.unit, summary.signed)
    return PointFeatures(anchored, frames, placed, largest, local)


def _fading(summary: Summary) -> Array:
    """By which fraction log local densities, (samples, rungs), fade into the next wider: d^2 / (h^2 + d^2)."""
    resolution = _FINEST * np.minimum(_FINEST_SIZE / np.maximum(summary.n, 1.0), 1.0) * np.nan_to_num(summary.sd)
    fading, fine = np.zeros((summary.n.size, FEATURE_EXPONENTS.size)), slice(_FADING_FROM, None)
    finer = (resolution / summary.unit)[:, None] * 2.0 ** -FEATURE_EXPONENTS[fine]
    fading[:, fine] = 1.0 - 1.0 / (1.0 + finer**2)
    return fading
