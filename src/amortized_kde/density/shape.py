"""Modes, shortest intervals and level sets of a density, from its log-density, cdf and quantile functions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from amortized_kde._types import Array, Index

Function = Callable[[Any], Any]

# Log-density differences below this are rounding.
_FLAT = 1e-11
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def critical_grid(scales: Sequence[tuple[Array, float]], low: float, high: float) -> Array:
    """Return ascending arguments from `low` to `high`, close enough together that no mode is missed.

    Each of `scales` is a pair of ascending places and the bandwidth of the kernels there: near them the arguments are
    an eighth of that bandwidth apart. Modes of a sum of equal kernels are about two bandwidths apart or more, and far
    from all places there are none.
    """
    # Kernels wider than the interval would leave no argument inside.
    parts = [np.linspace(low, high, 65)]
    for places, bandwidth in scales:
        step = bandwidth / 8.0
        cells = np.unique(np.floor((places - places[0]) / step))
        parts.append(np.unique((cells[:, None] + np.arange(-24.0, 25.0)).ravel()) * step + places[0])
        parts.append(0.5 * (places[1:] + places[:-1])[np.diff(places) > 6.0 * bandwidth])
    grid = np.unique(np.concatenate(parts))
    return grid[(grid >= low) & (grid <= high)]


def turning_points(logpdf: Function, grid: Array) -> Array:
    """Return the ends of the grid and the extrema of the log-density between them, located to 1e-8 of a cell."""
    values = logpdf(grid)
    rising = np.diff(values) > 0.0
    turn = np.flatnonzero(rising[1:] != rising[:-1]) + 1
    if turn.size == 0:
        return grid[[0, -1]]
    sign = np.where(rising[turn - 1], 1.0, -1.0)
    a, b = grid[turn - 1], grid[turn + 1]
    for _ in range(45):
        c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        left = sign * logpdf(c) >= sign * logpdf(d)
        a, b = np.where(left, a, c), np.where(left, d, b)
    return np.concatenate([grid[:1], 0.5 * (a + b), grid[-1:]])


def modes(logpdf: Function, turning: Array, prominence: float) -> Array:
    """Return the maxima among the turning points whose prominence is at least this fraction of the highest density."""
    log = logpdf(turning)
    height = np.exp(log - log.max())
    rise = np.minimum(_rise(height), _rise(height[::-1])[::-1])
    return np.asarray(turning[rise >= max(prominence, _FLAT)])


def _rise(height: Array) -> Array:
    """Rise of each height above the lowest one between it and the next higher one to its left, if any."""
    out = np.empty(height.size)
    unsurpassed: list[tuple[float, float]] = []
    for i, top in enumerate(height.tolist()):
        lowest = top if i else 0.0
        while unsurpassed and unsurpassed[-1][0] <= top:
            lowest = min(lowest, unsurpassed.pop()[1])
        out[i] = top - (lowest if unsurpassed else 0.0)
        unsurpassed.append((top, lowest))
    return out


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
    low, high = float(log.min()), float(log.max())
    over, under = 1.0 - mass, mass
    region = np.array([[turning[0], turning[-1]]])
    for step in range(160):
        # Regula falsi. Every third step bisects, and the error at an end that stays is halved, so that both ends move.
        part = over / (over + under) if step % 3 < 2 else 0.5
        level = low + part * (high - low)
        region = _above(logpdf, turning, log, level)
        excess = float(np.sum(cdf(region[:, 1]) - cdf(region[:, 0]))) - mass
        if excess > 0.0:
            low, over, under = level, excess, 0.5 * under
        else:
            high, over, under = level, 0.5 * over, -excess
        if abs(excess) < 1e-13 or not low < 0.5 * (low + high) < high:
            break
    return region


def _above(logpdf: Function, turning: Array, log: Array, level: float) -> Array:
    """Intervals on which the log-density is above the level; between turning points it is monotone."""
    above = log > level
    crossing = np.flatnonzero(above[1:] != above[:-1])
    a, b = turning[crossing], turning[crossing + 1]
    entering = above[crossing + 1]
    for _ in range(60):
        middle = 0.5 * (a + b)
        past = (logpdf(middle) > level) == entering
        a, b = np.where(past, a, middle), np.where(past, middle, b)
    edges = 0.5 * (a + b)
    if above[0]:
        edges = np.concatenate([turning[:1], edges])
    if above[-1]:
        edges = np.concatenate([edges, turning[-1:]])
    return np.asarray(edges.reshape(-1, 2))


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
