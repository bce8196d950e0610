"""The pure core of a density: weighted Gaussian kernels between two limits, which only computes.

Validated arrays enter and leave; shapes, messages and options are the business of `density.py`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfinv

from amortized_kde.numerics import mixture, tails

__all__ = ["KernelSum", "central_mass"]

Array = NDArray[np.float64]

SQRT_2 = math.sqrt(2.0)
# Beyond so many bandwidths there is less probability than the smallest positive float64.
FARTHEST = 40.0


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


@dataclass(frozen=True, eq=False)
class KernelSum:
    """q(x) = sum over i, k of c_ik phi((x - x_i)/h_k)/h_k between the limits, where it has mass 1.

    `points` (n,) ascend, `bandwidths` (r,), `coefficients` (r, n) are not negative and each point has a positive one.
    The loops fill ``out[i:j]`` for ``at[i:j]``, so that pieces can run side by side.
    """

    points: Array
    bandwidths: Array
    coefficients: Array
    lower: float
    upper: float

    def __post_init__(self) -> None:
        for array in (self.points, self.bandwidths, self.coefficients):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return KernelSum, (self.points, self.bandwidths, self.coefficients, self.lower, self.upper)

    @cached_property
    def _shares(self) -> tuple[Array, Array]:
        """Each coefficient's share of its rung's largest, and the logarithm of the rung's largest peak."""
        largest = self.coefficients.max(axis=1)
        return self.coefficients / largest[:, None], np.log(largest / self.bandwidths) - 0.5 * math.log(2.0 * math.pi)

    @cached_property
    def _lower_tail(self) -> tails.Tail:
        return _tail(self.points, self.coefficients, self.bandwidths, self.lower)

    @cached_property
    def _upper_tail(self) -> tails.Tail:
        return _tail(-self.points[::-1], self.coefficients[:, ::-1], self.bandwidths, -self.upper)

    def log_density(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural log-density, minus infinity outside the limits."""
        shares, peaks = self._shares
        mixture.log_density(self.points, shares, self.bandwidths, peaks, at, out, i, j)
        out[i:j][(at[i:j] < self.lower) | (at[i:j] > self.upper)] = -math.inf

    def log_cdf(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural logarithm of the probability below."""
        tails.log_tail(self._lower_tail, at[i:j], out[i:j])
        out[i:j][at[i:j] >= self.upper] = 0.0

    def log_sf(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural logarithm of the probability above."""
        tails.log_tail(self._upper_tail, -at[i:j], out[i:j])
        out[i:j][at[i:j] <= self.lower] = 0.0

    def quantile(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the quantiles of probabilities in [0, 1], each from the tail in which it is the smaller."""
        reach = FARTHEST * float(self.bandwidths.max())
        highest = min(self.upper, float(self.points[-1]) + reach)
        lowest = max(self.lower, float(self.points[0]) - reach)
        low, high = at[i:j] <= 0.5, at[i:j] > 0.5
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(at[i:j][low]), np.log1p(-at[i:j][high])
        out[i:j][low] = _quantiles(self._lower_tail, lowest, highest, log_p)
        out[i:j][high] = -_quantiles(self._upper_tail, -highest, -lowest, log_q)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Give exact draws: a kernel's half by its mass, then the truncated half-normal by its inverse."""
        h = self.bandwidths[:, None]
        # A kernel's masses left and right of its centre are drawn apart: erfinv is exact for both.
        reach = np.stack(
            [erf((self.points - self.lower) / (h * SQRT_2)), erf((self.upper - self.points) / (h * SQRT_2))]
        )
        edges = np.cumsum((self.coefficients * reach).ravel())
        half = np.searchsorted(edges, rng.random(count) * edges[-1], side="right")
        side, rung, point = np.unravel_index(half, reach.shape)
        distance = SQRT_2 * self.bandwidths[rung] * erfinv(rng.random(count) * reach[side, rung, point])
        draws = self.points[point] + np.where(side == 0, -distance, distance)
        # Only rounding can put a draw an ulp outside.
        return np.asarray(np.clip(draws, self.lower, self.upper))

    def mean(self) -> float:
        """Give the expectation: the kernels' truncated means, weighted by their masses."""
        h = self.bandwidths[:, None]
        a, b = (self.lower - self.points) / h, (self.upper - self.points) / h
        centre = float(self.points[self.points.size // 2])
        moments = self.coefficients * ((self.points - centre) * central_mass(a, b) + h * _density_difference(a, b))
        return centre + math.fsum(moments.ravel())


def _tail(points: Array, coefficients: Array, bandwidths: Array, bound: float) -> tails.Tail:
    points, coefficients = np.ascontiguousarray(points), np.ascontiguousarray(coefficients)
    above = coefficients * central_mass((bound - points) / bandwidths[:, None], np.array(math.inf))
    # Extended precision where the platform has it: a million terms then add up to the last bit.
    sums = np.cumsum(above, axis=1, dtype=np.longdouble).astype(np.float64)
    prefix = np.concatenate([np.zeros((bandwidths.size, 1)), sums], axis=1)
    for array in (points, coefficients, prefix):
        # Read-only arrays are another type to the compiler; both tails must be of one type.
        array.flags.writeable = False
    return tails.Tail(points, coefficients, prefix, bandwidths, bound)


def _quantiles(tail: tails.Tail, lowest: float, highest: float, log_p: Array) -> Array:
    # The search starts at the point where the summed masses pass the probability.
    passed = np.searchsorted(tail.prefix[:, 1:].sum(axis=0), np.exp(log_p))
    out = tail.points[np.minimum(passed, tail.points.size - 1)]
    tails.tail_quantile(tail, lowest, highest, log_p, out)
    out[log_p == -math.inf] = tail.bound
    return out
