"""Samples of several variables as checked arrays: rows are observations, columns are variables.

One sample in d dimensions and a batch of one-dimensional samples can have the same shape. `fit` takes the first, and
`bandwidth` with ``axis=`` the second; nothing is decided by the size of an axis. A two-dimensional array has its
observations in rows, always; a sequence of arrays or series has one column each.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import (
    LARGEST_VALUE,
    LONGEST_NAME,
    Nan,
    check_nan,
    read_bounds,
    read_numbers,
    relative_weights,
)
from amortized_kde.data.sample import Sample, effective_size, normalised
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError, InvalidParameterError, InvalidSampleError

# The models are trained up to this many variables, and no kernel estimate is of use above.
MOST_VARIABLES = 8
# Columns are collinear if one of them, in units of its spread, is a combination of the others to this accuracy; the
# covariance has its square, which must stay above the rounding of float64.
_COLLINEAR = 1e-7
# Squares of larger and smaller differences could overflow or underflow.
_SMALLEST_REACH, _LARGEST_REACH = 1e-140, 1e140
_MANY_SAMPLES = "for the bandwidths of many samples of one variable call bandwidth with axis="


@dataclass(frozen=True, eq=False)
class MultivariateSample:
    """One sample in d dimensions: finite rows (n, d) in a fixed order, weights that sum to 1, or None, and d names."""

    values: Array
    weights: Array | None
    names: tuple[str, ...]

    @property
    def effective_size(self) -> float:
        """Kish's effective size."""
        return effective_size(self.weights, len(self.values))

    @property
    def every_weight(self) -> Array:
        """The weights of all rows, also if they are equal."""
        n = len(self.values)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights

    def column(self, axis: int) -> Sample:
        """Return the sample of one variable."""
        values, name = self.values[:, axis], self.names[axis]
        if self.weights is None:
            return Sample(np.sort(values), name=name)
        order = np.lexsort((self.weights, values))
        return Sample(values[order], self.weights[order], name)


def has_columns(x: Any) -> bool:
    """Return whether `x` is a table, an array of two or more axes, or a sequence or mapping of columns or rows.

    A table of one column is a one-dimensional sample.
    """
    columns = getattr(x, "columns", None)
    if columns is not None and hasattr(x, "to_numpy"):
        return len(columns) > 1
    if isinstance(x, Mapping):
        return len(x) > 0 and all(_is_sequence(column) for column in x.values())
    if isinstance(x, (list, tuple)):
        return len(x) > 0 and _is_sequence(x[0])
    return isinstance(getattr(x, "ndim", None), int) and x.ndim > 1


def _is_sequence(entry: Any) -> bool:
    return isinstance(entry, (list, tuple)) or (isinstance(getattr(entry, "ndim", None), int) and entry.ndim > 0)


def read_multivariate(x: Any, *, weights: Any = None, nan: Nan = "raise", what: str = "x") -> MultivariateSample:
    """Read one sample of several variables.

    Parameters
    ----------
    x : array_like of shape (n, d), table, mapping from names to columns, or sequence of d columns
        The observations, with 2 <= d <= 8 and n > d. Nested lists are read as NumPy does, one list for each row;
        columns of a sequence are arrays or series.
    weights : array_like of shape (n,), optional
        Importance weights: finite, not negative, not all zero. Rows of weight zero are dropped.
    nan : {"raise", "omit"}
        What to do with rows that have a missing value.

    Raises
    ------
    InvalidSampleError
        If the shape, a value or a weight cannot be used.
    DegenerateSampleError
        If a column is constant, or is a linear combination of others.
    """
    check_nan(nan)
    values, names = _read_columns(x, what)
    _check_shape(values, what, x)
    n, d = values.shape
    relative = np.ones(n) if weights is None else relative_weights(_read_row_weights(weights, n, what))
    kept = _present_rows(values, names, nan, what) & (relative > 0.0)
    if not kept.any():
        raise InvalidSampleError("all weights are zero; at least one must be positive.")
    values, relative = values[kept], relative[kept]
    if len(values) <= d:
        raise InvalidSampleError(
            f"{what} has {len(values)} rows without missing values or weights of zero; a density in {d} dimensions "
            f"needs at least {d + 1}."
        )
    # The result must not depend on the order of rows; ties are ordered by weight.
    order = np.lexsort((relative, *values.T[::-1]))
    values, relative = np.ascontiguousarray(values[order]), relative[order]
    _check_spread(values, names, what)
    equal = bool(np.all(relative == relative[0]))
    return MultivariateSample(values, None if equal else normalised(relative, np.array([0, relative.size])), names)


def _read_row_weights(weights: Any, n: int, what: str) -> Array:
    array = read_numbers(weights, "weights")
    if array.shape != (n,):
        raise InvalidSampleError(
            f"weights have shape {array.shape}, but {what} has {n} rows; give one weight for each row."
        )
    return array


def _read_columns(x: Any, what: str) -> tuple[Array, tuple[str, ...]]:
    """The numbers (n, d), and the names of the columns."""
    columns = getattr(x, "columns", None)
    if columns is not None and hasattr(x, "to_numpy"):
        return _joined([(str(name), x[name]) for name in columns], what)
    if isinstance(x, Mapping):
        return _joined([(str(name), column) for name, column in x.items()], what)
    if isinstance(x, (list, tuple)) and all(
        not isinstance(entry, (list, tuple)) and _is_sequence(entry) for entry in x
    ):
        names = [getattr(column, "name", None) for column in x]
        given = all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
        if len(x) == 1:
            raise InvalidSampleError(f"{what} has one column; pass that, {what}[0], for its density.")
        _check_count(len(x), what, "if these are rows, join them with np.array")
        return _joined([(str(names[j]) if given else f"x{j}", column) for j, column in enumerate(x)], what)
    if isinstance(x, (list, tuple)):
        _check_rows(x, what)
    values = read_numbers(x, what)
    return values, tuple(f"x{j}" for j in range(values.shape[-1])) if values.ndim == 2 else ()


def _check_rows(x: Sequence[Any], what: str) -> None:
    """Raise `InvalidSampleError` unless all rows of nested lists have the same length."""
    lengths = [len(row) if _is_sequence(row) else 1 for row in x]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            raise InvalidSampleError(
                f"rows 0 and {i} of {what} have lengths {lengths[0]} and {length}; all rows need a value for every "
                f"variable, and {_MANY_SAMPLES}-1."
            )


def _joined(columns: Sequence[tuple[str, Any]], what: str) -> tuple[Array, tuple[str, ...]]:
    if len(columns) == 1:
        name = columns[0][0]
        raise InvalidSampleError(f"{what} has one column, {name!r}; pass that, {what}[{name!r}], for its density.")
    _check_count(len(columns), what)
    names = tuple(name[:LONGEST_NAME] for name, _ in columns)
    twice = [name for j, name in enumerate(names) if name in names[:j]]
    if twice:
        raise InvalidSampleError(f"{what} has two columns with the name {twice[0][:100]!r}; rename one of them.")
    read = [read_numbers(column, f"{what}[{name!r}]") for name, column in columns]
    for (name, _), column in zip(columns, read, strict=True):
        if column.ndim != 1:
            raise InvalidSampleError(f"column {name!r} of {what} has shape {column.shape}, not (n,).")
        if column.size != read[0].size:
            raise InvalidSampleError(
                f"columns {columns[0][0]!r} and {name!r} of {what} have {read[0].size} and {column.size} values; "
                "all columns need the same number."
            )
    return np.stack(read, axis=1), names


def _check_count(count: int, what: str, hint: str = _MANY_SAMPLES) -> None:
    if count > MOST_VARIABLES:
        raise InvalidSampleError(
            f"{what} has {count} columns, and a density at most {MOST_VARIABLES} variables; choose some, or {hint}."
        )


def _check_shape(values: Array, what: str, x: Any) -> None:
    """Raise `InvalidSampleError` unless there are enough rows, and neither too few nor too many columns."""
    shape = values.shape
    if values.ndim != 2:
        raise InvalidSampleError(
            f"{what} has shape {shape}, not (n, d); for one sample in d dimensions pass an array with n rows and d "
            f"columns, and {_MANY_SAMPLES}."
        )
    n, d = shape
    if n == 0 or d == 0:
        raise InvalidSampleError(f"{what} is empty; a density in d dimensions needs at least d + 1 rows.")
    if d == 1:
        place = f", {what}[:, 0]," if hasattr(x, "shape") else ""
        raise InvalidSampleError(
            f"{what} has shape {shape}: one variable; pass the column itself{place} for its density."
        )
    if n <= d:
        raise InvalidSampleError(
            f"{what} has shape {shape}: a density in {d} dimensions needs at least {d + 1} rows"
            f"{_turned(x, n, d, what)}; {_MANY_SAMPLES}."
        )
    _check_count(d, what)


def _turned(x: Any, n: int, d: int, what: str) -> str:
    """What to do if rows and columns are the wrong way round."""
    if not 2 <= n <= MOST_VARIABLES or n == d or isinstance(x, Mapping):
        return ""
    if len(x) == d:
        # Arrays in a list were read as columns.
        return f"; if these are rows, pass np.array({what})"
    other = f"{what}.T" if hasattr(x, "T") else f"np.transpose({what})"
    return f"; if variables are in rows, as in SciPy, pass {other}"


def _present_rows(values: Array, names: tuple[str, ...], nan: Nan, what: str) -> Any:
    """Which rows have no missing value; raise if one is infinite, or missing unless omitted."""
    infinite = np.argwhere(np.abs(values) > LARGEST_VALUE)
    if len(infinite):
        row, column = infinite[0]
        raise InvalidSampleError(
            f"{what} has {values[row, column]} in row {row} of column {names[column]!r} ({len(infinite)} such in all): "
            f"values must lie within ±{LARGEST_VALUE:g}; remove them."
        )
    missing = np.isnan(values)
    rows = missing.any(axis=1)
    if rows.all():
        raise InvalidSampleError(f"every row of {what} has a missing value.")
    if nan == "raise" and rows.any():
        row = int(np.argmax(rows))
        column = names[int(np.argmax(missing[row]))]
        raise InvalidSampleError(
            f"{what} has a missing value (NaN) in row {row}, column {column!r} "
            f"({int(rows.sum())} of {len(values)} rows in all); "
            'remove them or pass nan="omit".'
        )
    return ~rows


def _check_spread(values: Array, names: tuple[str, ...], what: str) -> None:
    """Raise `DegenerateSampleError` if a column is constant, or a linear combination of others."""
    constant = [
        name for name, low, high in zip(names, values.min(axis=0), values.max(axis=0), strict=True) if low == high
    ]
    if len(constant) == len(names):
        raise DegenerateSampleError(f"all {len(values)} rows of {what} are equal; a density needs values that differ.")
    if constant:
        raise DegenerateSampleError(f"column {constant[0]!r} of {what} is constant; leave it out.")
    # Halves, so that no difference overflows.
    away = 0.5 * values - np.mean(0.5 * values, axis=0)
    reach = np.abs(away).max(axis=0)
    for name, farthest in zip(names, reach, strict=True):
        if not _SMALLEST_REACH < farthest < _LARGEST_REACH:
            raise InvalidSampleError(
                f"column {name!r} of {what} has a spread of about {farthest:.0e}, of which the square cannot be "
                "computed; give it in other units."
            )
    away /= reach
    away /= np.sqrt(np.mean(away * away, axis=0))
    triangle = np.linalg.qr(away / math.sqrt(len(away)), mode="r")
    _, singular, directions = np.linalg.svd(triangle)
    if singular[-1] > _COLLINEAR * singular[0]:
        return
    involved = [name for name, part in zip(names, directions[-1], strict=True) if abs(part) > 1e-4]
    listing = " and ".join([", ".join(map(repr, involved[:-1])), repr(involved[-1])])
    raise DegenerateSampleError(
        f"columns {listing} of {what} are collinear: one is a linear combination of the others; leave one out."
    )


def find_axis(axis: Any, names: tuple[str, ...]) -> int:
    """Return the number of a variable that is given by its name or number.

    Raises
    ------
    InvalidParameterError
        If there is no such variable.
    """
    if str(axis) in names:
        return names.index(str(axis))
    whole = isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)
    if whole and -len(names) <= axis < len(names):
        return int(axis) % len(names)
    raise InvalidParameterError(
        f"there is no variable {str(axis)[:100]!r}; they are {', '.join(map(repr, names))}, numbered from 0."
    )


def read_box(bounds: Any, names: tuple[str, ...]) -> tuple[Bounds, ...]:
    """Read the bounds of every variable: a sequence of d pairs, or a mapping from names to pairs; None is open.

    Raises
    ------
    InvalidBoundsError
        If there are not as many pairs as variables, a name is unknown, or a pair is none.
    """
    if bounds is None:
        return (OPEN,) * len(names)
    if isinstance(bounds, Mapping):
        try:
            known = {find_axis(key, names): pair for key, pair in bounds.items()}
        except InvalidParameterError as error:
            raise InvalidBoundsError(f"bounds: {error}") from None
        return tuple(_read_pair(known.get(axis), name) for axis, name in enumerate(names))
    pairs = _pairs(bounds, names)
    return tuple(_read_pair(pair, name) for pair, name in zip(pairs, names, strict=True))


def _pairs(bounds: Any, names: tuple[str, ...]) -> list[Any]:
    d = len(names)
    example = "[" + ", ".join(["(0, None)", *["None"] * (d - 1)]) + "]"
    if isinstance(bounds, (str, bytes)) or not isinstance(bounds, Iterable):
        raise InvalidBoundsError(f"bounds of {d} columns are a list of {d} pairs, such as {example}.")
    pairs = list(bounds)
    numbers = [pair for pair in pairs if pair is not None and not isinstance(pair, (list, tuple, np.ndarray))]
    if numbers:
        raise InvalidBoundsError(
            f"bounds are one pair, but there are {d} columns; give a pair or None for each, such as {example}, or a "
            f"dict such as {{{names[0]!r}: (0, None)}}."
        )
    if len(pairs) != d:
        raise InvalidBoundsError(
            f"{len(pairs)} pairs of bounds are given for {d} columns; give one for each: {example}."
        )
    return pairs


def _read_pair(pair: Any, name: str) -> Bounds:
    try:
        return read_bounds(pair)
    except InvalidBoundsError as error:
        raise InvalidBoundsError(f"column {name!r}: {error}") from None


def check_in_box(values: Array, box: tuple[Bounds, ...], names: tuple[str, ...]) -> None:
    """Raise `InvalidBoundsError` if a row has a value outside the bounds of its column."""
    for j, (bounds, name) in enumerate(zip(box, names, strict=True)):
        column = values[:, j]
        outside = (column < bounds.lower) | (column > bounds.upper)
        if outside.any():
            worst = float(column[np.argmax(outside)])
            side = f"below the lower bound {bounds.lower:g}" if worst < bounds.lower else f"above {bounds.upper:g}"
            raise InvalidBoundsError(
                f"{int(outside.sum())} of {len(values)} values of column {name!r} lie outside the bounds (for example "
                f"{worst:g}, {side}); widen the bounds or remove these rows."
            )
