"""Differential entropy of a density that is given by its functions.

Callables and edges enter, a number in nats leaves. Which kind of density it is, is not known here.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from amortized_kde._types import Array

Function = Callable[[Any], Any]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
# What the entropy of an interval and of its halves may differ by; that of the halves is far better.
_CLOSE = 1e-12
# Probability that may stay unseen in an interval; it is worth fifty times as much entropy at most.
_UNSEEN = 1e-11
# Where float64 numbers are so far apart that more than this may be wrong, there is no answer.
_HOPELESS = 0.1


def entropy(logpdf: Function, cdf: Function, edges: Array) -> float:
    """Give the integral of -f log f between the first and the last of ascending edges.

    By quadrature, in which a narrow peak could hide between the nodes. But then the integral of f would not be the
    probability that the distribution function knows of; such intervals are halved until the peak is seen. NaN if peaks
    are hardly wider than the spacing of float64 numbers.
    """
    at = cdf(edges)
    low, high, below, above = edges[:-1], edges[1:], at[:-1], at[1:]
    settled, doubt = 0.0, 1.0 - float(at[-1] - at[0])
    while low.size:
        entropies, seen, noise = _adaptive(logpdf, low, high)
        middle, unseen = 0.5 * (low + high), np.abs(above - below - seen)
        hiding = (unseen > _UNSEEN + noise) & (low < middle) & (middle < high)
        settled += math.fsum(entropies[~hiding])
        doubt += math.fsum(unseen[~hiding]) + math.fsum(noise[~hiding])
        middle, within = middle[hiding], cdf(middle[hiding])
        low, high = np.append(low[hiding], middle), np.append(middle, high[hiding])
        below, above = np.append(below[hiding], within), np.append(within, above[hiding])
    return settled if doubt < _HOPELESS else math.nan


def _adaptive(logpdf: Function, low: Array, high: Array) -> Array:
    """The rows of `_integrals` for each interval, from parts of it that were halved until their halves agreed."""
    out, owner, whole = np.zeros((3, low.size)), np.arange(low.size), _integrals(logpdf, low, high)
    while low.size:
        middle = 0.5 * (low + high)
        first, second = _integrals(logpdf, low, middle), _integrals(logpdf, middle, high)
        halves = first + second
        done = np.abs(halves[0] - whole[0]) <= _CLOSE + halves[2]
        done |= (middle <= low) | (middle >= high)
        np.add.at(out.T, owner[done], halves[:, done].T)
        left = ~done
        low, middle, high, owner = low[left], middle[left], high[left], np.tile(owner[left], 2)
        low, high = np.append(low, middle), np.append(middle, high)
        whole = np.append(first[:, left], second[:, left], axis=1)
    return out


def _integrals(logpdf: Function, low: Array, high: Array) -> Array:
    """Integrals of -f log f and of f over each interval, and what the rounding of arguments may do to them."""
    half = 0.5 * (high - low)[:, None]
    log = logpdf(low[:, None] + half * (1.0 + _NODES))
    terms = np.exp(log) * (half * _WEIGHTS)
    # An argument is off by its spacing, and the log-density by its slope times that.
    spacing = np.spacing(np.maximum(np.abs(low), np.abs(high)))
    off = spacing * np.ptp(log, axis=1) / np.maximum(half[:, 0], spacing) * (1.0 + np.abs(log).max(axis=1))
    mass = terms.sum(axis=1)
    return np.stack([-np.sum(terms * log, axis=1), mass, off * mass])
