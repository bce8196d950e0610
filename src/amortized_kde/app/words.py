"""Texts for the visitor: a sentence on the sample, numbers as people write them, and Markdown that shows any text."""

import math
import re
from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array
from amortized_kde.app.curves import Limits
from amortized_kde.data.sample import Sample, quantiles

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
# Peaks that are located in the sentence; more are only counted.
_NAMED = 4
# Below this fraction of different values, ties are mentioned.
_FEW_DIFFERENT = 0.5
# (upper tail - lower tail) / width of the central 90 %: 0.56 for an exponential distribution, 0 for a symmetric one.
_LOPSIDED = 0.25
# The central 99 % over the central 50 %: 3.8 for a normal distribution, 16 for Student's t with 1.5 degrees of freedom.
_FAR_OUT = 9.0

# Longer texts are cut: a file can have names of any length.
_LONGEST_NAME, _LONGEST_TEXT = 80, 1000
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Addresses become links, and names between colons pictures, even where every mark is escaped.
_INSIDE_ADDRESS = re.compile(r"(?<=[:@])(?=\S)|(?<=www)(?=\.)", re.IGNORECASE)
_WORD_JOINER = "\u2060"


def one_line(text: str, most: int = _LONGEST_NAME) -> str:
    r"""Return a text without line ends and invisible characters, cut to `most` characters.

    Examples
    --------
    >>> one_line("a\n b\u202ec"), one_line("abcdef", 4)
    ('a b c', 'abc…')
    """
    # Cut first, since a text can have megabytes.
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1] + "…"


def escaped(text: str) -> str:
    r"""Return Markdown that shows a text as it is, on one line: no formatting, links, formulas or pictures.

    Everything on the page that can contain a visitor's words goes through this.

    Examples
    --------
    >>> escaped("![y](x)"), escaped("a: b\n# c")
    ('\\!\\[y\\]\\(x\\)', 'a\\: b \\# c')
    """
    return _PUNCTUATION.sub(r"\\\1", _INSIDE_ADDRESS.sub(_WORD_JOINER, one_line(text, _LONGEST_TEXT)))


def describe(sample: Sample, modes: Array, bounds: Limits, ways: Sequence[str]) -> str:
    """Return one sentence on a sample: size, peaks, tails, and whether the network was trained on the like.

    Parameters
    ----------
    sample : Sample
        The sample.
    modes : array of shape (k,)
        Peaks of its density, at least one.
    bounds : (float or None, float or None)
        Hard limits.
    ways : sequence of str
        Ways in which the sample is unlike all training data.

    Examples
    --------
    >>> print(describe(Sample(np.array([1.0, 1.1, 5.0, 5.2])), np.array([1.05, 5.1]), (None, None), []))
    The 4 values have two peaks, near 1.05 and 5.1, and 90 % lie between 1.02 and 5.17; the network was trained on
    samples like this one.
    """
    digits = digits_for(sample.values)
    low, high = (plain(float(end), digits) for end in _quantiles(sample, 0.05, 0.95))
    tails = _tails(sample) if modes.size == 1 else ""
    looks = f"The {sample.values.size:,} values{_ties(sample.values)} have {_peaks(modes, bounds, digits)}{tails}"
    weighted = " of the weight lies" if sample.weights is not None else " lie"
    return f"{looks}, and 90 %{weighted} between {low} and {high}; {_likeness(ways)}."


def _quantiles(sample: Sample, *probabilities: float) -> list[float]:
    found: list[float] = quantiles(sample.as_batch(), np.array(probabilities))[0].tolist()
    return found


def _ties(points: Array) -> str:
    distinct = int(np.count_nonzero(np.diff(points))) + 1
    return f" ({distinct:,} distinct)" if distinct < _FEW_DIFFERENT * points.size else ""


def _peaks(modes: Array, bounds: Limits, digits: int) -> str:
    end = _bound_there(bounds, float(modes[0])) if modes.size == 1 else ""
    return f"one peak, {end}" if end else count_peaks([plain(mode, digits) for mode in modes.tolist()])


def count_peaks(places: Sequence[str]) -> str:
    """Count peaks, and name their places if they are few.

    Examples
    --------
    >>> count_peaks(["3"]), count_peaks(["1", "2.5"]), count_peaks(list("12345"))
    ('one peak, near 3', 'two peaks, near 1 and 2.5', 'five peaks')
    """
    count = _COUNTS[len(places)] if len(places) < len(_COUNTS) else f"{len(places):,}"
    counted = f"{count} peak{'' if len(places) == 1 else 's'}"
    return f"{counted}, near {listing(places)}" if len(places) <= _NAMED else counted


def _bound_there(bounds: Limits, mode: float) -> str:
    for bound, side in zip(bounds, ("lower", "upper"), strict=True):
        if bound == mode:
            return f"at the {side} bound"
    return ""


def _tails(sample: Sample) -> str:
    """Describe the tails if they are long or unequal."""
    low, left, quarter, middle, other, right, high = _quantiles(sample, 0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995)
    if high - low > _FAR_OUT * (other - quarter):
        return ", some extreme values"
    skew = (right - middle) - (middle - left)
    if abs(skew) > _LOPSIDED * (right - left):
        return f", a longer tail to the {'right' if skew > 0 else 'left'}"
    return ""


def _likeness(ways: Sequence[str]) -> str:
    if ways:
        return f"the network was not trained on samples like this one ({listing(ways)}), so compare other methods"
    return "the network was trained on samples like this one"


def listing(words: Sequence[str]) -> str:
    """Join words as in a sentence.

    Examples
    --------
    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def digits_for(values: Array) -> int:
    """Return the number of digits that shows differences of a two-hundredth of the range, at least three."""
    span = float(np.ptp(values)) or 1.0
    largest = float(np.abs(values).max())
    return min(3 + math.floor(math.log10(max(largest / span, 1.0))), 17)


def plain(number: float, digits: int = 4) -> str:
    """Write a number with `digits` significant digits, large ones in full with commas between thousands.

    Examples
    --------
    >>> plain(20834.2, 4), plain(0.000012345, 3), plain(-0.5), plain(1e12, 3)
    ('20,830', '1.23e-05', '-0.5', '1e+12')
    """
    if 10_000.0 <= abs(number) < 1e9:
        scale = 10 ** max(math.floor(math.log10(abs(number))) + 1 - digits, 0)
        return f"{round(number / scale) * scale:,.0f}"
    return f"{number:.{digits}g}" if abs(number) < 1000.0 or abs(number) >= 1e9 else f"{number:.{max(digits, 4)}g}"
