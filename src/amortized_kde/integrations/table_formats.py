"""Tables as text, Parquet or Feather: which columns hold numbers, and what these are.

Text is CSV with commas, semicolons or tabs, columns separated by blanks, or one number per line. The first line is a
header if one of its cells is not a number; without a header, columns are named 1, 2, ... A single line of numbers is
one sample. A decimal comma is understood where columns are not separated by commas. Blank lines are skipped.
"""

import csv
import io
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import InvalidSampleError, MissingExtraError, UnreadableFileError
from amortized_kde.integrations.contents import FEATHER_MAGICS
from amortized_kde.integrations.plain_columns import read_plain

# Missing values as spreadsheets, R, pandas, SQL and Python write them.
MISSING = frozenset(("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"))
# Rows that decide whether blanks separate columns and whether a column holds numbers.
_PREVIEW_ROWS = 100
# Characters from which reading twice, and importing Arrow, takes less time than reading cell by cell.
_LONG = 65_536
# Characters in which the header and those rows are looked for.
_PREVIEW = 65_536


@dataclass(frozen=True)
class Columns:
    """The columns of a table."""

    names: tuple[str, ...]
    numeric: tuple[int, ...]  # Positions of the columns that hold numbers.
    header: bool  # Whether the names come from the table.
    delimiter: str | None  # Separates the columns of a text; None for blanks.


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows of text cells, and the line on which each row ends."""

    columns: Columns
    before: int  # Lines up to the end of the header.
    lines: list[int]
    rows: list[list[str]]


def columns_of_text(text: str, label: str) -> Columns:
    r"""Return the columns of a text; `label` names it in errors, which are those of `read_column`.

    Examples
    --------
    >>> columns_of_text("who;x\nann;1,5\n", "a table")
    Columns(names=('who', 'x'), numeric=(1,), header=True, delimiter=';')
    """
    return _read_table(text, label, _PREVIEW_ROWS + 1).columns


def numbers_of_text(text: str, label: str, index: int) -> Array:
    r"""Return the column at a position, from 0, of a text, NaN where a value is missing; raises as `read_column`.

    Examples
    --------
    >>> numbers_of_text("who;x\nann;1,5\nbob;NA\n", "a table", 1)
    array([1.5, nan])
    """
    return rows_of_text(text, label, [index])[0][0]


def rows_of_text(text: str, label: str, chosen: Sequence[int]) -> tuple[list[Array], Sequence[int]]:
    """Return the columns at these positions, the second of which are weights, and the line of each row."""
    if len(text) > _LONG:
        head = _read_table(text, label, _PREVIEW_ROWS + 1)
        stream = io.StringIO(text[:_PREVIEW], newline="")
        before = sum(len(stream.readline()) for _ in range(head.before))
        found = read_plain(text[before:], chosen, head.columns.delimiter, len(head.columns.names))
        # Lines are unknown here, and errors name them; so invalid weights are read again below.
        if found is not None and all((weights >= 0.0).all() for weights in found[1:]):
            return found, range(found[0].size)
    table = _read_table(text, label)
    return [_numbers(table, index, label) for index in chosen], table.lines


def _read_table(text: str, label: str, most: int | None = None) -> _Table:
    """Return the table, or its first `most` rows."""
    delimiter = _delimiter(text)
    found = (pair for pair in _split(text, delimiter, label) if any(map(str.strip, pair[1])))
    pairs = list(itertools.islice(found, most))
    if not pairs:
        raise InvalidSampleError(f"{label} is empty; at least one number is needed.")
    lines, rows = [line for line, _ in pairs], [row for _, row in pairs]
    header = not all(_is_number(cell, delimiter) for cell in rows[0])
    if not header and len(rows) == 1:
        # One line of numbers is a sample, not a table of one row.
        lines, rows = lines * len(rows[0]), [[cell] for cell in rows[0]]
    width = len(rows[0]) if header else max(map(len, rows))
    titles = rows[0] if header else [""] * width
    names = tuple(name.strip() or str(position) for position, name in enumerate(titles, start=1))
    for line, row in zip(lines, rows, strict=True):
        if len(row) > width and any(map(str.strip, row[width:])):
            raise UnreadableFileError(
                f"{label}, line {line} has {len(row)} cells, but the header has {width}; correct that line."
            )
    columns = Columns(names, _numeric(rows[header:], width, delimiter), header, delimiter)
    return _Table(columns, lines[0] if header else 0, lines[header:], rows[header:])


def _delimiter(text: str) -> str | None:
    """Return the tab, semicolon or comma of the first line, else None if blanks separate the columns of every line."""
    preview = [line for line in text[:_PREVIEW].splitlines() if line.strip()][:_PREVIEW_ROWS]
    for candidate in "\t;,":
        if any(candidate in line for line in preview[:1]):
            return candidate
    # A tab that does not occur: every line is one cell.
    return None if preview and all(len(line.split()) > 1 for line in preview) else "\t"


def _split(text: str, delimiter: str | None, label: str) -> Iterator[tuple[int, list[str]]]:
    lines = io.StringIO(text, newline="")
    if delimiter is None:
        yield from enumerate(map(str.split, lines), start=1)
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise UnreadableFileError(
            f"{label} is not a table ({error} near line {reader.line_num}); look for a quotation mark left open."
        ) from None


def parse_cell(cell: str, delimiter: str | None = None) -> float:
    """Return the number in a cell, NaN if it is missing; raise ValueError if it is no number.

    A single comma is a decimal comma, unless commas separate the cells.

    Examples
    --------
    >>> parse_cell(" 1,5 "), parse_cell("NA")
    (1.5, nan)
    """
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if "_" in text:
        # Python reads 1_000 as a number; in a table it is a name.
        raise ValueError(text)
    return float(text.replace(",", ".") if delimiter != "," and text.count(",") == 1 else text)


def _is_number(cell: str, delimiter: str | None) -> bool:
    try:
        parse_cell(cell, delimiter)
    except ValueError:
        return False
    return True


def _numeric(rows: list[list[str]], width: int, delimiter: str | None) -> tuple[int, ...]:
    """Return the positions of the columns whose first cells are numbers, at least one of them not missing."""
    found = []
    for index in range(width):
        cells = (row[index] for row in rows[:_PREVIEW_ROWS] if index < len(row))
        present = [cell for cell in cells if cell.strip().lower() not in MISSING]
        if present and all(_is_number(cell, delimiter) for cell in present):
            found.append(index)
    return tuple(found)


def _numbers(table: _Table, index: int, label: str) -> Array:
    cells = [row[index] if index < len(row) else "" for row in table.rows]
    out = np.empty(len(cells))
    mixed = any("," in cell for cell in cells) and any("." in cell for cell in cells)
    for i, cell in enumerate(cells):
        try:
            # With points and commas in one column, a comma may separate thousands, and the cell is no number.
            out[i] = parse_cell(cell, "," if mixed else table.columns.delimiter)
        except ValueError:
            shown = cell.strip() if len(cell) <= 40 else cell[:37].strip() + "..."
            raise InvalidSampleError(
                f"{label}, line {table.lines[i]}: {shown!r} in column {table.columns.names[index]!r} is not a number; "
                "correct it, or leave the cell empty if the value is missing."
            ) from None
    return out


def columns_of_arrow(content: bytes, label: str) -> Columns:
    """Return the columns of a Parquet or Feather file; raises as `read_column`."""
    with _arrow(content, label) as (schema, _, types):
        numeric = (index for index, field in enumerate(schema) if _holds_numbers(types, field.type))
        return Columns(tuple(schema.names), tuple(numeric), True, None)


def numbers_of_arrow(content: bytes, label: str, index: int) -> Array:
    """Return the column at a position, from 0, of such a file, NaN where null; raises as `read_column`."""
    with _arrow(content, label) as (schema, read, types):
        field = schema.field(index)
        if not _holds_numbers(types, field.type):
            raise InvalidSampleError(
                f"column {field.name!r} of {label} holds {field.type}, not numbers; choose another column."
            )
        return np.asarray(read(index).cast("float64").to_numpy(), dtype=np.float64)


@contextmanager
def _arrow(content: bytes, label: str) -> Iterator[tuple[Any, Callable[[int], Any], Any]]:
    """Open a file, and turn its errors into one sentence; yields the schema, a reader of columns and Arrow's types."""
    kind = "Feather" if content.startswith(FEATHER_MAGICS) else "Parquet"
    try:
        from pyarrow import ArrowException, BufferReader, feather, parquet, types
    except ImportError:
        raise MissingExtraError(
            f"{label} is a {kind} file, which needs pyarrow; install it with: pip install pyarrow"
        ) from None
    try:
        if kind == "Feather":
            table = feather.read_table(BufferReader(content), memory_map=False)
            yield table.schema, table.column, types
        else:
            file = parquet.ParquetFile(io.BytesIO(content))
            names = file.schema_arrow.names
            yield file.schema_arrow, lambda index: file.read(columns=[names[index]]).column(0), types
    except (ArrowException, OSError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        first = str(error).splitlines()[0]
        raise UnreadableFileError(f"{label} cannot be read as a {kind} file ({first}).") from None


def _holds_numbers(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
