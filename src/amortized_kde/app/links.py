"""The page's settings, and the link that restores them. The numbers themselves are never in a link.

What is in an address is written by strangers: whatever is not understood is left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from amortized_kde.app.comparing import DEFAULT_METHODS, method_names
from amortized_kde.app.examples import EXAMPLES

SOURCES = ("Paste", "Upload", "Example")
VIEWS = ("all values", "without the farthest")
# Four steps for each doubling, from a sixteenth to sixteen times.
FACTORS = tuple(round(2.0 ** (step / 4.0), 3) for step in range(-16, 17))
_LONGEST = 200


@dataclass(frozen=True)
class Settings:
    """All that can be chosen beside the numbers; texts as a person typed them."""

    source: str = SOURCES[0]
    example: str = next(iter(EXAMPLES))
    lower: str = ""
    upper: str = ""
    methods: tuple[str, ...] = DEFAULT_METHODS
    method: str = DEFAULT_METHODS[0]
    factor: float = 1.0
    log: bool = False
    view: str = VIEWS[0]
    low: str = ""
    high: str = ""
    quantiles: str = "5, 25, 50, 75, 95"


def to_query(settings: Settings) -> dict[str, str]:
    """Give what differs from the defaults, as texts.

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
    factor=2.0, log=True, view='all values', low='', high='', quantiles='5, 25, 50, 75, 95')
    """
    found = {}
    for name, read in _READ.items():
        value = read(query[name][:_LONGEST]) if name in query else None
        if value is not None:
            found[name] = value
    return Settings(**found)


def link(address: str, settings: Settings) -> str:
    """Give the page's address with the settings in it, in place of whatever query it had.

    Examples
    --------
    >>> link("http://localhost:8501/?x=1", Settings(lower="-1,5"))
    'http://localhost:8501/?lower=-1%2C5'
    """
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", urlencode(to_query(settings)), ""))


def _one_of(choices: tuple[str, ...]) -> Callable[[str], Any]:
    return lambda text: text if text in choices else None


def _methods(text: str) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(name for name in text.split(",") if name in method_names())) or None


def _factor(text: str) -> float | None:
    return next((factor for factor in FACTORS if text == str(factor)), None)


def _flag(text: str) -> bool | None:
    return {"1": True, "0": False}.get(text)


_WRITE: dict[str, Callable[[Any], str]] = {"methods": ",".join, "log": lambda value: "1" if value else "0"}
_READ: dict[str, Callable[[str], Any]] = {
    "source": _one_of(SOURCES),
    "example": _one_of(tuple(EXAMPLES)),
    "lower": str,
    "upper": str,
    "methods": _methods,
    "method": _one_of(method_names()),
    "factor": _factor,
    "log": _flag,
    "view": _one_of(VIEWS),
    "low": str,
    "high": str,
    "quantiles": str,
}
