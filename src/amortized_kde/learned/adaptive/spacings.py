"""Statistics of the spacings beside the anchors of samples, in units of the mean spacing."""

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples
from amortized_kde.learned.adaptive.anchors import Anchors, midpoints
from amortized_kde.numerics.statistics import spacing_rows

# A spacing of s times the mean one counts as _TIE / (_TIE + s) of a tie, so that ties come and go gradually.
_TIE = 0.01
# Added to spacings before their logarithm is taken, and to its variance.
_LEAST, _LEAST_VARIANCE = 1e-4, 1e-2
_LARGEST_SKEWNESS = 5.0


def describe_spacings(samples: Samples, counts: Array, unit: Array, placed: Anchors) -> tuple[Array, Array]:
    """Return mean, sd and skewness of the log-spacings and the fraction of ties, (samples, 4); the fraction that is 0.

    Values count as `counts` equal ones each, and `unit` is the samples' scale.
    """
    per_unit, found = samples.effective_sizes / unit, np.zeros((len(samples), 5))
    given = (samples.values, samples.offsets, placed.ranks, placed.offsets, per_unit, _LEAST, _TIE)
    spacing_rows(*given, found, 0, len(samples))
    if samples.weights is not None:
        found[samples.unequal] = _weighted(samples, counts, per_unit, placed)[samples.unequal]
    mean, variance, cube, tied, zero = found.T
    sd = np.sqrt(variance + _LEAST_VARIANCE)
    skewness = np.clip(cube / sd**3, -_LARGEST_SKEWNESS, _LARGEST_SKEWNESS)
    return np.stack([mean, sd, skewness, tied], axis=1), zero


def _weighted(samples: Samples, counts: Array, per_unit: Array, placed: Anchors) -> Array:
    """The columns of `spacing_rows`, with spacings and numbers that take account of the weights."""
    sides = [_spacings_on_side(samples, counts, placed, side) for side in (-1, 1)]
    away, times = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    sample = np.tile(placed.sample_of_anchor, 2)
    spacing = away * per_unit[sample]
    logs = np.log(spacing + _LEAST)
    number = _sums(sample, times, len(samples))
    number = np.where(number > 0.0, number, 1.0)
    mean = _sums(sample, times * logs, len(samples)) / number
    off = logs - mean[sample]
    terms = (off * off, off * off * off, _TIE / (_TIE + spacing), spacing == 0.0)
    return np.stack([mean, *(_sums(sample, times * term, len(samples)) / number for term in terms)], axis=1)


def _sums(sample: Index, terms: Array, count: int) -> Array:
    return np.asarray(np.bincount(sample, terms, minlength=count), np.float64)


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
