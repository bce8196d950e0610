"""The broad background of a density, for values that no kernel foresees.

Between two finite bounds it is uniform. Otherwise it is Student's t with three degrees of freedom, truncated at the
finite bound if there is one, and renormalised. The functions take arrays of any shape; bounds, locations and scales
broadcast against the arguments. `Background` is one of them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from amortized_kde._types import Array, Flags
from amortized_kde.errors import InvalidParameterError

# In y = t / sqrt 3 the density of t is 2 / (pi (1 + y^2)^2).
_SQRT_3 = math.sqrt(3.0)
_LOG_PEAK = math.log(2.0 / math.pi)
# From here on the mass above y is 2 / (3 pi y^3) to the last bit.
_CUBIC_FROM = 1e50
# Below this mass Newton's method runs in log y, otherwise in the angle.
_SMALL_MASS = 0.1
# Both converge quadratically and from one side; the worst start needs seven steps to the last bit.
_NEWTON_STEPS = 9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def _standard(x: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    return np.asarray((np.asarray(x, float) - location) / np.multiply(scale, _SQRT_3))


def _is_uniform(lower: ArrayLike, upper: ArrayLike) -> Flags:
    return np.isfinite(lower) & np.isfinite(upper)


def log_density(x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the natural log-density at `x`, minus infinity outside the bounds, which are infinite where open.

    Examples
    --------
    >>> log_density([0.0, 1.0], lower=-np.inf, upper=np.inf, location=0.0, scale=1.0).round(4)
    array([-1.0009, -1.5763])
    >>> log_density(3.0, lower=[0.0, -np.inf], upper=[4.0, 4.0], location=0.0, scale=1.0).round(4)
    array([-1.3863, -3.7594])
    """
    x = np.asarray(x, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        # At most one side of a Student's t is truncated; the term of an open side is 0.
        inside = _log_upper(_standard(lower, location, scale)) + _log_upper(-_standard(upper, location, scale))
        constant = _LOG_PEAK - np.log(np.multiply(scale, _SQRT_3)) - inside
        student = constant - 4.0 * np.log(np.hypot(1.0, _standard(x, location, scale)))
        log = np.where(_is_uniform(lower, upper), -np.log(np.subtract(upper, lower)), student)
    return np.asarray(np.where((x < lower) | (x > upper), -math.inf, np.where(np.isnan(x), x, log)))


def log_cdf(x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the natural logarithm of the probability below `x`, accurate relative to it.

    Examples
    --------
    >>> log_cdf(-1e100, lower=-np.inf, upper=np.inf, location=0.0, scale=1.0).round(4)
    np.float64(-690.6778)
    """
    x = np.asarray(x, float)
    y, start, end = (_standard(place, location, scale) for place in (x, lower, upper))
    with np.errstate(divide="ignore", invalid="ignore"):
        from_open = _log_upper(-y) - _log_upper(-end)
        gap = np.where(np.isfinite(lower), np.maximum(x - lower, 0.0), 0.0) / np.multiply(scale, _SQRT_3)
        from_bound = _log_between(np.broadcast_to(np.where(np.isfinite(start), start, 0.0), gap.shape), y, gap)
        student = np.where(np.isfinite(lower), from_bound - _log_upper(start), from_open)
        uniform = np.log(np.subtract(x, lower) / np.subtract(upper, lower))
        log = np.minimum(np.where(_is_uniform(lower, upper), uniform, student), 0.0)
    return np.asarray(np.where(x <= lower, -math.inf, np.where(x >= upper, 0.0, np.where(np.isnan(x), x, log))))


def log_sf(x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the natural logarithm of the probability above `x`: `log_cdf` of the mirrored background."""
    return log_cdf(
        np.negative(x), lower=np.negative(upper), upper=np.negative(lower), location=np.negative(location), scale=scale
    )


def quantile(p: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the x with probability `p` in [0, 1] below it, accurate near both ends.

    Examples
    --------
    >>> quantile([0.5, 0.975], lower=-np.inf, upper=np.inf, location=0.0, scale=1.0).round(4)
    array([0.    , 3.1824])
    """
    p, low, high = np.asarray(p, float), np.asarray(lower, float), np.asarray(upper, float)
    centre = np.asarray(location, float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        below = _lower_quantile(np.minimum(p, 0.5), low, high, centre, scale)
        above = -_lower_quantile(np.minimum(1.0 - p, 0.5), -high, -low, -centre, scale)
    return np.asarray(np.clip(np.where(p <= 0.5, below, above), lower, upper))


def _lower_quantile(p: Array, lower: Array, upper: Array, location: Array, scale: ArrayLike) -> Array:
    """Quantiles of p <= 1/2: from the lower bound if there is one, otherwise from minus infinity."""
    unit = np.multiply(scale, _SQRT_3)
    start, end = _standard(lower, location, scale), _standard(upper, location, scale)
    from_open = location - unit * _upper_quantile(np.log(p) + _log_upper(-end))
    start = np.where(np.isfinite(start), start, 0.0)
    gap, y = _quantile_above(p, start)
    # Near the bound rounding spoils the difference of two places, far from it their sum.
    from_bound = np.where(gap < np.abs(y), lower + unit * gap, location + unit * y)
    student = np.where(np.isfinite(lower), from_bound, from_open)
    uniform = lower + p * np.subtract(upper, lower)
    return np.asarray(np.where(p > 0.0, np.where(_is_uniform(lower, upper), uniform, student), lower))


def _quantile_above(p: Array, start: Array) -> tuple[Array, Array]:
    """The y with p <= 1/2 of the mass above `start` between `start` and y: y - start, and y."""
    log_mass = np.log(p) + _log_upper(start)
    below, above = np.exp(_log_upper(-start)) + np.exp(log_mass), np.exp(_log_upper(start)) * (1.0 - p)
    y = np.where(below < 0.5, -1.0, 1.0) * _upper_quantile(np.log(np.minimum(below, above)))
    gap = np.exp(log_mass - _LOG_PEAK + 4.0 * np.log(np.hypot(1.0, start)))
    # Across a small gap the density hardly changes; four Newton steps in the logarithm of the gap make it exact.
    near = gap < 0.01 * np.hypot(1.0, start)
    start = np.broadcast_to(start, gap.shape)
    for _ in range(4):
        found = _log_between(start, start + gap, gap)
        slope = gap * np.exp(_LOG_PEAK - 4.0 * np.log(np.hypot(1.0, start + gap)) - found)
        gap = gap * np.exp(np.where(near, log_mass - found, 0.0) / slope)
    return np.where(near, gap, y - start), y


def mean(*, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the expectation.

    Examples
    --------
    >>> mean(lower=[0.0, 0.0], upper=[4.0, np.inf], location=0.0, scale=1.0).round(4)
    array([2.    , 1.1027])
    """
    start, end = _standard(lower, location, scale), -_standard(upper, location, scale)
    with np.errstate(invalid="ignore"):
        # Truncation shifts the mean away from the bound; an open side does not.
        shift = _upper_moments(start)[0] - _upper_moments(end)[0]
        student = np.asarray(location) + np.multiply(scale, _SQRT_3) * shift
        middle = 0.5 * np.asarray(lower, float) + 0.5 * np.asarray(upper, float)
    return np.asarray(np.where(_is_uniform(lower, upper), middle, student))


def std(*, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the standard deviation.

    Examples
    --------
    >>> std(lower=[0.0, 0.0, -np.inf], upper=[4.0, np.inf, np.inf], location=0.0, scale=1.0).round(4)
    array([1.1547, 1.3357, 1.7321])
    """
    start, end = _standard(lower, location, scale), -_standard(upper, location, scale)
    # At most one side of a Student's t is truncated; without bounds all of it lies above minus infinity.
    first, second = _upper_moments(np.where(np.isfinite(lower), start, end))
    student = np.multiply(scale, _SQRT_3) * np.sqrt(second - first * first)
    with np.errstate(invalid="ignore"):
        width = np.subtract(upper, lower)
    return np.asarray(np.where(_is_uniform(lower, upper), width / math.sqrt(12.0), student))


@dataclass(frozen=True)
class Background:
    """One background: bounds (infinite where open), and location and scale in data units.

    Raises
    ------
    InvalidParameterError
        If the lower bound is not below the upper, or a side is open and the location is not finite or the scale not
        positive and finite.

    Examples
    --------
    >>> Background(0.0, 4.0, location=1.0, scale=1.0).log_density(3.0).round(4)
    np.float64(-1.3863)
    """

    lower: float
    upper: float
    location: float
    scale: float

    def __post_init__(self) -> None:
        usable = math.isfinite(self.location) and 0.0 < self.scale < math.inf
        if not self.lower < self.upper or not (usable or _is_uniform(self.lower, self.upper)):
            raise InvalidParameterError(
                f"a background needs an interval, and on open sides a finite location and a positive scale, not {self}."
            )

    def mirrored(self) -> "Background":
        """Return the background of -x."""
        return Background(-self.upper, -self.lower, -self.location, self.scale)

    def log_density(self, x: ArrayLike) -> Array:
        """Return the natural log-density."""
        return log_density(x, **vars(self))

    def log_cdf(self, x: ArrayLike) -> Array:
        """Return the natural logarithm of the probability below."""
        return log_cdf(x, **vars(self))

    def log_sf(self, x: ArrayLike) -> Array:
        """Return the natural logarithm of the probability above."""
        return log_sf(x, **vars(self))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the quantiles of probabilities in [0, 1]."""
        return quantile(p, **vars(self))

    def mean(self) -> float:
        """Return the expectation."""
        return float(mean(**vars(self)))

    def std(self) -> float:
        """Return the standard deviation."""
        return float(std(**vars(self)))

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Return independent draws, of shape (count,), by inversion of the distribution function."""
        return self.quantile(rng.random(count))


def _log_upper(y: Array) -> Array:
    """Logarithm of the mass above y, accurate relative to the mass for every y."""
    far = np.abs(y)
    # The terms of the closed form cancel in the tail; SciPy's stdtr is accurate to 2e-15 of the mass.
    tail = stdtr(3.0, -_SQRT_3 * np.minimum(far, _CUBIC_FROM))
    log_tail = np.log(tail) - 3.0 * np.log(np.maximum(far / _CUBIC_FROM, 1.0))
    return np.asarray(np.where(y > 0.0, log_tail, np.log1p(-tail * (far <= _CUBIC_FROM))))


def _log_between(y: Array, end: Array, gap: Array) -> Array:
    """Logarithm of the mass between y and end = y + gap, accurate relative to the mass for any gap."""
    # From the side where both tails are small, because there they cancel least.
    inner, outer = np.where(y + end < 0.0, -end, y), np.where(y + end < 0.0, -y, end)
    inside, outside = _log_upper(inner), _log_upper(outer)
    wide = inside + np.log1p(-np.exp(outside - inside))
    close = gap < 0.5 * np.maximum(1.0, np.minimum(np.abs(y), np.abs(end)))
    gap = np.where(close, gap, 0.0)
    # The two tails would cancel; the density is smooth enough for quadrature to 1e-16.
    places = y[..., None] + 0.5 * gap[..., None] * (1.0 + _NODES)
    ratio = np.sum(0.5 * _WEIGHTS * (np.hypot(1.0, y)[..., None] / np.hypot(1.0, places)) ** 4, axis=-1)
    narrow = _LOG_PEAK - 4.0 * np.log(np.hypot(1.0, y)) + np.log(ratio) + np.log(gap)
    return np.asarray(np.where(close, narrow, wide))


def _upper_quantile(log_q: Array) -> Array:
    """The y >= 0 above which the mass is q <= 1/2."""
    few = log_q < math.log(_SMALL_MASS)
    # Log mass against log y is concave, and the start lies below: no step crosses the solution.
    log_y = -(math.log(1.5 * math.pi) + np.where(few, log_q, math.log(_SMALL_MASS))) / 3.0
    for _ in range(_NEWTON_STEPS):
        y = np.exp(log_y)
        log_mass = _log_upper(y)
        slope = np.exp(_LOG_PEAK - 4.0 * np.log(np.hypot(1.0, y)) + log_y - log_mass)
        log_y = log_y + (log_mass - np.minimum(log_q, math.log(_SMALL_MASS))) / slope
    # With y = tan(angle / 2) this is Kepler's equation: angle + sin(angle) = pi (1 - 2 q).
    target = math.pi * (1.0 - 2.0 * np.exp(np.maximum(log_q, math.log(_SMALL_MASS))))
    angle = 0.5 * target
    for _ in range(_NEWTON_STEPS):
        angle = angle - (angle + np.sin(angle) - target) / (1.0 + np.cos(angle))
    return np.asarray(np.where(few, np.exp(log_y), np.tan(0.5 * angle)))


def _upper_moments(y: Array) -> tuple[Array, Array]:
    """Mean and mean square of the part above y; above minus infinity they are 0 and 1."""
    log_mass = _log_upper(y)
    # The integrals are 1 / (pi (1 + y^2)) and (arccot y + y / (1 + y^2)) / pi, whose terms do not cancel.
    first = np.exp(-2.0 * np.log(np.hypot(1.0, y)) - math.log(math.pi) - log_mass)
    with np.errstate(divide="ignore"):
        second = np.exp(np.log((np.arctan2(1.0, y) + 1.0 / (y + 1.0 / y)) / math.pi) - log_mass)
    return np.asarray(first), np.asarray(second)
