"""Small fields: a bound, an end of an interval, a list of percentages, as texts that people type."""

import re

from amortized_kde.errors import InvalidBoundsError, InvalidParameterError
from amortized_kde.integrations.tables import parse_cell

# How an open side may be said; an empty field is the usual way.
_OPEN = ("", "none", "-", "inf", "-inf", "+inf", "∞", "-∞", "open")
_MOST_QUANTILES = 25


def read_end(text: str, what: str) -> float | None:
    """Read one end of an interval, None if it is open; a decimal comma is understood.

    Raises
    ------
    InvalidBoundsError
        If it is no number.

    Examples
    --------
    >>> read_end("1,5", "the lower bound"), read_end("", "the lower bound")
    (1.5, None)
    """
    word = text.strip().replace("\u2212", "-")
    if word.lower() in _OPEN:
        return None
    try:
        number = parse_cell(word)
    except ValueError:
        number = float("nan")
    if number != number or abs(number) > 1e300:
        raise InvalidBoundsError(f"{what}: {text[:40]!r} is not a number; leave the field empty for an open side.")
    return number


def read_limits(lower: str, upper: str, what: str = "bound") -> tuple[float | None, float | None]:
    """Read both ends; the lower must be below the upper.

    Examples
    --------
    >>> read_limits("0", "")
    (0.0, None)
    """
    low, high = read_end(lower, f"lower {what}"), read_end(upper, f"upper {what}")
    if low is not None and high is not None and not low < high:
        raise InvalidBoundsError(f"the lower {what} {low:g} must be below the upper {what} {high:g}.")
    return low, high


def read_percentages(text: str) -> list[float]:
    """Read percentages, parted by commas, semicolons or blanks, as probabilities.

    Raises
    ------
    InvalidParameterError
        If one is no number strictly between 0 and 100, or there are too many.

    Examples
    --------
    >>> read_percentages("5 %, 50; 97.5")
    [0.05, 0.5, 0.975]
    """
    words = re.split(r"[;\s%]+|,(?=\s|$)", text.strip()) if re.search(r"[;\s]", text) else text.split(",")
    found = []
    for word in filter(None, words):
        try:
            percentage = parse_cell(word.strip().rstrip("%"))
        except ValueError:
            percentage = float("nan")
        if not 0.0 < percentage < 100.0:
            raise InvalidParameterError(f"{word[:20]!r} is not a percentage between 0 and 100.")
        found.append(percentage / 100.0)
    if len(found) > _MOST_QUANTILES:
        raise InvalidParameterError(f"up to {_MOST_QUANTILES} percentages can be shown, not {len(found)}.")
    return found
