"""Tables that a visitor pastes or uploads: text, Parquet, Feather or an Excel workbook, recognised by content.

No content is executed, and none is stored.
"""

import csv
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from amortized_kde._types import Array
from amortized_kde.app.pasted import Comma, Pasted, is_number, read_pasted, unwrap
from amortized_kde.app.units import remove_marks, units_of
from amortized_kde.app.words import one_line
from amortized_kde.app.work import SMALL_FILE
from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.contents import decode, is_arrow, is_gzip, is_workbook, unpack
from amortized_kde.integrations.spreadsheets import open_sheet, sheet_names, unpacked_size
from amortized_kde.integrations.table_formats import (
    MISSING,
    Columns,
    columns_of_arrow,
    columns_of_text,
    numbers_of_arrow,
    numbers_of_text,
)

# Bytes of a gzipped file when unpacked.
_MOST_UNPACKED = 200_000_000
# The first entry where numbers have no header: those of all columns.
TOGETHER = "all numbers together"
# Characters that decide whether there is a header, and columns of words that are searched for numbers.
_PREVIEW, _MOST_WORDS = 65_536, 100
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", None: "spaces"}


@dataclass(frozen=True, eq=False)
class Table:
    """An opened table.

    Attributes
    ----------
    names, numeric, mixed, remarks
        Of a table of any kind what `spreadsheets.Sheet` has of a workbook.
    numbers : callable
        Return the numbers of the column at a position, NaN where one is missing, and remarks on them. Raise if the
        column holds something else.
    whole : bool
        Whether all numbers together are offered before single columns.
    size : int
        Characters or bytes that `numbers` reads.
    units : dict of int to str
        Units of columns whose cells have one.
    """

    names: tuple[str, ...]
    numeric: tuple[int, ...]
    remarks: tuple[str, ...]
    numbers: Callable[[int], tuple[Array, tuple[str, ...]]]
    whole: bool = False
    mixed: tuple[int, ...] = ()
    size: int = 0
    units: Mapping[int, str] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """Position of the column to offer first."""
        candidates = [k for k in self.numeric if self.whole or self.names[k] != TOGETHER]
        return candidates[0] if candidates else 0


def open_file(content: bytes, name: str, *, sheet: str | None = None) -> Table:
    r"""Open an uploaded file.

    Parameters
    ----------
    content : bytes
        The whole file.
    name : str
        The file's name, for messages only; its kind is recognised by the content.
    sheet : str, optional
        Sheet of a workbook; default: the first.

    Raises
    ------
    UnreadableFileError
        If it is neither text, nor Parquet or Feather, nor an Excel workbook.
    InvalidSampleError
        If it holds no numbers.

    Examples
    --------
    >>> open_file(b"who;x\nann;1,5\n", "a.csv").names
    ('who', 'x')
    """
    if not content:
        raise InvalidSampleError(f"{name} is empty; choose another file.")
    content = unpack(content, name, most=_MOST_UNPACKED)
    if is_arrow(content):
        return _open_arrow(content, name)
    if is_workbook(content):
        found = open_sheet(content, name, sheet or sheet_names(content, name)[0])
        return Table(_tidy(found.names), found.numeric, found.remarks, found.numbers, mixed=found.mixed)
    text, remarks = decode(content, name)
    return open_text(text, name, remarks=remarks, whole=False)


def open_text(
    text: str, name: str, *, comma: Comma = Comma.recognised, remarks: tuple[str, ...] = (), whole: bool = True
) -> Table:
    r"""Open a text: a table if its first line has words, otherwise numbers without a header.

    Parameters
    ----------
    text : str
        The text.
    name : str
        What messages call it.
    comma : Comma
        Meaning of commas where there is no header.
    remarks : tuple of str
        Remarks that come first.
    whole : bool
        Whether all numbers together are offered before single columns, where there is no header.

    Raises
    ------
    InvalidSampleError, UnreadableFileError
        As `open_file`.

    Examples
    --------
    >>> open_text("1 2\n3 4", "the text").names
    ('all numbers together', 'column 1', 'column 2')
    """
    if _has_header(text):
        return _open_table(text, name, remarks)
    return _open_numbers(read_pasted(text, comma), remarks, whole=whole)


def _has_header(text: str) -> bool:
    lines = [line for line in unwrap(text[:_PREVIEW]).splitlines() if line.strip()][:2]
    if len(lines) < 2:
        return False
    # A line whose numbers have the units of those on the next is no header.
    has_units = any(units_of(lines[0])) and units_of(lines[0]) == units_of(lines[1])
    words = re.split(r"[;\t, ]+", (remove_marks(lines[0]) if has_units else lines[0]).strip())
    return any(re.match(r"[^\W\d_]", word.strip("\"'")) and not is_number(word) for word in words if word)


def _open_table(text: str, name: str, remarks: tuple[str, ...]) -> Table:
    columns = columns_of_text(text, name)
    units = _units(text, columns)
    columns = replace(columns, numeric=tuple(sorted({*columns.numeric, *units})))
    if len(columns.names) > 1:
        _check_numeric(columns, name)
        remarked = [f"columns separated by {_SEPARATORS[columns.delimiter]}"]
    else:
        remarked = []
    if columns.delimiter != "," and re.search(r"\d,\d", text[:_PREVIEW]):
        remarked.append("with decimal commas")
    numbers = partial(_text_numbers, text, name, remarked, dict.fromkeys(units, columns.delimiter))
    mixed = tuple(k for k, cells in _word_cells(text, columns).items() if 2 * sum(map(is_number, cells)) >= len(cells))
    return Table(_tidy(columns.names), columns.numeric, remarks, numbers, mixed=mixed, size=len(text), units=units)


def _text_numbers(
    text: str, name: str, remarks: Sequence[str], with_units: Mapping[int, str | None], index: int
) -> tuple[Array, tuple[str, ...]]:
    if index not in with_units:
        read = numbers_of_text(text, name, index)
        return read, (f"{read.size:,} rows", *remarks)
    cells = _cells(text, with_units[index], index)
    # An empty line takes the header's place, so that errors name the right line.
    column = "\n".join(["", *(cell.strip() or "NA" for cell in cells)])
    try:
        pasted = read_pasted(column)
    except InvalidSampleError:
        if with_units[index] != ",":
            raise
        # Where commas separate cells, a comma inside one separates thousands.
        pasted = read_pasted(column, Comma.thousands)
    if pasted.numbers.size != len(cells):
        raise InvalidSampleError(f"a cell of column {index + 1} of {name} has more than one number.")
    return pasted.numbers, (f"{len(cells):,} rows", *remarks, f"in {pasted.unit}")


def _cells(text: str, delimiter: str | None, index: int) -> list[str]:
    """Return the cells of a column, without the header and blank rows."""
    lines = text.splitlines()
    rows = map(str.split, lines) if delimiter is None else csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        found = [row[index] if index < len(row) else "" for row in rows if any(map(str.strip, row))]
    except csv.Error as error:
        raise InvalidSampleError(f"this is not a table ({error}); look for a quotation mark left open.") from None
    return found[1:]


def _word_cells(text: str, columns: Columns) -> dict[int, list[str]]:
    """Return the cells in the first rows of every column that does not hold numbers."""
    words = sorted(set(range(len(columns.names))) - set(columns.numeric))
    # The last line of a part can be cut.
    head = text if len(text) <= _PREVIEW else text[:_PREVIEW].rpartition("\n")[0]
    found = {k: _cells(head, columns.delimiter, k) for k in words[:_MOST_WORDS]}
    return {k: cells for k, cells in found.items() if cells}


def _units(text: str, columns: Columns) -> dict[int, str]:
    """Return the units of columns in which every cell is a number with one unit, or missing."""
    found = {}
    for k, cells in _word_cells(text, columns).items():
        present = [cell for cell in cells if cell.strip().lower() not in MISSING]
        units = {unit for cell in present for unit in units_of(cell)}
        if len(units) == 1 and "" not in units and all(map(is_number, map(remove_marks, present))):
            found[k] = units.pop()
    return found


def _tidy(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(one_line(name) for name in names)


def _check_numeric(columns: Columns, name: str) -> None:
    if not columns.numeric:
        raise InvalidSampleError(f"none of the columns of {name} holds numbers: {', '.join(columns.names[:20])}.")


def _open_numbers(pasted: Pasted, remarks: tuple[str, ...], *, whole: bool) -> Table:
    """Offer numbers without a header all together, and by column if all lines are equally long."""
    names = (TOGETHER, *(f"column {k}" for k in range(1, pasted.across + 1) if pasted.across > 1))
    units = dict.fromkeys(range(len(names)), pasted.unit) if pasted.unit else {}
    return Table(names, tuple(range(len(names))), remarks, partial(_pasted_numbers, pasted), whole, units=units)


def _pasted_numbers(pasted: Pasted, index: int) -> tuple[Array, tuple[str, ...]]:
    if index == 0:
        return pasted.numbers, pasted.remarks
    return pasted.numbers.reshape(-1, pasted.across)[:, index - 1].copy(), pasted.remarks


def _open_arrow(content: bytes, name: str) -> Table:
    columns = columns_of_arrow(content, name)
    _check_numeric(columns, name)
    return Table(
        _tidy(columns.names), columns.numeric, (), partial(_arrow_numbers, content, name), size=_unpacks_to(content)
    )


def _arrow_numbers(content: bytes, name: str, index: int) -> tuple[Array, tuple[str, ...]]:
    read = numbers_of_arrow(content, name, index)
    return read, (f"{read.size:,} rows",)


def _unpacks_to(content: bytes) -> int:
    # Parquet and Feather can repeat a value any number of times in a few bytes, and gzip nearly.
    return sys.maxsize if is_arrow(content) or is_gzip(content) else len(content)


def size_of(content: bytes) -> int:
    """Return about how many bytes reading a file takes, without reading it."""
    if is_workbook(content) and len(content) <= SMALL_FILE:
        return max(len(content), unpacked_size(content))
    return _unpacks_to(content)
