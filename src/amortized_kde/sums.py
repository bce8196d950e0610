"""How cores are made: points, weights, bandwidths and shares become a `KernelSum`.

Checked arrays enter. Of a large sample shares are known at some ranks only, its anchors, and lie linearly in between.
Its kernels are gathered to few places, once for all bandwidths (`numerics/gather.py`), and no array has a number for
each point and bandwidth.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from amortized_kde.background import Background
from amortized_kde.kernels import Kernels, KernelSum
from amortized_kde.moments import central_mass
from amortized_kde.numerics import gather

__all__ = ["LARGE", "ladder_sum", "truncated_sum"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Samples of so many points and more are large.
LARGE = 65_536
# From here on erf is 1 in float64, so the mass on that side is exactly a half.
WHOLE = 8.5


def truncated_sum(points: Array, weights: Array, bandwidth: float, lower: float, upper: float) -> KernelSum:
    """Give sum_i w_i K(x - x_i) / sum_j w_j Z_j, cut as a whole at the limits (paper, eq. 8)."""
    large = points.size >= LARGE
    if large and bandwidth <= 0.25 * (upper - lower):
        mass = 1.0 - float(weights @ _lost(points, bandwidth, (lower, upper)))
    else:
        inside = central_mass((lower - points) / bandwidth, (upper - points) / bandwidth)
        mass = math.fsum(weights * inside)

    def gathered(cells: float, threads: int | None) -> list[Kernels]:
        ends = np.array([0, points.size - 1])
        found = gather.gather(points, _told(weights), ends, bandwidth / cells, threads=threads)
        places, masses = gather.kernels_of(found, np.ones(2))
        return [(places, masses / mass)]

    return KernelSum(
        np.array([bandwidth]),
        lambda k: (points, weights / mass),
        lower,
        upper,
        direct=True,
        count=points.size,
        gathered=gathered if large else None,
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

    def gathered(cells: float, threads: int | None) -> list[Kernels]:
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

    return KernelSum(
        bandwidths,
        kernels_of,
        *limits,
        epsilon=epsilon,
        background=background,
        pick=pick,
        count=bandwidths.size * points.size,
        gathered=None if anchors is None else gathered,
    )


def _told(weights: Array) -> Array:
    """A number that was broadcast over the points is told once."""
    return np.array(weights[:1]) if weights.strides == (0,) else weights


def _renormalised(coefficients: Array, places: Array, h: float, limits: tuple[float, float]) -> Array:
    """Divide each coefficient by its kernel's mass between the limits."""
    lower, upper = limits
    if h > 0.25 * (upper - lower):
        return np.asarray(coefficients / central_mass((lower - places) / h, (upper - places) / h))
    return np.asarray(coefficients / (1.0 - _lost(places, h, limits)))


def _lost(places: Array, h: float, limits: tuple[float, float]) -> Array:
    """How much of a kernel at each ascending place lies beyond the limits: most often few are near one."""
    lower, upper = limits
    start, stop = np.searchsorted(places, lower + WHOLE * h), np.searchsorted(places, upper - WHOLE * h)
    lost = np.zeros(places.size)
    lost[:start] += ndtr((lower - places[:start]) / h)
    lost[stop:] += ndtr((places[stop:] - upper) / h)
    return lost


def _used(points: Array, coefficients: Array) -> Kernels:
    used = coefficients > 0.0
    return (points, coefficients) if used.all() else (points[used], coefficients[used])
