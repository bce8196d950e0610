"""Differential entropy of a density, from its log-density and distribution function."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import PrecisionError

Function = Callable[[Any], Any]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# Largest difference between the entropies of an interval and of its halves, which are far more accurate.
_AGREEMENT = 1e-12
# Probability that quadrature can miss in an interval; its entropy is at most fifty times as much.
_MISSED = 1e-11
# Above this error, from the spacing of float64 numbers, there is no result.
_LARGEST_ERROR = 0.1
# Intervals to evaluate at ten nodes each: enough for some ten thousand separate peaks.
_MOST_INTERVALS = 1 << 19
_ROUNDED = (
    "{} has no accurate digit: bandwidths are hardly above the spacing of float64 numbers at the data; "
    "subtract a constant from the data, or take a larger bandwidth."
)


def entropy(logpdf: Function, cdf: Function, edges: Array) -> float:
    """Return the integral of -f log f, in nats, between the first and the last of ascending edges.

    Quadrature could miss a narrow peak between its nodes, but then the integral of f would differ from the probability
    by the distribution function: such intervals are halved until the two agree.

    Raises
    ------
    PrecisionError
        If peaks are hardly wider than the spacing of float64 numbers, or are too many.
    """
    at = cdf(edges)
    low, high, below, above = edges[:-1], edges[1:], at[:-1], at[1:]
    total, error, work = 0.0, 1.0 - float(at[-1] - at[0]), _Work()
    while low.size:
        entropies, seen, noise = _adaptive(logpdf, low, high, work)
        middle, missed = 0.5 * (low + high), np.abs(above - below - seen)
        halved = (missed > _MISSED + noise) & (low < middle) & (middle < high)
        total += math.fsum(entropies[~halved])
        error += math.fsum(missed[~halved]) + math.fsum(noise[~halved])
        middle, within = middle[halved], cdf(middle[halved])
        low, high = np.append(low[halved], middle), np.append(middle, high[halved])
        below, above = np.append(below[halved], within), np.append(within, above[halved])
    if not error < _LARGEST_ERROR:
        raise PrecisionError(_ROUNDED.format("the entropy"))
    return total


def check_resolved(what: str, places: Array, masses: Array, bandwidths: Array) -> None:
    """Raise `PrecisionError` if too much of the mass is in kernels narrower than the spacing of float64 numbers."""
    if masses @ (bandwidths < np.spacing(np.abs(places))) >= _LARGEST_ERROR:
        raise PrecisionError(_ROUNDED.format(what))


class _Work:
    """Counts intervals, so that the work is bounded."""

    def __init__(self) -> None:
        self.intervals = 0

    def add(self, intervals: int) -> None:
        self.intervals += intervals
        if self.intervals > _MOST_INTERVALS:
            raise PrecisionError(
                "the entropy needs more work than is reasonable: there are too many separate narrow peaks; "
                "take larger bandwidths, or the mean of -logpdf at draws from the density."
            )


def _adaptive(logpdf: Function, low: Array, high: Array, work: _Work) -> Array:
    """The rows of `_integrals` for each interval, from parts halved until the halves agree with the whole."""
    out, interval, whole = np.zeros((3, low.size)), np.arange(low.size), _integrals(logpdf, low, high)
    while low.size:
        work.add(2 * low.size)
        middle = 0.5 * (low + high)
        first, second = _integrals(logpdf, low, middle), _integrals(logpdf, middle, high)
        halves = first + second
        # Written so that an interval with NaN is done.
        done = ~(np.abs(halves[0] - whole[0]) > _AGREEMENT + halves[2])
        done |= (middle <= low) | (middle >= high)
        np.add.at(out.T, interval[done], halves[:, done].T)
        left = ~done
        low, middle, high, interval = low[left], middle[left], high[left], np.tile(interval[left], 2)
        low, high = np.append(low, middle), np.append(middle, high)
        whole = np.append(first[:, left], second[:, left], axis=1)
    return out


def _integrals(logpdf: Function, low: Array, high: Array) -> Array:
    """Integrals of -f log f and of f over each interval, and their errors by the rounding of arguments."""
    half = 0.5 * (high - low)[:, None]
    log = logpdf(low[:, None] + half * (1.0 + _NODES))
    terms = np.exp(log) * (half * _WEIGHTS)
    # An argument is off by its spacing, and the log-density by its slope times that.
    spacing = np.spacing(np.maximum(np.abs(low), np.abs(high)))
    off = spacing * np.ptp(log, axis=1) / np.maximum(half[:, 0], spacing) * (1.0 + np.abs(log).max(axis=1))
    mass = terms.sum(axis=1)
    return np.stack([-np.sum(terms * log, axis=1), mass, np.where(mass > 0.0, off * mass, 0.0)])
