"""Tabulate a sum of Gaussian kernels: polynomials on cells that are as narrow as the kernels near them demand.

Cells are halved from the whole range down. A rung is summed on the level at which cells are first at most
`_CELL` bandwidths wide, at Chebyshev nodes and only near its places; a cell that is halved hands its polynomial down.
So a wide kernel costs as much as a narrow one, and an argument costs one polynomial, whatever the number of kernels.
Every cell keeps a bound of its error: where the sum is small beside that, it has to be summed directly.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.mixture import Rungs

# Largest relative error of what is read from a table.
TOLERANCE = 5e-14
# Nodes of a cell, and its width in bandwidths: interpolation errs by 1e-15 of a kernel's peak at the widest.
SIZE, _CELL = 22, 2.5
# Kernels farther away from a cell, in bandwidths, are left out: exp(-10.2^2/2) = 2.6e-23.
_REACH = 10.2
_DROPPED = math.exp(-0.5 * _REACH * _REACH)
# Rounding of the sums at nodes, relative to the largest value in a cell: that of exponents of about ten.
_ROUNDING = 2e-15
# A bandwidth of fewer spacings of float64 numbers would notice the rounding of places.
_LEAST_SPACINGS = 4096.0
# Most cells, 42 MB, and most values of kernels at nodes, about half a second.
_MOST_CELLS, _MOST_VALUES = 1 << 17, 1 << 28
# Values computed at a time, few enough to stay in the cache.
_BLOCK = 1 << 16
# Rungs with more kernels than this are condensed where they are crowded.
_CROWDED = 256
# Keys of cells: the level above, and the number of the cell in the bits below.
_BITS = 44

_ORDERS = np.arange(SIZE)
_ANGLES = (_ORDERS[::-1] + 0.5) * (math.pi / SIZE)
NODES = np.cos(_ANGLES)
# Values at the nodes times this are Chebyshev coefficients, and these times the next powers of the argument.
_TO_CHEBYSHEV = np.cos(np.multiply.outer(_ANGLES, _ORDERS)) * (np.where(_ORDERS == 0, 1.0, 2.0) / SIZE)
# u^2, u v and v^2 times this are -(u + v t)^2 at the nodes t.
_SQUARES = -np.stack([np.ones(SIZE), 2.0 * NODES, NODES * NODES])
_TO_POWERS = np.zeros((SIZE, SIZE))
for _order in range(SIZE):
    _TO_POWERS[_order, : _order + 1] = np.polynomial.chebyshev.cheb2poly(np.eye(_order + 1)[_order])


def _halves() -> Array:
    """Values at the nodes of a cell times this are values at those of its halves; the last column is handed down."""
    matrix = np.zeros((SIZE + 1, 2, SIZE + 1))
    for half, centre in enumerate((-0.5, 0.5)):
        at_nodes = np.cos(np.multiply.outer(_ORDERS, np.arccos(centre + 0.5 * NODES)))
        matrix[:SIZE, half, :SIZE] = _TO_CHEBYSHEV @ at_nodes
        matrix[SIZE, half, SIZE] = 1.0
    return matrix.reshape(SIZE + 1, -1)


_HALVES = _halves()


@dataclass(frozen=True, eq=False)
class Table:
    """Cells from `low` to `high`, ascending, with the values of a function at their nodes and bounds of the error."""

    low: float
    high: float
    left: Array
    centre: Array
    half: Array
    values: Array
    errors: Array

    def locate(self, x: Array) -> tuple[Index, Array]:
        """Return the cells of arguments between `low` and `high`, and (x - centre)/half."""
        cell = np.maximum(np.searchsorted(self.left, x, side="right") - 1, 0)
        return cell, (x - self.centre[cell]) / self.half[cell]


def coefficients_of(values: Array) -> Array:
    """Return the coefficients (size, cells) of 1, s, s^2 .. from the values (cells, size) at the nodes."""
    return np.ascontiguousarray(((values @ _TO_CHEBYSHEV) @ _TO_POWERS).T)


def errors_of(values: Array) -> Array:
    """Return bounds of the error by rounding and, as the last coefficients tell, of interpolation between the nodes."""
    last = np.abs(values @ _TO_CHEBYSHEV[:, -2:]).sum(axis=1)
    return np.asarray(last + _ROUNDING * np.abs(values).max(axis=1))


def polynomials(coefficients: Array, cell: Index, s: Array) -> Array:
    """Return the polynomials of some cells at s, by Horner's rule."""
    *rows, out = np.take(coefficients, cell, axis=1)
    for row in rows[::-1]:
        out *= s
        out += row
    return np.asarray(out)


def polynomials_and_slopes(coefficients: Array, cell: Index, s: Array) -> tuple[Array, Array]:
    """Return the polynomials of some cells at s, and their derivatives."""
    *rows, out = np.take(coefficients, cell, axis=1)
    slopes = np.zeros(s.size)
    for row in rows[::-1]:
        slopes *= s
        slopes += out
        out *= s
        out += row
    return np.asarray(out), slopes


class _Kernels(NamedTuple):
    """Kernels by level and place: peak heights, bandwidths, and keys by which the windows of cells are found.

    Each is at a place plus a shift: nodes that stand for crowded places would lose digits if the two were added.
    """

    places: Array
    shifts: Array
    heights: Array
    bandwidths: Array
    levels: Index
    keys: Array


class _Tree(NamedTuple):
    """The root's first edge, the number and width of cells on the first level, and the reach of kernels on each."""

    start: float
    roots: int
    width: float
    reach: Array

    def levels_of(self, bandwidths: Array) -> Index:
        """Return the first levels on which cells are narrow enough for bandwidths."""
        return _levels_of(bandwidths, self.width)

    def widths(self, levels: Index) -> Array:
        return np.asarray(np.ldexp(self.width, -levels), float)

    def keys(self, levels: Index, x: Array) -> Array:
        """Return numbers that ascend with the level first, then with x."""
        return np.asarray(2.0 * levels + np.clip((x - self.start) / (self.roots * self.width), -0.25, 1.25))


def _levels_of(bandwidths: Array, width: float) -> Index:
    return np.maximum(np.ceil(np.log2(width / (_CELL * bandwidths))), 0.0).astype(np.int64)


def tabulate(rungs: Rungs, low: float, high: float, centre: float, scale: float) -> Table | None:
    """Return a table between two arguments, or None where the kernels are too narrow or too many for one.

    Cells are also narrow enough for a density of this centre and scale that has algebraic tails, to be added later.
    """
    finest = _LEAST_SPACINGS * float(np.spacing(max(abs(low), abs(high))))
    if not (low < high and high - low < math.inf and rungs.bandwidths[0] >= finest and scale > finest):
        return None
    width = 2.0 ** math.floor(math.log2(high - low))
    start = math.floor(low / width) * width
    levels = _levels_of(rungs.bandwidths, width)
    reach = np.zeros(int(levels[0]) + 1)
    np.maximum.at(reach, levels, _REACH * rungs.bandwidths)
    tree = _Tree(start, math.ceil((high - start) / width), width, reach)
    kernels = _by_level(rungs, levels, tree)
    splits = _splits(kernels, tree, centre, scale)
    if splits is None:
        return None
    return _summed(kernels, splits, tree, low, high)


def _by_level(rungs: Rungs, levels: Index, tree: _Tree) -> _Kernels:
    """The kernels, fewer where they are crowded, in the order of their keys."""
    places, coefficients, sizes = rungs.places, rungs.coefficients, np.diff(rungs.offsets)
    shifts = np.zeros(places.size)
    if sizes.max() > _CROWDED:
        parts = [
            _condensed(places[a:b], coefficients[a:b], 0.5 * math.ldexp(tree.width, -int(level)), tree.start)
            for (a, b), level in zip(pairwise(rungs.offsets), levels, strict=True)
        ]
        sizes = np.array([part[0].size for part in parts])
        places, shifts, coefficients = (np.concatenate([part[i] for part in parts]) for i in range(3))
    bandwidths, level = np.repeat(rungs.bandwidths, sizes), np.repeat(levels, sizes)
    keys = tree.keys(level, places + shifts)
    order = np.argsort(keys, kind="stable")
    heights = coefficients / (math.sqrt(2.0 * math.pi) * bandwidths)
    return _Kernels(places[order], shifts[order], heights[order], bandwidths[order], level[order], keys[order])


def _condensed(places: Array, coefficients: Array, width: float, start: float) -> tuple[Array, Array, Array]:
    """Kernels at the nodes of cells that have more places than nodes, as in `condense.py`, and the others."""
    if places.size <= _CROWDED:
        return places, np.zeros(places.size), coefficients
    cell = np.floor((places - start) / width)
    first = np.flatnonzero(np.diff(cell, prepend=-1.0))
    counts = np.diff(first, append=places.size)
    many = counts > 2 * SIZE
    inside, centre = np.repeat(many, counts), start + (cell[first[many]] + 0.5) * width
    t = (places[inside] - np.repeat(centre, counts[many])) * (2.0 / width)
    moments = np.empty((centre.size, SIZE))
    now, before = coefficients[inside], t * coefficients[inside]
    begins = np.cumsum(counts[many]) - counts[many]
    # T_j = 2 t T_(j-1) - T_(j-2), begun with T_0 and T_(-1) = T_1, and times the coefficient throughout.
    for order in range(SIZE):
        moments[:, order] = np.add.reduceat(now, begins)
        now, before = 2.0 * t * now - before, now
    outside = ~inside
    return (
        np.append(np.repeat(centre, SIZE), places[outside]),
        np.append(np.tile(0.5 * width * NODES, centre.size), np.zeros(outside.sum())),
        np.append((moments @ _TO_CHEBYSHEV.T).ravel(), coefficients[outside]),
    )


def _splits(kernels: _Kernels, tree: _Tree, centre: float, scale: float) -> Index | None:
    """Keys of the cells that are halved, ascending; None if they are too many."""
    deep = slice(int(np.searchsorted(kernels.levels, 1)), None)
    level, y = kernels.levels[deep] - 1, kernels.places[deep] + kernels.shifts[deep]
    width, reach = tree.widths(level), tree.reach[level + 1]
    last = np.ldexp(tree.roots, level) - 1.0
    begin = np.clip(np.floor((y - reach - tree.start) / width), 0.0, last + 1.0).astype(np.int64)
    end = np.clip(np.floor((y + reach - tree.start) / width), -1.0, last).astype(np.int64) + 1
    # Ranges of one level overlap; each adds what those before it have not.
    same = np.flatnonzero(level[1:] == level[:-1]) + 1
    begin[same] = np.maximum(begin[same], end[same - 1])
    counts = np.maximum(end - begin, 0)
    if counts.sum() > _MOST_CELLS:
        return None
    number = np.arange(counts.sum()) + np.repeat(begin - np.cumsum(counts) + counts, counts)
    own = np.repeat(level, counts)
    # Cells wider than the scale are halved up to three cells away from the centre.
    wide = np.arange(math.ceil(math.log2(tree.width / scale)) if scale < tree.width else 0)
    near = np.floor((centre - tree.start) / tree.widths(wide))[:, None] + np.arange(-3.0, 4.0)
    valid = (near >= 0.0) & (near < np.ldexp(tree.roots, wide)[:, None])
    number = np.concatenate([number, near[valid].astype(np.int64)])
    own = np.concatenate([own, np.broadcast_to(wide[:, None], near.shape)[valid]])
    # A cell is there if all that it is a part of are halved.
    up = np.arange(int(own.max(initial=0)) + 1)
    above = own[:, None] - up
    keys = np.unique((above << _BITS | number[:, None] >> up)[above >= 0])
    return keys if keys.size <= _MOST_CELLS // 2 else None


def _summed(kernels: _Kernels, splits: Index, tree: _Tree, low: float, high: float) -> Table | None:
    """Sum the kernels on every cell, level by level, and keep the cells that are not halved."""
    children = (((splits >> _BITS) + 1) << _BITS | (splits & ((1 << _BITS) - 1)) << 1)[:, None] | np.arange(2)
    keys = np.concatenate([np.arange(tree.roots), children.ravel()])
    level, number = keys >> _BITS, keys & ((1 << _BITS) - 1)
    half = 0.5 * tree.widths(level)
    centre = tree.start + (2 * number + 1) * half
    reach = half + np.append(tree.reach, np.zeros(int(level[-1]) + 1))[level]
    starts = np.searchsorted(kernels.keys, tree.keys(level, centre - reach))
    counts = np.searchsorted(kernels.keys, tree.keys(level, centre + reach), side="right") - starts
    if counts.sum() * SIZE > _MOST_VALUES:
        return None
    values = _values(kernels, centre, half, starts, counts)
    halved = np.searchsorted(keys, splits)
    edges = np.searchsorted(splits >> _BITS, np.arange(int(level[-1]) + 1)).tolist()
    for a, b in pairwise(edges):
        below = values[tree.roots + 2 * a : tree.roots + 2 * b]
        below += (values[halved[a:b]] @ _HALVES).reshape(below.shape)
    is_leaf = np.ones(keys.size, bool)
    is_leaf[halved] = False
    leaves = np.flatnonzero(is_leaf)
    leaves = leaves[np.argsort(centre[leaves])]
    errors = values[leaves, SIZE] + _DROPPED * np.abs(kernels.heights).sum()
    centre, half = centre[leaves], half[leaves]
    return Table(low, high, centre - half, centre, half, values[leaves, :SIZE], errors)


def _values(kernels: _Kernels, centre: Array, half: Array, starts: Index, counts: Index) -> Array:
    """Sums of the kernels in the windows of cells at their nodes, and in the last column bounds of their errors."""
    values = np.zeros((centre.size, SIZE + 1))
    used = np.flatnonzero(counts)
    starts, counts, rate = starts[used], counts[used], math.sqrt(0.5) / kernels.bandwidths
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    cuts = np.unique([0, *np.searchsorted(ends, np.arange(_BLOCK // SIZE, total, _BLOCK // SIZE)), ends.size])
    for a, b in pairwise(cuts.tolist()):
        count = counts[a:b]
        begins = np.cumsum(count) - count
        kernel = np.arange(begins[-1] + count[-1]) + np.repeat(starts[a:b] - begins, count)
        cell, per = np.repeat(used[a:b], count), rate[kernel]
        u, step = (centre[cell] - kernels.places[kernel] - kernels.shifts[kernel]) * per, half[cell] * per
        # -(u + step t)^2 as a product of matrices, which is faster than three operations on every value.
        terms = np.stack([u * u, u * step, step * step], axis=1) @ _SQUARES
        np.exp(terms, out=terms)
        terms *= kernels.heights[kernel, None]
        values[used[a:b], :SIZE] = np.add.reduceat(terms, begins, axis=0)
    values[:, SIZE] = errors_of(values[:, :SIZE])
    return values
