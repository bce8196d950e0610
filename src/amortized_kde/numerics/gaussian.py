"""Masses of the standard normal distribution between two points, accurate relative to themselves."""

import math

from amortized_kde.numerics.jit import compiled

__all__ = ["central_mass", "mass_and_slope", "scaled_mass"]

_SQRT_HALF = math.sqrt(0.5)
_ONE_OVER_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)

# Gauss-Legendre nodes and weights of order 10 on [0, 1] (numpy.polynomial.legendre.leggauss, to 17 digits).
_NODES = (
    0.013046735741414140,
    0.067468316655507745,
    0.160295215850487797,
    0.283302302935376405,
    0.425562830509184395,
    0.574437169490815605,
    0.716697697064623595,
    0.839704784149512203,
    0.932531683344492255,
    0.986953264258585860,
)
_WEIGHTS = (
    0.033335672154344069,
    0.074725674575290296,
    0.109543181257991022,
    0.134633359654998178,
    0.147762112357376435,
    0.147762112357376435,
    0.134633359654998178,
    0.109543181257991022,
    0.074725674575290296,
    0.033335672154344069,
)


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


@compiled
def _mills(p: float) -> float:
    """Give (1 - Phi(p)) / phi(p) for p >= 5 by Laplace's continued fraction."""
    fraction = p
    # 40 levels reach 1e-16 at p = 5 and sooner beyond.
    for level in range(40, 0, -1):
        fraction = p + level / fraction
    return 1.0 / fraction


@compiled
def scaled_mass(p: float, width: float) -> float:
    """Give exp(p^2/2) * (Phi(p + width) - Phi(p)) for 0 <= p, 0 <= width <= infinity, accurate relative to itself."""
    q = p + width
    if width * max(1.0, p) < 0.5:
        # The two tails would cancel; the integrand is smooth enough for quadrature to 1e-16.
        total = 0.0
        for i in range(10):
            t = width * _NODES[i]
            total += _WEIGHTS[i] * math.exp(-t * (p + 0.5 * t))
        return total * width * _ONE_OVER_SQRT_2PI
    if p < 5.0:
        return 0.5 * math.exp(0.5 * p * p) * (math.erfc(p * _SQRT_HALF) - math.erfc(q * _SQRT_HALF))
    beyond = 0.0
    if q < math.inf:
        beyond = math.exp(-0.5 * width * (p + q)) * _mills(q)
    return (_mills(p) - beyond) * _ONE_OVER_SQRT_2PI
