"""Mean and standard deviation of kernels and a background between two bounds, in closed form.

Places lie between the bounds, so a kernel's moments are sums over its two halves, in which nothing cancels.
"""

import math

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.kernels import mass_between
from amortized_kde.density.mixture import Mixture
from amortized_kde.numerics.special import scipy_special

# Places farther from the mean than this many bandwidths give the unit of the squares.
_FAR = 1e100
# The square of this many bandwidths is finite.
_FARTHEST = 1e150


def _density_difference(a: Array, b: Array) -> Array:
    """phi(a) - phi(b) for a <= 0 <= b, accurate relative to itself however close the two are."""
    # Beyond, both densities are 0, and neither inf - inf nor 0 times inf may become NaN.
    near, far = np.minimum(np.minimum(-a, b), _FARTHEST), np.minimum(np.maximum(-a, b), _FARTHEST)
    exponent = (far - near) * (far + near)
    difference = -np.expm1(-0.5 * exponent) * np.exp(-0.5 * near * near) / math.sqrt(2.0 * math.pi)
    return np.asarray(np.where(-a <= b, difference, -difference))


def _central_square(a: Array, b: Array) -> Array:
    """Integral of u^2 phi(u) from a to b: two halves of one sign, each an incomplete gamma function."""
    return np.asarray(_half_square(b) + _half_square(-a))


def _half_square(t: Array) -> Array:
    # Odd in t: condensed kernels can lie slightly outside the bounds.
    return np.asarray(np.copysign(0.5 * scipy_special().gammainc(1.5, 0.5 * t * t), t))


def _ends(mixture: Mixture) -> tuple[Array, Array, Array, Array]:
    """Places, bandwidths, and the distances of the bounds in bandwidths."""
    places, h = mixture.rungs.places, mixture.rungs.spread
    return places, h, (mixture.bounds.lower - places) / h, (mixture.bounds.upper - places) / h


def mean(mixture: Mixture) -> float:
    """Return the expectation: the kernels' truncated means and the background's, weighted by mass."""
    places, h, a, b = _ends(mixture)
    centre = float(places[places.size // 2])
    moments = (places - centre) * mass_between(a, b) + h * _density_difference(a, b)
    broad = 0.0 if mixture.background is None else mixture.epsilon * (mixture.background.mean() - centre)
    return centre + math.fsum(mixture.rungs.coefficients * moments) + broad


def std(mixture: Mixture) -> float:
    """Return the standard deviation: the root of the mean square about the common mean."""
    places, h, a, b = _ends(mixture)
    # In units of the largest bandwidth no square overflows or underflows, unless the places are far apart for it.
    unit, centre = float(mixture.rungs.bandwidths.max()), mean(mixture)
    farthest = float(np.abs(places - centre).max())
    unit = unit if farthest < _FAR * unit else farthest
    off, h = (places - centre) / unit, h / unit
    squares = off * off * mass_between(a, b) + 2.0 * off * h * _density_difference(a, b) + h * h * _central_square(a, b)
    broad = 0.0
    if mixture.background is not None:
        away = math.hypot(mixture.background.mean() - centre, mixture.background.std()) / unit
        broad = mixture.epsilon * away * away
    return unit * math.sqrt(math.fsum(mixture.rungs.coefficients * squares) + broad)
