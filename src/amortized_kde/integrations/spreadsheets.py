"""Excel workbooks: stored values only. Formulas are not computed and macros are not run."""

import io
import math
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError, MissingExtraError, UnreadableFileError
from amortized_kde.integrations.table_formats import parse_cell

Row = tuple[Any, ...]

# Bytes of all entries when unpacked: a sheet of a million numbers has some 60 MB.
_MOST_UNPACKED = 200_000_000
# Excel's own limit of rows; cells, counting empty ones before filled ones, and a blank row as one; and marks of XML,
# four for each cell.
_MOST_ROWS, _MOST_CELLS, _MOST_MARKS = 1_048_576, 5_000_000, 25_000_000
_CHUNK = 2**20
# Rows that decide whether a column holds numbers.
_PREVIEW = 100


@dataclass(frozen=True, eq=False)
class Sheet:
    """One sheet of a workbook, without its header and blank rows.

    Attributes
    ----------
    names : tuple of str
        The columns.
    numeric : tuple of int
        Positions of the columns that hold numbers.
    mixed : tuple of int
        Positions of other columns, at least half of which are numbers.
    remarks : tuple of str
        What was recognised of the workbook.
    header : bool
        Whether the names come from the sheet.
    lines : ndarray of int
        Number of each row in the sheet, from 1.
    columns : dict
        By position of the column, the rows and values of its numbers, or the error that says which cell is none.
    formulas : dict of int to int
        Counts of missing cells with a formula, by position of the column.
    """

    names: tuple[str, ...]
    numeric: tuple[int, ...]
    mixed: tuple[int, ...]
    remarks: tuple[str, ...]
    header: bool
    lines: Index
    columns: dict[int, tuple[Index, Array] | InvalidSampleError]
    formulas: dict[int, int]

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.lines.size

    def numbers(self, index: int) -> tuple[Array, tuple[str, ...]]:
        """Return the numbers of the column at a position, NaN where one is missing, and remarks on them.

        Raises
        ------
        InvalidSampleError
            If a cell holds something else.
        """
        found = self.columns.get(index, (np.empty(0, np.int64), np.empty(0)))
        if isinstance(found, InvalidSampleError):
            raise found
        numbers = np.full(self.size, math.nan)
        numbers[found[0]] = found[1]
        count = self.formulas.get(index, 0)
        formulas = f"{count:,} formula{'s' if count > 1 else ''} without a stored result (nothing is computed here)"
        return numbers, (f"{self.size:,} rows", *([formulas] if count else []))


def sheet_names(content: bytes, label: str) -> tuple[str, ...]:
    """Return the names of a workbook's sheets.

    Raises
    ------
    UnreadableFileError
        If it is not a workbook, or is too large when unpacked.
    """
    with _workbook(content, label, data_only=True) as book:
        return tuple(sheet.title for sheet in book.worksheets)


def open_sheet(content: bytes, label: str, title: str) -> Sheet:
    """Open one sheet; its first row that is not blank is the header if it has words.

    Raises
    ------
    UnreadableFileError
        If it is not a workbook.
    InvalidSampleError
        If the sheet is empty.
    """
    written = _filled_rows(content, label, title, data_only=False)
    # Without formulas one pass is enough.
    formulas = {line: row for line, row in written if any(map(_is_formula, row))}
    rows = _filled_rows(content, label, title, data_only=True) if formulas else written
    if not rows:
        raise InvalidSampleError(f"sheet {title!r} of {label} is empty; choose another one.")
    top = rows[0][1]
    header = any(isinstance(cell, str) and _number(cell) is None for cell in top)
    width = max(len(row) for _, row in rows)
    named = [str(cell).strip() if header and _is_filled(cell) else "" for cell in top] + [""] * (width - len(top))
    shares = [_share_of_numbers([row for _, row in rows[header : header + _PREVIEW]], k) for k in range(width)]
    names = tuple(name or f"column {k}" for k, name in enumerate(named, start=1))
    return Sheet(
        names=names,
        numeric=tuple(k for k, share in enumerate(shares) if share == 1.0),
        mixed=tuple(k for k, share in enumerate(shares) if 0.5 <= share < 1.0),
        remarks=("its macros were not run",) if _has_macros(content) else (),
        header=header,
        lines=np.array([line for line, _ in rows[header:]], np.int64),
        columns=_columns(rows[header:], names, label),
        formulas=_count_without_result(formulas, dict(rows)),
    )


def _has_macros(content: bytes) -> bool:
    return any(name.endswith("vbaProject.bin") for name in zipfile.ZipFile(io.BytesIO(content)).namelist())


def _is_formula(cell: Any) -> bool:
    # Openpyxl represents an array formula by an object.
    return type(cell).__name__ == "ArrayFormula" or (isinstance(cell, str) and cell.startswith("="))


def _count_without_result(formulas: dict[int, Row], stored: dict[int, Row]) -> dict[int, int]:
    """Return how many formulas of each column have no stored result, from rows by their number."""
    return Counter(
        k
        for line, row in formulas.items()
        for k, cell in enumerate(row)
        if _is_formula(cell) and (stored.get(line, ())[k : k + 1] or (None,)) == (None,)
    )


@contextmanager
def _workbook(content: bytes, label: str, *, data_only: bool) -> Iterator[Any]:
    """Open a workbook; turn whatever prevents reading it into one sentence."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError(
            f"{label} is a spreadsheet, which needs openpyxl; install it with: pip install openpyxl"
        ) from None
    try:
        _check_archive(content, label)
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=data_only, keep_links=False)
        yield book
        book.close()
    except (AmortizedKdeError, MemoryError):
        raise
    except Exception as error:
        # Openpyxl lets through whatever a damaged archive or document raises.
        raise UnreadableFileError(
            f"{label} cannot be read as an Excel workbook ({type(error).__name__}); save it again as .xlsx, or as CSV."
        ) from None


def unpacked_size(content: bytes) -> int:
    """Return the bytes of all entries of an archive when unpacked, 0 if it is damaged; no more are ever read."""
    try:
        return sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(content)).infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return 0


def _check_archive(content: bytes, label: str) -> None:
    names = set(zipfile.ZipFile(io.BytesIO(content)).namelist())
    if "mimetype" in names and "content.xml" in names:
        raise UnreadableFileError(f"{label} is an OpenDocument sheet; save it as .xlsx or CSV.")
    if "xl/workbook.xml" not in names:
        raise UnreadableFileError(
            f"{label} is a zip archive, not an Excel workbook; unpack it, or save the sheet as CSV."
        )
    if unpacked_size(content) > _MOST_UNPACKED or _has_too_many_rows(content):
        raise UnreadableFileError(f"{label} is too large when unpacked; save the column that you need as CSV.")


def _has_too_many_rows(content: bytes) -> bool:
    """Whether an entry has more rows, blank ones too, or marks than a sheet can have; openpyxl would parse them all."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    for entry in archive.infolist():
        rows = marks = 0
        with archive.open(entry) as file:
            while chunk := file.read(_CHUNK):
                rows += chunk.count(b"<row") + chunk.count(b":row")
                marks += chunk.count(b"<")
                if rows > _MOST_ROWS or marks > _MOST_MARKS:
                    return True
    return False


def _filled_rows(content: bytes, label: str, title: str, *, data_only: bool) -> list[tuple[int, Row]]:
    """Return the rows that are not blank, with their numbers; stop at the limits, whatever size the file states."""
    found, cells = [], 0
    with _workbook(content, label, data_only=data_only) as book:
        sheet = book[title]
        sheet.reset_dimensions()
        for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            cells += max(len(row), 1)
            if line > _MOST_ROWS or cells > _MOST_CELLS:
                raise UnreadableFileError(
                    f"sheet {title!r} of {label} has more than {_MOST_ROWS:,} rows or {_MOST_CELLS:,} cells, blank "
                    "ones included; save the column that you need as CSV."
                )
            if any(map(_is_filled, row)):
                found.append((line, row))
    return found


def _is_filled(cell: Any) -> bool:
    return cell is not None and not (isinstance(cell, str) and not cell.strip())


def _number(cell: Any) -> float | None:
    """Return the number in a cell, NaN if it is missing or an error value, None if it is something else."""
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        # #DIV/0!, #VALUE! and the like.
        if cell.startswith("#"):
            return math.nan
        try:
            return parse_cell(cell)
        except ValueError:
            return None
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf


def _share_of_numbers(rows: Sequence[Row], index: int) -> float:
    """Return the fraction of a column's cells that are numbers, without missing ones; 0 if there is none."""
    cells = [_number(row[index]) for row in rows if index < len(row)]
    present = [cell for cell in cells if cell is None or not math.isnan(cell)]
    return sum(cell is not None for cell in present) / len(present) if present else 0.0


def _columns(
    rows: Sequence[tuple[int, Row]], names: Sequence[str], label: str
) -> dict[int, tuple[Index, Array] | InvalidSampleError]:
    """Return the numbers by column, in memory of the order of the cells, not of rows times columns."""
    found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    errors: dict[int, InvalidSampleError] = {}
    for i, (line, row) in enumerate(rows):
        for k, cell in enumerate(row):
            number = _number(cell)
            if number is not None:
                found[k].append((i, number))
            elif k not in errors:
                errors[k] = InvalidSampleError(
                    f"{label}, row {line}: {str(cell)[:40]!r} in column {names[k]!r} is not a number; correct it, or "
                    "leave the cell empty if the value is missing."
                )
    places = {k: np.array([i for i, _ in cells], np.int64) for k, cells in found.items()}
    return {k: (places[k], np.array([number for _, number in cells])) for k, cells in found.items()} | errors
