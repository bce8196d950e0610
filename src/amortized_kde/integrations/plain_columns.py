"""Columns of plain numbers in a long text: by Arrow where it is installed, else by NumPy.

Both are ten times as fast as reading cell by cell, and give up wherever the standard `csv` module and `float` might see
other cells or numbers.
"""

import io
from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import LARGEST_VALUE

# Half the longest cell that `csv` reads.
_LONG_LINE = 65_536


def read_plain(body: str, chosen: Sequence[int], delimiter: str | None, width: int) -> list[Array] | None:
    """Return the chosen of `width` columns; None unless all rows are full, and all numbers there and finite."""
    starts = range(0, len(body) - _LONG_LINE, _LONG_LINE)
    # Only `csv` skips blanks before a quotation mark. NumPy warns of a text without rows.
    if not body.strip() or ' "' in body or any(body.find("\n", start, start + _LONG_LINE) < 0 for start in starts):
        return None
    if delimiter != "," and "." not in body:
        body = body.replace(",", ".")
    found = _by_arrow(body, chosen, delimiter, width) if delimiter else None
    if found is None:
        found = _by_numpy(body, chosen, delimiter, width)
    # A quotation can span lines.
    unbroken = found and ('"' not in body or len(body.splitlines()) == found[0].size)
    return found if found and unbroken and all((np.abs(column) <= LARGEST_VALUE).all() for column in found) else None


def _by_arrow(body: str, chosen: Sequence[int], delimiter: str, width: int) -> list[Array] | None:
    try:
        from pyarrow import ArrowException, BufferReader, csv, float64
    except ImportError:
        return None
    names = [str(index) for index in range(width)]
    types = {names[index]: float64() for index in chosen}
    try:
        table = csv.read_csv(
            # Behind a line, since Arrow would drop a byte order mark.
            BufferReader(("\n" + body).encode()),
            read_options=csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(include_columns=list(types), column_types=types),
        )
    except (ArrowException, ValueError):
        return None
    columns = [table[names[index]] for index in chosen]
    if any(column.null_count for column in columns):
        return None
    # Not `to_numpy`, which imports pandas.
    return [np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks]) for column in columns]


def _by_numpy(body: str, chosen: Sequence[int], delimiter: str | None, width: int) -> list[Array] | None:
    lines, quote = io.StringIO(body, newline=""), '"' if '"' in body else None
    # A row without a last column is an error; so the number of cells tells that no row has more.
    used = sorted({*chosen, width - 1})
    try:
        columns = np.loadtxt(lines, delimiter=delimiter, usecols=used, comments=None, quotechar=quote, ndmin=2)
    except ValueError:
        return None
    cells = len(body.split()) if delimiter is None else body.count(delimiter) + len(columns)
    return [columns[:, used.index(k)].copy() for k in chosen] if cells == len(columns) * width else None
