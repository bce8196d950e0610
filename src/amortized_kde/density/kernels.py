"""The Gaussian kernels of a density, rung by rung: those of one bandwidth, or of a ladder of bandwidths.

From `BINNED_FROM` points on no array has a number for each point and rung: shares are kept at some ranks (the anchors)
and interpolated linearly in between, and kernels are condensed once for all rungs (`numerics/gather.py`).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.support import Bounds
from amortized_kde.numerics import gather
from amortized_kde.numerics.condense import finest_bandwidth
from amortized_kde.numerics.special import erf, ndtr, scipy_special

Tail = Literal["lower", "upper"]

# From this many points on, shares are kept at anchors and `pdf` is binned; below, memory is no concern.
BINNED_FROM = 65_536
# Terms that together are less than exp(-40) = 4e-18 of a sum are left out.
_NEGLIGIBLE = 40.0
# Points of a large sample whose largest term bounds a sum from below.
_BOUNDING_POINTS = 256
# From 8.5 bandwidths on erf is 1 in float64: a kernel's mass on that side is exactly a half.
_WHOLE = 8.5
# Up to this fraction of the interval nearly half of every kernel lies inside, and 1 - outside cancels little.
_WIDE = 0.25
SQRT_2 = math.sqrt(2.0)


class Kernels(NamedTuple):
    """Kernels of one bandwidth: ascending places, and coefficients, positive unless they are condensed."""

    places: Array
    coefficients: Array


@dataclass(frozen=True, eq=False)
class SingleBandwidth:
    """sum_i w_i K(x - x_i) / sum_j w_j Z_j: the sum is truncated and renormalised as a whole (paper, eq. 8)."""

    points: Array
    weights: Array
    bandwidth: float
    bounds: Bounds
    # Log-densities are summed over all kernels, even where fewer could stand for them.
    direct = True

    @property
    def bandwidths(self) -> Array:
        """The bandwidth, of shape (1,)."""
        return np.array([self.bandwidth])

    @property
    def is_large(self) -> bool:
        """Whether the sample is too large to list all kernels: `condensed` and `kernels_reaching` replace `rung`."""
        return self.points.size >= BINNED_FROM

    @property
    def count(self) -> int:
        """Number of points."""
        return self.points.size

    @cached_property
    def _mass(self) -> float:
        """sum_j w_j Z_j."""
        points, h, (lower, upper) = self.points, self.bandwidth, self.bounds
        if self.is_large and h <= _WIDE * (upper - lower):
            start, below, stop, above = _mass_outside(points, h, self.bounds)
            return 1.0 - float(np.sum(self.weights[:start] * below) + np.sum(self.weights[stop:] * above))
        return math.fsum(self.weights * mass_between((lower - points) / h, (upper - points) / h))

    @cached_property
    def _kernels(self) -> Kernels:
        return _merged(Kernels(self.points, self.weights / self._mass))

    def rung(self, k: int) -> Kernels:
        """Return all kernels of one rung."""
        return self._kernels

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Return exact draws: a kernel, or with bounds a half of one by its mass, then a (truncated half-)normal."""
        places, coefficients = self._kernels
        if self.bounds == Bounds():
            masses = np.cumsum(coefficients)
            kernel = _search(masses, rng.random(size) * masses[-1])
            return places[kernel] + self.bandwidth * rng.standard_normal(size)
        reach = _reach(places, self.bandwidth, self.bounds)
        edges = np.cumsum((coefficients * reach).ravel())
        drawn = np.searchsorted(edges, rng.random(size) * edges[-1], side="right")
        side, kernel = np.unravel_index(drawn, reach.shape)
        return _draw_halves(places[kernel], self.bandwidth, side, reach[side, kernel], rng)

    def condensed(self, cells_per_bandwidth: float, threads: int | None) -> list[Kernels]:
        """Return fewer kernels for every rung, made from cells of this width."""
        if self.bandwidth < finest_bandwidth(self.points):
            return [self._kernels]
        ends, width = np.array([0, self.points.size - 1]), self.bandwidth / cells_per_bandwidth
        cells = gather.gather(self.points, collapse_equal(self.weights), ends, width, threads=threads)
        places, masses = gather.kernels_of(cells, np.ones(2))
        return [Kernels(places, masses / self._mass)]

    def kernels_reaching(self, k: int, x: Array, tail: Tail | None = None) -> Kernels:
        """Return the kernels of one rung that matter at any of `x`."""
        some = np.linspace(0, self.points.size - 1, _BOUNDING_POINTS).astype(np.int64)
        known = Kernels(self.points[some], self.weights[some])
        ranks = _ranks_reaching(self.points, x, known, self.bandwidth, self.bounds, tail)
        return Kernels(self.points[ranks], self.weights[ranks] / self._mass)


@dataclass(frozen=True, eq=False)
class Ladder:
    """mass * sum_ik v_i w_ki K_k(x - x_i) / Z_ki: every kernel is truncated and renormalised by itself.

    With `anchors` (a,) the shares are (rungs, a), those of the points with these ranks, the first and the last among
    them; otherwise (rungs, n).
    """

    points: Array
    weights: Array
    bandwidths: Array
    shares: Array
    bounds: Bounds
    mass: float = 1.0
    anchors: Index | None = None
    direct = False

    @property
    def is_large(self) -> bool:
        """Whether shares are kept at anchors only."""
        return self.anchors is not None

    @property
    def count(self) -> int:
        """Number of points times number of rungs."""
        return self.bandwidths.size * self.points.size

    def _shares_at(self, row: Array, ranks: Index) -> Array:
        return row[ranks] if self.anchors is None else np.interp(ranks, self.anchors, row)

    def rung(self, k: int) -> Kernels:
        """Return all kernels of one rung."""
        row = self.shares[k]
        if self.anchors is not None:
            row = self._shares_at(row, np.arange(self.points.size))
        return self._renormalised(self.points, self.mass * self.weights * row, k)

    def _renormalised(self, places: Array, masses: Array, k: int) -> Kernels:
        """Kernels of these masses, without those that have none."""
        coefficients = _divided_by_mass(masses, places, self.bandwidths[k], self.bounds)
        used = coefficients > 0.0
        return Kernels(places, coefficients) if used.all() else Kernels(places[used], coefficients[used])

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Return exact draws: a point, its rung, with bounds a half of that kernel, then a (truncated half-)normal."""
        masses = np.cumsum(self.weights)
        point = _search(masses, rng.random(size) * masses[-1])
        places, h = self.points[point], self.bandwidths[self._draw_rungs(point, rng.random(size))]
        if self.bounds == Bounds():
            return places + h * rng.standard_normal(size)
        reach = _reach(places, h, self.bounds)
        side = (rng.random(size) * reach.sum(axis=0) >= reach[0]).astype(np.int64)
        return _draw_halves(places, h, side, reach[side, np.arange(size)], rng)

    def _draw_rungs(self, point: Index, uniform: Array) -> Index:
        """A rung of each point by its shares."""
        if self.anchors is not None:
            steps = np.cumsum([self._shares_at(row, point) for row in self.shares], axis=0)
            return np.asarray(np.sum(steps[:-1] <= uniform * steps[-1], axis=0))
        steps = np.cumsum(self.shares.T, axis=1)
        # One search in the steps of all points, which are put one after the other.
        edges = (steps / steps[:, -1:] + np.arange(steps.shape[0])[:, None]).ravel()
        rungs = steps.shape[1]
        return np.asarray(np.clip(_search(edges, point + uniform) - rungs * point, 0, rungs - 1))

    def condensed(self, cells_per_bandwidth: float, threads: int | None) -> list[Kernels]:
        """Return fewer kernels for every rung, made from cells of this width."""
        assert self.anchors is not None
        fine = int(np.searchsorted(self.bandwidths, finest_bandwidth(self.points)))
        rungs = [_merged(self.rung(k)) for k in range(fine)]
        if fine == self.bandwidths.size:
            return rungs
        width = self.bandwidths[fine] / cells_per_bandwidth
        cells = gather.gather(self.points, collapse_equal(self.weights), self.anchors, width, threads=threads)
        for h, row in zip(self.bandwidths[fine:], self.shares[fine:], strict=True):
            # Cells are widened once they are less than half as wide as this bandwidth allows.
            if h / cells_per_bandwidth >= 2.0 * width:
                width = h / cells_per_bandwidth
                cells = gather.wider(cells, width)
            places, masses = gather.kernels_of(cells, row)
            rungs.append(Kernels(places, _divided_by_mass(self.mass * masses, places, h, self.bounds)))
        return rungs

    def kernels_reaching(self, k: int, x: Array, tail: Tail | None = None) -> Kernels:
        """Return the kernels of one rung that matter at any of `x`."""
        assert self.anchors is not None
        row, points = self.shares[k], self.points
        some = self.anchors[row > 0.0]
        if not some.size:
            return Kernels(points[:0], points[:0])
        known = Kernels(points[some], self.weights[some] * self._shares_at(row, some))
        ranks = _ranks_reaching(points, x, known, self.bandwidths[k], self.bounds, tail)
        return self._renormalised(points[ranks], self.mass * self.weights[ranks] * self._shares_at(row, ranks), k)


KernelSource = SingleBandwidth | Ladder


def _merged(kernels: Kernels) -> Kernels:
    """One kernel for each place."""
    if np.all(kernels.places[1:] > kernels.places[:-1]):
        return kernels
    first = np.flatnonzero(np.append(True, kernels.places[1:] > kernels.places[:-1]))
    return Kernels(kernels.places[first], np.add.reduceat(kernels.coefficients, first))


def collapse_equal(weights: Array) -> Array:
    """Return one number (1,) for weights that were broadcast from it; other weights as they are."""
    return np.array(weights[:1]) if weights.strides == (0,) else weights


def mass_between(a: Array, b: Array) -> Array:
    """Return Phi(b) - Phi(a) for a <= 0 <= b, a sum of two terms of the same sign: nothing cancels."""
    if np.isinf(a).all() and np.isinf(b).all():
        return np.ones(a.shape)
    return np.asarray(0.5 * (erf(b / SQRT_2) + erf(-a / SQRT_2)))


def _divided_by_mass(coefficients: Array, places: Array, h: float, bounds: Bounds) -> Array:
    """Each coefficient divided by its kernel's mass between the bounds."""
    lower, upper = bounds
    if bounds == Bounds():
        return coefficients
    if h > _WIDE * (upper - lower):
        return np.asarray(coefficients / mass_between((lower - places) / h, (upper - places) / h))
    start, below, stop, above = _mass_outside(places, h, bounds)
    outside = np.zeros(places.size)
    outside[:start] += below
    outside[stop:] += above
    return np.asarray(coefficients / (1.0 - outside))


def _mass_outside(places: Array, h: float, bounds: Bounds) -> tuple[int, Array, int, Array]:
    """Masses below the lower bound of the kernels up to `start`, and above the upper bound of those from `stop` on."""
    lower, upper = bounds
    # Usually few of the ascending places are near a bound.
    # Places at these ends count: where h is below the spacing of float64 numbers, they are the bounds.
    start = int(np.searchsorted(places, lower + _WHOLE * h, side="right"))
    stop = int(np.searchsorted(places, upper - _WHOLE * h))
    return start, ndtr((lower - places[:start]) / h), stop, ndtr((places[stop:] - upper) / h)


def _ranks_reaching(points: Array, x: Array, known: Kernels, h: float, bounds: Bounds, tail: Tail | None) -> Index:
    """Ranks of all points that matter for a sum at any of `x`, given some of its kernels."""
    # All coefficients sum to 1, before they are divided by masses of at least a half. The margin of 1e-12 keeps the
    # nearest point in spite of rounding.
    least = _log_lower_bound(x, known, h, bounds, tail)
    reach = (1.0 + 1e-12) * h * np.sqrt(2.0 * (_NEGLIGIBLE - least))
    starts, stops = np.searchsorted(points, x - reach), np.searchsorted(points, x + reach, side="right")
    # All kernels in the tail are a part of its probability, however far away.
    if tail == "lower":
        starts[:] = 0
    if tail == "upper":
        stops[:] = points.size
    order = np.argsort(starts)
    starts, stops = starts[order], np.maximum.accumulate(stops[order])
    apart = np.flatnonzero(starts[1:] > stops[:-1])
    firsts, lasts = starts[np.append(0, apart + 1)], stops[np.append(apart, -1)]
    return np.concatenate([np.arange(first, last) for first, last in zip(firsts, lasts, strict=True)])


def _log_lower_bound(x: Array, known: Kernels, h: float, bounds: Bounds, tail: Tail | None) -> Array:
    """Logarithm of the largest term that these kernels add to a sum at each of `x`, in units of a kernel's peak.

    A term of a tail's probability is at least the width of a piece of the tail times the density at its farther end.
    """
    away = np.abs(x[:, None] - known.places)
    width, unit = np.full(x.size, h), 0.0
    if tail is not None:
        width = np.minimum(width, x - bounds.lower if tail == "lower" else bounds.upper - x)
        end = x - width if tail == "lower" else x + width
        away, unit = np.maximum(away, np.abs(end[:, None] - known.places)), 0.5 * math.log(2.0 * math.pi)
    with np.errstate(over="ignore"):
        terms = np.log(known.coefficients) - 0.5 * (away / h) ** 2
    return np.asarray(np.max(terms, axis=1) + np.log(width / h) - unit)


def _search(edges: Array, keys: Array) -> Index:
    """``np.searchsorted(edges, keys, side="right")`` of keys from 0 to the last edge, quicker if they are many."""
    if 4 * keys.size < edges.size:
        return np.searchsorted(edges, keys, side="right")
    count = 2 * edges.size
    first = np.searchsorted(edges, np.arange(count) * (edges[-1] / count), side="right")
    # Rounding must not choose a part that begins above the key.
    found = first[(keys * ((1.0 - 1e-14) * count / edges[-1])).astype(np.int64)]
    left = np.flatnonzero(edges[np.minimum(found, edges.size - 1)] <= keys)
    found[left] = np.searchsorted(edges, keys[left], side="right")
    return np.asarray(found)


def _reach(places: Array, h: Array | float, bounds: Bounds) -> Array:
    """Twice the masses of kernels left and right of their places, between the bounds, of shape (2, kernels)."""
    return np.stack([erf((places - bounds.lower) / (h * SQRT_2)), erf((bounds.upper - places) / (h * SQRT_2))])


def _draw_halves(places: Array, h: Array | float, side: Index, reach: Array, rng: np.random.Generator) -> Array:
    """Draws from truncated halves of kernels, left (0) or right (1) of their places: erfinv is exact for both."""
    distance = SQRT_2 * h * scipy_special().erfinv(rng.random(places.size) * reach)
    return np.asarray(places + np.where(side == 0, -distance, distance))
