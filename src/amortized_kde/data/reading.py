"""Raw input to checked arrays: numbers, samples, weights and bounds, in whatever container they come.

Nothing here changes the caller's arrays.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array
from amortized_kde.data.sample import Sample, Samples, normalised
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.errors import InvalidBoundsError, InvalidParameterError, InvalidSampleError

Nan = Literal["raise", "omit"]

# Characters that are kept of a column's name.
LONGEST_NAME = 1000
# Differences of larger numbers overflow.
LARGEST_VALUE = 1e300
# Weights smaller than this times the largest one count as zero: products of such numbers underflow.
_SMALLEST_WEIGHT = 1e-300
_KINDS = {
    "U": "text",
    "S": "bytes",
    "T": "text",
    "b": "booleans",
    "M": "dates",
    "m": "durations",
    "c": "complex numbers",
}


def read_numbers(x: Any, what: str, *, copy: bool = True) -> Array:
    """Convert lists, iterators, NumPy, masked, pandas or polars objects, or anything with ``__array__``, to float64.

    Missing values become NaN; the shape stays. With ``copy=False`` the result can be the caller's own array, and must
    not be written to.

    Raises
    ------
    InvalidSampleError
        If the entries are not real numbers: strings, dates, booleans, complex numbers, or lists of unequal length; or
        if `x` is a set or a dict.
    """
    if isinstance(x, (Set, Mapping)):
        instead = (
            "the list of its values" if isinstance(x, Mapping) else "a list, since it keeps equal values only once"
        )
        raise InvalidSampleError(f"{what} is a {type(x).__name__}; pass {instead}.")
    # Without the import of numpy.ma there are no masked arrays.
    if "numpy.ma" in sys.modules and isinstance(x, np.ma.MaskedArray):
        numbers = read_numbers(x.data, what)
        numbers[np.ma.getmaskarray(x)] = np.nan
        return numbers
    try:
        x = list(x) if isinstance(x, (Iterator, ValuesView)) else x
        array = np.asarray(x.to_numpy() if hasattr(x, "to_numpy") else x)
    except Exception as error:
        # Other people's containers can raise anything.
        raise InvalidSampleError(f"{what} cannot be read as an array of numbers ({_brief(error)}).") from None
    if array.dtype.kind == "O":
        array = _from_objects(array, what)
    if array.dtype.kind not in "iuf":
        kind = _KINDS.get(array.dtype.kind, f"values of type {array.dtype}")
        raise InvalidSampleError(f"{what} must hold real numbers, not {kind}; convert the values first.")
    # Read-only arrays are another type to the compiler, which would compile every loop twice.
    return array.astype(np.float64, copy=copy or not array.flags.writeable)


def _brief(found: object) -> str:
    """The text of an object or error, cut if it is long."""
    text = str(found) if isinstance(found, Exception) else repr(found)
    return text if len(text) <= 200 else text[:200] + "…"


def _from_objects(array: NDArray[Any], what: str) -> Array:
    out = np.empty(array.shape)
    for position, entry in np.ndenumerate(array):
        where = f"{what}[{', '.join(map(str, position))}]" if position else what
        if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
            out[position] = np.nan
        elif isinstance(entry, (str, bytes, bool, np.bool_, complex)):
            raise InvalidSampleError(
                f"{where} is {_brief(entry)}, which is not a real number; convert the values first."
            )
        else:
            try:
                out[position] = float(entry)
            except OverflowError:
                out[position] = np.inf
            except Exception:
                raise InvalidSampleError(f"{where} is a {type(entry).__name__}, not a number.") from None
    return out


def read_weights(weights: Any, shape: tuple[int, ...]) -> Array:
    """Read weights, which must be numbers in the given shape; raise `InvalidSampleError` otherwise."""
    array = read_numbers(weights, "weights")
    if array.shape != shape:
        raise InvalidSampleError(f"weights have shape {array.shape}, but x has shape {shape}.")
    return array


def relative_weights(weights: Array) -> Array:
    """Divide by the largest weight along the last axis, so that no sum overflows or underflows.

    Raises
    ------
    InvalidSampleError
        If a weight is missing, infinite or negative.

    Examples
    --------
    >>> relative_weights(np.array([[1e308, 1e307], [0.0, 0.0]]))
    array([[1. , 0.1], [0. , 0. ]])
    """
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise InvalidSampleError(f"weights must be finite and not negative; {weights.flat[bad[0]]} is not.")
    largest = weights.max(axis=-1, initial=0.0, keepdims=True)
    relative = weights / np.where(largest > 0.0, largest, 1.0)
    return np.where(relative > _SMALLEST_WEIGHT, relative, 0.0)


def check_nan(nan: str) -> None:
    """Raise `InvalidParameterError` unless `nan` is "raise" or "omit"."""
    if not isinstance(nan, str) or nan not in ("raise", "omit"):
        raise InvalidParameterError(f'nan must be "raise" or "omit", not {_brief(nan)}.')


def read_sample(
    x: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    nan: Nan = "raise",
    what: str = "x",
) -> Sample:
    """Read one sample.

    Parameters
    ----------
    x : array_like of shape (n,)
        The observations, n >= 1; a generator, and a pandas or polars table of one column, too. The name of a column or
        series is kept.
    weights : array_like of shape (n,), optional
        Importance weights: finite, not negative, not all zero. Only their ratios matter; values of weight zero are
        dropped.
    nan : {"raise", "omit"}
        What to do with missing values.
    what : str
        Name of the sample in error messages.

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
    x, name = _column(x, what)
    # No copy: sorting makes one.
    values = read_numbers(x, what, copy=False)
    if values.ndim == 0:
        found = "None" if x is None else "a single number"
        raise InvalidSampleError(f"{what} is {found}, not a sample; pass a list or a one-dimensional array.")
    if values.ndim > 1:
        raise InvalidSampleError(
            f"{what} has shape {values.shape}, not (n,); for many samples call bandwidth with axis= (axis=-1: one per "
            f"row), for the density of one sample in d dimensions fit, or make it one sample with {what}.ravel()."
        )
    if values.size == 0:
        raise InvalidSampleError(f"{what} is empty; at least one value is needed.")
    present = _present(values, nan, what)
    if present.size == 0:
        raise InvalidSampleError(f"all {values.size} values of {what} are missing.")
    if weights is None:
        return Sample(np.sort(present), name=name)
    relative = relative_weights(read_weights(_column(weights, "weights")[0], values.shape)[~np.isnan(values)])
    if not np.any(relative > 0.0):
        raise InvalidSampleError("all weights are zero; at least one must be positive.")
    # Ties are ordered by weight, so that the result does not depend on the caller's order.
    order = np.lexsort((relative, present))
    kept = order[relative[order] > 0.0]
    return Sample(present[kept], normalised(relative[kept], np.array([0, kept.size])), name)


def _column(x: Any, what: str) -> tuple[Any, str]:
    """Return a sample, the only column if it is in a table, and its name or ""."""
    columns = getattr(x, "columns", None)
    if columns is None or not hasattr(x, "to_numpy"):
        name = getattr(x, "name", None) if hasattr(x, "dtype") else None
        return x, name[:LONGEST_NAME] if isinstance(name, str) else ""
    names = [str(column)[:LONGEST_NAME] for column in columns]
    if len(names) != 1:
        some = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
        raise InvalidSampleError(
            f"{what} is a table of {len(names)} columns ({some}); pass one of them, such as {what}[{names[0]!r}], or "
            "all of them to fit."
            if names
            else f"{what} is a table without columns."
        )
    return x[columns[0]], names[0] if isinstance(columns[0], str) else ""


def _present(values: Array, nan: Nan, what: str) -> Array:
    """Return the values that are not missing; raise if one is infinite, or missing unless omitted."""
    # Most samples are finite, which two quick passes show: a comparison with NaN is false.
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


def read_samples(
    x: ArrayLike | Sequence[ArrayLike],
    *,
    axis: int,
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    ascending: bool = True,
) -> Samples:
    """Read many samples, one along `axis` for each index of the other axes; NaN is a missing value.

    Parameters
    ----------
    x : array_like, or list of sequences
        A list of sequences of unequal length has one sample per entry, and ``axis=-1``.
    axis : int
        The axis along which each sample lies.
    weights : array_like, optional
        Importance weights, in the shape of `x`, or of length ``x.shape[axis]`` for all samples. Values of weight zero
        are dropped.
    ascending : bool
        Sort each sample. Otherwise values keep their order and, where nothing is missing, their memory.

    Returns
    -------
    Samples
        A sample that is empty, all missing, all of weight zero or somewhere infinite is empty here.

    Raises
    ------
    InvalidSampleError
        If `x` does not hold numbers or has no such axis, or if the weights do not fit it.
    InvalidParameterError
        If `axis` is not a whole number.
    """
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise InvalidParameterError(f"axis must be a whole number, not {axis!r}.")
    array = read_rows(x)
    if array.ndim == 0 or not -array.ndim <= axis < array.ndim:
        raise InvalidSampleError(f"axis {axis} is out of range for x of shape {array.shape}.")
    rows = np.moveaxis(array, axis, -1)
    shape = rows.shape[:-1]
    flat = (int(np.prod(shape)), rows.shape[-1])
    relative = None if weights is None else _weight_rows(weights, array, axis).reshape(flat)
    return _flatten(rows.reshape(flat), relative, shape, ascending=ascending)


def read_rows(x: Any, what: str = "x") -> Array:
    """Return an array of numbers, made of a list of unequal sequences by padding them with NaN.

    Raises
    ------
    InvalidSampleError
        If `x` does not hold numbers.
    """
    if isinstance(x, (list, tuple)) and x and all(_is_row(entry) for entry in x):
        rows = [read_numbers(entry, f"{what}[{i}]") for i, entry in enumerate(x)]
        padded = np.full((len(rows), max(row.size for row in rows)), np.nan)
        for target, row in zip(padded, rows, strict=True):
            target[: row.size] = row
        return padded
    return read_numbers(x, what, copy=False)


def _is_row(entry: Any) -> bool:
    """Whether an entry is one-dimensional."""
    try:
        return np.ndim(entry) == 1
    except Exception:
        # Ragged nesting, for which `read_numbers` has a sentence.
        return False


def _weight_rows(weights: ArrayLike | Sequence[ArrayLike], array: Array, axis: int) -> Array:
    """Read weights (..., n), relative to the largest of each sample; 0 for missing values."""
    found, rows = read_rows(weights, "weights"), np.moveaxis(array, axis, -1)
    if found.shape != rows.shape[-1:]:
        found = np.moveaxis(read_weights(found, array.shape), axis, -1)
    return relative_weights(np.where(np.isnan(rows), 0.0, found))


def _flatten(rows: Array, weights: Array | None, shape: tuple[int, ...], *, ascending: bool) -> Samples:
    if ascending and weights is not None:
        # Ties are ordered by weight, so that the result does not depend on the caller's order.
        order = np.lexsort((weights, rows), axis=-1)
        rows, weights = np.take_along_axis(rows, order, -1), np.take_along_axis(weights, order, -1)
    elif ascending:
        # A copy; NaN sorts to the end of its row.
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
    kept = None if weights is None else normalised(weights[present], offsets)
    return Samples.of(rows[present], offsets, shape, unusable, kept)


def read_bounds(bounds: Sequence[float | None] | None) -> Bounds:
    """Read a pair (A, B), in which None is an open side.

    Raises
    ------
    InvalidBoundsError
        If it is not a pair of numbers or None with A < B.

    Examples
    --------
    >>> read_bounds((0, None))
    Bounds(lower=0.0, upper=inf)
    """
    if bounds is None:
        return OPEN
    try:
        # Bytes unpack to numbers, and sets to numbers in any order.
        if isinstance(bounds, (str, bytes, bytearray, memoryview, Mapping, Set)):
            raise TypeError
        lower, upper = bounds
        if isinstance(lower, (str, bytes)) or isinstance(upper, (str, bytes)):
            raise TypeError
        a = -math.inf if lower is None else float(lower)
        b = math.inf if upper is None else float(upper)
    except Exception:
        raise InvalidBoundsError(
            f"bounds must be a pair (A, B) of numbers or None, such as (0, None); got {_brief(bounds)}."
        ) from None
    for end in (a, b):
        if math.isnan(end) or LARGEST_VALUE < abs(end) < math.inf:
            raise InvalidBoundsError(f"{end} cannot be a bound; use None for an open side.")
    if not a < b:
        raise InvalidBoundsError(f"the lower bound {a:g} must be below the upper bound {b:g}.")
    return Bounds(a, b)
