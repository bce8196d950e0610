"""Tables on disk: one column of numbers comes in, the values of a density go out.

A file's name enters ("-" is standard input): CSV with commas, semicolons or tabs, columns parted by blanks, one number
a line, or Parquet. A `Column` of finite float64 leaves. The first line is a header if one of its cells is not a number;
without one, columns are named 1, 2, ... A single line of numbers is one sample. A decimal comma is understood where
commas part no columns. Blank lines do not count. What the numbers are for is not known here.
"""

import csv
import difflib
import io
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import LARGEST_VALUE, Nan
from amortized_kde.density import KernelDensity
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, MissingExtraError, UnreadableFileError

STANDARD_INPUT = "-"
# How spreadsheets, R, pandas, SQL and Python write that a value is missing.
MISSING = frozenset(("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"))
PARQUET_MAGIC = b"PAR1"
# Rows that decide whether blanks part columns and whether a column holds numbers.
_PREVIEW = 100
_LISTED = 20


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers in the order of the file, its name there, and how many missing ones were left out.

    `weights` are those of the numbers, from the column `weights_name`, if one was asked for.
    """

    source: str
    name: str
    values: Array
    omitted: int
    weights: Array | None = None
    weights_name: str | None = None


@dataclass(frozen=True)
class Columns:
    """The names of a table's columns, the positions of those that hold numbers, and how it was recognised.

    `header` says whether the names came from the table, `delimiter` what parts the columns: None for blanks.
    """

    names: tuple[str, ...]
    numeric: tuple[int, ...]
    header: bool
    delimiter: str | None


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows of text cells with the line each one ends on; `header` says whether `names` came from the file."""

    source: str
    names: list[str]
    header: bool
    lines: list[int]
    rows: list[list[str]]
    delimiter: str | None


def read_column(
    source: str,
    column: str | None = None,
    *,
    weights: str | None = None,
    prefer: str | None = None,
    nan: Nan = "raise",
) -> Column:
    r"""Read one column of numbers.

    Parameters
    ----------
    source : str
        A file's name, or "-" for standard input.
    column : str, optional
        The column's name, or its number from 1. Needed only where more than one column holds numbers.
    weights : str, optional
        Name or number of a column of importance weights, one for each number.
    prefer : str, optional
        The name that decides where `column` is not given and several columns hold numbers.
    nan : {"raise", "omit"}
        What to do with missing values and weights: empty cells, NA, NaN, null.

    Raises
    ------
    UnreadableFileError
        If the file is not there, is no text and no Parquet file, or has no such column.
    InvalidSampleError
        If it has no numbers, or a cell is missing, infinite or no number; the sentence names the line.
    InvalidParameterError
        If it is not clear which column is meant.
    MissingExtraError
        If it is a Parquet file and pyarrow is not installed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x.csv").write_text("who,x\nann,1.5\nbob,2\n")
    ...     read_column(f"{folder}/x.csv").values
    array([1.5, 2. ])
    """
    label = "standard input" if source == STANDARD_INPUT else source
    content = _read_bytes(source, label)
    if content[:4] == PARQUET_MAGIC or Path(source).suffix.lower() in (".parquet", ".pq"):
        columns = columns_of_parquet(content, label)
        chosen = _choose_both(label, columns, column, weights, prefer)
        read = [numbers_of_parquet(content, label, index) for index in chosen]
        return _finite(label, [columns.names[k] for k in chosen], read, range(1, read[0].size + 1), nan, where="row")
    text = _decode(content, label)
    columns = columns_of_text(text, label)
    chosen = _choose_both(label, columns, column, weights, prefer)
    read, lines = _text_numbers(text, label, chosen)
    return _finite(label, [columns.names[k] for k in chosen], read, lines, nan)


def columns_of_text(text: str, label: str) -> Columns:
    r"""Say which columns a text has, and which of them begin with numbers; raises as `read_column`.

    Examples
    --------
    >>> columns_of_text("who;x\nann;1,5\n", "a table")
    Columns(names=('who', 'x'), numeric=(1,), header=True, delimiter=';')
    """
    table = _read_table(text, label, _PREVIEW + 1)
    return Columns(tuple(table.names), _numeric(table), table.header, table.delimiter)


def numbers_of_text(text: str, label: str, index: int) -> Array:
    r"""Read the column at a position, from 0, of a text, NaN where a value is missing; raises as `read_column`.

    Examples
    --------
    >>> numbers_of_text("who;x\nann;1,5\nbob;NA\n", "a table", 1)
    array([1.5, nan])
    """
    return _text_numbers(text, label, [index])[0][0]


def _text_numbers(text: str, label: str, chosen: Sequence[int]) -> tuple[list[Array], Sequence[int]]:
    """Numbers of a column, and of its weights if they are chosen too, and the line that each row stands on."""
    table = _read_table(text, label, _PREVIEW + 1)
    if len(table.rows) >= _PREVIEW:
        plain = [numbers for index in chosen if (numbers := _plain_numbers(text, table, index)) is not None]
        # What is refused is refused by its line, which this parser does not know.
        if len(plain) == len(chosen) and all(beside.min() >= 0.0 for beside in plain[1:]):
            return plain, range(plain[0].size)
        table = _read_table(text, label)
    return [_numbers(table, index) for index in chosen], table.lines


def _read_bytes(source: str, label: str) -> bytes:
    if source == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        raise UnreadableFileError(f"there is no file {label!r}; check the name and the directory.") from None
    except IsADirectoryError:
        raise UnreadableFileError(f"{label!r} is a directory; name a file in it.") from None
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{label!r} cannot be read ({_reason(error)}).") from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _decode(content: bytes, label: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{label} is not UTF-8 text (byte 0x{content[error.start]:02x} at position {error.start}); "
            "save it as CSV in UTF-8."
        ) from None


def _read_table(text: str, label: str, most: int | None = None) -> _Table:
    """The whole table, or its first rows."""
    delimiter = _delimiter(text)
    found = (pair for pair in _split(text, delimiter, label) if any(cell.strip() for cell in pair[1]))
    pairs = list(itertools.islice(found, most))
    if not pairs:
        raise InvalidSampleError(f"{label} is empty; at least one number is needed.")
    lines, rows = [line for line, _ in pairs], [row for _, row in pairs]
    header = not all(_is_number(cell, delimiter) for cell in rows[0])
    if not header and len(rows) == 1:
        # One line of numbers is a sample, not a table of one row.
        return _Table(label, ["1"], False, lines * len(rows[0]), [[cell] for cell in rows[0]], delimiter)
    width = len(rows[0]) if header else max(map(len, rows))
    names = [cell.strip() if header else "" for cell in rows[0]] + [""] * (width - len(rows[0]))
    names = [name or str(position) for position, name in enumerate(names, start=1)]
    table = _Table(label, names, header, lines[header:], rows[header:], delimiter)
    _check_widths(table)
    return table


def _delimiter(text: str) -> str | None:
    """What parts the columns: tab, semicolon or comma, if on the first line; else blanks (None), if on every line."""
    preview = [line for line in text[:65536].splitlines() if line.strip()][:_PREVIEW]
    for candidate in "\t;,":
        if any(candidate in line for line in preview[:1]):
            return candidate
    # A tab that does not occur: every line is one cell.
    return None if preview and all(len(line.split()) > 1 for line in preview) else "\t"


def _split(text: str, delimiter: str | None, label: str) -> Iterator[tuple[int, list[str]]]:
    if delimiter is None:
        yield from ((number, line.split()) for number, line in enumerate(text.splitlines(), start=1))
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise UnreadableFileError(
            f"{label} is not a table ({error} near line {reader.line_num}); look for a quotation mark left open."
        ) from None


def _check_widths(table: _Table) -> None:
    width = len(table.names)
    if not table.header or max(map(len, table.rows), default=0) <= width:
        return
    for line, row in zip(table.lines, table.rows, strict=True):
        if any(cell.strip() for cell in row[width:]):
            raise UnreadableFileError(
                f"{table.source}, line {line} has {len(row)} cells, but the header has {width}; correct that line."
            )


def parse_cell(cell: str, delimiter: str | None = None) -> float:
    """Give the number in a cell, NaN if it is missing; ValueError if it is neither.

    A comma is a decimal comma unless commas are what parts the cells.

    Examples
    --------
    >>> parse_cell(" 1,5 "), parse_cell("NA")
    (1.5, nan)
    """
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if "_" in text:
        # Python reads 1_000 as a number; people who write it mean a name.
        raise ValueError(text)
    # Where commas part no columns, a single one is a decimal comma.
    return float(text.replace(",", ".") if delimiter != "," and text.count(",") == 1 else text)


def _is_number(cell: str, delimiter: str | None) -> bool:
    try:
        parse_cell(cell, delimiter)
    except ValueError:
        return False
    return True


def _numeric(table: _Table) -> tuple[int, ...]:
    """Positions of the columns whose first cells are numbers, at least one of them present."""
    found = []
    for index in range(len(table.names)):
        cells = [row[index] for row in table.rows[:_PREVIEW] if index < len(row)]
        present = [cell for cell in cells if cell.strip().lower() not in MISSING]
        if present and all(_is_number(cell, table.delimiter) for cell in present):
            found.append(index)
    return tuple(found)


def _choose_both(
    label: str, columns: Columns, column: str | None, weights: str | None, prefer: str | None
) -> list[int]:
    """The positions of the column that is meant and, if asked for, of its weights, which are not meant else."""
    if weights is None:
        return [_choose(label, columns, column, prefer)]
    beside = _find(label, columns.names, weights, header=columns.header)
    others = tuple(index for index in columns.numeric if columns.names[index] != columns.names[beside])
    return [_choose(label, replace(columns, numeric=others), column, prefer), beside]


def _choose(label: str, columns: Columns, column: str | None, prefer: str | None) -> int:
    """The position of the column that is meant."""
    names = columns.names
    if column is not None:
        return _find(label, names, column, header=columns.header)
    if len(names) == 1:
        return 0
    if prefer is not None and prefer in names:
        return names.index(prefer)
    if len(columns.numeric) == 1:
        return columns.numeric[0]
    numeric = [names[index] for index in columns.numeric]
    if not numeric:
        raise InvalidSampleError(f"none of the columns of {label} holds numbers: {_listing(names)}.")
    unnamed = "" if columns.header else " and no header line"
    raise InvalidParameterError(
        f"{label} has {len(numeric)} columns of numbers{unnamed}: {_listing(numeric)}; choose one by name or number "
        f"(on the command line: --column {numeric[0]!r})."
    )


def _find(label: str, names: Sequence[str], column: str, *, header: bool) -> int:
    if names.count(column) == 1:
        return names.index(column)
    if names.count(column) > 1:
        raise InvalidParameterError(f"{label} has several columns named {column!r}; choose one by number.")
    if column.isdecimal() and 1 <= int(column) <= len(names):
        return int(column) - 1
    if not header:
        raise UnreadableFileError(
            f"{label} has no header line, so there is no column {column!r}; choose one by number, 1 to {len(names)}."
        )
    folded = [name.lower() for name in names]
    near = difflib.get_close_matches(column.lower(), folded, n=1, cutoff=0.6)
    hint = f" Did you mean {names[folded.index(near[0])]!r}?" if near else ""
    raise UnreadableFileError(f"{label} has no column {column!r}.{hint} Its columns are: {_listing(names)}.")


def _listing(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _plain_numbers(text: str, head: _Table, index: int) -> Array | None:
    """The column by NumPy's parser, ten times as fast; None if anything but finite numbers and full rows is there."""
    before_first = head.lines[0] - 1
    try:
        values = np.loadtxt(
            io.StringIO(text), delimiter=head.delimiter, skiprows=before_first, usecols=index, comments=None, ndmin=1
        )
    except ValueError:
        return None
    if head.delimiter is None:
        full = len(text.split()) == (values.size + head.header) * len(head.names)
    else:
        full = text.count(head.delimiter) == (values.size + head.header) * (len(head.names) - 1)
    return values if full and np.all(np.abs(values) <= LARGEST_VALUE) else None


def _numbers(table: _Table, index: int) -> Array:
    cells = [row[index] if index < len(row) else "" for row in table.rows]
    out = np.empty(len(cells))
    mixed = any("," in cell for cell in cells) and any("." in cell for cell in cells)
    for i, cell in enumerate(cells):
        try:
            # With both marks in one column, a comma may part thousands: then it is no number.
            out[i] = parse_cell(cell, "," if mixed else table.delimiter)
        except ValueError:
            shown = cell.strip() if len(cell) <= 40 else cell[:37].strip() + "..."
            raise InvalidSampleError(
                f"{table.source}, line {table.lines[i]}: {shown!r} in column {table.names[index]!r} is not a number; "
                "correct it, or leave the cell empty if the value is missing."
            ) from None
    return out


def _finite(
    label: str, names: list[str], columns: list[Array], lines: Sequence[int], nan: Nan, *, where: str = "line"
) -> Column:
    """Refuse what no sample may hold, by line; drop missing values if asked to."""
    if nan not in ("raise", "omit"):
        raise InvalidParameterError(f"--nan must be raise or omit, not {nan!r}.")
    name, values = names[0], columns[0]
    infinite, missing = np.flatnonzero(np.abs(values) > LARGEST_VALUE), np.isnan(values)
    if values.size == 0:
        raise InvalidSampleError(f"column {name!r} of {label} is empty; at least one number is needed.")
    if infinite.size:
        raise InvalidSampleError(
            f"{label}, {where} {lines[infinite[0]]}: {values[infinite[0]]} in column {name!r} is not within "
            f"±{LARGEST_VALUE:g} ({infinite.size} such in all); remove it."
        )
    if missing.all():
        raise InvalidSampleError(f"all {values.size} values in column {name!r} of {label} are missing.")
    if missing.any() and nan == "raise":
        raise InvalidSampleError(
            f"{label}, {where} {lines[int(np.argmax(missing))]}: the value in column {name!r} is missing "
            f"({int(missing.sum())} of {values.size} are); remove such lines or pass --nan omit."
        )
    if len(columns) == 1:
        return Column(label, name, values[~missing], int(missing.sum()))
    weights, without = columns[1], np.isnan(columns[1]) & ~missing
    bad = np.flatnonzero(((weights < 0.0) | np.isinf(weights) | (without & (nan == "raise"))) & ~missing)
    if bad.size:
        given = "missing" if without[bad[0]] else f"{weights[bad[0]]:g}"
        raise InvalidSampleError(
            f"{label}, {where} {lines[bad[0]]}: the weight in column {names[1]!r} is {given}; weights must be there, "
            "finite and not negative."
        )
    kept = ~(missing | without)
    if not kept.any():
        raise InvalidSampleError(f"no line of {label} has both a value {name!r} and a weight {names[1]!r}.")
    return Column(label, name, values[kept], int(np.sum(~kept)), weights[kept], names[1])


def columns_of_parquet(content: bytes, label: str) -> Columns:
    """Say which columns a Parquet file has, and which of them hold numbers; raises as `read_column`."""
    with _parquet(content, label) as (file, types):
        schema = file.schema_arrow
        numeric = (index for index, field in enumerate(schema) if _holds_numbers(types, field.type))
        return Columns(tuple(schema.names), tuple(numeric), True, None)


def numbers_of_parquet(content: bytes, label: str, index: int) -> Array:
    """Read the column at a position, from 0, of a Parquet file, NaN where null; raises as `read_column`."""
    with _parquet(content, label) as (file, types):
        field = file.schema_arrow.field(index)
        if not _holds_numbers(types, field.type):
            raise InvalidSampleError(
                f"column {field.name!r} of {label} holds {field.type}, not numbers; choose another column."
            )
        chosen = file.read(columns=[field.name]).column(0)
        return np.asarray(chosen.cast("float64").to_numpy(), dtype=np.float64)


@contextmanager
def _parquet(content: bytes, label: str) -> Iterator[tuple[Any, Any]]:
    """An open file and Arrow's types; whatever hinders the reading becomes one sentence."""
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise MissingExtraError(
            f"{label} is a Parquet file, which needs pyarrow; install it with: pip install pyarrow"
        ) from None
    try:
        yield parquet.ParquetFile(io.BytesIO(content)), types
    except (ArrowException, OSError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        first = str(error).splitlines()[0]
        raise UnreadableFileError(f"{label} cannot be read as a Parquet file ({first}).") from None


def _holds_numbers(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn whatever hinders the writing of a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise UnreadableFileError(
            f"{path!r} cannot be written: there is no directory {str(Path(path).parent)!r}; make it first."
        ) from None
    except OSError as error:
        raise UnreadableFileError(f"{path!r} cannot be written ({_reason(error)}).") from None


def density_csv(density: KernelDensity, grid: Array, *, threads: int | None = None) -> str:
    """Give a CSV with the columns x, density, log_density (natural) and cdf, all digits kept."""
    log_density, cdf = density.logpdf(grid, threads=threads), density.cdf(grid, threads=threads)
    columns = (grid, np.exp(log_density), log_density, cdf)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("x", "density", "log_density", "cdf"))
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return text.getvalue()


def write_density(path: str, density: KernelDensity, grid: Array, *, threads: int | None = None) -> None:
    """Write what `density_csv` gives to a file."""
    text = density_csv(density, grid, threads=threads)
    with writing(path), open(path, "w", newline="", encoding="utf-8") as file:
        file.write(text)
