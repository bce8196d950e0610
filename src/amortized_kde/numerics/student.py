"""Student's t with three degrees of freedom in y = t / sqrt 3, where its density is 2 / (pi (1 + y^2)^2).

Arrays of any shape enter and leave; nothing is compiled. The mass above y has a closed form, whose terms cancel in the
tail: SciPy's `stdtr` does not use it and is accurate to 2e-15 of the mass.
"""

import math

import numpy as np
from scipy.special import stdtr

from amortized_kde._types import Array

SQRT_3 = math.sqrt(3.0)
LOG_PEAK = math.log(2.0 / math.pi)
_FAR = 1e50
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# Where less than this is left above, Newton's method runs in log y, else in the angle.
_FEW = 0.1
# Both converge quadratically and from one side; the worst start needs seven steps to the last bit.
_STEPS = 9


def log_upper(y: Array) -> Array:
    """Logarithm of the mass above y, accurate relative to the mass for every y."""
    far = np.abs(y)
    tail = stdtr(3.0, -SQRT_3 * np.minimum(far, _FAR))
    # From there on the mass is 2 / (3 pi y^3), in float64 to the last bit.
    log_tail = np.log(tail) - 3.0 * np.log(np.maximum(far / _FAR, 1.0))
    return np.asarray(np.where(y > 0.0, log_tail, np.log1p(-tail * (far <= _FAR))))


def log_between(y: Array, end: Array, gap: Array) -> Array:
    """Logarithm of the mass between y and end = y + gap, accurate relative to the mass however small the gap."""
    # From the side where both tails are small, for then they cancel least.
    inner, outer = np.where(y + end < 0.0, -end, y), np.where(y + end < 0.0, -y, end)
    inside, outside = log_upper(inner), log_upper(outer)
    wide = inside + np.log1p(-np.exp(outside - inside))
    close = gap < 0.5 * np.maximum(1.0, np.minimum(np.abs(y), np.abs(end)))
    gap = np.where(close, gap, 0.0)
    # The two tails would cancel; the density is smooth enough for quadrature to 1e-16.
    places = y[..., None] + 0.5 * gap[..., None] * (1.0 + _NODES)
    ratio = np.sum(0.5 * _WEIGHTS * (np.hypot(1.0, y)[..., None] / np.hypot(1.0, places)) ** 4, axis=-1)
    narrow = LOG_PEAK - 4.0 * np.log(np.hypot(1.0, y)) + np.log(ratio) + np.log(gap)
    return np.asarray(np.where(close, narrow, wide))


def upper_quantile(log_q: Array) -> Array:
    """The y >= 0 above which the mass is q <= 1/2."""
    few = log_q < math.log(_FEW)
    # Log mass against log y is concave and starts below: no step leaves the side from which it comes.
    log_y = -(math.log(1.5 * math.pi) + np.where(few, log_q, math.log(_FEW))) / 3.0
    for _ in range(_STEPS):
        y = np.exp(log_y)
        log_mass = log_upper(y)
        slope = np.exp(LOG_PEAK - 4.0 * np.log(np.hypot(1.0, y)) + log_y - log_mass)
        log_y = log_y + (log_mass - np.minimum(log_q, math.log(_FEW))) / slope
    # With y = tan(angle / 2) it is Kepler's equation: angle + sin(angle) = pi (1 - 2 q).
    target = math.pi * (1.0 - 2.0 * np.exp(np.maximum(log_q, math.log(_FEW))))
    angle = 0.5 * target
    for _ in range(_STEPS):
        angle = angle - (angle + np.sin(angle) - target) / (1.0 + np.cos(angle))
    return np.asarray(np.where(few, np.exp(log_y), np.tan(0.5 * angle)))


def upper_moments(y: Array) -> tuple[Array, Array]:
    """Mean and mean square of what lies above y; above minus infinity they are 0 and 1."""
    log_mass = log_upper(y)
    # The integrals are 1 / (pi (1 + y^2)) and (arccot y + y / (1 + y^2)) / pi, of which no part cancels.
    first = np.exp(-2.0 * np.log(np.hypot(1.0, y)) - math.log(math.pi) - log_mass)
    with np.errstate(divide="ignore"):
        second = np.exp(np.log((np.arctan2(1.0, y) + 1.0 / (y + 1.0 / y)) / math.pi) - log_mass)
    return np.asarray(first), np.asarray(second)
