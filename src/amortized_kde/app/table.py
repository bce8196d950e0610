"""A table that was opened: its columns' names, what was recognised, and how to read one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import LARGEST_VALUE
from amortized_kde.errors import InvalidSampleError

# More would neither travel nor draw in the seconds that a person waits.
MOST_VALUES = 1_000_000
# The first entry where numbers have no header: those of all columns.
TOGETHER = "all numbers together"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name; `numeric` are the positions of those that hold numbers, `first` the one to offer first.

    `numbers` gives a column's numbers by its position, NaN where one is missing, and may say more about them; it raises
    if the column holds something else. `remarks` say what was recognised.
    """

    names: tuple[str, ...]
    numeric: tuple[int, ...]
    first: int
    remarks: tuple[str, ...]
    numbers: Callable[[int], tuple[Array, tuple[str, ...]]]


@dataclass(frozen=True, eq=False)
class Choice:
    """A sample as the page uses it: the column's name, its finite values in order, and what to say about them."""

    name: str
    values: Array
    remarks: tuple[str, ...]


def read_choice(table: Table, index: int) -> Choice:
    """Read a column as a sample; missing values are left out, and that is said.

    Raises
    ------
    InvalidSampleError
        If it has no numbers, too many, or something that is none.
    """
    name = table.names[index]
    numbers, remarks = table.numbers(index)
    missing = np.isnan(numbers)
    values = numbers[~missing]
    if values.size == 0:
        raise InvalidSampleError(
            "all values are missing; at least two are needed."
            if name == TOGETHER
            else f"column {name!r} has no numbers; choose another one."
        )
    if values.size > MOST_VALUES:
        raise InvalidSampleError(
            f"there are {values.size:,} values, and this page takes up to {MOST_VALUES:,}; "
            "the library and the command line take more."
        )
    check_finite(values, name)
    left_out = (f"{int(missing.sum()):,} missing left out",) if missing.any() else ()
    return Choice("value" if name == TOGETHER else name, values, (*table.remarks, *remarks, *left_out))


def read_rows(table: Table, columns: Sequence[int]) -> Array:
    """Read several columns side by side, of shape (rows, columns), NaN where a value is missing; raises as above."""
    read = [table.numbers(index)[0] for index in columns]
    rows = np.column_stack(read) if read else np.empty((0, 0))
    if rows.size > MOST_VALUES:
        raise InvalidSampleError(
            f"there are {rows.size:,} values, and this page takes up to {MOST_VALUES:,}; the library takes more."
        )
    for index, column in zip(columns, rows.T, strict=True):
        check_finite(column, table.names[index])
    return rows


def check_finite(values: Array, name: str) -> None:
    """Raise `InvalidSampleError` if a value is infinite or too large to compute with."""
    infinite = np.flatnonzero(np.abs(values) > LARGEST_VALUE)
    if infinite.size:
        raise InvalidSampleError(
            f"{values[infinite[0]]} in column {name!r} is not within ±{LARGEST_VALUE:g} ({infinite.size} such in all); "
            "remove it."
        )
