"""How cores are made: points, weights, bandwidths and shares become a `KernelSum`.

Checked arrays enter. Of a large sample shares are known at some ranks only, its anchors, and lie linearly in between.
Its kernels are gathered to few places, once for all bandwidths (`numerics/gather.py`), and no array has a number for
each point and bandwidth.
"""

import math

import numpy as np
from scipy.special import ndtr

from amortized_kde._types import Array, Index
from amortized_kde.density.background import Background
from amortized_kde.density.kernels import Crowd, Kernels, KernelSum
from amortized_kde.density.moments import central_mass
from amortized_kde.numerics import gather

# Samples of so many points and more are large.
BINNED_FROM = 65_536
# Terms that are together less than exp(-40) = 4e-18 of a sum do not matter.
_NEGLIGIBLE = 40.0
# How many points of a large sample with one bandwidth tell how large a sum is at least.
_ASKED = 256
# From here on erf is 1 in float64, so the mass on that side is exactly a half.
WHOLE = 8.5


def truncated_sum(points: Array, weights: Array, bandwidth: float, lower: float, upper: float) -> KernelSum:
    """Give sum_i w_i K(x - x_i) / sum_j w_j Z_j, cut as a whole at the limits (paper, eq. 8)."""
    large = points.size >= BINNED_FROM
    if large and bandwidth <= 0.25 * (upper - lower):
        start, below, stop, above = _lost(points, bandwidth, (lower, upper))
        mass = 1.0 - float(np.sum(weights[:start] * below) + np.sum(weights[stop:] * above))
    else:
        inside = central_mass((lower - points) / bandwidth, (upper - points) / bandwidth)
        mass = math.fsum(weights * inside)

    def condensed(cells: float, threads: int | None) -> list[Kernels]:
        ends = np.array([0, points.size - 1])
        found = gather.gather(points, _told(weights), ends, bandwidth / cells, threads=threads)
        places, masses = gather.kernels_of(found, np.ones(2))
        return [(places, masses / mass)]

    def near(k: int, x: Array, side: int) -> Kernels:
        some = np.linspace(0, points.size - 1, _ASKED).astype(np.int64)
        least = _least_terms(x, points[some], np.log(weights[some]), bandwidth, (lower, upper), side)
        ranks = _ranks_near(points, x, least, bandwidth, side)
        return points[ranks], weights[ranks] / mass

    return KernelSum(
        np.array([bandwidth]),
        lambda k: (points, weights / mass),
        lower,
        upper,
        direct=True,
        count=points.size,
        crowd=Crowd(condensed, near) if large else None,
    )


def ladder_sum(
    points: Array,
    weights: Array,
    bandwidths: Array,
    shares: Array,
    *,
    limits: tuple[float, float],
    epsilon: float,
    background: Background | None,
    anchors: Index | None = None,
) -> KernelSum:
    """Give (1 - epsilon) sum_ik v_i w_ik K_k(x - x_i) / Z_ik + epsilon b(x): each kernel is cut by itself.

    With `anchors` the shares are those of the points with these ranks, the first and the last among them.
    """

    def at(row: Array, ranks: Index) -> Array:
        return row[ranks] if anchors is None else np.interp(ranks, anchors, row)

    def kernels_of(k: int) -> Kernels:
        row = shares[k] if anchors is None else at(shares[k], np.arange(points.size))
        coefficients = (1.0 - epsilon) * weights * row
        return _used(points, _renormalised(coefficients, points, bandwidths[k], limits))

    def pick(count: int, rng: np.random.Generator) -> Kernels:
        masses = np.cumsum(weights)
        point = np.searchsorted(masses, rng.random(count) * masses[-1], side="right")
        steps = np.cumsum([at(row, point) for row in shares], axis=0)
        return points[point], bandwidths[np.sum(steps[:-1] <= rng.random(count) * steps[-1], axis=0)]

    def condensed(cells: float, threads: int | None) -> list[Kernels]:
        assert anchors is not None
        rows, width = [], bandwidths[0] / cells
        found = gather.gather(points, _told(weights), anchors, width, threads=threads)
        for h, row in zip(bandwidths, shares, strict=True):
            # From cells that are at least half as wide as they may be.
            if h / cells >= 2.0 * width:
                width = h / cells
                found = gather.wider(found, width)
            places, masses = gather.kernels_of(found, row)
            rows.append((places, _renormalised((1.0 - epsilon) * masses, places, h, limits)))
        return rows

    def near(k: int, x: Array, side: int) -> Kernels:
        assert anchors is not None
        some = anchors[shares[k] > 0.0]
        if not some.size:
            return points[:0], points[:0]
        logs = np.log(weights[some] * at(shares[k], some))
        least = _least_terms(x, points[some], logs, bandwidths[k], limits, side)
        ranks = _ranks_near(points, x, least, bandwidths[k], side)
        coefficients = (1.0 - epsilon) * weights[ranks] * at(shares[k], ranks)
        return _used(points[ranks], _renormalised(coefficients, points[ranks], bandwidths[k], limits))

    return KernelSum(
        bandwidths,
        kernels_of,
        *limits,
        epsilon=epsilon,
        background=background,
        pick=pick,
        count=bandwidths.size * points.size,
        crowd=None if anchors is None else Crowd(condensed, near),
    )


def _least_terms(x: Array, places: Array, logs: Array, h: float, limits: tuple[float, float], side: int) -> Array:
    """Logarithms of what a sum at each argument is at least: its largest term from kernels with these coefficients.

    In units of a kernel's peak, or for the probability on a `side`, of the density at an end of a piece of it times its
    width.
    """
    away = np.abs(x[:, None] - places)
    width = np.full(x.size, h)
    if side != 0:
        width = np.minimum(width, x - limits[0] if side < 0 else limits[1] - x)
        away = np.maximum(away, np.abs(x[:, None] + side * width[:, None] - places))
    with np.errstate(over="ignore"):
        terms = logs - 0.5 * (away / h) ** 2
    return np.asarray(np.max(terms, axis=1) + np.log(width / h) - (0.5 * math.log(2.0 * math.pi) if side else 0.0))


def _ranks_near(points: Array, x: Array, least: Array, h: float, side: int) -> Index:
    """Ranks of all points that matter for a sum at any of the arguments, which is at least exp(least)."""
    # All coefficients sum to 1, before they are divided by a mass that differs by a factor of 2 at most. Far away no
    # rounding may hide the nearest point.
    reach = (1.0 + 1e-12) * h * np.sqrt(2.0 * (_NEGLIGIBLE - least))
    starts, stops = np.searchsorted(points, x - reach), np.searchsorted(points, x + reach, side="right")
    # What lies on that side is a part of the probability, however far away.
    if side < 0:
        starts[:] = 0
    if side > 0:
        stops[:] = points.size
    order = np.argsort(starts)
    starts, stops = starts[order], np.maximum.accumulate(stops[order])
    apart = np.flatnonzero(starts[1:] > stops[:-1])
    firsts, lasts = starts[np.append(0, apart + 1)], stops[np.append(apart, -1)]
    return np.concatenate([np.arange(first, last) for first, last in zip(firsts, lasts, strict=True)])


def _told(weights: Array) -> Array:
    """A number that was broadcast over the points is told once."""
    return np.array(weights[:1]) if weights.strides == (0,) else weights


def _renormalised(coefficients: Array, places: Array, h: float, limits: tuple[float, float]) -> Array:
    """Divide each coefficient by its kernel's mass between the limits."""
    lower, upper = limits
    if h > 0.25 * (upper - lower):
        return np.asarray(coefficients / central_mass((lower - places) / h, (upper - places) / h))
    start, below, stop, above = _lost(places, h, limits)
    lost = np.zeros(places.size)
    lost[:start] += below
    lost[stop:] += above
    return np.asarray(coefficients / (1.0 - lost))


def _lost(places: Array, h: float, limits: tuple[float, float]) -> tuple[int, Array, int, Array]:
    """How much of the kernels at the first places lies below the limits, and of those from the second number on above.

    Most often few of the ascending places are near a limit.
    """
    lower, upper = limits
    start, stop = np.searchsorted(places, [lower + WHOLE * h, upper - WHOLE * h]).tolist()
    return start, ndtr((lower - places[:start]) / h), stop, ndtr((places[stop:] - upper) / h)


def _used(points: Array, coefficients: Array) -> Kernels:
    used = coefficients > 0.0
    return (points, coefficients) if used.all() else (points[used], coefficients[used])
