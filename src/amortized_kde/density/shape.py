"""Shortest intervals and level sets of a density, from its log-density, cdf and quantile functions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from amortized_kde._types import Array, Index

Function = Callable[[Any], Any]

# Log-densities this close to a level, relative to it, are there, and so are probabilities; bisection alone ends before
# the most steps.
_CLOSE, _CLOSE_MASS = 4e-15, 1e-13
_MOST_STEPS = 400
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def shortest_interval(ppf: Function, mass: float) -> tuple[float, float]:
    """Return the shortest interval with this probability: the best of 201 lower tails, then golden section."""
    tails = np.linspace(0.0, 1.0 - mass, 201)
    # Open sides have no quantile at probability 0.
    tails[0], tails[-1] = 1e-9 * (1.0 - mass), (1.0 - 1e-9) * (1.0 - mass)
    width = ppf(tails + mass) - ppf(tails)
    best = int(np.argmin(width))
    a, b = tails[max(best - 1, 0)], tails[min(best + 1, 200)]
    for _ in range(40):
        c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        ends = ppf(np.array([c + mass, c, d + mass, d]))
        if ends[0] - ends[1] <= ends[2] - ends[3]:
            b = d
        else:
            a = c
    lower = 0.5 * (a + b)
    return ppf(lower), ppf(lower + mass)


def highest_density_region(logpdf: Function, cdf: Function, turning: Array, mass: float) -> Array:
    """Return the level set that holds the probability `mass`, as rows (low, high)."""
    log = logpdf(turning)

    def excess(level: Array) -> Array:
        region = _above(logpdf, turning, log, float(level[0]))
        return np.array([float(np.sum(cdf(region[:, 1]) - cdf(region[:, 0]))) - mass])

    # What lies below a level has at most its density times the width, and must have 1 - mass in the end.
    least = math.log(1.0 - mass) - math.log(turning[-1] - turning[0]) - 1.0
    ends = np.array([max(log.min(), least)]), np.array([log.max()])
    level = _roots(excess, *ends, np.array([1.0 - mass]), np.array([-mass]), _CLOSE_MASS)
    return _above(logpdf, turning, log, float(level[0]))


def _above(logpdf: Function, turning: Array, log: Array, level: float) -> Array:
    """Intervals on which the log-density is above the level; between turning points it is monotone."""
    above = log > level
    crossing = np.flatnonzero(above[1:] != above[:-1])
    a, b = crossing, crossing + 1
    values = log[a] - level, log[b] - level
    edges = _roots(lambda x: logpdf(x) - level, turning[a], turning[b], *values, _CLOSE * max(1.0, abs(level)))
    if above[0]:
        edges = np.concatenate([turning[:1], edges])
    if above[-1]:
        edges = np.concatenate([edges, turning[-1:]])
    return np.asarray(edges.reshape(-1, 2))


def _roots(function: Function, a: Array, b: Array, at_a: Array, at_b: Array, close: float) -> Array:
    """Return where a function is 0 between each of `a` and `b`, where its values have different signs.

    Regula falsi, where an end that stays again counts half (Illinois's rule); every fourth step bisects.
    """
    roots, left, moved_a = 0.5 * (a + b), np.arange(a.size), np.full(a.size, -1)
    for step in range(_MOST_STEPS):
        x = a + (at_a / (at_a - at_b) if step % 4 < 3 else 0.5) * (b - a)
        value = function(x)
        roots[left] = x
        moves_a = (value > 0.0) == (at_a > 0.0)
        half = np.where(moves_a == moved_a, 0.5, 1.0)
        a, b = np.where(moves_a, x, a), np.where(moves_a, b, x)
        at_a, at_b = np.where(moves_a, value, half * at_a), np.where(moves_a, half * at_b, value)
        far = np.flatnonzero((np.abs(value) > close) & (np.abs(b - a) > 2.0 * np.spacing(np.abs(x))))
        if far.size == 0:
            break
        left, moved_a = left[far], moves_a[far].astype(np.int64)
        a, b, at_a, at_b = a[far], b[far], at_a[far], at_b[far]
    return roots


def outermost(points: Array, log_bandwidths: Array, anchors: Index | None, sign: float) -> float:
    """Return the largest of sign * point + 4 bandwidths.

    The logarithms of the bandwidths are those of the points, or of the points with the ranks `anchors` and linear in
    rank in between.
    """
    if anchors is None:
        return float(np.max(sign * points + 4.0 * np.exp(log_bandwidths)))
    ends = sign * points[anchors]
    largest = float(np.max(ends + 4.0 * np.exp(log_bandwidths)))
    # Places and bandwidths between two anchors are at most the larger of theirs, which rules out most intervals.
    limits = np.maximum(ends[1:], ends[:-1]) + 4.0 * np.exp(np.maximum(log_bandwidths[1:], log_bandwidths[:-1]))
    for k in np.flatnonzero(limits > largest):
        ranks = np.arange(anchors[k], anchors[k + 1])
        local = np.exp(np.interp(ranks, anchors[k : k + 2], log_bandwidths[k : k + 2]))
        largest = max(largest, float(np.max(sign * points[ranks] + 4.0 * local)))
    return largest
