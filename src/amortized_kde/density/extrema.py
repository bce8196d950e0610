"""Find the extrema of a density: on a grid that is as fine as its kernels demand, then by parabolas."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.density.curve import Curve, Function

# A cell of an eighth of the bandwidth needs no division: modes of equal kernels are two bandwidths apart or more.
_FINEST = 0.125
# Parts of a cell at a time: fewer kernels are near a smaller cell, so that more could be too many.
_MOST_PARTS = 8.0
# From this prominence on cells are small enough, by the bound, before they are an eighth of a bandwidth.
FINE_BELOW = 0.01
# Density differences below this, relative to the highest density, are rounding.
FLAT = 1e-11
_ROUNDING = 1e-12
# In the search for all extrema: errors relative to the density in the cell, and the probability that a cell must have.
_LOCAL_TOLERANCE = 1e-9
_LEAST_MASS = 1e-15
# A bracket is narrow enough for the last parabola at this fraction of a cell; halving alone needs 14 steps.
_NARROW = 1e-4
_MOST_STEPS = 40


class Extrema(NamedTuple):
    """Peaks (m,) and the valleys between them (m - 1,), ascending, with their log-densities."""

    peaks: Array
    peak_logs: Array
    valleys: Array
    valley_logs: Array


@dataclass
class _Grid:
    """Ascending arguments, the log-density there, and the chord error of every cell in between."""

    curve: Curve
    x: Array
    log: Array
    errors: Array

    @classmethod
    def of(cls, curve: Curve, x: Array) -> "_Grid":
        return cls(curve, x, curve.log_density(x), curve.chord_errors(x[:-1], x[1:], finest=_FINEST))

    @property
    def density(self) -> Array:
        return np.exp(self.log)

    def divide(self, wanted: Array) -> bool:
        """Divide every cell into this number of parts; return whether any was divided."""
        # Cells of a few float64 numbers stay.
        parts = np.where(np.diff(self.x) > 64.0 * np.spacing(np.abs(self.x).max()), wanted, 1.0).astype(np.int64)
        if parts.max(initial=1) == 1:
            return False
        first = np.append(np.cumsum(parts) - parts, parts.sum())
        within = np.arange(first[-1]) - np.repeat(first[:-1], parts)
        x = np.append(np.repeat(self.x[:-1], parts) + within * np.repeat(np.diff(self.x) / parts, parts), self.x[-1])
        log, is_new = np.empty(x.size), np.ones(x.size, bool)
        is_new[first] = False
        log[first], log[is_new] = self.log, self.curve.log_density(x[is_new])
        errors, changed = np.repeat(self.errors, parts), np.flatnonzero(np.repeat(parts > 1, parts))
        errors[changed] = self.curve.chord_errors(x[changed], x[changed + 1], finest=_FINEST)
        self.x, self.log, self.errors = x, log, errors
        return True

    def look_inside(self) -> None:
        """Add an argument close to each end: a maximum at an end lies inside if the density rises at first."""
        if self.x.size > 1:
            close = self.x[[0, -1]] + 0.001 * (self.x[[1, -2]] - self.x[[0, -1]])
            logs = self.curve.log_density(close)
            self.x = np.insert(self.x, [1, self.x.size - 1], close)
            self.log = np.insert(self.log, [1, self.log.size - 1], logs)


def prominent_extrema(curve: Curve, x: Array, prominence: float) -> Extrema:
    """Return the peaks that can have this prominence, and the lowest places between them.

    All modes lie between the first and the last of the ascending arguments `x`.
    """
    grid = _Grid.of(curve, x)
    tolerance = 0.125 * prominence
    while grid.divide(_parts(np.sqrt(grid.errors / (tolerance * grid.density.max())))):
        pass
    while True:
        # On the grid a rise can be too small by the errors at both its ends.
        peaks, valleys = _landmarks(grid.density, prominence - 2.0 * tolerance)
        if not grid.divide(np.where(_unsure(grid, peaks, valleys), 4.0, 1.0)):
            break
    grid.look_inside()
    peaks = _contenders(grid, *_landmarks(grid.density, prominence - 2.0 * tolerance))
    return _located(grid, peaks, _lowest_between(grid.log, peaks))


def all_extrema(curve: Curve, x: Array) -> Extrema:
    """Return all peaks between the first and the last of the ascending arguments, and the valleys between them.

    Left out are those that change the density by less than 1e-9 of itself, and where there is next to no probability.
    """
    grid = _Grid.of(curve, x)
    while grid.divide(_parts_to_be_monotone(grid)):
        pass
    grid.look_inside()
    peaks, _ = _turns(grid.log)
    return _located(grid, peaks, _lowest_between(grid.log, peaks))


def _parts(ratio: Array) -> Array:
    """Parts of cells that are too wide by these factors."""
    return np.where(ratio > 1.0, np.clip(np.ceil(ratio), 2.0, _MOST_PARTS), 1.0)


def _parts_to_be_monotone(grid: _Grid) -> Array:
    """Parts of the cells in which an extremum that matters can hide."""
    parts, density = np.ones(grid.errors.size), grid.density
    tolerance = np.maximum(_LOCAL_TOLERANCE * np.minimum(density[1:], density[:-1]), _LEAST_MASS / np.diff(grid.x))
    left = np.flatnonzero(grid.errors > tolerance)
    # With B a bound of width^2 |density''| / 8, slopes in a cell differ by at most 8 B / width: where the density rises
    # or falls by more than 8 B, it does so all the way.
    bends = grid.curve.chord_errors(grid.x[left], grid.x[left + 1], most=np.inf)
    with np.errstate(divide="ignore"):
        parts[left] = _parts(8.0 * bends / np.abs(np.diff(density)[left]))
    return parts


def prominences(peaks: Array, valleys: Array) -> Array:
    """Return how far each peak rises above the higher one of the valleys towards higher peaks, or above 0.

    Heights are relative to the highest. Of those that differ by rounding only, the first counts as the highest: one of
    two equal peaks has all the prominence, and the other the depth of the valley between them.
    """
    from_left = _rise(peaks, valleys, -FLAT)
    return np.minimum(from_left, _rise(peaks[::-1], valleys[::-1], FLAT)[::-1])


def _rise(peaks: Array, valleys: Array, slack: float) -> Array:
    """Rise of each peak above the lowest valley between it and the next higher one to its left, or above 0."""
    rise = np.empty(peaks.size)
    unsurpassed: list[tuple[float, float]] = []
    for i, (top, lowest) in enumerate(zip(peaks.tolist(), [0.0, *valleys.tolist()], strict=True)):
        while unsurpassed and unsurpassed[-1][0] <= top + slack:
            lowest = min(lowest, unsurpassed.pop()[1])
        rise[i] = top - (lowest if unsurpassed else 0.0)
        unsurpassed.append((top, lowest))
    return rise


def _lowest_between(values: Array, peaks: Index) -> Index:
    """Index of the first lowest value between each two neighbouring peaks."""
    if peaks.size < 2:
        return np.empty(0, np.int64)
    inner = values[peaks[0] : peaks[-1]]
    lowest = np.minimum.reduceat(inner, peaks[:-1] - peaks[0])
    places = np.flatnonzero(inner == np.repeat(lowest, np.diff(peaks))) + peaks[0]
    return np.asarray(places[np.searchsorted(places, peaks[:-1])])


def _turns(values: Array) -> tuple[Index, Index]:
    """Indices of the local maxima, ends included, and of the local minima between them."""
    rising = np.concatenate([[True], np.diff(values) > 0.0, [False]])
    return np.flatnonzero(rising[:-1] & ~rising[1:]), np.flatnonzero(~rising[:-1] & rising[1:])


def _landmarks(density: Array, prominence: float) -> tuple[Index, Index]:
    """Indices of the peaks with this prominence, relative to the highest, and of the lowest values between them."""
    peaks, _ = _turns(density)
    relative = density / density.max()
    rise = prominences(relative[peaks], relative[_lowest_between(density, peaks)])
    peaks = peaks[rise >= prominence]
    return peaks, _lowest_between(density, peaks)


def _unsure(grid: _Grid, peaks: Index, valleys: Index) -> Flags:
    """Cells in which the density can be higher than at their peak, or lower than at their valley."""
    density = grid.density
    top = np.repeat(density[peaks], np.diff(valleys, prepend=0, append=grid.errors.size))
    unsure = np.maximum(density[1:], density[:-1]) + grid.errors > top
    between, lowest = slice(peaks[0], peaks[-1]), np.repeat(density[valleys], np.diff(peaks))
    unsure[between] |= np.minimum(density[1:], density[:-1])[between] - grid.errors[between] < lowest
    return np.asarray(unsure & (grid.errors > _ROUNDING * density.max()))


def _contenders(grid: _Grid, peaks: Index, valleys: Index) -> Index:
    """Add to the peaks all local maxima that could be higher than theirs, or part a valley from one as low."""
    density, (tops, bottoms) = grid.density, _turns(grid.density)
    errors = grid.curve.chord_errors(grid.x[:-1], grid.x[1:])
    slack = np.maximum(np.append(errors, 0.0), np.insert(errors, 0, 0.0))
    tops = tops[(density + slack)[tops] >= density[peaks[np.searchsorted(valleys, tops)]]]
    bottoms = bottoms[(bottoms > peaks[0]) & (bottoms < peaks[-1])]
    lowest = density[valleys[np.searchsorted(peaks, bottoms) - 1]]
    bottoms = bottoms[(density - slack)[bottoms] <= lowest]
    between = np.array([i + int(np.argmax(density[i:j])) for i, j in pairwise(bottoms.tolist())], np.int64)
    return np.unique(np.concatenate([peaks, tops, between]))


def _located(grid: _Grid, peaks: Index, valleys: Index) -> Extrema:
    """Locate the extrema next to arguments of the grid."""
    turns, log_density, x = np.concatenate([peaks, valleys]), grid.curve.log_density, grid.x
    sign, places = np.repeat([1.0, -1.0], [peaks.size, valleys.size]), x[turns]
    inner = (turns > 0) & (turns < x.size - 1)
    if x.size > 1:
        # A maximum at an end can also be between that and the next argument, which is very close.
        rows = np.clip(turns[:, None] + np.arange(-1, 2), 0, x.size - 1)
        rows[~inner] = np.where(turns[~inner, None] == 0, [0, 1, 2], x.size - np.arange(3, 0, -1))
        brackets, outer = x[rows], x[rows[:, [0, 2]]]
        around = np.where(turns[:, None] == 0, x[0] + np.array([0.0, 0.5, 1.0]) * (x[1] - x[0]), 0.0)
        last = turns == x.size - 1
        around[last] = x[-1] + np.array([1.0, 0.5, 0.0]) * (x[-2] - x[-1])
        around[inner] = _polish(log_density, brackets[inner], grid.log[rows[inner]], sign[inner])
        places = _on_a_lattice(log_density, around, sign, outer, (x[0], x[-1]))
    logs, m = log_density(places), peaks.size
    return Extrema(places[:m], logs[:m], places[m:], logs[m:])


def _polish(log_density: Function, x: Array, log: Array, sign: Array) -> Array:
    """Return three arguments close to the maximum (sign 1) or minimum (-1) in each of the brackets (m, 3).

    A step evaluates around the vertex of a parabola, and in the middle of both sides: a bad vertex costs only time.
    """
    value = sign[:, None] * log
    x, outer, goal = x.copy(), x[:, [0, 2]], _NARROW * (x[:, 2] - x[:, 0])
    for _ in range(_MOST_STEPS):
        left = np.flatnonzero(x[:, 2] - x[:, 0] > goal)
        if left.size == 0:
            break
        a, b, c = x[left].T
        vertex, aside = _vertex(x[left], value[left])[0], (c - a) / 64.0
        more = np.column_stack([vertex - aside, vertex, vertex + aside, 0.5 * (a + b), 0.5 * (b + c)])
        more = np.clip(more, a[:, None], c[:, None])
        everything = np.column_stack([x[left], more])
        values = np.column_stack([value[left], sign[left, None] * log_density(more.ravel()).reshape(more.shape)])
        order = np.argsort(everything, axis=1)
        everything, values = (np.take_along_axis(array, order, axis=1) for array in (everything, values))
        # Of several equal values the one in the middle, so that a mirrored density has the mirrored extrema.
        best = values == values.max(axis=1, keepdims=True)
        first, last = np.argmax(best, axis=1), 7 - np.argmax(best[:, ::-1], axis=1)
        kept = np.column_stack([np.maximum(first - 1, 0), (first + last) // 2, np.minimum(last + 1, 7)])
        x[left] = np.take_along_axis(everything, kept, axis=1)
        value[left] = np.take_along_axis(values, kept, axis=1)
    # Evenly apart: two points of a bracket can be too close together for a slope.
    return np.clip(x[:, 1:2] + 0.5 * goal[:, None] * np.arange(-1.0, 2.0), outer[:, :1], outer[:, 1:])


def _vertex(x: Array, value: Array) -> tuple[Array, Array]:
    """Vertices of parabolas through three points each, and their curvatures; the middle point if it is not concave."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.diff(value, axis=1) / np.diff(x, axis=1)
        curvature = 2.0 * (slopes[:, 1] - slopes[:, 0]) / (x[:, 2] - x[:, 0])
        vertex = 0.5 * (x[:, 0] + x[:, 1]) - slopes[:, 0] / curvature
    usable = (curvature < 0.0) & np.isfinite(vertex)
    return np.where(usable, vertex, x[:, 1]), np.where(usable, curvature, 0.0)


def _on_a_lattice(log_density: Function, x: Array, sign: Array, outer: Array, ends: tuple[float, float]) -> Array:
    """Vertices of last parabolas through points of a lattice, which do not depend on how the arguments were found.

    They are right to about 1e-9 of the width of a peak. `x` (m, 3) are close to the extrema, which lie between `outer`
    (m, 2); no argument may be outside the `ends`.
    """
    places, curvature = _vertex(x, sign[:, None] * log_density(x.ravel()).reshape(x.shape))
    places = np.clip(places, outer[:, 0], outer[:, 1])
    # Near the vertex 2^-15 of the peak's width balances rounding and the cubic term: both are about 1e-11 of it.
    with np.errstate(divide="ignore"):
        step = np.exp2(np.floor(-0.5 * np.log2(-curvature)) - 15.0)
    step = np.maximum(step, np.exp2(np.ceil(np.log2(1024.0 * np.spacing(np.abs(places))))))
    left = np.flatnonzero(8.0 * step < outer[:, 1] - outer[:, 0])
    step = step[left]
    centre = np.clip(np.round(places[left] / step) * step, ends[0] + step, ends[1] - step)
    lattice = np.clip(centre[:, None] + step[:, None] * np.arange(-1.0, 2.0), *ends)
    found, curvature = _vertex(lattice, sign[left, None] * log_density(lattice.ravel()).reshape(lattice.shape))
    for end in ends:
        # What rounding alone could move away from a bound is at the bound.
        found[np.abs(found - end) < 1e-3 * step] = end
    good = (curvature < 0.0) & (np.abs(found - places[left]) < 2.0 * step)
    places[left[good]] = found[good]
    return np.clip(places, outer[:, 0], outer[:, 1])
