"""Numbers from pasted text, with remarks on what was recognised.

People paste one number per line, or numbers separated by commas, semicolons, tabs or spaces; with decimal points or
decimal commas, with separated thousands, with a unit, in the brackets of Python or R. Nothing is evaluated.
"""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from amortized_kde._types import Array
from amortized_kde.app.units import remove_units
from amortized_kde.data.reading import LARGEST_VALUE
from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.table_formats import MISSING


class Comma(StrEnum):
    """Meaning of a comma in a text."""

    recognised = "detect automatically"
    separator = "separates numbers"
    decimal = "decimal comma"
    thousands = "separates thousands"


@dataclass(frozen=True, eq=False)
class Pasted:
    """Numbers in the order of the text, NaN where one is missing, and remarks on how they were recognised.

    `across` is the count on each line if all lines have equally many, otherwise 1; `unit` is that of all numbers or "".
    """

    numbers: Array
    across: int
    remarks: tuple[str, ...]
    unit: str = ""


# Typographic minus signs; non-breaking and thin blanks between thousands.
_SIGNS = str.maketrans({"\u2212": "-", "\u2012": "-", "\u2013": "-", "\ufeff": " "})
_THIN = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
_APOSTROPHES = re.compile(r"(?<=\d)['\u2019](?=\d{3}(?!\d))")
# R prints the index of the first element on each line.
_R_INDEX = re.compile(r"^[ \t]*\[\d+\](?=\s)", re.MULTILINE)
_WRAPPING = re.compile(r"\b(?:np\.|numpy\.)?(?:c|array|list|tuple)\(|[\[\](){}\"]")
_ENGLISH_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_CONTINENTAL = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][-+]?\d+)?")
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")
_CONTINENTAL_THOUSANDS = re.compile(r"(?<=\d)\.(?=\d{3}(?:\D|$))")
# Characters around the first comma that decide its meaning; an error names the line where the rest differs.
_CONTEXT = 100_000
_SHOWN = 40


def read_pasted(text: str, comma: Comma = Comma.recognised) -> Pasted:
    r"""Read all numbers of a text.

    Parameters
    ----------
    text : str
        Numbers in any usual form; NA, NaN, null and the like are missing values.
    comma : Comma
        Meaning of commas, if known.

    Raises
    ------
    InvalidSampleError
        If there are no numbers, a word is not a number or infinite, units differ, or commas are ambiguous.

    Examples
    --------
    >>> found = read_pasted("1,5; 2,25\n-3")
    >>> found.numbers
    array([ 1.5 ,  2.25, -3.  ])
    >>> found.remarks
    ('3 numbers, separated by semicolons', 'with decimal commas')
    """
    plain = unwrap(text)
    try:
        return _read(plain, comma, text)
    except InvalidSampleError:
        # Few texts have units, and looking for them takes seconds in a long one.
        bare, unit = remove_units(plain)
        if not unit:
            raise
    found = _read(bare, comma, text)
    return replace(found, remarks=(*found.remarks, f"in {unit}"), unit=unit)


def _read(plain: str, comma: Comma, text: str) -> Pasted:
    """Read numbers without units; errors name lines of the original text."""
    meaning = _recognise_comma(plain) if comma is Comma.recognised else comma
    spaced = _space_out(plain, meaning)
    numbers = _numbers(spaced, text)
    count = f"{numbers.size:,} number{'s' if numbers.size != 1 else ''}"
    remarks = (f"{count}{_separators(plain, meaning)}", *_remarks(plain, meaning))
    return Pasted(numbers, _across(spaced, numbers.size), remarks)


def is_number(token: str) -> bool:
    """Whether a word is a number in one of the usual forms, or a missing value.

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
    r"""Remove brackets, quotation marks, R's indices, and blanks between thousands.

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
        return Comma.separator
    # From the beginning of that number; the last word is dropped, since it can be cut.
    start = max(text.rfind(blank, 0, first) for blank in "\n\t ;") + 1
    words = [word.rstrip(",") for word in text[start : start + _CONTEXT].replace(";", " ").split()]
    if start + _CONTEXT < len(text):
        words.pop()
    marked = [word for word in words if "," in word]
    before = text[max(0, start - _CONTEXT) : start].replace(";", " ").split()
    if len(before) + len(words) < 2 or not marked:
        return Comma.separator
    if all(map(_ENGLISH_THOUSANDS.fullmatch, marked)) and any("." in word for word in marked):
        return Comma.thousands
    if all(map(_EITHER.fullmatch, marked)):
        raise InvalidSampleError(
            f"{_shorten(marked[0])!r} may have a decimal comma, or a comma that separates thousands or numbers; "
            "choose one under “Commas”."
        )
    others = (word for word in before + words if "." in word and "," not in word)
    if all(map(_CONTINENTAL.fullmatch, marked)) and not any(others):
        return Comma.decimal
    return Comma.separator


def _space_out(text: str, comma: Comma) -> str:
    """Replace separators by blanks and decimal commas by points."""
    if comma is Comma.decimal:
        # A comma at the end of a word separates numbers all the same.
        text = re.sub(r",(?=\s|$)", " ", text) if re.search(r",(?:\s|$)", text) else text
        text = _CONTINENTAL_THOUSANDS.sub("", text) if "." in text else text
    marks = {Comma.decimal: ".", Comma.thousands: "", Comma.separator: " "}
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
        raise _error(next(word for word in words if "_" in word), text)
    outside = np.flatnonzero(np.abs(numbers) > LARGEST_VALUE)
    if outside.size:
        raise _error(words[outside[0]], text, f"is not within ±{LARGEST_VALUE:g}; remove it")
    return numbers


def _number(word: str, text: str) -> float:
    if word.lower() in MISSING:
        return math.nan
    try:
        return float(word)
    except ValueError:
        raise _error(word, text) from None


def _error(
    word: str, text: str, why: str = "is not a number; correct it, or write NA if the value is missing"
) -> InvalidSampleError:
    """Return an error that names the line, if the word stands there as it was written."""
    line = next((k for k, line in enumerate(text.splitlines(), start=1) if word in line), None)
    place = "" if line is None else f"line {line}: "
    return InvalidSampleError(f"{place}{_shorten(word)!r} {why}.")


def _shorten(word: str) -> str:
    return word if len(word) <= _SHOWN else word[: _SHOWN - 3] + "..."


def _across(spaced: str, size: int) -> int:
    lines = [line for line in spaced.splitlines() if line and not line.isspace()]
    across = len(lines[0].split())
    if across == 1 or len(lines) < 2 or size != across * len(lines):
        return 1
    return across if all(len(line.split()) == across for line in lines) else 1


def _separators(text: str, comma: Comma) -> str:
    marks = {
        "tabs": "\t" in text.strip(),
        "semicolons": ";" in text,
        "commas": comma is Comma.separator and "," in text,
    }
    named = [name for name, found in marks.items() if found]
    if named:
        return f", separated by {' and '.join(named)}"
    first = text.lstrip().split("\n", 1)[0]
    return ", separated by spaces" if len(first.split()) > 1 else ", one per line" if "\n" in text.strip() else ""


def _remarks(text: str, comma: Comma) -> list[str]:
    if "," not in text or comma is Comma.separator:
        return []
    if comma is Comma.thousands:
        return ["with commas between thousands"]
    return ["with decimal commas" + (" and points between thousands" if "." in text else "")]
