"""The pure core of a density: Gaussian kernels and a background between two limits, which only computes.

Validated arrays enter and leave; shapes, messages and options are the business of `density.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfinv

from amortized_kde.background import Background
from amortized_kde.numerics import mixture, tails

__all__ = ["KernelSum", "Rungs", "central_mass", "gather", "ladder_sum", "truncated_sum"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

SQRT_2 = math.sqrt(2.0)
# Beyond so many bandwidths there is less probability than the smallest positive float64.
FARTHEST = 40.0
# From here on erf is 1 in float64, so the mass on that side is exactly a half.
WHOLE = 8.5


def central_mass(a: Array, b: Array) -> Array:
    """Phi(b) - Phi(a) for a <= 0 <= b: two terms of one sign, so nothing cancels however wide the kernel."""
    return np.asarray(0.5 * (erf(b / SQRT_2) + erf(-a / SQRT_2)))


def _density_difference(a: Array, b: Array) -> Array:
    """phi(a) - phi(b) for a <= 0 <= b, accurate relative to itself however close the two are."""
    near, far = np.minimum(-a, b), np.maximum(-a, b)
    # Of a kernel without bounds both are 0, whatever the exponent.
    exponent = (far - np.where(np.isinf(near), 0.0, near)) * (far + near)
    difference = -np.expm1(-0.5 * exponent) * np.exp(-0.5 * near * near) / math.sqrt(2.0 * math.pi)
    return np.asarray(np.where(-a <= b, difference, -difference))


class Rungs(NamedTuple):
    """Kernels by bandwidth: rung k has ``bandwidths[k]`` and the kernels ``offsets[k]:offsets[k + 1]``.

    Places ascend within a rung, coefficients are positive, and no rung is empty.
    """

    places: Array
    coefficients: Array
    offsets: Index
    bandwidths: Array

    @property
    def spread(self) -> Array:
        """Each kernel's bandwidth."""
        return np.repeat(self.bandwidths, np.diff(self.offsets))

    def mirrored(self) -> "Rungs":
        """Give the same kernels with the axis turned around."""
        offsets = self.offsets[-1] - self.offsets[::-1]
        return Rungs(-self.places[::-1], self.coefficients[::-1].copy(), offsets, self.bandwidths[::-1].copy())


def gather(points: Array, bandwidths: Array, coefficients: Sequence[Array] | Array) -> Rungs:
    """Make rungs of ascending points (n,) and a row of coefficients (n,) for each bandwidth; zeros are left out."""
    used = [np.flatnonzero(row) for row in coefficients]
    kept = [k for k, index in enumerate(used) if index.size]
    places = np.concatenate([points[used[k]] for k in kept])
    flat = np.concatenate([coefficients[k][used[k]] for k in kept])
    offsets = np.concatenate([[0], np.cumsum([used[k].size for k in kept])])
    return Rungs(places, flat, offsets, bandwidths[kept])


def truncated_sum(points: Array, weights: Array, bandwidth: float, lower: float, upper: float) -> "KernelSum":
    """Give sum_i w_i K(x - x_i) / sum_j w_j Z_j, cut as a whole at the limits (paper, eq. 8)."""
    inside = central_mass((lower - points) / bandwidth, (upper - points) / bandwidth)
    coefficients = weights / math.fsum(weights * inside)
    return KernelSum(gather(points, np.array([bandwidth]), [coefficients]), lower, upper)


def ladder_sum(
    points: Array,
    weights: Array,
    bandwidths: Array,
    shares: Array,
    *,
    limits: tuple[float, float],
    epsilon: float,
    background: Background | None,
) -> "KernelSum":
    """Give (1 - epsilon) sum_ik v_i w_ik K_k(x - x_i) / Z_ik + epsilon b(x): each kernel is cut by itself."""
    (lower, upper), rows = limits, []
    for h, row in zip(bandwidths, shares, strict=True):
        coefficients = (1.0 - epsilon) * weights * row
        near = _near_limits(points, lower + WHOLE * h, upper - WHOLE * h)
        coefficients[near] /= central_mass((lower - points[near]) / h, (upper - points[near]) / h)
        rows.append(coefficients)
    return KernelSum(gather(points, bandwidths, rows), lower, upper, epsilon, background)


def _near_limits(points: Array, low: float, high: float) -> Index:
    """Which of the ascending points are below `low` or above `high`."""
    start, stop = np.searchsorted(points, low), np.searchsorted(points, high, side="right")
    return np.concatenate([np.arange(start), np.arange(max(start, stop), points.size)])


@dataclass(frozen=True, eq=False)
class _Side:
    """The probability below, as its own logarithm; the probability above is that of the mirrored kernels."""

    tail: tails.Tail
    upper: float
    epsilon: float
    background: Background | None

    def _log_background(self, x: Array) -> Array:
        if self.background is None or self.epsilon == 0.0:
            return np.full(x.size, -math.inf)
        return math.log(self.epsilon) + self.background.log_cdf(x)

    def log_probability(self, x: Array) -> Array:
        out = self._log_background(x)
        tails.log_tail(self.tail, x, out, np.empty(0))
        out[x >= self.upper] = 0.0
        return out

    def _with_slope(self, x: Array) -> tuple[Array, Array]:
        out, slopes = self._log_background(x), np.empty(x.size)
        tails.log_tail(self.tail, x, out, slopes)
        if self.background is not None and self.epsilon > 0.0:
            slopes += self.epsilon * np.exp(self.background.log_density(x) - out)
        return out, slopes

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        """All places, ascending, and the mass of the kernels up to each."""
        tail = self.tail
        if tail.bandwidths.size == 1:
            return tail.places, tail.prefix[1:]
        order = np.argsort(tail.places, kind="stable")
        steps = np.concatenate(
            [np.diff(tail.prefix[a + k : b + k + 1]) for k, (a, b) in enumerate(pairwise(tail.offsets))]
        )
        return tail.places[order], np.cumsum(steps[order])

    def quantiles(self, log_p: Array) -> Array:
        """The x at which the probability below has the given logarithm."""
        out = np.full(log_p.size, self.tail.bound)
        log_p, positive = log_p[log_p > -math.inf], log_p > -math.inf
        # The search starts at the place where the summed masses pass the probability.
        places, masses = self._places
        p = np.exp(log_p)
        start = places[np.minimum(np.searchsorted(masses, p), places.size - 1)]
        reach = FARTHEST * float(self.tail.bandwidths.max())
        lowest = np.full(p.size, max(self.tail.bound, float(places[0]) - reach))
        highest = np.full(p.size, min(self.upper, float(places[-1]) + reach))
        if self.background is not None and self.epsilon > 0.0:
            # Below epsilon the background alone has that probability somewhere, which is no lower.
            start = np.minimum(start, self.background.quantile(np.minimum(p / self.epsilon, 1.0)))
            alone = self.background.quantile(p)
            lowest, highest = np.minimum(lowest, alone), np.maximum(highest, alone)
        out[positive] = tails.invert(self._with_slope, log_p, start, lowest, highest)
        return out


@dataclass(frozen=True, eq=False)
class KernelSum:
    """q(x) = sum of c phi((x - place)/h)/h over all kernels + epsilon b(x) between the limits, where it has mass 1.

    The loops fill ``out[i:j]`` for ``at[i:j]``, so that pieces can run side by side.
    """

    rungs: Rungs
    lower: float
    upper: float
    epsilon: float = 0.0
    background: Background | None = None

    def __post_init__(self) -> None:
        for array in self.rungs:
            array.flags.writeable = False

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return KernelSum, (self.rungs, self.lower, self.upper, self.epsilon, self.background)

    @cached_property
    def _shares(self) -> tuple[Array, Array]:
        """Each coefficient's share of its rung's largest, and the logarithm of the rung's largest peak."""
        rungs = self.rungs
        largest = np.maximum.reduceat(rungs.coefficients, rungs.offsets[:-1])
        shares = rungs.coefficients / np.repeat(largest, np.diff(rungs.offsets))
        return shares, np.log(largest / rungs.bandwidths) - 0.5 * math.log(2.0 * math.pi)

    @cached_property
    def _below(self) -> _Side:
        return _Side(_tail(self.rungs, self.lower), self.upper, self.epsilon, self.background)

    @cached_property
    def _above(self) -> _Side:
        background = None if self.background is None else self.background.mirrored()
        return _Side(_tail(self.rungs.mirrored(), -self.upper), -self.lower, self.epsilon, background)

    def log_density(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural log-density, minus infinity outside the limits."""
        (shares, peaks), rungs = self._shares, self.rungs
        out[i:j] = -math.inf
        if self.background is not None and self.epsilon > 0.0:
            out[i:j] = math.log(self.epsilon) + self.background.log_density(at[i:j])
        mixture.log_density(rungs.places, shares, rungs.offsets, rungs.bandwidths, peaks, at, out, i, j)
        out[i:j][(at[i:j] < self.lower) | (at[i:j] > self.upper)] = -math.inf

    def log_cdf(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural logarithm of the probability below."""
        out[i:j] = self._below.log_probability(at[i:j])

    def log_sf(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural logarithm of the probability above."""
        out[i:j] = self._above.log_probability(-at[i:j])

    def quantile(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the quantiles of probabilities in [0, 1], each from the tail in which it is the smaller."""
        low, high = at[i:j] <= 0.5, at[i:j] > 0.5
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(at[i:j][low]), np.log1p(-at[i:j][high])
        out[i:j][low] = self._below.quantiles(log_p)
        out[i:j][high] = -self._above.quantiles(log_q)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Give exact draws: a kernel's half by its mass, then the truncated half-normal by its inverse."""
        places, h = self.rungs.places, self.rungs.spread
        # A kernel's masses left and right of its centre are drawn apart: erfinv is exact for both.
        reach = np.stack([erf((places - self.lower) / (h * SQRT_2)), erf((self.upper - places) / (h * SQRT_2))])
        edges = np.cumsum((self.rungs.coefficients * reach).ravel())
        half = np.searchsorted(edges, rng.random(count) * edges[-1], side="right")
        side, kernel = np.unravel_index(half, reach.shape)
        distance = SQRT_2 * h[kernel] * erfinv(rng.random(count) * reach[side, kernel])
        draws = places[kernel] + np.where(side == 0, -distance, distance)
        if self.background is not None and self.epsilon > 0.0:
            beyond = rng.random(count) < self.epsilon
            draws[beyond] = self.background.draw(int(beyond.sum()), rng)
        # Only rounding can put a draw an ulp outside.
        return np.asarray(np.clip(draws, self.lower, self.upper))

    def mean(self) -> float:
        """Give the expectation: the kernels' truncated means, weighted by their masses, and the background's."""
        places, h = self.rungs.places, self.rungs.spread
        a, b = (self.lower - places) / h, (self.upper - places) / h
        centre = float(places[places.size // 2])
        moments = self.rungs.coefficients * ((places - centre) * central_mass(a, b) + h * _density_difference(a, b))
        broad = 0.0 if self.background is None else self.epsilon * (self.background.mean() - centre)
        return centre + math.fsum(moments) + broad


def _tail(rungs: Rungs, bound: float) -> tails.Tail:
    places, coefficients = np.ascontiguousarray(rungs.places), np.ascontiguousarray(rungs.coefficients)
    above = coefficients * central_mass((bound - places) / rungs.spread, np.array(math.inf))
    prefix = np.zeros(places.size + rungs.bandwidths.size)
    for k, (a, b) in enumerate(pairwise(rungs.offsets)):
        # Extended precision where the platform has it: a million terms then add up to the last bit.
        prefix[a + k + 1 : b + k + 1] = np.cumsum(above[a:b], dtype=np.longdouble)
    tail = tails.Tail(places, coefficients, prefix, rungs.offsets, rungs.bandwidths, bound)
    for array in tail[:-1]:
        # Read-only arrays are another type to the compiler; both tails must be of one type.
        array.flags.writeable = False
    return tail
