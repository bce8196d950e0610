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
from numpy.typing import NDArray

from amortized_kde.density import KernelDensity
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, MissingExtraError, UnreadableFileError
from amortized_kde.sample import LARGEST, Nan

__all__ = ["STANDARD_INPUT", "Column", "read_column", "write_density", "writing"]

Array = NDArray[np.float64]

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
        names, columns = _read_parquet(content, label, column, weights, prefer)
        return _finite(label, names, columns, range(1, columns[0].size + 1), nan, where="row")
    text = _decode(content, label)
    table = _read_table(text, label, _PREVIEW + 1)
    chosen = _choose_both(label, table.names, _numeric(table), column, weights, prefer, header=table.header)
    names = [table.names[index] for index in chosen]
    if len(table.rows) >= _PREVIEW:
        plain = [numbers for index in chosen if (numbers := _plain_numbers(text, table, index)) is not None]
        # What is refused is refused by its line, which this parser does not know.
        if len(plain) == len(chosen) and all(beside.min() >= 0.0 for beside in plain[1:]):
            found = Column(label, names[0], plain[0], 0)
            return found if weights is None else replace(found, weights=plain[1], weights_name=names[1])
        table = _read_table(text, label)
    return _finite(label, names, [_numbers(table, index) for index in chosen], table.lines, nan)


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


def _parse(cell: str, delimiter: str | None) -> float:
    """The number in a cell, NaN if it is missing; ValueError if it is neither."""
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
        _parse(cell, delimiter)
    except ValueError:
        return False
    return True


def _numeric(table: _Table) -> list[str]:
    """Names of the columns whose first cells are numbers, at least one of them present."""
    found = []
    for index, name in enumerate(table.names):
        cells = [row[index] for row in table.rows[:_PREVIEW] if index < len(row)]
        present = [cell for cell in cells if cell.strip().lower() not in MISSING]
        if present and all(_is_number(cell, table.delimiter) for cell in present):
            found.append(name)
    return found


def _choose_both(
    label: str,
    names: Sequence[str],
    numeric: Sequence[str],
    column: str | None,
    weights: str | None,
    prefer: str | None,
    *,
    header: bool,
) -> list[int]:
    """The positions of the column that is meant and, if asked for, of its weights, which are not meant else."""
    if weights is None:
        return [_choose(label, names, numeric, column, prefer, header=header)]
    beside = _find(label, names, weights, header=header)
    others = [name for name in numeric if name != names[beside]]
    return [_choose(label, names, others, column, prefer, header=header), beside]


def _choose(
    label: str, names: Sequence[str], numeric: Sequence[str], column: str | None, prefer: str | None, *, header: bool
) -> int:
    """The position of the column that is meant."""
    if column is not None:
        return _find(label, names, column, header=header)
    if len(names) == 1:
        return 0
    if prefer is not None and prefer in names:
        return names.index(prefer)
    if len(numeric) == 1:
        return names.index(numeric[0])
    if not numeric:
        raise InvalidSampleError(f"none of the columns of {label} holds numbers: {_listing(names)}.")
    unnamed = "" if header else " and no header line"
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
    return values if full and np.all(np.abs(values) <= LARGEST) else None


def _numbers(table: _Table, index: int) -> Array:
    cells = [row[index] if index < len(row) else "" for row in table.rows]
    out = np.empty(len(cells))
    mixed = any("," in cell for cell in cells) and any("." in cell for cell in cells)
    for i, cell in enumerate(cells):
        try:
            # With both marks in one column, a comma may part thousands: then it is no number.
            out[i] = _parse(cell, "," if mixed else table.delimiter)
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
    infinite, missing = np.flatnonzero(np.abs(values) > LARGEST), np.isnan(values)
    if values.size == 0:
        raise InvalidSampleError(f"column {name!r} of {label} is empty; at least one number is needed.")
    if infinite.size:
        raise InvalidSampleError(
            f"{label}, {where} {lines[infinite[0]]}: {values[infinite[0]]} in column {name!r} is not within "
            f"±{LARGEST:g} ({infinite.size} such in all); remove it."
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


def _read_parquet(
    content: bytes, label: str, column: str | None, weights: str | None, prefer: str | None
) -> tuple[list[str], list[Array]]:
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise MissingExtraError(
            f"{label} is a Parquet file, which needs pyarrow; install it with: pip install pyarrow"
        ) from None
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        schema = file.schema_arrow
        numeric = [field.name for field in schema if _holds_numbers(types, field.type)]
        chosen = _choose_both(label, schema.names, numeric, column, weights, prefer, header=True)
        names = [schema.names[index] for index in chosen]
        for index, name in zip(chosen, names, strict=True):
            if name not in numeric:
                raise InvalidSampleError(
                    f"column {name!r} of {label} holds {schema.field(index).type}, not numbers; choose another column."
                )
        columns = [file.read(columns=[name]).column(0).cast("float64").to_numpy() for name in names]
        return names, [np.asarray(numbers, dtype=np.float64) for numbers in columns]
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


def write_density(path: str, density: KernelDensity, grid: Array, *, threads: int | None = None) -> None:
    """Write a CSV with the columns x, density, log_density (natural) and cdf, all digits kept."""
    log_density, cdf = density.logpdf(grid, threads=threads), density.cdf(grid, threads=threads)
    columns = (grid, np.exp(log_density), log_density, cdf)
    with writing(path), open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("x", "density", "log_density", "cdf"))
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
