"""Floating-point errors at the boundary of the package, and units in which numbers are ordinary."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from amortized_kde._types import Array, Index

P = ParamSpec("P")
R = TypeVar("R")

# Between these powers of two, squares and reciprocals neither overflow nor underflow.
_ORDINARY = 300


def quiet(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function neither warn of nor raise floating-point errors, whatever `numpy.errstate` the caller set.

    Underflow and overflow are part of the algorithms: the exponential of a distant kernel is 0.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return call


def ordinary_exponents(largest: Array) -> Index:
    """Return whole numbers k with largest * 2^k near 1 where `largest` is tiny or huge, and 0 where it is ordinary.

    Examples
    --------
    >>> ordinary_exponents(np.array([0.0, 1.0, 1e-310, 1e300]))
    array([   0,    0, 1029, -997])
    """
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.where((np.abs(exponents) > _ORDINARY) & (largest > 0.0), -exponents, 0)


def times_power(x: Any, exponents: Any) -> Array:
    """Return x * 2^k without overflow of the power itself.

    Examples
    --------
    >>> times_power(5e-324, 1074)
    array(1.)
    """
    return np.asarray(np.ldexp(x, exponents))
