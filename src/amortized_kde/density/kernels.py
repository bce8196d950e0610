"""The pure core of a density: Gaussian kernels and a background between two limits, which only computes.

Validated arrays enter and leave; shapes, messages and options are the business of `distribution.py`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import erf, erfinv

from amortized_kde._types import Array, Index
from amortized_kde.density import moments
from amortized_kde.density.background import Background
from amortized_kde.density.blend import Blend
from amortized_kde.density.moments import SQRT_2
from amortized_kde.numerics import binned, tails
from amortized_kde.numerics.condense import CELLS, FAITHFUL, condensed
from amortized_kde.numerics.mixture import Rungs

Kernels = tuple[Array, Array]
Invert = Callable[[Array], Array]
Evaluate = Callable[[Blend, Array], Array]


def _join(bandwidths: Array, rows: list[Kernels]) -> Rungs:
    kept = [k for k, (places, _) in enumerate(rows) if places.size]
    rungs = Rungs(
        np.concatenate([rows[k][0] for k in kept]),
        np.concatenate([rows[k][1] for k in kept]),
        np.cumsum([0, *(rows[k][0].size for k in kept)]),
        bandwidths[kept],
    )
    for array in rungs:
        # Read-only arrays are another type to the compiler; all rungs must be of one type.
        array.flags.writeable = False
    return rungs


class Crowd(NamedTuple):
    """What is known of the kernels of a large sample without looking at each for every bandwidth.

    ``condensed(cells, threads)`` gives the kernels of all rungs condensed, in cells of which so many make a bandwidth,
    ``near(k, x, side)`` those of rung k that matter at the arguments x for densities (side 0), or for probabilities
    below (-1) or above (1).
    """

    condensed: Callable[[float, int | None], list[Kernels]]
    near: Callable[[int, Array, int], Kernels]


@dataclass(frozen=True, eq=False)
class KernelSum:
    """q(x) = sum of c phi((x - place)/h)/h over all kernels + epsilon b(x) between the limits, where it has mass 1.

    ``kernels_of(k)`` gives the places and coefficients of the rung with ``bandwidths[k]``, ascending and positive. Many
    of them are condensed for sums, except where these are too small for that; a `direct` sum is not condensed for its
    density. `pick` draws places and bandwidths of kernels by their mass, if that is simple. `count` foretells how many
    kernels there are at most. A large sample has a `crowd`, and its density may be binned. The loops fill ``out[i:j]``
    for ``at[i:j]``, so that pieces can run side by side.
    """

    bandwidths: Array
    kernels_of: Callable[[int], Kernels]
    lower: float
    upper: float
    epsilon: float = 0.0
    background: Background | None = None
    direct: bool = False
    pick: Callable[[int, np.random.Generator], Kernels] | None = None
    count: int = 0
    crowd: Crowd | None = None

    @cached_property
    def rungs(self) -> Rungs:
        """All kernels."""
        return _join(self.bandwidths, [self.kernels_of(k) for k in range(self.bandwidths.size)])

    def _blend(self, rungs: Rungs, condensed: bool) -> Blend:
        return Blend(rungs, self.lower, self.upper, self.epsilon, self.background, condensed)

    @cached_property
    def _exact(self) -> Blend:
        return self._blend(self.rungs, condensed=False)

    @cached_property
    def _quick(self) -> Blend:
        """The same with kernels condensed, or just the same."""
        if self.crowd is not None:
            return self._blend(_join(self.bandwidths, self.crowd.condensed(CELLS, 1)), condensed=True)
        rows, fewer = [], False
        for k, h in enumerate(self.bandwidths):
            kernels = self.kernels_of(k)
            rows.append(condensed(*kernels, float(h)))
            fewer |= rows[-1][0] is not kernels[0]
        return self._blend(_join(self.bandwidths, rows), condensed=True) if fewer else self._exact

    def _where_faithful(self, function: Evaluate, x: Array, *, least: float | Array, side: int) -> Array:
        """Values from condensed kernels, except where these are below `least` inside the limits: there from all."""
        out = function(self._quick, x)
        small = np.flatnonzero(~(out >= least) & (x > self.lower) & (x < self.upper) & self._quick.condensed)
        if small.size:
            out[small] = self._from_all(function, x[small], side)
        return out

    def _from_all(self, function: Evaluate, x: Array, side: int) -> Array:
        """Values from all kernels that matter; of a large sample rung after rung, for all would be much memory."""
        if self.crowd is None:
            return function(self._exact, x)
        total, epsilon = np.full(x.size, -math.inf), self.epsilon
        for k in range(self.bandwidths.size):
            kernels = self.crowd.near(k, x, side)
            if kernels[0].size:
                rung = _join(self.bandwidths[k : k + 1], [kernels])
                blend = Blend(rung, self.lower, self.upper, epsilon, self.background, condensed=False)
                np.logaddexp(total, function(blend, x), out=total)
                # The background is added once.
                epsilon = 0.0
        return total

    def prepare_bins(self, threads: int | None) -> None:
        """Bin the kernels of a large sample for `binned_density`, once."""
        if "_bins" not in self.__dict__ and self.crowd is not None:
            self.__dict__["_bins"] = binned.bins_of(_join(self.bandwidths, self.crowd.condensed(binned.CELLS, threads)))

    def binned_density(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the density from binned kernels, NaN where those cannot tell it."""
        x, bins = at[i:j], self.__dict__["_bins"]
        inside = np.isfinite(x) & (x >= self.lower) & (x <= self.upper)
        known = np.zeros(x.size)
        if self.background is not None and self.epsilon > 0.0:
            known = self.epsilon * np.exp(self.background.log_density(x))
        out[i:j] = np.where(inside | np.isnan(x), binned.binned_density(bins, x, known), 0.0)

    def condensed_log_density(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural log-density from condensed kernels, also if it is a direct sum."""
        out[i:j] = self._condensed_log_density(at[i:j])

    def _log_density(self, x: Array) -> Array:
        return self._exact.log_density(x) if self.direct else self._condensed_log_density(x)

    def _condensed_log_density(self, x: Array) -> Array:
        return self._where_faithful(Blend.log_density, x, least=self._quick.highest + FAITHFUL, side=0)

    def _log_cdf(self, x: Array) -> Array:
        return self._where_faithful(Blend.log_cdf, x, least=self._least_tail(x, self.lower), side=-1)

    def _log_sf(self, x: Array) -> Array:
        least = self._least_tail(x, self.upper)
        return self._where_faithful(lambda blend, y: blend.mirror.log_cdf(-y), x, least=least, side=1)

    def _least_tail(self, x: Array, limit: float) -> float | Array:
        """The smallest logarithm of a probability between an argument and a limit that condensed kernels tell."""
        if self.crowd is None:
            return FAITHFUL
        # Between two that are close no kernel has more than its highest density times their distance.
        gap = np.maximum(np.abs(np.where(np.isinf(x), 1.0, x) - limit), 1e-300)
        return FAITHFUL + np.minimum(self._quick.highest + np.log(gap), 0.0)

    def log_density(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural log-density, minus infinity outside the limits."""
        out[i:j] = self._log_density(at[i:j])

    def log_cdf(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural logarithm of the probability below."""
        out[i:j] = self._log_cdf(at[i:j])

    def log_sf(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the natural logarithm of the probability above."""
        out[i:j] = self._log_sf(at[i:j])

    def quantile(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the quantiles of probabilities in [0, 1], each from the tail in which it is the smaller."""
        out[i:j] = self._split(at[i:j], self._from_below, self._from_above, self.lower, self.upper)

    def upper_quantile(self, at: Array, out: Array, i: int, j: int) -> None:
        """Write the arguments above which the probabilities in [0, 1] lie, likewise."""
        out[i:j] = self._split(at[i:j], self._from_above, self._from_below, self.upper, self.lower)

    @staticmethod
    def _split(p: Array, here: Invert, there: Invert, at_0: float, at_1: float) -> Array:
        """Ask for probabilities up to a half on this side, and for what is left of the others on that side."""
        found = np.where(p <= 0.0, at_0, at_1)
        small, large = (p > 0.0) & (p <= 0.5), (p > 0.5) & (p < 1.0)
        found[small], found[large] = here(p[small]), there(1.0 - p[large])
        return found

    def _from_below(self, p: Array) -> Array:
        return tails.invert(self._log_cdf, self._log_density, np.log(p), *self._quick.start_and_bracket(p))

    def _from_above(self, p: Array) -> Array:
        return -tails.invert(
            lambda x: self._log_sf(-x),
            lambda x: self._log_density(-x),
            np.log(p),
            *self._quick.mirror.start_and_bracket(p),
        )

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Give exact draws: a kernel's half by its mass, then the truncated half-normal by its inverse."""
        places, h, side, reach = self._halves(count, rng)
        distance = SQRT_2 * h * erfinv(rng.random(count) * reach)
        draws = places + np.where(side == 0, -distance, distance)
        if self.background is not None and self.epsilon > 0.0:
            beyond = rng.random(count) < self.epsilon
            draws[beyond] = self.background.draw(int(beyond.sum()), rng)
        # Only rounding can put a draw an ulp outside.
        return np.asarray(np.clip(draws, self.lower, self.upper))

    def _halves(self, count: int, rng: np.random.Generator) -> tuple[Array, Array, Index, Array]:
        """Places and bandwidths of drawn kernels, which side of them was drawn, and twice its mass."""
        # A kernel's masses left and right of its centre are drawn apart: erfinv is exact for both.
        if self.pick is not None:
            places, h = self.pick(count, rng)
            reach = self._reach(places, h)
            side = (rng.random(count) * reach.sum(axis=0) >= reach[0]).astype(np.int64)
            return places, h, side, reach[side, np.arange(count)]
        places, h = self.rungs.places, self.rungs.spread
        reach = self._reach(places, h)
        edges = np.cumsum((self.rungs.coefficients * reach).ravel())
        side, kernel = np.unravel_index(
            np.searchsorted(edges, rng.random(count) * edges[-1], side="right"), reach.shape
        )
        return places[kernel], h[kernel], side, reach[side, kernel]

    def _reach(self, places: Array, h: Array) -> Array:
        return np.stack([erf((places - self.lower) / (h * SQRT_2)), erf((self.upper - places) / (h * SQRT_2))])

    @property
    def _for_moments(self) -> Blend:
        return self._exact if self.direct else self._quick

    def mean(self) -> float:
        """Give the expectation."""
        return moments.mean(self._for_moments)

    def std(self) -> float:
        """Give the standard deviation."""
        return moments.std(self._for_moments)

    def scales(self) -> list[tuple[Array, float]]:
        """Give where structure of which width may be: the kernels of each rung, and the background unless uniform."""
        rungs = self.rungs if self.crowd is None else self._quick.rungs
        places = np.split(rungs.places, rungs.offsets[1:-1])
        scales = list(zip(places, rungs.bandwidths.tolist(), strict=True))
        if self.background is not None and self.epsilon > 0.0 and math.inf in (-self.lower, self.upper):
            scales.append((np.array([self.background.location]), self.background.scale))
        return scales
