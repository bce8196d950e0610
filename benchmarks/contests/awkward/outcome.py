"""What came back from a library, and what a judge says of it. Plain nouns; nothing is decided here."""

import math
from dataclasses import dataclass
from typing import Literal

from amortized_kde._types import Array

# fine: a good answer, or an error that says why where there can be none.
# unclear: nothing to use, but nobody is misled: an error or NaN where there is an answer, an error that does not say
# why, bad values left out without a word.
# wrong: an answer that nobody should use, without an error.
Mark = Literal["fine", "unclear", "wrong", "not asked"]


@dataclass(frozen=True, eq=False)
class Answer:
    """Natural log-densities at the points that were asked, and the warnings that came with them."""

    log_density: Array
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """The type of an error, and its message."""

    kind: str
    message: str


Reply = Answer | Refusal


@dataclass(frozen=True)
class Outcome:
    """A mark, a few words for a table, the number behind them (NaN if there is none), and what the library said."""

    mark: Mark
    words: str
    measured: float = math.nan
    said: str = ""
