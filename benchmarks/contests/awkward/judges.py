"""Judges of what a library returns for an awkward sample.

A judge names the points at which the density is wanted. Some compare with what the same library returns for an easy
twin of the sample, so that the amount of smoothing does not count.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from amortized_kde._types import Array
from amortized_kde.score import LN2

# At half a bit the true density is on average 1.4 times the estimated one.
BITS_ALLOWED = 0.5
# More probability than this outside a bound, or missing in total, is not the rounding of a grid.
LEAK_ALLOWED = 1e-3
MASS_ALLOWED = 0.01
# The exponential of a larger number overflows.
LARGEST_LOG = 700.0

# fine: a good answer, or an error that says why there is none. unclear: no answer, but nobody is misled: an error or
# NaN where there is an answer, an error that does not say why, bad values left out silently. wrong: an answer that
# nobody should use, without an error.
Mark = Literal["fine", "unclear", "wrong", "not asked"]


@dataclass(frozen=True, eq=False)
class Answer:
    """Natural log-densities at the requested points, and the warnings raised."""

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
    """A mark, a few words for a table, the number behind them (NaN if there is none), and the library's message."""

    mark: Mark
    words: str
    measured: float = math.nan
    said: str = ""


@dataclass(frozen=True, eq=False)
class Twin:
    """An easy sample for the same library, with the points and bounds to use."""

    sample: Any
    points: Array
    bounds: tuple[float | None, float | None] | None = None


class Judge(Protocol):
    """The points, the twin and the verdict of one case."""

    @property
    def points(self) -> Array:
        """Where the density of the awkward sample is wanted."""

    @property
    def twin(self) -> Twin | None:
        """The easy sample to compare with, if any."""

    def verdict(self, reply: Reply, twin: Reply | None) -> Outcome:
        """Return the outcome for a library's replies."""


@dataclass(frozen=True, eq=False)
class AgainstTruth:
    """The score at evenly spaced quantiles of the true density, and the probability outside the bounds.

    `outside` has an ascending grid for each side that is bounded.
    """

    quantiles: Array
    log_truth: Array
    outside: tuple[Array, ...] = ()
    twin: Twin | None = None

    @property
    def points(self) -> Array:
        """The quantiles, then the grids."""
        return np.concatenate([self.quantiles, *self.outside])

    def verdict(self, reply: Reply, twin: Reply | None = None) -> Outcome:
        """Check the probability outside the bounds, then the excess over the score of the truth, in bits."""
        if isinstance(reply, Refusal):
            return _no_answer(reply)
        ends = np.cumsum([self.quantiles.size, *(grid.size for grid in self.outside)])[:-1]
        scored, *leaked = np.split(reply.log_density, ends)
        leak = sum(map(_mass, leaked, self.outside))
        if leak > LEAK_ALLOWED:
            return Outcome("wrong", f"{_short(100.0 * leak)} % beyond the bounds", leak)
        trouble = _not_finite(scored)
        if trouble is not None:
            return trouble
        excess = float(np.mean(self.log_truth - scored)) / LN2
        fine = excess <= BITS_ALLOWED
        return Outcome("fine" if fine else "wrong", "fine" if fine else f"{_short(excess)} bits worse", excess)


@dataclass(frozen=True, eq=False)
class AgainstTwin:
    """The density of a shifted, rescaled or contaminated sample against the same library's density of the clean one.

    ``log q(points) + log_unit`` should be the twin's log-density at its points, up to a factor of `allowed`.
    """

    points: Array
    twin: Twin
    log_unit: float
    allowed: float

    def verdict(self, reply: Reply, twin: Reply | None) -> Outcome:
        """Compare the largest factor by which the two differ with what is allowed."""
        if isinstance(reply, Refusal):
            return _no_answer(reply)
        trouble = _not_finite(reply.log_density)
        if trouble is not None:
            return trouble
        if not isinstance(twin, Answer):
            return Outcome("not asked", "fails on the clean sample too")
        difference = float(np.max(np.abs(reply.log_density + self.log_unit - twin.log_density)))
        factor = math.exp(min(difference, LARGEST_LOG))
        if factor <= self.allowed:
            return Outcome("fine", "fine", factor)
        words = f"by a factor of {_short(factor)}" if difference < LARGEST_LOG else "by more than 10³⁰⁰"
        return Outcome("wrong", f"wrong {words}", factor)


@dataclass(frozen=True, eq=False)
class FarAway:
    """The log-density at two points far from the sample, the second further than the first."""

    points: Array
    twin: Twin | None = None

    def verdict(self, reply: Reply, twin: Reply | None = None) -> Outcome:
        """Check that it is finite and decreases."""
        if isinstance(reply, Refusal):
            return _no_answer(reply)
        near, far = (float(value) for value in reply.log_density)
        if not math.isnan(near + far) and min(near, far) == -math.inf:
            return Outcome("wrong", "density 0", near)
        trouble = _not_finite(reply.log_density)
        if trouble is not None:
            return trouble
        if far >= near:
            return Outcome("wrong", f"a floor of {math.exp(near):.0e}", near)
        return Outcome("fine", "fine", near)


@dataclass(frozen=True, eq=False)
class IsDensity:
    """Positive density at `values`, and mass 1 over `inside`, an ascending grid that is dense near them."""

    values: Array
    inside: Array
    twin: Twin | None = None

    @property
    def points(self) -> Array:
        """The values, then the grid."""
        return np.concatenate([self.values, self.inside])

    def verdict(self, reply: Reply, twin: Reply | None = None) -> Outcome:
        """Check the density at the values, then the mass on the grid."""
        if isinstance(reply, Refusal):
            return _no_answer(reply)
        at_values, on_grid = np.split(reply.log_density, [self.values.size])
        trouble = Outcome("unclear", "NaN") if np.isnan(on_grid).any() else _not_finite(at_values)
        if trouble is not None:
            return trouble
        mass = _mass(on_grid, self.inside)
        if abs(mass - 1.0) <= MASS_ALLOWED:
            return Outcome("fine", "fine", mass)
        # A mass above 1 can only come from a spike that is narrower than the steps of the grid.
        return Outcome("wrong", _peak(on_grid) if mass > 1.0 else f"{_short(100.0 * mass)} % inside", mass)


@dataclass(frozen=True, eq=False)
class Unusable:
    """A sample that has no density: right is an error whose message matches the pattern `causes`.

    The twin, if any, is the sample without the bad values: it shows whether a library left them out.
    """

    points: Array
    causes: str
    twin: Twin | None = None

    def verdict(self, reply: Reply, twin: Reply | None = None) -> Outcome:
        """Accept an error that names the cause, and no answer."""
        if isinstance(reply, Refusal):
            said = f"{reply.kind}: {reply.message}"
            if re.search(self.causes, reply.message, re.IGNORECASE):
                return Outcome("fine", "says why", said=said)
            return Outcome("unclear", f"{reply.kind}, not why", said=said)
        warned = next((text for text in reply.warnings if re.search(self.causes, text, re.IGNORECASE)), "")
        outcome = _without_error(reply, twin)
        return Outcome("unclear", f"{outcome.words}, warns", said=warned) if warned else outcome


def _without_error(reply: Answer, twin: Reply | None) -> Outcome:
    """The outcome of an answer where there is none. NaN misleads nobody, nor do bad values that were left out."""
    if np.isnan(reply.log_density).any():
        return Outcome("unclear", "NaN")
    if isinstance(twin, Answer) and np.allclose(reply.log_density, twin.log_density, rtol=1e-6, atol=1e-6):
        return Outcome("unclear", "leaves it out")
    return Outcome("wrong", _peak(reply.log_density) if np.max(reply.log_density) > LN2 * 20.0 else "answers")


def _no_answer(reply: Refusal) -> Outcome:
    return Outcome("unclear", reply.kind, said=f"{reply.kind}: {reply.message}")


def _not_finite(log_density: Array) -> Outcome | None:
    """The outcome if a log-density where data fall is not finite, else None."""
    if np.isnan(log_density).any():
        return Outcome("unclear", "NaN")
    if np.any(log_density == math.inf):
        return Outcome("wrong", "density infinite")
    zero = float(np.mean(log_density == -math.inf))
    return Outcome("wrong", f"density 0 at {_short(100.0 * zero)} % of outcomes", zero) if zero else None


def _peak(log_density: Array) -> str:
    return f"a density of {math.exp(min(float(np.max(log_density)), LARGEST_LOG)):.0e}"


def _mass(log_density: Array, grid: Array) -> float:
    return float(np.trapezoid(np.exp(log_density), grid))


def _short(value: float) -> str:
    """Format with two digits, a large number as a power of ten.

    Examples
    --------
    >>> _short(1.2345), _short(43.2), _short(6185.3), _short(2.0e9)
    ('1.2', '43', '6200', '2e+09')
    """
    digits = 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.0e}" if abs(value) >= 1e5 else f"{round(value, digits):.{max(digits, 0)}f}"
