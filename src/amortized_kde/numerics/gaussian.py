"""Masses of the standard normal distribution between two points, accurate relative to themselves."""

import math

from amortized_kde.numerics.jit import compiled

_SQRT_HALF = math.sqrt(0.5)


@compiled
def central_mass(a: float, b: float) -> float:
    """Give Phi(b) - Phi(a) for a <= 0 <= b: two terms of one sign, so nothing cancels however close a and b."""
    return 0.5 * (math.erf(b * _SQRT_HALF) + math.erf(-a * _SQRT_HALF))


@compiled
def mass_and_slope(x: float, h: float, low: float, high: float) -> tuple[float, float]:
    """The kernel's mass inside the bounds, and the derivative of that mass by log h."""
    a, b = (low - x) / h, (high - x) / h
    slope = 0.0
    if a > -math.inf:
        slope += a * math.exp(-0.5 * a * a)
    if b < math.inf:
        slope -= b * math.exp(-0.5 * b * b)
    return central_mass(a, b), slope / math.sqrt(2.0 * math.pi)
