"""What kind of table the bytes of a file hold, whatever the file is called, and the text in them."""

import gzip
import io
import re
import zlib

from amortized_kde.errors import UnreadableFileError

PARQUET_MAGIC = b"PAR1"
# Arrow files, which are Feather's second version, and Feather's first.
FEATHER_MAGICS = (b"ARROW1", b"FEA1")
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
# Old workbooks, and new ones that a password encrypts.
OLD_MAGIC = b"\xd0\xcf\x11\xe0"
# Bytes of a file when unpacked, unless a caller has another limit.
MOST_UNPACKED = 2**30

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# Control characters that no text has; tabs, line ends and form feeds are not among them.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# Characters that decide whether a file is text.
_PREVIEW = 65_536


def is_arrow(content: bytes) -> bool:
    """Whether a file is in the format of Parquet, Feather or Arrow."""
    return content.startswith((PARQUET_MAGIC, *FEATHER_MAGICS))


def is_gzip(content: bytes) -> bool:
    """Whether a file is compressed by gzip."""
    return content.startswith(GZIP_MAGIC)


def is_workbook(content: bytes) -> bool:
    """Whether a file is an archive, as Excel's workbooks are."""
    return content.startswith(ZIP_MAGIC)


def unpack(content: bytes, label: str, *, most: int = MOST_UNPACKED) -> bytes:
    """Return the bytes of a file, unpacked if gzip compressed it; no more than `most` are ever in memory.

    Raises
    ------
    UnreadableFileError
        If it is damaged or has more than `most` bytes, or is an old or encrypted workbook.
    """
    if content.startswith(OLD_MAGIC):
        raise UnreadableFileError(
            f"{label} is an old .xls file or protected by a password; save it as .xlsx without one, or as CSV."
        )
    if not is_gzip(content):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(f"{label} cannot be unpacked by gzip ({error}).") from None
    if len(unpacked) > most:
        raise UnreadableFileError(
            f"{label} has more than {most / 1e6:,.0f} MB when unpacked; save the column that you need as a file."
        )
    return unpacked


def decode(content: bytes, label: str) -> tuple[str, tuple[str, ...]]:
    r"""Return the text of a file, and a remark if it is not UTF-8.

    Raises
    ------
    UnreadableFileError
        If it is no text.

    Examples
    --------
    >>> decode("x\n1,5".encode("utf-16"), "a.csv")
    ('x\n1,5', ('the text is UTF-16',))
    """
    remarks: tuple[str, ...] = ()
    if content.startswith(_UTF16):
        text, remarks = content.decode("utf-16", errors="replace"), ("the text is UTF-16",)
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            # The usual encoding of older Windows programs; a few bytes are undefined in it.
            text = content.decode("cp1252", errors="replace")
            remarks = ("the text is not UTF-8 and was read as Windows-1252; check that its names are right",)
    if _BINARY.search(text[:_PREVIEW]) or "\ufffd" in text[:_PREVIEW]:
        raise UnreadableFileError(
            f"{label} is neither text, nor an Excel workbook, nor a Parquet or Feather file; save the numbers as CSV."
        )
    return text, remarks
