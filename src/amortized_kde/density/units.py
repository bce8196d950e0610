"""Evaluate densities with tiny or huge bandwidths in other units: the data's times a power of two."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from amortized_kde.data.reading import read_numbers
from amortized_kde.data.support import Bounds
from amortized_kde.density.modes import Modes
from amortized_kde.density.parts import Parts
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.gaussian import LOWEST_LOG

Method = TypeVar("Method", bound=Callable[..., Any])

# Bandwidths between 2^-450 and 2^450 are ordinary: their squares and reciprocals are finite.
_ORDINARY = 450
# Where the bandwidth is tiny beside the values, only its reciprocal can be.
_TINY = -900
# The smallest normal float64 is 2^-1022.
_SMALLEST = -1000
# A kernel this many times as wide as the interval between the bounds is flat there, to the last bit.
_FLAT = 2.0**60


def ordinary_parts(parts: Parts) -> tuple[Parts, float] | None:
    """Return the parts in ordinary units, and these: 2^k times the data's. None where the data's are ordinary.

    Raises
    ------
    InvalidParameterError
        If the smallest bandwidth is too small relative to the values or the widest bandwidth.
    """
    flattened = _flattened(parts)
    unit = 2.0 ** _exponent(flattened)
    return None if unit == 1.0 and flattened is parts else (_in_units(flattened, unit), unit)


def _flattened(parts: Parts) -> Parts:
    """The parts, with a bandwidth that is not much wider than the bounds are apart."""
    lower, upper = parts.bounds
    widest = _FLAT * (upper - lower)
    # Coefficients would overflow, or the masses that they are divided by be subnormal.
    if parts.shares is None and parts.bandwidths[0] > widest:
        return parts._replace(bandwidths=np.array([widest]))
    return parts


def _exponent(parts: Parts) -> int:
    smallest, widest = float(parts.bandwidths[0]), float(parts.bandwidths[-1])
    if smallest >= 2.0**-_ORDINARY and widest <= 2.0**_ORDINARY:
        return 0
    low, value = math.frexp(smallest)[1], max(abs(float(parts.points[0])), abs(float(parts.points[-1])))
    largest = math.frexp(max(value, widest))[1]
    # The power itself must be finite.
    k = min(-largest if low - largest >= _TINY else min(_TINY - low, -_TINY - largest), -_SMALLEST)
    if low + k < _SMALLEST:
        raise InvalidParameterError(
            f"the bandwidth {smallest:g} is too small relative to {max(value, widest):g}, the largest value or "
            "bandwidth; use a larger one."
        )
    return k


def _in_units(parts: Parts, unit: float) -> Parts:
    background, (lower, upper) = parts.background, (end * unit for end in parts.bounds)
    if background is not None:
        location, scale = background.location * unit, background.scale * unit
        background = replace(background, lower=lower, upper=upper, location=location, scale=scale)
    return parts._replace(
        points=parts.points * unit,
        bandwidths=parts.bandwidths * unit,
        background=background,
        bounds=Bounds(lower, upper),
        domain=None if parts.domain is None else Bounds(*(end * unit for end in parts.domain)),
    )


# How a result in ordinary units becomes one in the data's.
Convert = Callable[[Any, float], Any]


def places(found: Any, unit: float) -> Any:
    """Convert places; where they or a bound underflow in ordinary units, they are moved inside the bounds."""
    return found / unit


def lengths(found: float, unit: float) -> float:
    """Convert lengths."""
    return found / unit


def densities(found: Any, unit: float) -> Any:
    """Convert densities."""
    return found * unit


def log_densities(found: Any, unit: float) -> Any:
    """Convert logarithms of densities; minus infinity stays."""
    return found + math.log(unit)


def entropies(found: float, unit: float) -> float:
    """Convert entropies, in nats."""
    return found - math.log(unit)


def probabilities(found: Any, unit: float) -> Any:
    """Return probabilities, which have no unit."""
    return found


def modes(found: Modes, unit: float) -> Modes:
    """Convert modes."""
    return Modes(found.places / unit, found.heights * unit, found.prominences, found.masses)


def _inside(ends: tuple[float, float], convert: Convert, found: Any) -> Any:
    """Places and modes moved inside the bounds."""
    if convert is modes:
        return replace(found, places=np.clip(found.places, *ends))
    return np.clip(found, *ends) if convert is places else found


def in_ordinary_units(convert: Convert, *, of_places: bool = False) -> Callable[[Method], Method]:
    """Make a method of a density compute in ordinary units; `of_places` if its first argument is in the data's.

    The density has an attribute `_ordinary`: the density in ordinary units and these, or None.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            with np.errstate(all="ignore"):
                if self._ordinary is None:
                    return method(self, *args, **kwargs)
                inner, unit = self._ordinary
                if not of_places:
                    return _inside(self.support(), convert, convert(method(inner, *args, **kwargs), unit))
                at = read_numbers(args[0] if args else kwargs.pop("y"), "the argument")
                found = convert(method(inner, at * unit, *args[1:], **kwargs), unit)
                return _finite_inside(self, at, found) if convert is log_densities else found

        return cast(Method, call)

    return decorate


def _finite_inside(density: Any, at: Any, found: Any) -> Any:
    """Return log-densities; inside the bounds they are finite even if the argument is infinite in other units."""
    lower, upper = density.support()
    inside = np.isfinite(at) & (at >= lower) & (at <= upper)
    kept = np.where(inside, np.maximum(found, LOWEST_LOG), found)
    return float(kept) if kept.ndim == 0 else kept
