"""Excel workbooks become tables: stored values only. Formulas are not computed and macros are not run.

Bytes enter, names of sheets and a `Table` leave.
"""

import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.app.table import Table
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError, MissingExtraError, UnreadableFileError
from amortized_kde.integrations.tables import parse_cell

Row = tuple[Any, ...]

ZIP_MAGIC = b"PK\x03\x04"
# Old workbooks, and new ones that a password encrypts.
OLD_MAGIC = b"\xd0\xcf\x11\xe0"
# A sheet of a million numbers has some 40 MB; far more is no sample but an attempt to fill the memory.
_MOST_UNPACKED = 400_000_000
# Rows that decide whether a column holds numbers.
_PREVIEW = 100


def sheet_names(content: bytes, label: str) -> tuple[str, ...]:
    """Give the names of a workbook's sheets.

    Raises
    ------
    UnreadableFileError
        If it is no workbook, or unpacks to too much.
    """
    with _workbook(content, label, data_only=True) as book:
        return tuple(sheet.title for sheet in book.worksheets)


def open_sheet(content: bytes, label: str, sheet: str) -> Table:
    """Open one sheet; its first row that is not blank is the header if it has words.

    Raises
    ------
    UnreadableFileError
        If it is no workbook.
    InvalidSampleError
        If the sheet is empty.
    """
    with _workbook(content, label, data_only=True) as book:
        every = list(enumerate(_rows(book, sheet), start=1))
    rows = [(line, row) for line, row in every if any(_there(cell) for cell in row)]
    if not rows:
        raise InvalidSampleError(f"sheet {sheet!r} of {label} is empty; choose another one.")
    header = any(isinstance(cell, str) and _number(cell) is None for cell in rows[0][1])
    width = max(len(row) for _, row in rows)
    names = [str(cell).strip() if header and _there(cell) else "" for cell in _padded(rows[0][1], width)]
    body = rows[header:]
    numeric = tuple(k for k in range(width) if _holds_numbers([row for _, row in body[:_PREVIEW]], k))

    def numbers(index: int) -> tuple[Array, tuple[str, ...]]:
        out = np.array([_cell_number(row, index, line, label) for line, row in body])
        known = {line for (line, _), number in zip(body, out, strict=True) if not math.isnan(number)}
        missing = {line for line, _ in every[body[0][0] - 1 if body else 0 :]} - known
        return out, (f"{out.size:,} rows", *_on_formulas(content, label, sheet, index, missing))

    return Table(
        names=tuple(name or f"column {k}" for k, name in enumerate(names, start=1)),
        numeric=numeric,
        first=numeric[0] if numeric else 0,
        remarks=_on_macros(content),
        numbers=numbers,
    )


@contextmanager
def _workbook(content: bytes, label: str, *, data_only: bool) -> Iterator[Any]:
    """An open workbook; whatever hinders the reading becomes one sentence."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError(
            f"{label} is a spreadsheet, which needs openpyxl; install it with: pip install 'amortized-kde[app]'"
        ) from None
    try:
        _check_archive(content, label)
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=data_only, keep_links=False)
        yield book
        book.close()
    except AmortizedKdeError:
        raise
    except Exception as error:
        # The library lets through whatever a damaged archive or document raises.
        raise UnreadableFileError(
            f"{label} cannot be read as an Excel workbook ({type(error).__name__}); save it anew as .xlsx, or as CSV."
        ) from None


def _check_archive(content: bytes, label: str) -> None:
    entries = zipfile.ZipFile(io.BytesIO(content)).infolist()
    names = {entry.filename for entry in entries}
    if "mimetype" in names and "content.xml" in names:
        raise UnreadableFileError(f"{label} is an OpenDocument sheet; save it as .xlsx or CSV.")
    if "xl/workbook.xml" not in names:
        raise UnreadableFileError(f"{label} is an archive, but no Excel workbook; unpack it, or save the sheet as CSV.")
    if sum(entry.file_size for entry in entries) > _MOST_UNPACKED:
        raise UnreadableFileError(f"{label} is too large when it is unpacked; save the column that you need as CSV.")


def _rows(book: Any, sheet: str) -> Iterator[Row]:
    found = book[sheet]
    # What the file says of its size is often wrong.
    found.reset_dimensions()
    yield from found.iter_rows(values_only=True)


def _there(cell: Any) -> bool:
    return cell is not None and not (isinstance(cell, str) and not cell.strip())


def _padded(row: Row, width: int) -> Row:
    return row + (None,) * (width - len(row))


def _number(cell: Any) -> float | None:
    """The number in a cell, NaN if it is missing or an error of the sheet's own; None if it is something else."""
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        # #DIV/0!, #VALUE! and so on: there was no number.
        if cell.startswith("#"):
            return math.nan
        try:
            return parse_cell(cell)
        except ValueError:
            return None
    return float(cell) if isinstance(cell, (int, float)) and not isinstance(cell, bool) else None


def _holds_numbers(rows: Sequence[Row], index: int) -> bool:
    cells = [_number(row[index]) for row in rows if index < len(row)]
    return None not in cells and not all(cell is not None and math.isnan(cell) for cell in cells)


def _cell_number(row: Row, index: int, line: int, label: str) -> float:
    cell = row[index] if index < len(row) else None
    number = _number(cell)
    if number is None:
        raise InvalidSampleError(
            f"{label}, row {line}: {str(cell)[:40]!r} is not a number; correct it, or leave the cell empty."
        )
    return number


def _on_formulas(content: bytes, label: str, sheet: str, index: int, missing: set[int]) -> tuple[str, ...]:
    """How many of the missing cells have a formula whose result the file does not hold."""
    if not missing:
        return ()
    with _workbook(content, label, data_only=False) as book:
        rows = ((line, row) for line, row in enumerate(_rows(book, sheet), start=1) if line in missing)
        cells = [row[index] for _, row in rows if index < len(row)]
    # An array formula is an object of the library's.
    count = sum(type(cell).__name__ == "ArrayFormula" or str(cell).startswith("=") for cell in cells)
    if not count:
        return ()
    return (f"{count:,} formula{'s' if count > 1 else ''} without a stored result (nothing is computed here)",)


def _on_macros(content: bytes) -> tuple[str, ...]:
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    return ("its macros were not run",) if any(name.endswith("vbaProject.bin") for name in names) else ()
