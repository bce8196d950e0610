"""Units beside numbers: "12 kg", "$5", "45 %"."""

import re

from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.table_formats import MISSING

_BLANK = r"[ \u00a0\u2009\u202f]?"
_CURRENCY = r"[$€£¥₹₩₽₺₪฿¢]"
# A currency sign, or a code such as EUR.
_BEFORE = rf"(?:[A-Z]{{0,2}}{_CURRENCY}|[A-Z]{{3}})"
# Longer words are no units.
_WORD = r"[^\W\d_]{1,12}[²³]?"
_AFTER = rf"(?:{_CURRENCY}|[%‰]|°[CFK]?|{_WORD}(?:[/·]{_WORD}){{0,2}})"
_NO_UNITS = "|".join(map(re.escape, sorted(filter(None, MISSING), key=len, reverse=True))) + "|inf|infinity"
_QUANTITY = re.compile(
    rf"(?<![\w.])(?P<sign>[-+]?)(?:(?!(?i:{_NO_UNITS})\b)(?P<before>{_BEFORE}){_BLANK})?"
    r"(?P<number>[-+]?(?:\d+(?:[.,'\u2019]\d+)*\.?|\.\d+)(?:[eE][-+]?\d+)?)"
    rf"(?(before)|(?:{_BLANK}(?!(?i:{_NO_UNITS})\b)(?P<after>{_AFTER})(?![\w/]))?)"
)


def units_of(text: str) -> list[str]:
    """Return the unit of every number in a text, "" where a number has none.

    Examples
    --------
    >>> units_of("12 kg, 13 kg"), units_of("$5 6"), units_of("45% NA")
    (['kg', 'kg'], ['$', ''], ['%'])
    """
    return [_unit(found) for found in _QUANTITY.finditer(text)]


def remove_units(text: str) -> tuple[str, str]:
    """Return a text without the unit that all its numbers have, and the unit; "" if most have none.

    Raises
    ------
    InvalidSampleError
        If the numbers have different units, or some have none.

    Examples
    --------
    >>> remove_units("12 kg, -13.5kg"), remove_units("1 2")
    (('12, -13.5', 'kg'), ('1 2', ''))
    """
    units = units_of(text)
    different = sorted({unit for unit in units if unit}, key=units.index)
    with_unit = sum(map(bool, units))
    if 2 * with_unit <= len(units):
        return text, ""
    if len(different) > 1:
        raise InvalidSampleError(
            f"the numbers have different units, {different[0]!r} and {different[1]!r}; convert them to one unit."
        )
    if with_unit < len(units):
        raise InvalidSampleError(
            f"{with_unit:,} of {len(units):,} numbers have the unit {different[0]!r}; write it after all or none."
        )
    return remove_marks(text), different[0]


def remove_marks(text: str) -> str:
    """Return a text without any units, whether they agree or not."""
    return _QUANTITY.sub(r"\g<sign>\g<number>", text)


def _unit(found: "re.Match[str]") -> str:
    return found["before"] or found["after"] or ""
