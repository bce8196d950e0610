"""Read one column of numbers from a file, and write the values of a density."""

import csv
import difflib
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from amortized_kde._files import write_file
from amortized_kde._types import Array
from amortized_kde.data.reading import LARGEST_VALUE, Nan
from amortized_kde.density import KernelDensity
from amortized_kde.errors import (
    AmortizedKdeWarning,
    InvalidParameterError,
    InvalidSampleError,
    UnreadableFileError,
    warn_caller,
)
from amortized_kde.integrations.contents import decode, is_arrow, is_workbook, unpack
from amortized_kde.integrations.spreadsheets import open_sheet, sheet_names
from amortized_kde.integrations.table_formats import (
    Columns,
    columns_of_arrow,
    columns_of_text,
    numbers_of_arrow,
    rows_of_text,
)

STANDARD_INPUT = "-"
# A damaged file of these gets the sentence of its kind.
_ARROW_ENDINGS = (".parquet", ".pq", ".feather", ".arrow")
# Most names in an error message.
_MOST_LISTED = 20


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers."""

    source: str  # The file, as errors and reports name it.
    name: str
    values: Array  # (n,), finite, in the order of the file.
    omitted: int  # Number of rows left out because a value or weight was missing.
    weights: Array | None = None  # (n,), importance weights from the column `weights_name`.
    weights_name: str | None = None


def read_column(
    source: str,
    column: str | None = None,
    *,
    weights: str | None = None,
    prefer: str | None = None,
    sheet: str | None = None,
    nan: Nan = "raise",
) -> Column:
    r"""Read one column of numbers.

    Parameters
    ----------
    source : str
        Name of a file, or "-" for standard input: text (`table_formats`) in UTF-8 or UTF-16, Parquet, Feather or an
        Excel workbook, also compressed by gzip. The kind is recognised by the content.
    column : str, optional
        The column's name, or its number from 1; needed only if more than one column holds numbers.
    weights : str, optional
        Name or number of a column of importance weights, one for each number.
    prefer : str, optional
        Name of the column to take if `column` is not given and several columns hold numbers.
    sheet : str, optional
        Sheet of a workbook; default: the first.
    nan : {"raise", "omit"}
        What to do with missing values and weights: empty cells, NA, NaN, null.

    Raises
    ------
    UnreadableFileError
        If the file does not exist, is no such table, is too large when unpacked, or has no such column or sheet.
    InvalidSampleError
        If it has no numbers, or a cell is missing, infinite or no number; the message names the line.
    InvalidParameterError
        If several columns hold numbers, and none was chosen.
    MissingExtraError
        If it needs pyarrow or openpyxl, which is not installed.

    Warns
    -----
    AmortizedKdeWarning
        If the text is in neither of these encodings, and was read as Windows-1252.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x.csv").write_text("who,x\nann,1.5\nbob,2\n")
    ...     read_column(f"{folder}/x.csv").values
    array([1.5, 2. ])
    """
    label = "standard input" if source == STANDARD_INPUT else source
    table = _open(unpack(_read_bytes(source, label), label), label, Path(source).suffix.lower(), sheet)
    chosen = _choose_both(label, table.columns, column, weights, prefer)
    names = [table.columns.names[k] for k in chosen]
    return _finite(label, names, *table.read(chosen), nan, where=table.where)


@dataclass(frozen=True, eq=False)
class SeveralColumns:
    """Columns of numbers of one table, with the rows in which none is missing."""

    source: str
    values: dict[str, Array]  # By name, each (n,), in the order in which they were named.
    omitted: int
    weights: Array | None = None
    weights_name: str | None = None


def read_columns(
    source: str, columns: Sequence[str], *, weights: str | None = None, sheet: str | None = None, nan: Nan = "raise"
) -> SeveralColumns:
    """Read several columns of numbers, by name or number from 1; parameters and errors as in `read_column`."""
    label = "standard input" if source == STANDARD_INPUT else source
    table = _open(unpack(_read_bytes(source, label), label), label, Path(source).suffix.lower(), sheet)
    names, header = table.columns.names, table.columns.header
    chosen = [_find(label, names, name, header=header) for name in columns]
    if len(set(chosen)) < len(chosen) or len(chosen) < 2:
        raise InvalidParameterError("--columns takes at least two different columns, such as --columns a,b.")
    chosen += [] if weights is None else [_find(label, names, weights, header=header)]
    read, lines = table.read(chosen)
    present = ~np.isnan(read).any(axis=0)
    for index, values in zip(chosen, read, strict=True):
        wrong = np.flatnonzero((np.abs(values) > LARGEST_VALUE) | (np.isnan(values) & (nan == "raise")))
        if wrong.size:
            what = "missing" if np.isnan(values[wrong[0]]) else f"{values[wrong[0]]}"
            raise InvalidSampleError(
                f"{label}, {table.where} {lines[wrong[0]]}: the value in column {names[index]!r} is {what} "
                f"({wrong.size} such in all); remove such lines, or pass --nan omit if values are missing."
            )
    kept = {names[index]: values[present] for index, values in zip(chosen, read, strict=True)}
    mass = None if weights is None else kept.pop(names[chosen[-1]])
    return SeveralColumns(label, kept, int(np.sum(~present)), mass, None if mass is None else names[chosen[-1]])


class _Opened(NamedTuple):
    """A table of any kind: its columns, a function that reads some with the number of each row, and what rows are."""

    columns: Columns
    read: Callable[[Sequence[int]], tuple[list[Array], Sequence[int]]]
    where: str = "row"


def _open(content: bytes, label: str, ending: str, sheet: str | None) -> _Opened:
    if is_workbook(content):
        return _open_workbook(content, label, sheet)
    if sheet is not None:
        raise InvalidParameterError(f"{label} is not an Excel workbook, so there is no sheet {sheet!r}; omit --sheet.")
    if is_arrow(content) or ending in _ARROW_ENDINGS:
        return _Opened(columns_of_arrow(content, label), partial(_read_arrow, content, label))
    text, remarks = decode(content, label)
    if "Windows-1252" in " ".join(remarks):
        warn_caller(f"{label}: {remarks[0]}.", AmortizedKdeWarning)
    return _Opened(columns_of_text(text, label), partial(rows_of_text, text, label), "line")


def _open_workbook(content: bytes, label: str, sheet: str | None) -> _Opened:
    titles = sheet_names(content, label)
    if sheet is not None and sheet not in titles:
        raise UnreadableFileError(f"{label} has no sheet {sheet!r}; its sheets are: {_listing(titles)}.")
    found = open_sheet(content, label, titles[0] if sheet is None else sheet)

    def read(chosen: Sequence[int]) -> tuple[list[Array], Sequence[int]]:
        return [found.numbers(index)[0] for index in chosen], found.lines.tolist()

    # Without a header, columns have their numbers as names, as those of a text.
    names = found.names if found.header else tuple(str(k) for k in range(1, len(found.names) + 1))
    return _Opened(Columns(names, found.numeric, found.header, None), read)


def _read_arrow(content: bytes, label: str, chosen: Sequence[int]) -> tuple[list[Array], Sequence[int]]:
    read = [numbers_of_arrow(content, label, index) for index in chosen]
    return read, range(1, read[0].size + 1)


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


def _choose_both(
    label: str, columns: Columns, column: str | None, weights: str | None, prefer: str | None
) -> list[int]:
    """Return the positions of the column and, if given, of its weights, which are then no candidate for the column."""
    if weights is None:
        return [_choose(label, columns, column, prefer)]
    second = _find(label, columns.names, weights, header=columns.header)
    others = tuple(index for index in columns.numeric if columns.names[index] != columns.names[second])
    return [_choose(label, replace(columns, numeric=others), column, prefer), second]


def _choose(label: str, columns: Columns, column: str | None, prefer: str | None) -> int:
    """Return the position of the column."""
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
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _finite(
    label: str, names: list[str], columns: list[Array], lines: Sequence[int], nan: Nan, *, where: str = "line"
) -> Column:
    """Return the column without missing values; raise `InvalidSampleError` naming the line of an invalid one."""
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
            f"{label}, {where} {lines[bad[0]]}: the weight in column {names[1]!r} is {given}; weights must be present, "
            "finite and non-negative."
        )
    kept = ~(missing | without)
    if not kept.any():
        raise InvalidSampleError(f"no line of {label} has both a value {name!r} and a weight {names[1]!r}.")
    return Column(label, name, values[kept], int(np.sum(~kept)), weights[kept], names[1])


def density_csv(density: KernelDensity, grid: Array, *, threads: int | None = None) -> str:
    """Return a CSV with the columns x, density, log_density (natural) and cdf, in full precision."""
    log_density, cdf = density.logpdf(grid, threads=threads), density.cdf(grid, threads=threads)
    columns = (grid, np.exp(log_density), log_density, cdf)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("x", "density", "log_density", "cdf"))
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return text.getvalue()


def write_density(path: str, density: KernelDensity, grid: Array, *, threads: int | None = None) -> None:
    """Write the CSV of `density_csv` to a file, in one move; raises `UnwritableFileError`."""
    write_file(path, density_csv(density, grid, threads=threads))
