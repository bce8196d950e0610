"""Expectations of functions under a density, by quadrature."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import InvalidParameterError, PrecisionError

Function = Callable[[Any], Any]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# Probabilities of the tails at the edges of the first intervals. A background has at 1e-60 some 1e20 scales, so that
# even the square of what lies beyond does not count.
TAILS = 10.0 ** -np.array([60.0, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 6, 4, 3, 2, 1])
# Largest difference between the result of an interval and of its halves, in parts of the whole.
_AGREEMENT = 1e-11
# Probability that quadrature can miss in an interval.
_MISSED = 1e-11
# What the outermost intervals can have of the whole, if the integral is to converge.
_OUTERMOST = 1e-6
# Intervals to evaluate at ten nodes each.
_MOST_INTERVALS = 1 << 19


def expectation(function: Function, pdf: Function, cdf: Function, edges: Array, *, tails: tuple[bool, bool]) -> float:
    """Return the integral of the function times the density between the first and the last of ascending edges.

    Intervals are halved until the halves agree with the whole, and until the integral of the density agrees with the
    distribution function, so that no narrow peak is missed. `tails` says on which sides the last interval stands for
    all beyond.

    Raises
    ------
    PrecisionError
        If the integral does not converge, or needs too much work.
    """
    low, high = edges[:-1], edges[1:]
    integrand = _vectorised(function)
    whole, mass = _integrals(integrand, pdf, low, high), np.diff(cdf(edges))
    _check_tails(whole[2], tails)
    total, intervals, largest = 0.0, 0, math.fsum(whole[2])
    while low.size:
        intervals += 2 * low.size
        if intervals > _MOST_INTERVALS:
            raise PrecisionError("the expectation needs more work than is reasonable; take the mean over draws.")
        middle = 0.5 * (low + high)
        halves = [_integrals(integrand, pdf, low, middle), _integrals(integrand, pdf, middle, high)]
        both = halves[0] + halves[1]
        largest = max(largest, math.fsum(both[2]))
        # Written so that an interval with NaN is done.
        left = (np.abs(both[0] - whole[0]) > _AGREEMENT * largest) | (np.abs(both[1] - mass) > _MISSED)
        left &= (low < middle) & (middle < high)
        total += math.fsum(both[0][~left])
        low, middle, high, mass = low[left], middle[left], high[left], mass[left]
        below = cdf(middle) - cdf(low)
        mass = np.append(below, mass - below)
        low, high = np.append(low, middle), np.append(middle, high)
        whole = np.append(halves[0][:, left], halves[1][:, left], axis=1)
    return total


def _check_tails(sizes: Array, tails: tuple[bool, bool]) -> None:
    outer = sizes[[0, -1]][list(tails)]
    if not np.all(outer <= _OUTERMOST * math.fsum(sizes)):
        raise PrecisionError(
            "the expectation does not converge: the function grows too fast in a tail of the density; give bounds with "
            "lb= and ub=."
        )


def _integrals(function: Function, pdf: Function, low: Array, high: Array) -> Array:
    """Integrals over each interval of g f, f and |g| f, of shape (3, intervals)."""
    half = 0.5 * (high - low)[:, None]
    at = low[:, None] + half * (1.0 + _NODES)
    masses = pdf(at) * (half * _WEIGHTS)
    # Where the density is 0, a function that overflows does not count.
    values = np.where(masses > 0.0, function(at), 0.0)
    terms = values * masses
    return np.stack([terms.sum(axis=1), masses.sum(axis=1), np.abs(terms).sum(axis=1)])


def _vectorised(function: Function) -> Function:
    """The function on arrays, whether it takes arrays or numbers only."""
    one_by_one = np.vectorize(function, otypes=[np.float64])

    def values(at: Array) -> Array:
        try:
            found = np.asarray(function(at), dtype=np.float64)
        except (TypeError, ValueError):
            found = np.asarray(one_by_one(at))
        if found.shape not in ((), at.shape):
            raise InvalidParameterError(f"the function must return one number for each value, not {found.shape}.")
        return np.broadcast_to(found, at.shape)

    return values
