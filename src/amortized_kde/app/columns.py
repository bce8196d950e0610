"""What is taken from an opened table: one column as a sample, two, or all columns of numbers side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array
from amortized_kde.app.tables import TOGETHER, Table
from amortized_kde.data.reading import LARGEST_VALUE
from amortized_kde.errors import InvalidSampleError

# A larger sample could not be sent and drawn in the seconds that a visitor waits.
MOST_VALUES = 1_000_000


@dataclass(frozen=True, eq=False)
class Choice:
    """A sample: the column's name, its finite values in order, remarks for the visitor, and weights, if any."""

    name: str
    values: Array
    remarks: tuple[str, ...]
    weights: Array | None = None


def read_choice(table: Table, index: int, weights: int | None = None) -> Choice:
    """Read a column as a sample, and another one as its weights; missing values are left out, with a remark.

    Raises
    ------
    InvalidSampleError
        If it has no numbers, too many, or cells that are not numbers.
    """
    name = table.names[index]
    numbers, remarks = table.numbers(index)
    given = None if weights is None else table.numbers(weights)[0]
    missing = np.isnan(numbers) if given is None else np.isnan(numbers) | np.isnan(given)
    values = numbers[~missing]
    if values.size == 0:
        raise InvalidSampleError(
            "all values are missing; at least two are needed."
            if name == TOGETHER
            else f"column {name!r} has no numbers; choose another one."
        )
    _check_values(values, [name])
    left_out = (f"{int(missing.sum()):,} missing left out",) if missing.any() else ()
    weighted = None if given is None else given[~missing]
    return Choice(_label(table, index), values, (*table.remarks, *remarks, *left_out), weighted)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two columns: their names, the rows (n, 2) that have both numbers, and remarks for the visitor."""

    names: tuple[str, str]
    values: Array
    remarks: tuple[str, ...]


def read_pair(table: Table, first: int, second: int) -> Pair:
    """Read two columns; rows in which a number is missing are left out, with a remark.

    Raises
    ------
    InvalidSampleError
        If there are too many values, or cells that are not numbers.
    """
    (x, remarks), (y, more) = table.numbers(first), table.numbers(second)
    rows = np.column_stack([x, y])
    missing = np.isnan(rows).any(axis=1)
    left_out = (f"{int(missing.sum()):,} with a missing number left out",) if missing.any() else ()
    names = _label(table, first), _label(table, second)
    if names[0] == names[1]:
        names = f"{names[0]} (first)", f"{names[1]} (second)"
    _check_values(rows[~missing], names)
    return Pair(names, rows[~missing], (*table.remarks, *dict.fromkeys((*remarks, *more)), *left_out))


def _label(table: Table, index: int) -> str:
    """Name a column, with its unit."""
    unit = f" ({table.units[index]})" if index in table.units else ""
    return ("value" if table.names[index] == TOGETHER else table.names[index]) + unit


def read_rows(table: Table) -> tuple[tuple[int, ...], Array, list[str]]:
    """Read all columns of numbers side by side.

    Returns
    -------
    positions : tuple of int
        The columns.
    rows : array of shape (rows, columns)
        NaN where a value is missing.
    left_out : list of str
        A sentence for each column that would be one of numbers but for some cells; it names the first of these.

    Raises
    ------
    InvalidSampleError
        If there are too many values, or one is too large to compute with.
    """
    found, left_out = {}, []
    for index in sorted({*table.numeric, *table.mixed}):
        if table.names[index] != TOGETHER:
            try:
                found[index] = table.numbers(index)[0]
            except InvalidSampleError as error:
                left_out.append(f"Column {table.names[index]!r} is left out: {error}")
    rows = np.column_stack(list(found.values())) if found else np.empty((0, 0))
    _check_values(rows, [table.names[index] for index in found])
    return tuple(found), rows, left_out


def _check_values(values: Array, names: Sequence[str]) -> None:
    """Raise `InvalidSampleError` if there are too many values, or one is too large to compute with."""
    if values.size > MOST_VALUES:
        raise InvalidSampleError(
            f"there are {values.size:,} values, and this page takes up to {MOST_VALUES:,}; "
            "the library and the command line take more."
        )
    for name, column in zip(names, np.atleast_2d(values.T), strict=True):
        outside = np.flatnonzero(np.abs(column) > LARGEST_VALUE)
        if outside.size:
            raise InvalidSampleError(
                f"{column[outside[0]]} in column {name!r} is not within ±{LARGEST_VALUE:g} "
                f"({outside.size} such in all); remove it."
            )
