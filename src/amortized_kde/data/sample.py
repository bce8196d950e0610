r"""Samples as checked arrays, one or many, with their weights, moments and quantiles.

Kish's effective size,

.. math:: n = \Big(\sum_i w_i\Big)^2 \Big/ \sum_i w_i^2,

takes the place of the number of values wherever a formula has one.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.statistics import moment_rows, quantile_rows
from amortized_kde.numerics.threads import run_in_pieces


@dataclass(frozen=True, eq=False)
class Sample:
    """One sample: ascending finite values (n,), their weights, which sum to 1, or None if equal, and a name or ""."""

    values: Array
    weights: Array | None = None
    name: str = ""

    @property
    def effective_size(self) -> float:
        """Kish's effective size."""
        return effective_size(self.weights, self.values.size)

    def as_batch(self) -> "Samples":
        """Return a batch of this one sample."""
        return Samples.of(self.values, np.array([0, self.values.size]), (), np.zeros(1, bool), self.weights)


@dataclass(frozen=True, eq=False)
class Samples:
    """Many samples in one flat array: sample r is ``values[offsets[r]:offsets[r + 1]]``.

    Attributes
    ----------
    values : ndarray
        Finite; ascending in each sample unless `read_samples` was called without `ascending`.
    offsets : ndarray of int, of shape (samples + 1,)
        Where each sample begins.
    shape : tuple of int
        Shape of a result with one number per sample.
    unusable : ndarray of bool, of shape (samples,)
        Samples that held an infinite value; they are empty here.
    weights : ndarray, optional
        Positive, summing to 1 in each sample; None if equal in every sample.
    """

    values: Array
    offsets: Index
    shape: tuple[int, ...]
    unusable: Flags
    weights: Array | None = None

    @classmethod
    def of(
        cls, values: Array, offsets: Index, shape: tuple[int, ...], unusable: Flags, weights: Array | None
    ) -> "Samples":
        """Return the samples without weights if these are equal in each, so that they give the same bits as none."""
        differ = weights is not None and bool(have_unequal(weights, offsets).any())
        return cls(values, offsets, shape, unusable, weights if differ else None)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> Index:
        """Number of values in each sample."""
        return np.diff(self.offsets)

    @cached_property
    def effective_sizes(self) -> Array:
        """Kish's effective size of each sample."""
        if self.weights is None:
            return self.sizes.astype(np.float64)
        return effective_sizes(self.weights, self.offsets)

    @cached_property
    def unequal(self) -> Flags:
        """Which samples have unequal weights."""
        if self.weights is None:
            return np.zeros(len(self), bool)
        return have_unequal(self.weights, self.offsets)

    @cached_property
    def counts(self) -> Array:
        """Weights scaled to sum to the effective size of their sample; exactly 1 where they are equal."""
        if self.weights is None:
            return np.ones(self.values.size)
        size, unequal = np.repeat(self.effective_sizes, self.sizes), np.repeat(self.unequal, self.sizes)
        return np.where(unequal, size * self.weights, 1.0)

    def where(self, wanted: Flags) -> "Samples":
        """Return the samples that `wanted` marks."""
        inside, sizes = np.repeat(wanted, self.sizes), self.sizes[wanted]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        weights = None if self.weights is None else self.weights[inside]
        return Samples.of(self.values[inside], offsets, (sizes.size,), self.unusable[wanted], weights)

    def between(self, start: int, stop: int) -> "Samples":
        """Return samples start .. stop - 1 as views."""
        first, last = self.offsets[start], self.offsets[stop]
        offsets = self.offsets[start : stop + 1] - first
        weights = None if self.weights is None else self.weights[first:last]
        return Samples(self.values[first:last], offsets, (stop - start,), self.unusable[start:stop], weights)

    def outside(self, bounds: Bounds) -> Flags:
        """Return which samples have a value outside the bounds."""
        values = self.values
        # Most batches lie inside as a whole, which two quick passes show.
        if bounds == OPEN or (
            values.min(initial=math.inf) >= bounds.lower and values.max(initial=-math.inf) <= bounds.upper
        ):
            return np.zeros(len(self), bool)
        return _reduce(np.logical_or, (values < bounds.lower) | (values > bounds.upper), self.offsets).astype(bool)


def _reduce(ufunc: np.ufunc, flat: Array | Flags, offsets: Index) -> Array:
    """Reduce over each sample; 0 where it is empty."""
    out, used = np.zeros(offsets.size - 1), np.diff(offsets) > 0
    # reduceat reads the next sample's first value for an empty one, so empty samples are left out.
    out[used] = ufunc.reduceat(flat, offsets[:-1][used]) if used.any() else 0.0
    return out


def normalised(weights: Array, offsets: Index) -> Array:
    """Divide the weights of each sample by their sum.

    Examples
    --------
    >>> normalised(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 2, 3]))
    array([0.25, 0.75, 1.  ])
    """
    return np.asarray(weights / np.repeat(_reduce(np.add, weights, offsets), np.diff(offsets)))


def have_unequal(weights: Array, offsets: Index) -> Flags:
    """Return which samples have unequal weights."""
    return np.asarray(_reduce(np.minimum, weights, offsets) < _reduce(np.maximum, weights, offsets))


def effective_sizes(weights: Array, offsets: Index) -> Array:
    """Return Kish's effective size of each sample; exactly the number of values where weights are equal.

    Examples
    --------
    >>> effective_sizes(np.array([0.25, 0.75, 0.5, 0.5]), np.array([0, 2, 4]))
    array([1.6, 2. ])
    """
    sizes = np.diff(offsets).astype(np.float64)
    unequal = have_unequal(weights, offsets)
    with np.errstate(divide="ignore", invalid="ignore"):
        kish = _reduce(np.add, weights, offsets) ** 2 / _reduce(np.add, weights**2, offsets)
    return np.where(unequal, kish, sizes)


def effective_size(weights: Array | None, count: int) -> float:
    """Return Kish's effective size of one sample of `count` values.

    Examples
    --------
    >>> effective_size(np.array([0.25, 0.75]), 2), effective_size(None, 2)
    (1.6, 2.0)
    """
    return float(count) if weights is None else float(effective_sizes(weights, np.array([0, count]))[0])


def evened_among_ties(values: Array, weights: Array, offsets: Index) -> Array:
    """Split the common weight of equal values evenly among them, since nothing tells them apart.

    Examples
    --------
    >>> evened_among_ties(np.array([1.0, 2.0, 2.0]), np.array([0.5, 0.1, 0.4]), np.array([0, 3]))
    array([0.5 , 0.25, 0.25])
    """
    last_of_run = np.append(values[1:] != values[:-1], True)
    last_of_run[offsets[(offsets > 0) & (offsets < values.size)] - 1] = True
    edges = np.concatenate([[0], np.flatnonzero(last_of_run) + 1])
    if edges.size == values.size + 1:
        return weights
    counts = np.diff(edges)
    return np.repeat(_reduce(np.add, weights, edges) / counts, counts)


@entry
def _moment_rows(values: Array, offsets: Index, out: Array, start: int, stop: int) -> None:
    for row in range(start, stop):
        sample = values[offsets[row] : offsets[row + 1]]
        n = sample.size
        out[row] = math.nan
        out[row, 0] = n
        if n == 0:
            continue
        origin = sample[0]
        mean, low, high = 0.0, origin, origin
        for x in sample:
            mean += x - origin
            low, high = min(low, x), max(high, x)
        mean /= n
        # Relative to the range, so that no power overflows or underflows.
        span = max(high - low, 1e-300)
        m2, m3, m4 = 0.0, 0.0, 0.0
        for x in sample:
            d = ((x - origin) - mean) / span
            square = d * d
            m2 += square
            m3 += square * d
            m4 += square * square
        out[row, 1] = origin + mean
        out[row, 2] = span * math.sqrt(m2 / max(n - 1, 1))
        out[row, 3] = math.sqrt(n) * m3 / m2**1.5 if m2 > 0.0 else 0.0
        out[row, 4] = n * m4 / (m2 * m2) if m2 > 0.0 else 1.0
        out[row, 5], out[row, 6] = low, high


def moments(samples: Samples, *, threads: int | None = None) -> Array:
    """Return n, mean, sd, skewness, kurtosis, minimum and maximum of every sample, (samples, 7), in data units.

    An empty sample has NaN except for n. With unequal weights, n is the effective size and the moments are weighted
    (`numerics/statistics.py`).

    Examples
    --------
    >>> sample = Sample(np.array([1.0, 2.0, 6.0]))
    >>> moments(sample.as_batch()).round(4)
    array([[3.    , 3.    , 2.6458, 0.5952, 1.5   , 1.    , 6.    ]])
    """
    out = np.empty((len(samples), 7))
    run_in_pieces(
        lambda i, j: _moment_rows(samples.values, samples.offsets, out, i, j),
        len(samples),
        operations=2.0 * samples.values.size,
        threads=threads,
    )
    if samples.weights is not None:
        given, weighted = (samples.values, samples.offsets, samples.weights), np.empty((len(samples), 8))
        run_in_pieces(
            lambda i, j: moment_rows(*given, samples.unequal, weighted, i, j),
            len(samples),
            operations=4.0 * samples.values.size,
            threads=threads,
        )
        out[samples.unequal] = weighted[samples.unequal, :7]
    return out


def quantiles(samples: Samples, probabilities: Array) -> Array:
    """Return quantiles (samples, probabilities) of ascending samples by linear interpolation at (n - 1) p.

    With unequal weights, a quantile is the mean over a window of weight (`numerics/statistics.py`), which reduces to
    the same for equal weights.
    """
    n = np.maximum(samples.sizes, 1)[:, None]
    place = (n - 1) * probabilities
    below = np.minimum(place.astype(np.int64), n - 1)
    starts = np.minimum(samples.offsets[:-1], max(samples.values.size - 1, 0))[:, None]
    values = samples.values if samples.values.size else np.zeros(1)
    first = values[starts + below]
    second = values[np.minimum(starts + np.minimum(below + 1, n - 1), values.size - 1)]
    out = np.asarray(first + (place - below) * (second - first))
    if samples.weights is not None:
        given = samples.values, samples.offsets, samples.weights, samples.effective_sizes, samples.unequal
        quantile_rows(*given, probabilities, out, 0, len(samples))
    return out
