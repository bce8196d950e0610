"""The densities from which awkward samples were drawn: quantiles and log-densities, both for arrays."""

import math

import numpy as np

from amortized_kde._types import Array

# Standard deviations of the normal law, and of the logarithms in the wide one.
SD = 1.5
LOG_SD = 2.0


def midpoints(low: float, high: float, count: int) -> Array:
    """Middles of even steps from low to high."""
    return low + (np.arange(count) + 0.5) * (high - low) / count


def cauchy(p: Array) -> Array:
    """Quantiles of Cauchy's law."""
    return np.asarray(np.tan(math.pi * (p - 0.5)))


def cauchy_log(x: Array) -> Array:
    """Its log-density."""
    return np.asarray(-np.log(math.pi * (1.0 + x * x)))


def normal(p: Array) -> Array:
    """Quantiles of the normal law."""
    from scipy.special import ndtri

    return np.asarray(SD * ndtri(p))


def normal_log(x: Array) -> Array:
    """Its log-density."""
    return np.asarray(-0.5 * (x / SD) ** 2 - math.log(SD * math.sqrt(2.0 * math.pi)))


def wide(p: Array) -> Array:
    """Quantiles of a lognormal law over five decades."""
    return np.asarray(np.exp(normal(p) * (LOG_SD / SD)))


def wide_log(x: Array) -> Array:
    """Its log-density."""
    y = np.log(x)
    return np.asarray(-0.5 * (y / LOG_SD) ** 2 - math.log(LOG_SD * math.sqrt(2.0 * math.pi)) - y)


def rain(p: Array) -> Array:
    """Quantiles where the zeros are spread over their tenth and the other values follow a gamma law."""
    x = np.concatenate([midpoints(-0.05, 0.05, 2001), np.geomspace(0.05001, 40.0, 8000)])
    return np.asarray(np.interp(p, _rain_below(x), x))


def _rain_below(x: Array) -> Array:
    y = np.maximum(x, 0.0) / 2.0
    return np.asarray(0.6 * np.clip((x + 0.05) / 0.1, 0.0, 1.0) + 0.4 * (1.0 - (1.0 + y) * np.exp(-y)))


def rain_log(x: Array) -> Array:
    """Its log-density."""
    y = np.maximum(x, 0.0) / 2.0
    return np.asarray(np.log(6.0 * (np.abs(x) <= 0.05) + 0.4 * 0.5 * y * np.exp(-y)))


def exponential(p: Array) -> Array:
    """Quantiles of the exponential law."""
    return np.asarray(-np.log1p(-p))


def exponential_log(x: Array) -> Array:
    """Its log-density."""
    return -x


def arcsine(p: Array) -> Array:
    """Quantiles of the arcsine law, which is infinite at both ends."""
    return np.asarray(np.sin(0.5 * math.pi * p) ** 2)


def arcsine_log(x: Array) -> Array:
    """Its log-density."""
    return np.asarray(-np.log(math.pi) - 0.5 * np.log(x * (1.0 - x)))
