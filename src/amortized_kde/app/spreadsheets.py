"""Excel workbooks that a visitor uploads: stored values only. Formulas are not computed and macros are not run."""

import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError, MissingExtraError, UnreadableFileError
from amortized_kde.integrations.table_formats import parse_cell

Row = tuple[Any, ...]

ZIP_MAGIC = b"PK\x03\x04"
# Old workbooks, and new ones that a password encrypts.
OLD_MAGIC = b"\xd0\xcf\x11\xe0"
# A sheet of a million numbers unpacks to some 40 MB; far more is an attempt to fill the memory.
_MOST_UNPACKED = 400_000_000
# Rows that decide whether a column holds numbers.
_PREVIEW = 100


@dataclass(frozen=True, eq=False)
class Sheet:
    """One sheet of a workbook: names of its columns, positions of those that hold numbers, and its rows.

    `rows` has row numbers and cells, without the header and blank rows; `last` is the number of the sheet's last row.
    """

    content: bytes
    label: str
    title: str
    names: tuple[str, ...]
    numeric: tuple[int, ...]
    rows: list[tuple[int, Row]]
    last: int

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was recognised of the workbook."""
        names = zipfile.ZipFile(io.BytesIO(self.content)).namelist()
        return ("its macros were not run",) if any(name.endswith("vbaProject.bin") for name in names) else ()

    def numbers(self, index: int) -> tuple[Array, tuple[str, ...]]:
        """Return the numbers of the column at a position, NaN where one is missing, and remarks on them.

        Raises
        ------
        InvalidSampleError
            If a cell holds something else.
        """
        numbers = np.array([_cell_number(row, index, line, self.label) for line, row in self.rows])
        known = {line for (line, _), number in zip(self.rows, numbers, strict=True) if not math.isnan(number)}
        missing = set(range(self.rows[0][0] if self.rows else 1, self.last + 1)) - known
        return numbers, (f"{numbers.size:,} rows", *self._remark_formulas(index, missing))

    def _remark_formulas(self, index: int, missing: set[int]) -> tuple[str, ...]:
        """Say how many of the missing cells have a formula whose result the file does not hold."""
        if not missing:
            return ()
        with _workbook(self.content, self.label, data_only=False) as book:
            rows = (row for line, row in enumerate(_rows(book, self.title), start=1) if line in missing)
            cells = [row[index] for row in rows if index < len(row)]
        # Openpyxl represents an array formula by an object.
        count = sum(type(cell).__name__ == "ArrayFormula" or str(cell).startswith("=") for cell in cells)
        if not count:
            return ()
        return (f"{count:,} formula{'s' if count > 1 else ''} without a stored result (nothing is computed here)",)


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
    with _workbook(content, label, data_only=True) as book:
        every = list(enumerate(_rows(book, title), start=1))
    rows = [(line, row) for line, row in every if any(_is_filled(cell) for cell in row)]
    if not rows:
        raise InvalidSampleError(f"sheet {title!r} of {label} is empty; choose another one.")
    top = rows[0][1]
    header = any(isinstance(cell, str) and _number(cell) is None for cell in top)
    width = max(len(row) for _, row in rows)
    named = [str(cell).strip() if header and _is_filled(cell) else "" for cell in top] + [""] * (width - len(top))
    preview = [row for _, row in rows[header : header + _PREVIEW]]
    return Sheet(
        content,
        label,
        title,
        names=tuple(name or f"column {k}" for k, name in enumerate(named, start=1)),
        numeric=tuple(k for k in range(width) if _holds_numbers(preview, k)),
        rows=rows[header:],
        last=len(every),
    )


@contextmanager
def _workbook(content: bytes, label: str, *, data_only: bool) -> Iterator[Any]:
    """Open a workbook; turn whatever prevents reading it into one sentence."""
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
        # Openpyxl lets through whatever a damaged archive or document raises.
        raise UnreadableFileError(
            f"{label} cannot be read as an Excel workbook ({type(error).__name__}); save it again as .xlsx, or as CSV."
        ) from None


def _check_archive(content: bytes, label: str) -> None:
    entries = zipfile.ZipFile(io.BytesIO(content)).infolist()
    names = {entry.filename for entry in entries}
    if "mimetype" in names and "content.xml" in names:
        raise UnreadableFileError(f"{label} is an OpenDocument sheet; save it as .xlsx or CSV.")
    if "xl/workbook.xml" not in names:
        raise UnreadableFileError(f"{label} is an archive, but no Excel workbook; unpack it, or save the sheet as CSV.")
    if sum(entry.file_size for entry in entries) > _MOST_UNPACKED:
        raise UnreadableFileError(f"{label} is too large when unpacked; save the column that you need as CSV.")


def _rows(book: Any, sheet: str) -> Iterator[Row]:
    found = book[sheet]
    # The size that a file states is often wrong.
    found.reset_dimensions()
    yield from found.iter_rows(values_only=True)


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
