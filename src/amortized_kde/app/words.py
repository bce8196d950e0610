"""What a sample looks like, in one plain sentence, and numbers as people write them."""

import math
from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
# Peaks that are named; of more only their number is told.
_NAMED = 4
# Of an even number of values, or rounded ones, so many may be equal by chance.
_MANY_TIES = 0.5
# (upper tail - lower tail) / width of the central 90 %: 0.56 for an exponential distribution, 0 for a symmetric one.
_LOPSIDED = 0.25
# The central 99 % over the central 50 %: 3.8 for a normal distribution, 16 for Student's t with 1.5 degrees of freedom.
_FAR_OUT = 9.0


def describe(points: Array, modes: Array, bounds: tuple[float | None, float | None], ways: Sequence[str]) -> str:
    """Say in one sentence how many values there are, what their density looks like, and whether it is unlike training.

    Parameters
    ----------
    points : array of shape (n,)
        The sample, ascending.
    modes : array of shape (k,)
        Where its density has peaks, one at least.
    bounds : (float or None, float or None)
        Hard limits.
    ways : sequence of str
        The ways in which the sample is unlike all training data; none if it is not.

    Examples
    --------
    >>> print(describe(np.array([1.0, 1.1, 5.0, 5.2]), np.array([1.05, 5.1]), (None, None), []))
    The 4 values have two peaks, near 1.05 and 5.1, and nine in ten lie between 1.02 and 5.17; the network was trained
    on samples like this one.
    """
    digits = digits_for(points)
    low, high = (plain(float(end), digits) for end in np.quantile(points, [0.05, 0.95]))
    tails = _tails(points) if modes.size == 1 else ""
    looks = f"The {points.size:,} values{_ties(points)} have {_peaks(modes, bounds, digits)}{tails}"
    return f"{looks}, and nine in ten lie between {low} and {high}; {_likeness(ways)}."


def _ties(points: Array) -> str:
    distinct = int(np.count_nonzero(np.diff(points))) + 1
    return f" ({distinct:,} different ones)" if distinct < _MANY_TIES * points.size else ""


def _peaks(modes: Array, bounds: tuple[float | None, float | None], digits: int) -> str:
    places = listing([plain(mode, digits) for mode in modes.tolist()])
    if modes.size == 1:
        end = _bound_there(bounds, float(modes[0]))
        return f"one peak, {end}" if end else f"one peak, near {places}"
    count = _COUNTS[modes.size] if modes.size < len(_COUNTS) else f"{modes.size:,}"
    return f"{count} peaks, near {places}" if modes.size <= _NAMED else f"{count} peaks"


def _bound_there(bounds: tuple[float | None, float | None], mode: float) -> str:
    for bound, side in zip(bounds, ("lower", "upper"), strict=True):
        if bound == mode:
            return f"at the {side} bound"
    return ""


def _tails(points: Array) -> str:
    """What the tails are like, if that is worth a word."""
    low, left, quarter, middle, other, right, high = np.quantile(points, [0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995])
    if high - low > _FAR_OUT * (other - quarter):
        return ", some values far out"
    skew = (right - middle) - (middle - left)
    if abs(skew) > _LOPSIDED * (right - left):
        return f", a longer tail to the {'right' if skew > 0 else 'left'}"
    return ""


def _likeness(ways: Sequence[str]) -> str:
    if ways:
        return f"the sample is unlike all that the network was trained on ({listing(ways)}), so compare other methods"
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
    """Give how many digits tell values apart that differ by a two-hundredth of the range, three at least."""
    span = float(np.ptp(values)) or 1.0
    largest = float(np.abs(values).max())
    return min(3 + math.floor(math.log10(max(largest / span, 1.0))), 17)


def plain(number: float, digits: int = 4) -> str:
    """Write a number with so many significant digits, large ones in full with commas between thousands.

    Examples
    --------
    >>> plain(20834.2, 4), plain(0.000012345, 3), plain(-0.5), plain(1e12, 3)
    ('20,830', '1.23e-05', '-0.5', '1e+12')
    """
    if 10_000.0 <= abs(number) < 1e9:
        scale = 10 ** max(math.floor(math.log10(abs(number))) + 1 - digits, 0)
        return f"{round(number / scale) * scale:,.0f}"
    return f"{number:.{digits}g}" if abs(number) < 1000.0 or abs(number) >= 1e9 else f"{number:.{max(digits, 4)}g}"
