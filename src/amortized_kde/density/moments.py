"""Mean and standard deviation of Gaussian kernels and a background between two limits.

A blend enters, a number leaves. Points lie between the limits, so a kernel's moments are sums over its two halves, in
which nothing cancels however wide it is; no quadrature is involved.
"""

import math

import numpy as np
from scipy.special import erf, gammainc

from amortized_kde._types import Array
from amortized_kde.density.blend import Blend

SQRT_2 = math.sqrt(2.0)


def central_mass(a: Array, b: Array) -> Array:
    """Phi(b) - Phi(a) for a <= 0 <= b: two terms of one sign, so nothing cancels however wide the kernel."""
    return np.asarray(0.5 * (erf(b / SQRT_2) + erf(-a / SQRT_2)))


def _density_difference(a: Array, b: Array) -> Array:
    """phi(a) - phi(b) for a <= 0 <= b, accurate relative to itself however close the two are."""
    near, far = np.minimum(-a, b), np.maximum(-a, b)
    # Of a kernel without bounds both are 0, whatever the exponent.
    exponent = (far - np.where(np.isinf(near), 0.0, near)) * (far + near)
    difference = -np.expm1(-0.5 * exponent) * np.exp(-0.5 * near * near) / math.sqrt(2.0 * math.pi)
    return np.asarray(np.where(-a <= b, difference, -difference))


def _central_square(a: Array, b: Array) -> Array:
    """Integral of u^2 phi(u) from a to b: two halves of one sign, each an incomplete gamma function."""
    return np.asarray(_half_square(b) + _half_square(-a))


def _half_square(t: Array) -> Array:
    # Odd in t: places that stand for others when kernels were condensed may lie a little outside the limits.
    return np.asarray(np.copysign(0.5 * gammainc(1.5, 0.5 * t * t), t))


def _ends(blend: Blend) -> tuple[Array, Array, Array, Array]:
    """Places, bandwidths, and how many of them away the limits lie."""
    places, h = blend.rungs.places, blend.rungs.spread
    return places, h, (blend.lower - places) / h, (blend.upper - places) / h


def mean(blend: Blend) -> float:
    """Give the expectation: the kernels' truncated means, weighted by their masses, and the background's."""
    places, h, a, b = _ends(blend)
    centre = float(places[places.size // 2])
    moments = (places - centre) * central_mass(a, b) + h * _density_difference(a, b)
    broad = 0.0 if blend.background is None else blend.epsilon * (blend.background.mean() - centre)
    return centre + math.fsum(blend.rungs.coefficients * moments) + broad


def std(blend: Blend) -> float:
    """Give the standard deviation: the root of all mean squares about the common mean."""
    places, h, a, b = _ends(blend)
    # In the largest bandwidth as the unit, no square can overflow or vanish.
    unit, centre = float(blend.rungs.bandwidths.max()), mean(blend)
    off, h = (places - centre) / unit, h / unit
    squares = off * off * central_mass(a, b) + 2.0 * off * h * _density_difference(a, b) + h * h * _central_square(a, b)
    broad = 0.0
    if blend.background is not None:
        away = math.hypot(blend.background.mean() - centre, blend.background.std()) / unit
        broad = blend.epsilon * away * away
    return unit * math.sqrt(math.fsum(blend.rungs.coefficients * squares) + broad)
