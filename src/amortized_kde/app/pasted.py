"""Pasted text becomes numbers, and sentences say what was recognised.

Text enters as people copy it: one number a line, or parted by commas, semicolons, tabs or blanks; with decimal points
or decimal commas, thousands parted or not, in the brackets of Python or R. A `Pasted` leaves. Nothing is evaluated.
"""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import LARGEST_VALUE
from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.tables import MISSING


class Comma(StrEnum):
    """What a comma means in a text."""

    recognised = "recognise it"
    parts = "parts numbers"
    decimal = "decimal comma"
    thousands = "parts thousands"


@dataclass(frozen=True, eq=False)
class Pasted:
    """Numbers in the order of the text, NaN where one is missing, and sentences on how they were recognised.

    `across` is how many stand on each line, if on all lines equally many and more than one; otherwise 1.
    """

    numbers: Array
    across: int
    remarks: tuple[str, ...]


# Minus signs of typesetters, and blanks that do not break, which part thousands.
_SIGNS = str.maketrans({"\u2212": "-", "\u2012": "-", "\u2013": "-", "\ufeff": " "})
_THIN = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
_APOSTROPHES = re.compile(r"(?<=\d)['\u2019](?=\d{3}(?!\d))")
# R prints the number of the first element on each line.
_R_INDEX = re.compile(r"^[ \t]*\[\d+\](?=\s)", re.MULTILINE)
_WRAPPING = re.compile(r"\b(?:np\.|numpy\.)?(?:c|array|list|tuple)\(|[\[\](){}\"]")
_ENGLISH_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_CONTINENTAL = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][-+]?\d+)?")
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")
_CONTINENTAL_THOUSANDS = re.compile(r"(?<=\d)\.(?=\d{3}(?:\D|$))")
# What a comma means is decided by so many characters around the first one; if the rest differs, a sentence says where.
_LOOKED_AT = 100_000
_SHOWN = 40


def read_pasted(text: str, comma: Comma = Comma.recognised) -> Pasted:
    r"""Read all numbers of a text.

    Parameters
    ----------
    text : str
        Numbers in any usual form; NA, NaN, null and the like are missing values.
    comma : Comma
        What commas mean, if that is known.

    Raises
    ------
    InvalidSampleError
        If there are no numbers, something is no number or infinite, or commas may mean two things; the sentence says
        where.

    Examples
    --------
    >>> found = read_pasted("1,5; 2,25\n-3")
    >>> found.numbers
    array([ 1.5 ,  2.25, -3.  ])
    >>> found.remarks
    ('3 numbers, separated by semicolons', 'with decimal commas')
    """
    plain = unwrap(text)
    if not plain.strip():
        raise InvalidSampleError("there are no numbers in it yet; paste or type at least two.")
    meaning = comma
    if comma is Comma.recognised:
        meaning = _recognise_comma(plain)
    spaced = _space_out(plain, meaning)
    numbers = _numbers(spaced, text)
    remarks = (f"{_count(numbers.size)}{_separators(plain, meaning)}", *_remarks(plain, meaning))
    return Pasted(numbers, _across(spaced, numbers.size), remarks)


def is_number(token: str) -> bool:
    """Whether a word can be part of a sample: a number in one of the forms known here, or a missing value.

    Examples
    --------
    >>> is_number("1.234,5"), is_number("-3e5"), is_number("NA"), is_number("mg")
    (True, True, True, False)
    """
    token = token.translate(_SIGNS).strip("[](){}\"',; \t")
    forms = (_ENGLISH_THOUSANDS, _CONTINENTAL)
    return token.lower() in MISSING or _is_float(token) or any(form.fullmatch(token) for form in forms)


def _is_float(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return "_" not in token


def unwrap(text: str) -> str:
    r"""Give the text without brackets, quotation marks, R's line numbers, and blanks that part thousands.

    Examples
    --------
    >>> unwrap("c(1, 2)").split()
    ['1,', '2']
    """
    if not text.isascii():
        text = _THIN.sub("", text.translate(_SIGNS))
    if "'" in text or "\u2019" in text:
        text = _APOSTROPHES.sub("", text)
    if "[" in text:
        text = _R_INDEX.sub(" ", text)
    return _WRAPPING.sub(" ", text) if any(mark in text for mark in '[({"') else text


def _recognise_comma(text: str) -> Comma:
    first = text.find(",")
    if first < 0:
        return Comma.parts
    # From the start of that number to the end of another.
    start = max(text.rfind(blank, 0, first) for blank in "\n\t ;") + 1
    words = [word.rstrip(",") for word in text[start : start + _LOOKED_AT].replace(";", " ").split()]
    if start + _LOOKED_AT < len(text):
        words.pop()
    marked = [word for word in words if "," in word]
    before = text[max(0, start - _LOOKED_AT) : start].replace(";", " ").split()
    if len(before) + len(words) < 2 or not marked:
        return Comma.parts
    if all(map(_ENGLISH_THOUSANDS.fullmatch, marked)) and any("." in word for word in marked):
        return Comma.thousands
    if all(map(_EITHER.fullmatch, marked)):
        raise InvalidSampleError(
            f"{_shorten(marked[0])!r} may have a decimal comma, or a comma that separates thousands or numbers; "
            "choose which under “Commas”."
        )
    others = (word for word in before + words if "." in word and "," not in word)
    if all(map(_CONTINENTAL.fullmatch, marked)) and not any(others):
        return Comma.decimal
    return Comma.parts


def _space_out(text: str, comma: Comma) -> str:
    """The text with blanks for all that parts numbers, and points for decimal commas."""
    if comma is Comma.decimal:
        # A comma at the end of a word parts numbers all the same.
        text = re.sub(r",(?=\s|$)", " ", text) if re.search(r",(?:\s|$)", text) else text
        text = _CONTINENTAL_THOUSANDS.sub("", text) if "." in text else text
    marks = {Comma.decimal: ".", Comma.thousands: "", Comma.parts: " "}
    return text.replace(",", marks[comma]).replace(";", " ")


def _numbers(spaced: str, text: str) -> Array:
    words = spaced.split()
    if not words:
        raise InvalidSampleError("there are no numbers in it yet; paste or type at least two.")
    try:
        numbers = np.array(list(map(float, words)))
    except ValueError:
        numbers = np.array([_number(word, text) for word in words])
    if "_" in spaced:
        _refuse(next(word for word in words if "_" in word), text)
    infinite = np.flatnonzero(np.abs(numbers) > LARGEST_VALUE)
    if infinite.size:
        _refuse(words[infinite[0]], text, f"is not within ±{LARGEST_VALUE:g}; remove it")
    return numbers


def _number(word: str, text: str) -> float:
    if word.lower() in MISSING:
        return math.nan
    try:
        return float(word)
    except ValueError:
        _refuse(word, text)
        raise AssertionError from None


def _refuse(
    word: str, text: str, why: str = "is not a number; correct it, or write NA if the value is missing"
) -> None:
    """Raise a sentence that names the line, if the word stands there as it was written."""
    lines = (k for k, line in enumerate(text.splitlines(), start=1) if word in line)
    line = next(lines, None)
    place = "" if line is None else f"line {line}: "
    raise InvalidSampleError(f"{place}{_shorten(word)!r} {why}.")


def _shorten(word: str) -> str:
    return word if len(word) <= _SHOWN else word[: _SHOWN - 3] + "..."


def _across(spaced: str, size: int) -> int:
    lines = [line for line in spaced.splitlines() if line and not line.isspace()]
    across = len(lines[0].split())
    if across == 1 or len(lines) < 2 or size != across * len(lines):
        return 1
    return across if all(len(line.split()) == across for line in lines) else 1


def _count(size: int) -> str:
    return f"{size:,} number{'s' if size != 1 else ''}"


def _separators(text: str, comma: Comma) -> str:
    marks = {"tabs": "\t" in text.strip(), "semicolons": ";" in text, "commas": comma is Comma.parts and "," in text}
    named = [name for name, there in marks.items() if there]
    if named:
        return f", separated by {' and '.join(named)}"
    first = text.lstrip().split("\n", 1)[0]
    return ", separated by blanks" if len(first.split()) > 1 else ", one a line" if "\n" in text.strip() else ""


def _remarks(text: str, comma: Comma) -> list[str]:
    if "," not in text or comma is Comma.parts:
        return []
    if comma is Comma.thousands:
        return ["with commas between thousands"]
    return ["with decimal commas" + (" and points between thousands" if "." in text else "")]
