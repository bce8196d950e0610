"""The only door for raw input: whatever people hold their numbers in becomes finite, ascending float64.

What enters: numbers in any form (`reading.py`), one sample or many, perhaps with weights. What leaves: a `Sample`, or
`Samples` (many of them, flat), without values of weight zero. It never changes the caller's array, and knows nothing of
bounds or bandwidths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array, Flags
from amortized_kde.data.reading import read_numbers
from amortized_kde.data.weights import (
    divided_by_sums,
    effective_size,
    effective_sizes,
    have_unequal,
    read_weights,
    relative_weights,
)
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.numerics.sort import ascending

Nan = Literal["raise", "omit"]

# Differences of larger numbers overflow.
LARGEST_VALUE = 1e300


@dataclass(frozen=True, eq=False)
class Sample:
    """One sample: ascending finite values (n,), and their weights, which sum to 1, or None for equal ones."""

    values: Array
    weights: Array | None = None

    @property
    def effective_size(self) -> float:
        """Kish's effective size (sum w)^2 / sum w^2: how many equally weighted values tell as much."""
        return effective_size(self.weights, self.values.size)

    def as_batch(self) -> "Samples":
        """Give the same sample as a batch of one."""
        return _batch(self.values, np.array([0, self.values.size]), (), np.zeros(1, bool), self.weights)


@dataclass(frozen=True, eq=False)
class Samples:
    """Many samples, flat: sample r is ``values[offsets[r]:offsets[r + 1]]``, finite and, if so read, ascending.

    `shape` is the shape of an answer with one number a sample. `unusable` marks samples that held an infinite value;
    they are empty here. `weights` are positive and sum to 1 in each sample; None if in no sample they differ.
    """

    values: Array
    offsets: NDArray[np.int64]
    shape: tuple[int, ...]
    unusable: Flags
    weights: Array | None = None

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many values each sample has."""
        return np.diff(self.offsets)

    @cached_property
    def effective_sizes(self) -> Array:
        """Kish's effective size of each sample: for how many equally weighted values it stands."""
        if self.weights is None:
            return self.sizes.astype(np.float64)
        return effective_sizes(self.weights, self.offsets)

    @cached_property
    def unequal(self) -> Flags:
        """Which samples have weights that differ."""
        if self.weights is None:
            return np.zeros(len(self), bool)
        return have_unequal(self.weights, self.offsets)

    @cached_property
    def counts(self) -> Array:
        """For how many values of the effective size each value stands; exactly 1 where weights are equal."""
        if self.weights is None:
            return np.ones(self.values.size)
        size, unequal = np.repeat(self.effective_sizes, self.sizes), np.repeat(self.unequal, self.sizes)
        return np.where(unequal, size * self.weights, 1.0)

    def where(self, wanted: Flags) -> "Samples":
        """Give the samples that are wanted alone."""
        inside, sizes = np.repeat(wanted, self.sizes), self.sizes[wanted]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        weights = None if self.weights is None else self.weights[inside]
        return _batch(self.values[inside], offsets, (sizes.size,), self.unusable[wanted], weights)

    def between(self, start: int, stop: int) -> "Samples":
        """Give samples start .. stop - 1 alone, in the same memory."""
        first, last = self.offsets[start], self.offsets[stop]
        offsets = self.offsets[start : stop + 1] - first
        weights = None if self.weights is None else self.weights[first:last]
        return Samples(self.values[first:last], offsets, (stop - start,), self.unusable[start:stop], weights)


def _batch(
    values: Array, offsets: NDArray[np.int64], shape: tuple[int, ...], unusable: Flags, weights: Array | None
) -> Samples:
    """The samples, without weights if these differ nowhere: then all that follows takes the same path."""
    differ = weights is not None and bool(have_unequal(weights, offsets).any())
    return Samples(values, offsets, shape, unusable, weights if differ else None)


def _check_finite(values: Array, nan: Nan, what: str) -> Array:
    """The entries that are there, after infinite and (unless omitted) missing ones were refused."""
    # Most often all are, and two quick passes tell: a comparison with NaN is false.
    if values.min() >= -LARGEST_VALUE and values.max() <= LARGEST_VALUE:
        return values
    infinite = np.flatnonzero(np.abs(values) > LARGEST_VALUE)
    if infinite.size:
        raise InvalidSampleError(
            f"{what} has {values[infinite[0]]} at position {infinite[0]} ({infinite.size} such in all): "
            f"values must lie within ±{LARGEST_VALUE:g}; remove them."
        )
    missing = np.flatnonzero(np.isnan(values))
    if missing.size and nan == "raise":
        raise InvalidSampleError(
            f"{what} has a missing value (NaN) at position {missing[0]} ({missing.size} in all); "
            'remove them or pass nan="omit".'
        )
    return values[~np.isnan(values)]


def check_nan(nan: str) -> None:
    """Raise `InvalidParameterError` unless it is one of the two ways to treat missing values."""
    if nan not in ("raise", "omit"):
        raise InvalidParameterError(f'nan must be "raise" or "omit", not {nan!r}.')


def read_sample(
    x: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    nan: Nan = "raise",
    what: str = "x",
    threads: int | None = None,
) -> Sample:
    """Read one sample.

    Parameters
    ----------
    x : array_like of shape (n,)
        The observations, n >= 1.
    weights : array_like of shape (n,), optional
        Importance weights: finite, not negative, not all zero. Only their ratios matter; a value of weight zero is
        dropped.
    nan : {"raise", "omit"}
        What to do with missing values.
    what : str
        The name that error messages give the sample.
    threads : int, optional
        At most so many threads sort a large sample; by default all cores.

    Raises
    ------
    InvalidSampleError
        If the sample is empty, all missing, infinite somewhere, not numeric or not one-dimensional, or if the weights
        do not fit it.

    Examples
    --------
    >>> read_sample([3, 1, 2]).values
    array([1., 2., 3.])
    """
    check_nan(nan)
    # Nothing is written before values are copied in ascending order.
    values = read_numbers(x, what, copy=False)
    if values.ndim == 0:
        raise InvalidSampleError(f"{what} is a single number, not a sample; pass a list or a one-dimensional array.")
    if values.ndim > 1:
        raise InvalidSampleError(
            f"{what} has shape {values.shape}: many samples are given to bandwidth with axis= (axis=-1: one a row); "
            f"{what}.ravel() makes it one sample."
        )
    if values.size == 0:
        raise InvalidSampleError(f"{what} is empty; at least one value is needed.")
    present = _check_finite(values, nan, what)
    if present.size == 0:
        raise InvalidSampleError(f"all {values.size} values of {what} are missing.")
    if weights is None:
        return Sample(ascending(present, threads=threads))
    given = relative_weights(read_weights(weights, values.shape)[~np.isnan(values)])
    if not np.any(given > 0.0):
        raise InvalidSampleError("all weights are zero; at least one must be positive.")
    # Among equal values by weight, so that the caller's order plays no part.
    order = np.lexsort((given, present))
    kept = order[given[order] > 0.0]
    return Sample(present[kept], divided_by_sums(given[kept], np.array([0, kept.size])))


def read_samples(
    x: ArrayLike | Sequence[ArrayLike],
    *,
    axis: int,
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    ascending: bool = True,
) -> Samples:
    """Read many samples, one along `axis` for each index of the other axes; NaN is a missing value.

    A list of sequences of unequal length is read as one sample an entry. `weights` have the shape of `x`, or that of
    its axis for all samples; values of weight zero are dropped. Without `ascending` the values keep their order and,
    where nothing is missing, their memory.

    Raises
    ------
    InvalidSampleError
        If the whole cannot be read as numbers, or has no such axis, or if the weights do not fit it. A row that is
        empty, all missing, all of weight zero or infinite is no error here: it leaves as an empty sample.
    InvalidParameterError
        If `axis` is not a whole number.
    """
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise InvalidParameterError(f"axis must be a whole number, not {axis!r}.")
    array = _rectangular(x, "x")
    if array.ndim == 0 or not -array.ndim <= axis < array.ndim:
        raise InvalidSampleError(f"x has shape {array.shape} and so no axis {axis}.")
    rows = np.moveaxis(array, axis, -1)
    shape = rows.shape[:-1]
    flat = (int(np.prod(shape)), rows.shape[-1])
    given = None if weights is None else _weight_rows(weights, array, axis).reshape(flat)
    return _flatten(rows.reshape(flat), given, shape, ascending=ascending)


def _weight_rows(weights: ArrayLike | Sequence[ArrayLike], array: Array, axis: int) -> Array:
    """Weights of all samples, (..., n), relative to the largest of each; those of missing values play no part."""
    given, rows = _rectangular(weights, "weights"), np.moveaxis(array, axis, -1)
    if given.shape != rows.shape[-1:]:
        given = np.moveaxis(read_weights(given, array.shape), axis, -1)
    return relative_weights(np.where(np.isnan(rows), 0.0, given))


def _flatten(rows: Array, weights: Array | None, shape: tuple[int, ...], *, ascending: bool) -> Samples:
    if ascending and weights is not None:
        # Among equal values by weight, so that the caller's order plays no part.
        order = np.lexsort((weights, rows), axis=-1)
        rows, weights = np.take_along_axis(rows, order, -1), np.take_along_axis(weights, order, -1)
    elif ascending:
        # A copy, so the caller's array stays; NaN sorts to the end of its row.
        rows = np.sort(rows, axis=-1)
    if weights is None and rows.size and rows.min() >= -LARGEST_VALUE and rows.max() <= LARGEST_VALUE:
        offsets = np.arange(len(rows) + 1) * rows.shape[1]
        # An array with gaps is another type to the compiler, whose sums would differ in the last bit.
        return Samples(np.ascontiguousarray(rows.reshape(-1)), offsets, shape, np.zeros(len(rows), bool))
    present = ~np.isnan(rows)
    unusable = np.asarray(((np.abs(rows) > LARGEST_VALUE) & present).any(axis=-1))
    present &= ~unusable[:, None]
    if weights is not None:
        present &= weights > 0.0
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=-1))]).astype(np.int64)
    shares = None if weights is None else divided_by_sums(weights[present], offsets)
    return _batch(rows[present], offsets, shape, unusable, shares)


def _rectangular(x: Any, what: str) -> Array:
    """An array as it is; a list of sequences read one by one and, if unequal, padded with NaN."""
    if isinstance(x, (list, tuple)) and x and all(np.ndim(entry) == 1 for entry in x):
        rows = [read_numbers(entry, f"{what}[{i}]") for i, entry in enumerate(x)]
        padded = np.full((len(rows), max(row.size for row in rows)), np.nan)
        for target, row in zip(padded, rows, strict=True):
            target[: row.size] = row
        return padded
    return read_numbers(x, what, copy=False)
