"""Features that the adaptive models read from a sample, in the frame of its own location and scale.

All features are the same for a sample and its mirror image, so that predictions are equivariant under shift, scale and
reflection by construction. With weights w, which sum to 1, n is Kish's effective size 1/sum w^2, a point counts as
n w_i points, and all means are weighted; equal weights give the features without weights to the last bit.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, chain, pairwise

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.sample import Samples, evened_among_ties, moments, quantiles
from amortized_kde.learned.adaptive.anchors import (
    ALL_ANCHORS_TO,
    LARGEST_TRAINED,
    Anchors,
    in_full_samples,
    midpoints,
    place_anchors,
    thinned,
)
from amortized_kde.numerics.neighbours import AROUND, NEAR, Anchored, local_density_rows, region_rows
from amortized_kde.numerics.threads import Scratch, run_in_pieces

# Bandwidths are 2^8 to 2^-16 times the sample's scale: a far outlier needs the first, data over decades the last.
FEATURE_EXPONENTS = np.arange(8.0, -16.5, -1.0)
# The rungs of the prediction: half an octave apart where most samples have theirs. Two kernels an octave apart, mixed
# to the width between them, have a tenth more variance than one of that width.
RUNG_EXPONENTS = np.sort(np.concatenate([FEATURE_EXPONENTS, np.arange(0.5, -6.0, -1.0)]))[::-1]
# Local densities at bandwidths below this fraction of the standard deviation (100/n times it in large samples) fade
# into those at the next wider one, from this rung on: else the estimate would jump where two equal values move apart.
_FINEST, _FINEST_SIZE, _FADING_FROM = 4e-6, 100.0, 19
_PROBABILITIES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4])
# Rungs at which points have a one-sidedness (2^2 to 2^-8) and a mean over their region (2^2 to 2^-12).
_ONE_SIDED_RUNGS = slice(6, 17)
_REGION_RUNGS = slice(6, 21)
_REGIONS = (NEAR, AROUND)
# Exponents between which the bandwidth that is best by likelihood cross-validation is sought, and a weak prior for it,
# normal in octaves, which decides where a sample says little.
_SOUGHT = np.arange(3.0, -8.1, -0.25)
_LIKELY, _LIKELY_SD = -1.5, 2.5
# In units of the scale: a distance d to a bound counts as d / (1 + d / _FAR) + _NEAREST, so that a bound fades out as
# it recedes, and no bound is the limit.
_NEAREST, _FAR = 1e-5, 20.0
# From this many decades between the quantiles at 0.1 and 0.9, counted from a bound or from 0, data belong on a log
# axis; of fewer values these quantiles say little.
_DECADES, _DECADES_SIZE = 3.5, 50
# A spacing of s times the mean one counts as _TIE / (_TIE + s) of a tie, so that ties come and go gradually.
_TIE = 0.01

CONVENTIONS = {
    "frame": "origin: median; unit: sqrt(sd x IQR/1.349), with IQR/1.349 at least sd/1024; for a constant sample a "
    "quarter of the distance between its two bounds, or the distance to its only bound",
    "ladder": "bandwidths 2^8, 2^7, ..., 2^-16 units; predictions also have 2^0.5, 2^-0.5, ..., 2^-5.5",
    "sizes": f"of more than {LARGEST_TRAINED} values a fixed choice of that many is described; bandwidths shrink as "
    "n^(-1/5)",
    "local density": "ln(0.02 + sum over the other points of exp(-d^2/2h^2)/Z) at each rung",
    "features": "standardised, and clipped to the range of the training tasks; equal for a mirrored sample",
}


@dataclass(frozen=True, eq=False)
class Summary:
    """Statistics of samples, from which their features are computed; the first axis is the sample.

    Attributes
    ----------
    n, mean, sd, skewness, kurtosis, median : ndarray of shape (samples,)
        With weights, n is the effective size.
    low, high : ndarray of shape (samples, probabilities)
        Quantiles at p and at 1 - p.
    unit : ndarray of shape (samples,)
        The scale.
    lower, upper : ndarray of shape (samples,)
        Bounds, infinite where open.
    spacings : ndarray of shape (samples, 4)
        Mean, standard deviation and skewness of log-spacings, and the fraction of ties.
    density_mean, density_variance : ndarray of shape (samples, rungs)
        Of the points' log local densities.
    """

    n: Array
    mean: Array
    sd: Array
    skewness: Array
    kurtosis: Array
    median: Array
    low: Array
    high: Array
    unit: Array
    lower: Array
    upper: Array
    spacings: Array
    density_mean: Array
    density_variance: Array

    @cached_property
    def trained_n(self) -> Array:
        """The size, clipped to the sizes of the training tasks."""
        return np.clip(self.n, 1.0, LARGEST_TRAINED)

    @cached_property
    def gaps(self) -> tuple[Array, Array]:
        """Log-distances from the sample's ends to the lower and the upper bound."""
        # The ends are the quantiles at 0 and 1; with weights, an end that hardly counts hardly moves these.
        low, high = self.low[:, 0], self.high[:, 0]
        return _log_distance((low - self.lower) / self.unit), _log_distance((self.upper - high) / self.unit)

    @cached_property
    def cross_validated(self) -> Array:
        """Mean and log sd of log2 h, (samples, 2), if the leave-one-out likelihood is taken for a likelihood.

        At large n it is the bandwidth with the best leave-one-out score; here, unlike that, it is smooth in the values.
        """
        # Not by matrix products, whose last bits depend on the number of samples.
        log_score = np.einsum("tk,kj->tj", self.density_mean, _INTERPOLATION) - math.log(2.0) * _SOUGHT
        log = self.trained_n[:, None] * log_score - 0.5 * ((_SOUGHT - _LIKELY) / _LIKELY_SD) ** 2
        weight = np.exp(log - log.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        mean = np.sum(weight * _SOUGHT, axis=1)
        variance = np.sum(weight * (_SOUGHT - mean[:, None]) ** 2, axis=1)
        return np.stack([mean, 0.5 * np.log(variance + 1e-3)], axis=1)

    @cached_property
    def signed(self) -> Array:
        """The columns of `SIGNED`."""
        return np.column_stack([feature(self) for feature in SIGNED.values()])


def _interpolation() -> Array:
    """Weights (rungs, sought) of the cubic through the four rungs around each exponent that is sought."""
    out = np.zeros((FEATURE_EXPONENTS.size, _SOUGHT.size))
    for j, exponent in enumerate(_SOUGHT):
        first = int(np.searchsorted(-FEATURE_EXPONENTS, -exponent, side="right")) - 2
        knots = FEATURE_EXPONENTS[first : first + 4]
        for k in range(4):
            others = np.delete(knots, k)
            out[first + k, j] = np.prod((exponent - others) / (knots[k] - others))
    return out


_INTERPOLATION = _interpolation()

# Names of columns, and the function that computes them, (samples,) or (samples, columns).
Features = dict[tuple[str, ...], Callable[[Summary], Array]]


def _names(features: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(features))


def _asymmetry(s: Summary) -> Array:
    middle = s.median[:, None]
    return np.asarray(np.arcsinh(((s.high - middle) - (middle - s.low)) / s.unit[:, None]))


# Quantities that change sign under reflection. Features are their magnitudes and products.
SIGNED: Features = {
    ("skewness",): lambda s: np.arcsinh(s.skewness),
    ("mean",): lambda s: np.arcsinh((s.mean - s.median) / s.unit),
    ("bounds",): lambda s: 0.25 * (s.gaps[0] - s.gaps[1]),
    tuple(f"asymmetry at {p:g}" for p in _PROBABILITIES): _asymmetry,
}
_SIGNED_NAMES = _names(SIGNED)
_RUNGS = tuple(f"2^{exponent:g}" for exponent in FEATURE_EXPONENTS)

OF_SAMPLE: Features = {
    ("log n",): lambda s: np.log(s.trained_n),
    ("1/n",): lambda s: 1.0 / s.trained_n,
    ("1/sqrt n",): lambda s: s.trained_n**-0.5,
    ("log sd",): lambda s: np.log(s.sd / s.unit + 1e-6),
    ("log kurtosis",): lambda s: np.log(s.kurtosis),
    tuple(f"log spread at {p:g}" for p in _PROBABILITIES): lambda s: np.log((s.high - s.low) / s.unit[:, None] + 1e-4),
    ("spacing mean", "spacing sd", "spacing skewness", "ties"): lambda s: s.spacings,
    ("nearer bound", "farther bound"): lambda s: np.sort(np.stack(s.gaps, axis=1), axis=1),
    tuple(f"|{name}|" for name in _SIGNED_NAMES): lambda s: np.abs(s.signed),
    tuple(f"{name} x skewness" for name in _SIGNED_NAMES[1:]): lambda s: s.signed[:, 1:] * s.signed[:, :1],
    tuple(f"{name} x bounds" for name in _SIGNED_NAMES[3:]): lambda s: s.signed[:, 3:] * s.signed[:, 2:3],
    ("cross-validated bandwidth", "its log sd"): lambda s: s.cross_validated,
    tuple(f"mean local density at {rung}" for rung in _RUNGS): lambda s: s.density_mean,
    tuple(f"sd of local density at {rung}" for rung in _RUNGS): lambda s: np.sqrt(s.density_variance + 1e-6),
}
SAMPLE_FEATURES = _names(OF_SAMPLE)

# Columns of the points' features, which loops fill in place: the first two groups together, the third from the first.
OF_POINT: dict[str, tuple[str, ...]] = {
    "local density": tuple(f"local density at {rung}" for rung in _RUNGS),
    "one-sidedness": tuple(f"one-sidedness at {rung}" for rung in _RUNGS[_ONE_SIDED_RUNGS]),
    "region": tuple(
        f"mean local density within n/{part} ranks at {rung}" for part in _REGIONS for rung in _RUNGS[_REGION_RUNGS]
    ),
    "position": ("|position|", "nearer bound", "farther bound", "position x bound"),
    "signed": tuple(f"position x {name}" for name in _SIGNED_NAMES),
}
POINT_FEATURES = _names(OF_POINT.values())
_COLUMNS = {
    group: slice(*ends)
    for group, ends in zip(OF_POINT, pairwise(accumulate(map(len, OF_POINT.values()), initial=0)), strict=True)
}
# As the loops take them.
_ONE_SIDED_ENDS = np.array([_ONE_SIDED_RUNGS.start, _ONE_SIDED_RUNGS.stop])
_REGION_PARTS = np.array(_REGIONS)
_REGION_COLUMNS = np.array([_REGION_RUNGS.start, _REGION_RUNGS.stop, _COLUMNS["region"].start])


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
    of_points : ndarray of shape (anchors, features)
        `POINT_FEATURES`.
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
    of_points: Array
    of_samples: Array


def describe(
    samples: Samples, lower: Array, upper: Array, *, threads: int | None = None, scratch: Scratch | None = None
) -> Description:
    """Describe ascending samples, each with its own bounds (infinite where open).

    With a `scratch` the points' features are written there, and overwritten by those of the next samples.
    """
    full = samples
    samples, chosen = thinned(full)
    raw = moments(samples, threads=threads)
    n, sd = raw[:, 0], raw[:, 2]
    at = quantiles(samples, np.concatenate([_PROBABILITIES, [0.5, 0.25, 0.75], 1.0 - _PROBABILITIES]))
    count = _PROBABILITIES.size
    median, iqr = at[:, count], at[:, count + 2] - at[:, count + 1]
    scales = _scales(sd, iqr, raw[:, 5], lower, upper)
    usable = (scales > 0.0) & (scales < math.inf) & (n > 0)
    unit = np.where(usable, scales, 1.0)
    counts = _counts(samples)
    placed = place_anchors(samples, counts)
    of_points = (scratch or Scratch()).take("points", placed.ranks.size, len(POINT_FEATURES))
    _fill_local_densities(samples, counts, (lower, upper), unit, _fading(n, sd, unit), placed, of_points, threads)
    density_mean, density_variance = _fill_regions(samples, placed, of_points)
    spacings, equal = _spacings(samples, counts, unit, placed)
    summary = Summary(
        *(n, raw[:, 1], sd, raw[:, 3], raw[:, 4], median, at[:, :count], at[:, count + 3 :]),
        *(unit, lower, upper, spacings, density_mean, density_variance),
    )
    _fill_positions(samples, placed, summary, of_points)
    narrow = (iqr > 0.0) & (iqr < unit * 2.0 ** FEATURE_EXPONENTS[-1])
    # The finest kernel reaches a quarter of the sample around most points, and not because of ties.
    narrow |= (density_mean[:, -1] > np.log(0.25 * np.maximum(n, 8.0))) & (equal < 0.5)
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


def _log_distance(distance: Array) -> Array:
    near = np.minimum(np.maximum(distance, 0.0), 1e100)
    return np.asarray(np.log(near / (1.0 + near / _FAR) + _NEAREST))


def _fill_local_densities(
    samples: Samples,
    counts: Array,
    bounds: tuple[Array, Array],
    unit: Array,
    fading: Array,
    placed: Anchors,
    points: Array,
    threads: int | None,
) -> None:
    sizes, rungs = samples.sizes, unit[:, None] * 2.0**FEATURE_EXPONENTS
    anchored = Anchored(samples.values, samples.offsets, counts, *bounds, rungs, placed.ranks, placed.offsets)
    run_in_pieces(
        partial(local_density_rows, anchored, fading, int(sizes.max(initial=0)), _ONE_SIDED_ENDS, points),
        len(samples),
        operations=10.0 * float(np.sum(sizes * np.minimum(sizes, float(ALL_ANCHORS_TO)))),
        threads=threads,
    )


def _fading(n: Array, sd: Array, unit: Array) -> Array:
    """By which fraction log local densities, (samples, rungs), fade into the next wider: d^2 / (h^2 + d^2)."""
    resolution = _FINEST * np.minimum(_FINEST_SIZE / np.maximum(n, 1.0), 1.0) * np.nan_to_num(sd) / unit
    fading = np.zeros((n.size, FEATURE_EXPONENTS.size))
    fine = slice(_FADING_FROM, None)
    fading[:, fine] = 1.0 - 1.0 / (1.0 + (resolution[:, None] * 2.0 ** -FEATURE_EXPONENTS[fine]) ** 2)
    return fading


def _fill_regions(samples: Samples, placed: Anchors, points: Array) -> tuple[Array, Array]:
    """Write means over regions, and return mean and variance of the log local densities of each sample."""
    pooled = np.zeros((len(samples), 2 * FEATURE_EXPONENTS.size))
    given = (samples.effective_sizes, placed.positions, placed.offsets, placed.masses, _REGION_PARTS, _REGION_COLUMNS)
    region_rows(*given, points, pooled, 0, len(samples))
    mean, variance = np.split(pooled, 2, axis=1)
    return mean, variance


def _fill_positions(samples: Samples, placed: Anchors, summary: Summary, points: Array) -> None:
    sample = placed.sample_of_anchor
    x, unit = samples.values[samples.offsets[sample] + placed.ranks], summary.unit[sample]
    position = np.arcsinh(2.0 * (x - summary.median[sample]) / unit)
    below, above = _log_distance((x - summary.lower[sample]) / unit), _log_distance((summary.upper[sample] - x) / unit)
    out = points[:, _COLUMNS["position"]]
    out[:, 0] = np.abs(position)
    out[:, 1], out[:, 2] = np.minimum(below, above), np.maximum(below, above)
    out[:, 3] = position * (below - above)
    # Column by column, which needs little memory at a time.
    for column, feature in zip(points[:, _COLUMNS["signed"]].T, summary.signed.T, strict=True):
        np.multiply(position, feature[sample], out=column)


def _spacings(samples: Samples, counts: Array, unit: Array, placed: Anchors) -> tuple[Array, Array]:
    """Mean, sd and skewness of the log-spacings beside anchors and the fraction of ties; the fraction that is 0."""
    sample, spacing, times = _adjacent_spacings(samples, placed)
    if samples.weights is not None:
        sample, spacing, times = _weighted_spacings(samples, counts, placed, sample, spacing, times)
    spacing = spacing * (samples.effective_sizes / unit)[sample]
    tied, logs = _TIE / (_TIE + spacing), np.log(spacing + 1e-4)

    def sums(values: Array) -> Array:
        return np.asarray(np.bincount(sample, values, minlength=len(samples)), np.float64)

    number = sums(times)
    number = np.where(number > 0.0, number, 1.0)
    mean = sums(times * logs) / number
    off = logs - mean[sample]
    square = times * off * off
    sd = np.sqrt(sums(square) / number + 1e-2)
    skewness = sums(square * off) / number / sd**3
    of_samples = np.stack([mean, sd, np.clip(skewness, -5.0, 5.0), sums(times * tied) / number], axis=1)
    return of_samples, sums(times * (spacing == 0.0)) / number


def _adjacent_spacings(samples: Samples, placed: Anchors) -> tuple[Index, Array, Array]:
    """The spacings beside anchors: the sample of each, its width, and how many anchors it adjoins."""
    place = np.repeat(samples.offsets[:-1], np.diff(placed.offsets)) + placed.ranks
    # Counted at the value above; the first value of a sample has no spacing below it.
    times = np.bincount(np.concatenate([place, place + 1]), minlength=samples.values.size + 1)
    times[samples.offsets] = 0
    above = np.flatnonzero(times)
    sample = np.repeat(np.arange(len(samples)), samples.sizes)[above]
    return sample, samples.values[above] - samples.values[above - 1], times[above].astype(np.float64)


def _weighted_spacings(
    samples: Samples, counts: Array, placed: Anchors, sample: Index, spacing: Array, times: Array
) -> tuple[Index, Array, Array]:
    """Replace the spacings of samples with unequal weights by weighted ones."""
    equal, unequal = ~samples.unequal[sample], samples.unequal[placed.sample_of_anchor]
    parts = [(sample[equal], spacing[equal], times[equal])]
    for side in (-1, 1):
        away, counted = _spacings_on_side(samples, counts, placed, side)
        parts.append((placed.sample_of_anchor[unequal], away[unequal], counted[unequal]))
    rows, spacings, numbers = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(spacings), np.concatenate(numbers)


def _spacings_on_side(samples: Samples, counts: Array, placed: Anchors, side: int) -> tuple[Array, Array]:
    """Each anchor's distance to where the count is one more or one less, and how often it counts.

    That is as far as the next of n equally weighted points on average, so that values which hardly count do not
    separate others. At the end of a sample an anchor counts less if there is less weight between it and the end.
    """
    x, middles, sample = samples.values, midpoints(counts), placed.sample_of_anchor
    here = samples.offsets[sample] + placed.ranks
    end = samples.offsets[sample + 1] - 1 if side > 0 else samples.offsets[sample]
    to_end = np.abs(middles[end] - middles[here])
    reach, left = np.minimum(to_end, 1.0), np.minimum(to_end + 0.5 * (counts[end] - counts[here]), 1.0)
    away = np.abs(np.interp(middles[here] + side * reach, middles, x) - x[here]) / np.maximum(reach, 1e-300)
    return away, placed.multiplicities * left
