"""Special functions, without SciPy until there is much to compute.

`scipy.special` takes longer to import than this package. Until something imports it, the normal distribution comes
from Python's `math`, which is as accurate, but takes ten times as long for each argument.
"""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from amortized_kde._types import Array

# Arguments in a process after which SciPy is imported, which takes as long as Python for these.
_IMPORTED_FROM = 1 << 19
_SQRT_HALF = math.sqrt(0.5)


class _Count:
    """Arguments so far; two threads that count at the same time may lose some, which does not matter."""

    arguments = 0


def scipy_special() -> Any:
    """Return `scipy.special`, imported now if it has not been."""
    import scipy.special

    return scipy.special


def _pays(arguments: int) -> bool:
    """Whether to compute this many more arguments by SciPy."""
    _Count.arguments += arguments
    return "scipy.special" in sys.modules or _Count.arguments > _IMPORTED_FROM


def _each(function: Callable[[float], float], x: Array) -> Array:
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def erf(x: Array) -> Array:
    """Return the error function."""
    return np.asarray(scipy_special().erf(x) if _pays(x.size) else _each(math.erf, x))


def ndtr(x: Array) -> Array:
    """Return the standard normal distribution function, accurate relative to itself."""
    return np.asarray(scipy_special().ndtr(x) if _pays(x.size) else 0.5 * _each(math.erfc, -_SQRT_HALF * x))


def ndtri_exp(log_p: Array) -> Array:
    """Return the standard normal quantiles of probabilities with these logarithms."""
    # Where exp(log_p) is neither 0 nor 1, and has all its digits.
    if _pays(log_p.size) or not np.all((log_p > -700.0) & (log_p < -1e-3)):
        return np.asarray(scipy_special().ndtri_exp(log_p))
    from statistics import NormalDist

    return _each(NormalDist().inv_cdf, np.exp(log_p))


def log_sum_exp(logs: Array, coefficients: Array | float = 1.0) -> Array:
    """Return the logarithm of the sum of coefficients times exp(logs) along the last axis."""
    highest = np.max(logs, axis=-1, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    return np.asarray(highest[..., 0] + np.log(np.sum(coefficients * np.exp(logs - highest), axis=-1)))
