"""The broad background of a density, which is there for what no kernel foresees, and only computes.

Between two finite bounds it is uniform. Otherwise it is Student's t with three degrees of freedom, a location and a
scale in data units, cut at the finite bound if there is one, and renormalised. Arrays of any shape enter and leave;
bounds, locations and scales may be arrays too, which broadcast against the arguments.

In y = (x - location) / (scale sqrt 3) the density is 2 / (pi (1 + y^2)^2). The mass above y has a closed form, whose
terms cancel in the tail: SciPy's `stdtr` does not use it and is accurate to 2e-15 of the mass.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from amortized_kde.errors import InvalidParameterError

__all__ = ["Background", "log_cdf", "log_density", "log_sf", "mean", "quantile"]

Array = NDArray[np.float64]

_SQRT_3 = math.sqrt(3.0)
_LOG_PEAK = math.log(2.0 / math.pi)
_FAR = 1e50
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# Where less than this is left above, Newton's method runs in log y, else in the angle.
_FEW = 0.1
# Both converge quadratically and from one side; the worst start needs seven steps to the last bit.
_STEPS = 9


def _log_upper(y: Array) -> Array:
    """Logarithm of the mass above y, accurate relative to the mass for every y."""
    far = np.abs(y)
    tail = stdtr(3.0, -_SQRT_3 * np.minimum(far, _FAR))
    # From there on the mass is 2 / (3 pi y^3), in float64 to the last bit.
    log_tail = np.log(tail) - 3.0 * np.log(np.maximum(far / _FAR, 1.0))
    return np.asarray(np.where(y > 0.0, log_tail, np.log1p(-tail * (far <= _FAR))))


def _log_between(y: Array, end: Array, gap: Array) -> Array:
    """Logarithm of the mass between y and end = y + gap, accurate relative to the mass however small the gap."""
    # From the side where both tails are small, for then they cancel least.
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
    few = log_q < math.log(_FEW)
    # Log mass against log y is concave and starts below: no step leaves the side from which it comes.
    log_y = -(math.log(1.5 * math.pi) + np.where(few, log_q, math.log(_FEW))) / 3.0
    for _ in range(_STEPS):
        y = np.exp(log_y)
        log_mass = _log_upper(y)
        slope = np.exp(_LOG_PEAK - 4.0 * np.log(np.hypot(1.0, y)) + log_y - log_mass)
        log_y = log_y + (log_mass - np.minimum(log_q, math.log(_FEW))) / slope
    # With y = tan(angle / 2) it is Kepler's equation: angle + sin(angle) = pi (1 - 2 q).
    target = math.pi * (1.0 - 2.0 * np.exp(np.maximum(log_q, math.log(_FEW))))
    angle = 0.5 * target
    for _ in range(_STEPS):
        angle = angle - (angle + np.sin(angle) - target) / (1.0 + np.cos(angle))
    return np.asarray(np.where(few, np.exp(log_y), np.tan(0.5 * angle)))


def _standard(x: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    return np.asarray((np.asarray(x, float) - location) / np.multiply(scale, _SQRT_3))


def _is_uniform(lower: ArrayLike, upper: ArrayLike) -> NDArray[np.bool_]:
    return np.isfinite(lower) & np.isfinite(upper)


def log_density(x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Natural log-density at `x`, minus infinity outside the bounds.

    Parameters
    ----------
    x : array_like
        Where to evaluate, in data units.
    lower, upper : array_like
        Bounds, infinite where open; two finite ones make it uniform.
    location, scale : array_like
        Of Student's t with three degrees of freedom; not looked at where it is uniform.

    Examples
    --------
    >>> log_density([0.0, 1.0], lower=-np.inf, upper=np.inf, location=0.0, scale=1.0).round(4)
    array([-1.0009, -1.5763])
    >>> log_density(3.0, lower=[0.0, -np.inf], upper=[4.0, 4.0], location=0.0, scale=1.0).round(4)
    array([-1.3863, -3.7594])
    """
    x = np.asarray(x, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of an open side the mass is all there is; at most one side of a Student's t is cut.
        inside = _log_upper(_standard(lower, location, scale)) + _log_upper(-_standard(upper, location, scale))
        constant = _LOG_PEAK - np.log(np.multiply(scale, _SQRT_3)) - inside
        student = constant - 4.0 * np.log(np.hypot(1.0, _standard(x, location, scale)))
        log = np.where(_is_uniform(lower, upper), -np.log(np.subtract(upper, lower)), student)
    return np.asarray(np.where((x < lower) | (x > upper), -math.inf, np.where(np.isnan(x), x, log)))


def log_cdf(x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Natural logarithm of the probability below `x`, accurate relative to the probability (see `log_density`).

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
    """Natural logarithm of the probability above `x`: `log_cdf` of the mirrored background."""
    return log_cdf(
        np.negative(x), lower=np.negative(upper), upper=np.negative(lower), location=np.negative(location), scale=scale
    )


def quantile(p: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """The x with probability `p` in [0, 1] below it, accurate near both ends.

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
    """Quantiles of p <= 1/2: from the bound if the lower side has one, else from minus infinity."""
    unit = np.multiply(scale, _SQRT_3)
    start, end = _standard(lower, location, scale), _standard(upper, location, scale)
    from_open = location - unit * _upper_quantile(np.log(p) + _log_upper(-end))
    start = np.where(np.isfinite(start), start, 0.0)
    gap, y = _beyond(p, start)
    # Near the bound the difference of two places would be rounding; far from it, so would the sum.
    from_bound = np.where(gap < np.abs(y), lower + unit * gap, location + unit * y)
    student = np.where(np.isfinite(lower), from_bound, from_open)
    uniform = lower + p * np.subtract(upper, lower)
    return np.asarray(np.where(p > 0.0, np.where(_is_uniform(lower, upper), uniform, student), lower))


def _beyond(p: Array, start: Array) -> tuple[Array, Array]:
    """The y with the share p <= 1/2 of the mass above `start` between them, and its distance from there."""
    log_mass = np.log(p) + _log_upper(start)
    below, above = np.exp(_log_upper(-start)) + np.exp(log_mass), np.exp(_log_upper(start)) * (1.0 - p)
    y = np.where(below < 0.5, -1.0, 1.0) * _upper_quantile(np.log(np.minimum(below, above)))
    gap = np.exp(log_mass - _LOG_PEAK + 4.0 * np.log(np.hypot(1.0, start)))
    # So small a gap that the density hardly changes; four steps of Newton's method in its logarithm make it exact.
    near = gap < 0.01 * np.hypot(1.0, start)
    start = np.broadcast_to(start, gap.shape)
    for _ in range(4):
        found = _log_between(start, start + gap, gap)
        slope = gap * np.exp(_LOG_PEAK - 4.0 * np.log(np.hypot(1.0, start + gap)) - found)
        gap = gap * np.exp(np.where(near, log_mass - found, 0.0) / slope)
    return np.where(near, gap, y - start), y


def mean(*, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Expectation.

    Examples
    --------
    >>> mean(lower=[0.0, 0.0], upper=[4.0, np.inf], location=0.0, scale=1.0).round(4)
    array([2.    , 1.1027])
    """
    start, end = _standard(lower, location, scale), -_standard(upper, location, scale)
    with np.errstate(invalid="ignore"):
        # The integral of y times the density above y is 1 / (pi (1 + y^2)).
        pulls = (np.exp(-2.0 * np.log(np.hypot(1.0, side)) - _log_upper(side)) / math.pi for side in (start, end))
        student = np.asarray(location) + np.multiply(scale, _SQRT_3) * np.subtract(*pulls)
        middle = 0.5 * np.asarray(lower, float) + 0.5 * np.asarray(upper, float)
    return np.asarray(np.where(_is_uniform(lower, upper), middle, student))


@dataclass(frozen=True)
class Background:
    """One background: bounds (infinite where open), and location and scale in data units.

    Raises
    ------
    InvalidParameterError
        If the bounds are no interval, or a side is open and location or scale are not finite or the scale not positive.

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

    @property
    def _parts(self) -> dict[str, float]:
        return {"lower": self.lower, "upper": self.upper, "location": self.location, "scale": self.scale}

    def mirrored(self) -> "Background":
        """Give the background with the axis turned around."""
        return Background(-self.upper, -self.lower, -self.location, self.scale)

    def log_density(self, x: ArrayLike) -> Array:
        """Natural log-density."""
        return log_density(x, **self._parts)

    def log_cdf(self, x: ArrayLike) -> Array:
        """Natural logarithm of the probability below."""
        return log_cdf(x, **self._parts)

    def log_sf(self, x: ArrayLike) -> Array:
        """Natural logarithm of the probability above."""
        return log_sf(x, **self._parts)

    def quantile(self, p: ArrayLike) -> Array:
        """Quantiles of probabilities in [0, 1]."""
        return quantile(p, **self._parts)

    def mean(self) -> float:
        """Expectation."""
        return float(mean(**self._parts))

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Give independent draws, by the inverse of the distribution function."""
        return self.quantile(rng.random(count))
