"""What was uploaded or pasted becomes a table: text, Parquet or an Excel workbook, told apart by content.

Bytes and a file's name enter, a `Table` leaves. No content is executed, and none is kept.
"""

import re

from amortized_kde._types import Array
from amortized_kde.app.pasted import Comma, Pasted, is_number, read_pasted, unwrap
from amortized_kde.app.spreadsheets import OLD_MAGIC, ZIP_MAGIC, open_sheet, sheet_names
from amortized_kde.app.table import TOGETHER, Table
from amortized_kde.errors import InvalidSampleError, UnreadableFileError
from amortized_kde.integrations.tables import (
    PARQUET_MAGIC,
    columns_of_parquet,
    columns_of_text,
    numbers_of_parquet,
    numbers_of_text,
)

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# No text has these; tabs, line ends and form feeds are left out.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", None: "blanks"}


def sheets_of(content: bytes, name: str) -> tuple[str, ...]:
    """Give the names of a workbook's sheets; none if it is no workbook. Raises as `open_file`."""
    return sheet_names(content, name) if content.startswith(ZIP_MAGIC) else ()


def open_file(content: bytes, name: str, *, sheet: str | None = None, comma: Comma = Comma.recognised) -> Table:
    r"""Open an uploaded file.

    Parameters
    ----------
    content : bytes
        All of it.
    name : str
        The file's name, for sentences only: what it is, is told by the content.
    sheet : str, optional
        Which sheet of a workbook; by default the first.
    comma : Comma
        What commas mean in a text of numbers without a header.

    Raises
    ------
    UnreadableFileError
        If it is neither text, nor Parquet, nor an Excel workbook.
    InvalidSampleError
        If it holds no numbers.

    Examples
    --------
    >>> open_file(b"who;x\nann;1,5\n", "a.csv").names
    ('who', 'x')
    """
    if not content:
        raise InvalidSampleError(f"{name} is empty; choose another file.")
    if content.startswith(PARQUET_MAGIC):
        return _open_parquet(content, name)
    if content.startswith(ZIP_MAGIC):
        return open_sheet(content, name, sheet or sheet_names(content, name)[0])
    if content.startswith(OLD_MAGIC):
        raise UnreadableFileError(
            f"{name} is an old .xls file or protected by a password; save it as .xlsx without one, or as CSV."
        )
    text, remarks = _decode(content, name)
    return open_text(text, name, comma=comma, said=remarks, whole=False)


def open_text(
    text: str, name: str, *, comma: Comma = Comma.recognised, said: tuple[str, ...] = (), whole: bool = True
) -> Table:
    r"""Open a text: a table if its first line has words and the next has not, numbers otherwise.

    Parameters
    ----------
    text : str
        The text.
    name : str
        What sentences call it.
    comma : Comma
        What commas mean where there is no header.
    said : tuple of str
        Remarks that come first.
    whole : bool
        Whether all numbers together are offered before single columns, where there is no header but several columns.

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
        return _open_table(text, name, said)
    pasted = read_pasted(text, comma)
    return _flat_table(pasted, said, first=0 if whole else 1)


def _has_header(text: str) -> bool:
    lines = [line for line in unwrap(text[:65536]).splitlines() if line.strip()][:2]
    return len(lines) == 2 and _worded(lines[0])


def _worded(line: str) -> bool:
    """Whether a cell of the line begins like a word and is no number."""
    words = re.split(r"[;\t, ]+", line.strip())
    return any(re.match(r"[^\W\d_]", word.strip("\"'")) and not is_number(word) for word in words if word)


def _open_table(text: str, name: str, said: tuple[str, ...]) -> Table:
    columns = columns_of_text(text, name)
    if not columns.numeric and len(columns.names) > 1:
        raise InvalidSampleError(f"none of the columns of {name} holds numbers: {', '.join(columns.names[:20])}.")
    parted = (f"columns separated by {_SEPARATORS[columns.delimiter]}",) if len(columns.names) > 1 else ()
    decimal = ("with decimal commas",) if columns.delimiter != "," and _decimal_commas(text) else ()

    def numbers(index: int) -> tuple[Array, tuple[str, ...]]:
        read = numbers_of_text(text, name, index)
        return read, (f"{read.size:,} rows", *parted, *decimal)

    first = columns.numeric[0] if columns.numeric else 0
    return Table(columns.names, columns.numeric, first, said, numbers)


def _decimal_commas(text: str) -> bool:
    return re.search(r"\d,\d", text[:65536]) is not None


def _flat_table(pasted: Pasted, said: tuple[str, ...], *, first: int) -> Table:
    """Numbers without a header: all together, and if every line has as many, by column too."""
    names = [TOGETHER]
    if pasted.across > 1:
        names += [f"column {k}" for k in range(1, pasted.across + 1)]

    def numbers(index: int) -> tuple[Array, tuple[str, ...]]:
        if index == 0:
            return pasted.numbers, pasted.remarks
        return pasted.numbers.reshape(-1, pasted.across)[:, index - 1].copy(), pasted.remarks

    first = min(first, len(names) - 1)
    return Table(tuple(names), tuple(range(len(names))), first, said, numbers)


def _open_parquet(content: bytes, name: str) -> Table:
    columns = columns_of_parquet(content, name)
    if not columns.numeric:
        raise InvalidSampleError(f"none of the columns of {name} holds numbers: {', '.join(columns.names[:20])}.")

    def numbers(index: int) -> tuple[Array, tuple[str, ...]]:
        read = numbers_of_parquet(content, name, index)
        return read, (f"{read.size:,} rows",)

    return Table(columns.names, columns.numeric, columns.numeric[0], (), numbers)


def _decode(content: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """The text, and what to say where it is not UTF-8."""
    said: tuple[str, ...] = ()
    if content.startswith(_UTF16):
        text, said = content.decode("utf-16", errors="replace"), ("the text is UTF-16",)
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            # What old programs in half the world write; a few bytes are no letters of it.
            text = content.decode("cp1252", errors="replace")
            said = ("the text is not UTF-8 and was read as Windows-1252: look whether its names are right",)
    if _BINARY.search(text[:65536]) or "\ufffd" in text[:65536]:
        raise UnreadableFileError(
            f"{name} is neither text, nor an Excel workbook, nor a Parquet file; save the numbers as CSV in UTF-8."
        )
    return text, said
