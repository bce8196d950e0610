"""The page's settings as a visitor types them, and the link that restores them.

Numbers are never part of a link. Anybody can write an address, so what is not understood is ignored.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from amortized_kde.app.comparing import DEFAULT_METHODS, method_names
from amortized_kde.app.curves import Limits
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.errors import InvalidBoundsError, InvalidParameterError
from amortized_kde.integrations.table_formats import parse_cell

SOURCES = ("Paste", "Upload", "Example")
VIEWS = ("All values", "Without extremes")
# Quarter octaves, from a sixteenth to sixteen times.
FACTORS = tuple(round(2.0 ** (step / 4.0), 3) for step in range(-16, 17))
# Characters of one setting that are read from an address.
_LONGEST = 200
# Ways to write an open side; an empty field is the usual one.
_OPEN = ("", "none", "-", "inf", "-inf", "+inf", "∞", "-∞", "open")
_MOST_QUANTILES = 25


@dataclass(frozen=True)
class Settings:
    """All choices besides the numbers; texts as they were typed."""

    source: str = SOURCES[0]
    example: str = next(iter(EXAMPLES))
    lower: str = ""
    upper: str = ""
    methods: tuple[str, ...] = DEFAULT_METHODS
    method: str = DEFAULT_METHODS[0]
    factor: float = 1.0
    log: bool = False
    view: str = VIEWS[0]
    left: str = ""
    right: str = ""
    top: str = ""
    low: str = ""
    high: str = ""
    quantiles: str = "5, 25, 50, 75, 95"


def to_query(settings: Settings) -> dict[str, str]:
    """Return the settings that differ from the defaults, as texts.

    Examples
    --------
    >>> to_query(Settings(lower="0", methods=("amortized", "scott"), log=True))
    {'lower': '0', 'methods': 'amortized,scott', 'log': '1'}
    """
    query = {}
    for field in fields(Settings):
        value = getattr(settings, field.name)
        if value != field.default:
            query[field.name] = _WRITE.get(field.name, str)(value)
    return query


def from_query(query: Mapping[str, str]) -> Settings:
    """Read settings from the texts of an address; what is not understood keeps its default.

    Examples
    --------
    >>> from_query({"factor": "2.0", "methods": "scott,nonsense", "log": "1", "view": "<script>"})
    Settings(source='Paste', example='eruptions', lower='', upper='', methods=('scott',), method='amortized',
    factor=2.0, log=True, view='All values', left='', right='', top='', low='', high='', quantiles='5, 25, 50, 75, 95')
    """
    texts = {field.name: query[field.name][:_LONGEST] for field in fields(Settings) if field.name in query}
    found = {name: _READ.get(name, str)(text) for name, text in texts.items()}
    return Settings(**{name: value for name, value in found.items() if value is not None})


def link(address: str, settings: Settings) -> str:
    """Return the page's address with the settings in place of the query it had.

    Examples
    --------
    >>> link("http://localhost:8501/?x=1", Settings(lower="-1,5"))
    'http://localhost:8501/?lower=-1%2C5'
    """
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", urlencode(to_query(settings)), ""))


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str | None]:
    return lambda text: text if text in choices else None


def _methods(text: str) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(name for name in text.split(",") if name in method_names())) or None


# How settings are written to and read from texts; all others are texts. None: not understood.
_WRITE: dict[str, Callable[[Any], str]] = {"methods": ",".join, "log": lambda value: "1" if value else "0"}
_READ: dict[str, Callable[[str], Any]] = {
    "source": _one_of(SOURCES),
    "example": _one_of(tuple(EXAMPLES)),
    "methods": _methods,
    "method": _one_of(method_names()),
    "factor": {str(factor): factor for factor in FACTORS}.get,
    "log": {"1": True, "0": False}.get,
    "view": _one_of(VIEWS),
}


def read_end(text: str, what: str) -> float | None:
    """Read one end of an interval, None if it is open; a decimal comma is understood.

    Raises
    ------
    InvalidBoundsError
        If it is not a number.

    Examples
    --------
    >>> read_end("1,5", "the lower bound"), read_end("", "the lower bound")
    (1.5, None)
    """
    word = text.strip().replace("\u2212", "-")
    if word.lower() in _OPEN:
        return None
    number = _number(word)
    if number != number or abs(number) > 1e300:
        raise InvalidBoundsError(f"{what}: {text[:40]!r} is not a number; leave the field empty for an open side.")
    return number


def read_limits(lower: str, upper: str, what: str = "bound") -> Limits:
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
    """Read percentages, separated by commas, semicolons or blanks, as probabilities.

    Raises
    ------
    InvalidParameterError
        If one is not a number strictly between 0 and 100, or there are too many.

    Examples
    --------
    >>> read_percentages("5 %, 50; 97.5")
    [0.05, 0.5, 0.975]
    """
    words = re.split(r"[;\s%]+|,(?=\s|$)", text.strip()) if re.search(r"[;\s]", text) else text.split(",")
    found = []
    for word in filter(None, words):
        percentage = _number(word.strip().rstrip("%"))
        if not 0.0 < percentage < 100.0:
            raise InvalidParameterError(f"{word[:20]!r} is not a percentage between 0 and 100.")
        found.append(percentage / 100.0)
    if len(found) > _MOST_QUANTILES:
        raise InvalidParameterError(f"up to {_MOST_QUANTILES} percentages can be shown, not {len(found)}.")
    return found


def _number(word: str) -> float:
    """Return the number, NaN if it is none."""
    try:
        return parse_cell(word)
    except ValueError:
        return float("nan")
