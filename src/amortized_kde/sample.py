"""The only door for raw input: whatever people hold their numbers in becomes finite, ascending float64.

What enters: lists, NumPy arrays, masked arrays, pandas and polars objects, anything with ``__array__``; one sample or
many. What leaves: a `Sample`, or `Samples` (many of them, flat). It never changes the caller's array, and knows nothing
of bounds or bandwidths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde.errors import InvalidParameterError, InvalidSampleError

__all__ = ["LARGEST", "Nan", "Sample", "Samples", "check_nan", "read_numbers", "read_sample", "read_samples"]

Array = NDArray[np.float64]
Nan = Literal["raise", "omit"]

# Differences of larger numbers overflow.
LARGEST = 1e300


@dataclass(frozen=True, eq=False)
class Sample:
    """One sample: ascending finite values (n,), and their weights, which sum to 1, or None for equal ones."""

    values: Array
    weights: Array | None = None

    def as_batch(self) -> "Samples":
        """Give the same sample as a batch of one."""
        return Samples(self.values, np.array([0, self.values.size]), (), np.zeros(1, bool))


@dataclass(frozen=True, eq=False)
class Samples:
    """Many samples, flat: sample r is ``values[offsets[r]:offsets[r + 1]]``, finite and, if so read, ascending.

    `shape` is the shape of an answer with one number a sample. `unusable` marks samples that held an infinite value;
    they are empty here.
    """

    values: Array
    offsets: NDArray[np.int64]
    shape: tuple[int, ...]
    unusable: NDArray[np.bool_]

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many values each sample has."""
        return np.diff(self.offsets)

    def between(self, start: int, stop: int) -> "Samples":
        """Give samples start .. stop - 1 alone, in the same memory."""
        first, last = self.offsets[start], self.offsets[stop]
        offsets = self.offsets[start : stop + 1] - first
        return Samples(self.values[first:last], offsets, (stop - start,), self.unusable[start:stop])


def read_numbers(x: Any, what: str, *, copy: bool = True) -> Array:
    """Turn anything array-like into a float64 array of the same shape, missing values as NaN.

    Without `copy` the caller's own array may come back, to be read and never written.

    Raises
    ------
    InvalidSampleError
        If the entries are not real numbers: strings, dates, booleans, complex numbers, or lists of unequal length.
    """
    if isinstance(x, np.ma.MaskedArray):
        numbers = read_numbers(x.data, what)
        numbers[np.ma.getmaskarray(x)] = np.nan
        return numbers
    try:
        array = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InvalidSampleError(f"{what} cannot be read as an array of numbers ({error}).") from None
    if array.dtype.kind == "O":
        array = _from_objects(array, what)
    if array.dtype.kind not in "iuf":
        raise InvalidSampleError(f"{what} must hold real numbers, not {_kind(array)}; convert the values first.")
    # Read-only arrays are another type to the compiler, which would compile every loop twice.
    return array.astype(np.float64, copy=copy or not array.flags.writeable)


def _from_objects(array: NDArray[Any], what: str) -> Array:
    out = np.empty(array.shape)
    for position, entry in np.ndenumerate(array):
        where = f"{what}[{', '.join(map(str, position))}]" if position else what
        if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
            out[position] = np.nan
        elif isinstance(entry, (str, bytes, bool, np.bool_, complex)):
            raise InvalidSampleError(f"{where} is {entry!r}, which is not a real number; convert the values first.")
        else:
            try:
                out[position] = float(entry)
            except OverflowError:
                out[position] = np.inf
            except (TypeError, ValueError):
                raise InvalidSampleError(f"{where} is a {type(entry).__name__}, not a number.") from None
    return out


def _kind(array: NDArray[Any]) -> str:
    names = {
        "U": "text",
        "S": "bytes",
        "T": "text",
        "b": "booleans",
        "M": "dates",
        "m": "durations",
        "c": "complex numbers",
    }
    return names.get(array.dtype.kind, f"values of type {array.dtype}")


def _check_finite(values: Array, nan: Nan, what: str) -> Array:
    """The entries' mask of presence, after infinite and (unless omitted) missing ones were refused."""
    infinite = np.flatnonzero(np.abs(values) > LARGEST)
    if infinite.size:
        raise InvalidSampleError(
            f"{what} has {values[infinite[0]]} at position {infinite[0]} ({infinite.size} such in all): "
            f"values must lie within ±{LARGEST:g}; remove them."
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


def read_sample(x: ArrayLike, *, weights: ArrayLike | None = None, nan: Nan = "raise", what: str = "x") -> Sample:
    """Read one sample.

    Parameters
    ----------
    x : array_like of shape (n,)
        The observations, n >= 1.
    weights : array_like of shape (n,), optional
        Importance weights: finite, not negative, not all zero. Only their ratios matter; a point with weight zero
        is dropped.
    nan : {"raise", "omit"}
        What to do with missing values.
    what : str
        The name that error messages give the sample.

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
    values = read_numbers(x, what)
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
        return Sample(np.sort(present))
    shares = _read_weights(weights, values)
    order = np.argsort(present, kind="stable")
    kept = order[shares[order] > 0.0]
    return Sample(present[kept], shares[kept] / shares[kept].sum())


def _read_weights(weights: ArrayLike, values: Array) -> Array:
    given = read_numbers(weights, "weights")
    if given.shape != values.shape:
        raise InvalidSampleError(f"weights have shape {given.shape}, but x has shape {values.shape}.")
    given = given[~np.isnan(values)]
    bad = np.flatnonzero(~(np.isfinite(given) & (given >= 0.0)))
    if bad.size:
        raise InvalidSampleError(f"weights must be finite and not negative; {given[bad[0]]} is not.")
    if not np.any(given > 0.0):
        raise InvalidSampleError("all weights are zero; at least one must be positive.")
    # Divided by the largest first, so that no sum overflows or underflows.
    return np.asarray(given / given.max())


def read_samples(x: ArrayLike | Sequence[ArrayLike], *, axis: int, ascending: bool = True) -> Samples:
    """Read many samples, one along `axis` for each index of the other axes; NaN is a missing value.

    A list of sequences of unequal length is read as one sample an entry. Without `ascending` the values keep their
    order and, where nothing is missing, their memory.

    Raises
    ------
    InvalidSampleError
        If the whole cannot be read as numbers, or has no such axis. A row that is empty, all missing or infinite is no
        error here: it leaves as an empty sample.
    InvalidParameterError
        If `axis` is not a whole number.
    """
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise InvalidParameterError(f"axis must be a whole number, not {axis!r}.")
    array = _rectangular(x)
    if array.ndim == 0 or not -array.ndim <= axis < array.ndim:
        raise InvalidSampleError(f"x has shape {array.shape} and so no axis {axis}.")
    rows = np.moveaxis(array, axis, -1)
    shape = rows.shape[:-1]
    rows = rows.reshape(int(np.prod(shape)), rows.shape[-1])
    if ascending:
        # A copy, so the caller's array stays; NaN sorts to the end of its row.
        rows = np.sort(rows, axis=-1)
    if rows.size and rows.min() >= -LARGEST and rows.max() <= LARGEST:
        offsets = np.arange(len(rows) + 1) * rows.shape[1]
        return Samples(rows.reshape(-1), offsets, shape, np.zeros(len(rows), bool))
    present = ~np.isnan(rows)
    unusable = np.asarray(((np.abs(rows) > LARGEST) & present).any(axis=-1))
    present &= ~unusable[:, None]
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=-1))]).astype(np.int64)
    return Samples(rows[present], offsets, shape, unusable)


def _rectangular(x: Any) -> Array:
    """An array as it is; a list of sequences read one by one and, if unequal, padded with NaN."""
    if isinstance(x, (list, tuple)) and x and all(np.ndim(entry) == 1 for entry in x):
        rows = [read_numbers(entry, f"x[{i}]") for i, entry in enumerate(x)]
        padded = np.full((len(rows), max(row.size for row in rows)), np.nan)
        for target, row in zip(padded, rows, strict=True):
            target[: row.size] = row
        return padded
    return read_numbers(x, "x", copy=False)
