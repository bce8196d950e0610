"""The broad background of a density, for values that no kernel foresees.

It is Student's t with three degrees of freedom, truncated at the finite bounds and renormalised. The functions take
arrays of any shape; bounds, locations and scales broadcast against the arguments. `Background` is one of them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags
from amortized_kde.errors import InvalidParameterError

# In y = t / sqrt 3 the density of t is 2 / (pi (1 + y^2)^2).
_SQRT_3 = math.sqrt(3.0)
_LOG_PEAK = math.log(2.0 / math.pi)
# From here on the mass above y is 2 / (3 pi y^3) to the last bit.
_CUBIC_FROM = 1e50
# What lies beyond adds 1e-100 to the second moment; without a limit, bounds of 1e300 overflow.
_FAR_END = 1e100
# Below this mass Newton's method runs in log y, otherwise in the angle.
_SMALL_MASS = 0.1
# Both converge quadratically and from one side; the worst start needs seven steps to the last bit.
_NEWTON_STEPS = 9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_TAIL_NODES, _TAIL_WEIGHTS = np.polynomial.legendre.leggauss(14)


def _standard(x: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    return np.asarray((np.asarray(x, float) - location) / np.multiply(scale, _SQRT_3))


def _has_both(lower: ArrayLike, upper: ArrayLike) -> Flags:
    return np.isfinite(lower) & np.isfinite(upper)


def _log_inside(lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Logarithm of the mass of the whole t between the bounds."""
    if not np.any(np.isfinite(lower) | np.isfinite(upper)):
        return np.zeros(())
    start, end, gap = _ends(lower, upper, location, scale)
    # The term of an open side is 0.
    return np.where(
        _has_both(lower, upper),
        _log_between(start, end, gap),
        _log_upper(_standard(lower, location, scale)) + _log_upper(-_standard(upper, location, scale)),
    )


def _ends(lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> tuple[Array, Array, Array]:
    """Both bounds in units of the scale and the distance between them; -1, 1 and 2 unless both are finite."""
    both = _has_both(lower, upper)
    width = np.where(both, np.subtract(upper, lower), 1.0) / np.multiply(scale, _SQRT_3)
    start, end = _standard(lower, location, scale), _standard(upper, location, scale)
    found = (np.where(both, start, -1.0), np.where(both, end, 1.0), np.where(both, width, 2.0))
    return tuple(np.broadcast_arrays(*found))  # type: ignore[return-value]


def log_density(x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the natural log-density at `x`, minus infinity outside the bounds, which are infinite where open.

    Examples
    --------
    >>> log_density([0.0, 1.0], lower=-np.inf, upper=np.inf, location=0.0, scale=1.0).round(4)
    array([-1.0009, -1.5763])
    >>> log_density(3.0, lower=[0.0, -np.inf], upper=[4.0, 4.0], location=0.0, scale=1.0).round(4)
    array([-3.0519, -3.7594])
    """
    x = np.asarray(x, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        constant = _LOG_PEAK - np.log(np.multiply(scale, _SQRT_3)) - _log_inside(lower, upper, location, scale)
        log = constant - 4.0 * np.log(np.hypot(1.0, _standard(x, location, scale)))
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
        # A bound that is farther away than float64 can say in these units is none.
        bounded = np.isfinite(start)
        log = _log_upper(-y) - _log_upper(-end)
        if bounded.any():
            gap = np.where(np.isfinite(lower), np.maximum(x - lower, 0.0), 0.0) / np.multiply(scale, _SQRT_3)
            from_bound = _log_between(np.broadcast_to(np.where(bounded, start, 0.0), gap.shape), y, gap)
            log = np.where(bounded, from_bound - _log_inside(lower, upper, location, scale), log)
        log = np.minimum(log, 0.0)
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
    found = np.zeros(np.broadcast_shapes(p.shape, low.shape, high.shape, centre.shape, np.shape(scale)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if np.any(p <= 0.5):
            found = _lower_quantile(np.minimum(p, 0.5), low, high, centre, scale)
        if not np.all(p <= 0.5):
            above = -_lower_quantile(np.minimum(1.0 - p, 0.5), -high, -low, -centre, scale)
            found = np.where(p <= 0.5, found, above)
    return np.asarray(np.clip(found, lower, upper))


def _lower_quantile(p: Array, lower: Array, upper: Array, location: Array, scale: ArrayLike) -> Array:
    """Quantiles of p <= 1/2: from the lower bound if there is one, otherwise from minus infinity."""
    unit = np.multiply(scale, _SQRT_3)
    start, end = _standard(lower, location, scale), _standard(upper, location, scale)
    bounded = np.isfinite(start)
    from_open = location - unit * _upper_quantile(np.log(p) + _log_upper(-end))
    if not bounded.any():
        return np.asarray(np.where(p > 0.0, from_open, lower))
    start = np.where(bounded, start, 0.0)
    gap, y = _quantile_above(np.log(p) + _log_inside(lower, upper, location, scale), start)
    # Near the bound rounding spoils the difference of two places, far from it their sum.
    from_bound = np.where(gap < np.abs(y), lower + unit * gap, location + unit * y)
    return np.asarray(np.where(p > 0.0, np.where(bounded, from_bound, from_open), lower))


def _quantile_above(log_mass: Array, start: Array) -> tuple[Array, Array]:
    """The y with this mass, at most half of all above `start`, between `start` and y: y - start, and y."""
    log_mass, start = np.broadcast_arrays(np.minimum(log_mass, _log_upper(start) - math.log(2.0)), start)
    below, above = (sign * np.exp(log_mass) + np.exp(_log_upper(-sign * start)) for sign in (1.0, -1.0))
    y = np.where(below < 0.5, -1.0, 1.0) * _upper_quantile(np.log(np.minimum(below, above)))
    gap = np.exp(log_mass - _LOG_PEAK + 4.0 * np.log(np.hypot(1.0, start)))
    # Across a small gap the density hardly changes; four Newton steps in the logarithm of the gap make it exact.
    near = gap < 0.01 * np.hypot(1.0, start)
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
    array([0.9553, 1.1027])
    """
    first = _moments(lower, upper, location, scale)[0]
    return np.asarray(np.asarray(location) + np.multiply(scale, _SQRT_3) * first)


def std(*, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Return the standard deviation.

    Examples
    --------
    >>> std(lower=[0.0, 0.0, -np.inf], upper=[4.0, np.inf, np.inf], location=0.0, scale=1.0).round(4)
    array([0.809 , 1.3357, 1.7321])
    """
    return np.asarray(np.multiply(scale, _SQRT_3) * np.sqrt(_moments(lower, upper, location, scale)[1]))


@dataclass(frozen=True)
class Background:
    """One background: bounds (infinite where open), and location and scale in data units.

    Raises
    ------
    InvalidParameterError
        If the lower bound is not below the upper, the location is not finite, or the scale not positive and finite.

    Examples
    --------
    >>> Background(0.0, 4.0, location=1.0, scale=1.0).log_density(3.0).round(4)
    np.float64(-2.4414)
    """

    lower: float
    upper: float
    location: float
    scale: float

    def __post_init__(self) -> None:
        usable = math.isfinite(self.location) and 0.0 < self.scale < math.inf
        if not (self.lower < self.upper and usable):
            raise InvalidParameterError(
                f"a background needs an interval, a finite location and a positive scale, not {self}."
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


def _upper(y: Array) -> Array:
    """Mass above y >= 0, to 1e-15 relative: the integral of 2 t^2 / (1 + t^2)^2 from 0 to 1/y, over pi."""
    end = 1.0 / np.maximum(y, 1.0)
    t = 0.5 * end[..., None] * (1.0 + _TAIL_NODES)
    beyond = end / math.pi * ((t / (1.0 + t * t)) ** 2 @ _TAIL_WEIGHTS)
    # The terms of the closed form cancel in the tail.
    return np.where(y > 1.0, beyond, 0.5 - (np.arctan(y) + y / (1.0 + y * y)) / math.pi)


def _log_upper(y: Array) -> Array:
    """Logarithm of the mass above y, accurate relative to the mass for every y."""
    far = np.abs(y)
    tail = _upper(np.minimum(far, _CUBIC_FROM))
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
    if not few.any():
        return _upper_quantile_of_many(log_q)
    # Log mass against log y is concave, and the start lies below: no step crosses the solution.
    log_y = -(math.log(1.5 * math.pi) + np.where(few, log_q, math.log(_SMALL_MASS))) / 3.0
    for _ in range(_NEWTON_STEPS):
        y = np.exp(log_y)
        log_mass = _log_upper(y)
        slope = np.exp(_LOG_PEAK - 4.0 * np.log(np.hypot(1.0, y)) + log_y - log_mass)
        log_y = log_y + (log_mass - np.minimum(log_q, math.log(_SMALL_MASS))) / slope
    return np.exp(log_y) if few.all() else np.where(few, np.exp(log_y), _upper_quantile_of_many(log_q))


def _upper_quantile_of_many(log_q: Array) -> Array:
    """The same for a mass that is not small."""
    # With y = tan(angle / 2) this is Kepler's equation: angle + sin(angle) = pi (1 - 2 q).
    target = math.pi * (1.0 - 2.0 * np.exp(np.maximum(log_q, math.log(_SMALL_MASS))))
    angle = 0.5 * target
    for _ in range(_NEWTON_STEPS):
        angle = angle - (angle + np.sin(angle) - target) / (1.0 + np.cos(angle))
    return np.asarray(np.tan(0.5 * angle))


def _moments(lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> tuple[Array, Array]:
    """Mean, as a distance from the location, and variance of the truncated t, in units of sqrt 3 scales."""
    start, end = _standard(lower, location, scale), _standard(upper, location, scale)
    low, high, gap = _without_far_ends(*_ends(lower, upper, location, scale))
    with np.errstate(all="ignore"):
        # One side of the mirror image where the upper bound is the finite one; without bounds, the whole line.
        first, second = _upper_moments(np.where(np.isfinite(lower), start, -end))
        first = np.where(np.isfinite(lower), first, -first)
        # Between two bounds: the integral of y is (1 / (1 + low^2) - 1 / (1 + high^2)) / pi.
        mass, (below, above) = np.exp(_log_between(low, high, gap)), (np.hypot(1.0, low), np.hypot(1.0, high))
        centre = gap / below / above * ((low + high) / below / above) / (math.pi * mass)
        square = (_second_integral(high) - _second_integral(low)) / mass
    # Where the interval is narrow its terms would cancel, and quadrature is exact.
    narrow = gap < 0.5 * np.maximum(1.0, np.minimum(np.abs(low), np.abs(high)))
    near, from_low = np.where(narrow, low, 0.0)[..., None], 0.5 * np.where(narrow, gap, 1.0)[..., None] * (1.0 + _NODES)
    ratio = np.hypot(1.0, near) / np.hypot(1.0, near + from_low)
    weights = _WEIGHTS * ratio**4 / np.sum(_WEIGHTS * ratio**4, axis=-1, keepdims=True)
    middle = np.sum(weights * from_low, axis=-1)
    centre = np.where(narrow, low + middle, centre)
    spread = np.sum(weights * (from_low - middle[..., None]) ** 2, axis=-1)
    both = _has_both(lower, upper)
    variance = np.where(both, np.where(narrow, spread, square - centre * centre), second - first * first)
    return np.where(both, centre, first), variance


def _without_far_ends(low: Array, high: Array, gap: Array) -> tuple[Array, Array, Array]:
    """Ends on both sides of the location, moved to where what lies beyond adds nothing to a moment."""
    around = (low < 0.0) & (high > 0.0) & ((low < -_FAR_END) | (high > _FAR_END))
    start, end = np.maximum(low, -_FAR_END), np.minimum(high, _FAR_END)
    return np.where(around, start, low), np.where(around, end, high), np.where(around, end - start, gap)


def _second_integral(y: Array) -> Array:
    """An antiderivative of y^2 times the density."""
    return np.asarray((np.arctan(y) - y / np.hypot(1.0, y) / np.hypot(1.0, y)) / math.pi)


def _upper_moments(y: Array) -> tuple[Array, Array]:
    """Mean and mean square of the part above y; above minus infinity they are 0 and 1."""
    log_mass = _log_upper(y)
    # The integrals are 1 / (pi (1 + y^2)) and (arccot y + y / (1 + y^2)) / pi, whose terms do not cancel.
    first = np.exp(-2.0 * np.log(np.hypot(1.0, y)) - math.log(math.pi) - log_mass)
    with np.errstate(divide="ignore"):
        second = np.exp(np.log((np.arctan2(1.0, y) + 1.0 / (y + 1.0 / y)) / math.pi) - log_mass)
    return np.asarray(first), np.asarray(second)
