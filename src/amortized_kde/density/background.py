"""The broad background of a density, which is there for what no kernel foresees, and only computes.

Between two finite bounds it is uniform. Otherwise it is Student's t with three degrees of freedom, a location and a
scale in data units, cut at the finite bound if there is one, and renormalised. Arrays of any shape enter and leave;
bounds, locations and scales may be arrays too, which broadcast against the arguments.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.student import LOG_PEAK, SQRT_3, log_between, log_upper, upper_moments, upper_quantile


def _standard(x: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    return np.asarray((np.asarray(x, float) - location) / np.multiply(scale, SQRT_3))


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
        inside = log_upper(_standard(lower, location, scale)) + log_upper(-_standard(upper, location, scale))
        constant = LOG_PEAK - np.log(np.multiply(scale, SQRT_3)) - inside
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
        from_open = log_upper(-y) - log_upper(-end)
        gap = np.where(np.isfinite(lower), np.maximum(x - lower, 0.0), 0.0) / np.multiply(scale, SQRT_3)
        from_bound = log_between(np.broadcast_to(np.where(np.isfinite(start), start, 0.0), gap.shape), y, gap)
        student = np.where(np.isfinite(lower), from_bound - log_upper(start), from_open)
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
    unit = np.multiply(scale, SQRT_3)
    start, end = _standard(lower, location, scale), _standard(upper, location, scale)
    from_open = location - unit * upper_quantile(np.log(p) + log_upper(-end))
    start = np.where(np.isfinite(start), start, 0.0)
    gap, y = _beyond(p, start)
    # Near the bound the difference of two places would be rounding; far from it, so would the sum.
    from_bound = np.where(gap < np.abs(y), lower + unit * gap, location + unit * y)
    student = np.where(np.isfinite(lower), from_bound, from_open)
    uniform = lower + p * np.subtract(upper, lower)
    return np.asarray(np.where(p > 0.0, np.where(_is_uniform(lower, upper), uniform, student), lower))


def _beyond(p: Array, start: Array) -> tuple[Array, Array]:
    """The y with the share p <= 1/2 of the mass above `start` between them, and its distance from there."""
    log_mass = np.log(p) + log_upper(start)
    below, above = np.exp(log_upper(-start)) + np.exp(log_mass), np.exp(log_upper(start)) * (1.0 - p)
    y = np.where(below < 0.5, -1.0, 1.0) * upper_quantile(np.log(np.minimum(below, above)))
    gap = np.exp(log_mass - LOG_PEAK + 4.0 * np.log(np.hypot(1.0, start)))
    # So small a gap that the density hardly changes; four steps of Newton's method in its logarithm make it exact.
    near = gap < 0.01 * np.hypot(1.0, start)
    start = np.broadcast_to(start, gap.shape)
    for _ in range(4):
        found = log_between(start, start + gap, gap)
        slope = gap * np.exp(LOG_PEAK - 4.0 * np.log(np.hypot(1.0, start + gap)) - found)
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
        # The pull of a cut away from it; an open side has none.
        student = np.asarray(location) + np.multiply(scale, SQRT_3) * (upper_moments(start)[0] - upper_moments(end)[0])
        middle = 0.5 * np.asarray(lower, float) + 0.5 * np.asarray(upper, float)
    return np.asarray(np.where(_is_uniform(lower, upper), middle, student))


def std(*, lower: ArrayLike, upper: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Standard deviation.

    Examples
    --------
    >>> std(lower=[0.0, 0.0, -np.inf], upper=[4.0, np.inf, np.inf], location=0.0, scale=1.0).round(4)
    array([1.1547, 1.3357, 1.7321])
    """
    start, end = _standard(lower, location, scale), -_standard(upper, location, scale)
    # At most one side of a Student's t is cut; without any, all of it lies above minus infinity.
    first, second = upper_moments(np.where(np.isfinite(lower), start, end))
    student = np.multiply(scale, SQRT_3) * np.sqrt(second - first * first)
    with np.errstate(invalid="ignore"):
        width = np.subtract(upper, lower)
    return np.asarray(np.where(_is_uniform(lower, upper), width / math.sqrt(12.0), student))


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

    def std(self) -> float:
        """Standard deviation."""
        return float(std(**self._parts))

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Give independent draws, by the inverse of the distribution function."""
        return self.quantile(rng.random(count))
