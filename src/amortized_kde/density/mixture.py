"""Log-densities and tails of given kernels and a background between two bounds.

Arguments and results are checked float64 arrays of shape (m,).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from amortized_kde.density.background import Background
from amortized_kde.numerics import mixture, tails
from amortized_kde.numerics.gaussian import LOWEST_LOG
from amortized_kde.numerics.mixture import Rungs
from amortized_kde.numerics.special import log_sum_exp

# Farther from a place than this many bandwidths there is less probability than the smallest positive float64.
_REACH_OF_KERNEL = 40.0


@dataclass(frozen=True, eq=False)
class Mixture:
    """Rungs of kernels, and a background of probability `epsilon`, between two bounds.

    `is_condensed` says that kernels stand for others: tiny sums of them are wrong or NaN.
    """

    rungs: Rungs
    bounds: Bounds
    epsilon: float
    background: Background | None
    is_condensed: bool

    @cached_property
    def mirrored(self) -> "Mixture":
        """The mixture of -x: its lower tail is the upper tail of x."""
        background = None if self.background is None else self.background.mirrored()
        bounds = Bounds(-self.bounds.upper, -self.bounds.lower)
        return Mixture(self.rungs.mirrored(), bounds, self.epsilon, background, self.is_condensed)

    @cached_property
    def _peaks(self) -> mixture.Peaks:
        return mixture.peaks_of(self.rungs)

    @cached_property
    def _tail(self) -> tails.Tail:
        return tails.tail_of(self.rungs, self.bounds.lower)

    @cached_property
    def log_highest(self) -> float:
        """Logarithm of the sum of |c| / h, which no sum of kernels exceeds."""
        return float(log_sum_exp(np.log(np.abs(self.rungs.coefficients) / self.rungs.spread)))

    def _log_background(self, function: Callable[[Background, Array], Array], x: Array) -> Array:
        if self.background is None or self.epsilon == 0.0:
            return np.full(x.size, -math.inf)
        return math.log(self.epsilon) + function(self.background, x)

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density, minus infinity outside the bounds and at infinity only."""
        background = self._log_background(Background.log_density, x)
        log = mixture.log_density(self._peaks, x, background, condensed=self.is_condensed)
        outside = (x < self.bounds.lower) | (x > self.bounds.upper) | np.isinf(x)
        return np.asarray(np.where(outside, -math.inf, np.maximum(log, LOWEST_LOG)))

    def log_cdf(self, x: Array) -> Array:
        """Return the natural logarithm of the probability below."""
        background = self._log_background(Background.log_cdf, x)
        log = tails.log_tail(self._tail, x, background, condensed=self.is_condensed)
        return np.asarray(np.where(x >= self.bounds.upper, 0.0, log))

    def log_sf(self, x: Array) -> Array:
        """Return the natural logarithm of the probability above."""
        return self.mirrored.log_cdf(-x)

    @cached_property
    def _cumulative(self) -> tuple[Array, Array]:
        """All places, ascending, and the mass of the kernels up to each."""
        prefix, offsets = self._tail.prefix, self.rungs.offsets
        order = np.argsort(self.rungs.places, kind="stable")
        # Each rung's prefix begins with a zero, which belongs to no place.
        masses = np.delete(np.diff(prefix, prepend=0.0), offsets[:-1] + np.arange(offsets.size - 1))
        return self.rungs.places[order], np.cumsum(masses[order])

    def start_and_bracket(self, p: Array) -> tuple[Array, Array, Array]:
        """Return a first guess at quantiles of probabilities in (0, 1/2], and two ends that enclose them."""
        places, masses = self._cumulative
        start = places[np.minimum(np.searchsorted(masses, p), places.size - 1)]
        reach = _REACH_OF_KERNEL * float(self.rungs.bandwidths.max())
        low = np.full(p.size, max(self.bounds.lower, float(places[0]) - reach))
        high = np.full(p.size, min(self.bounds.upper, float(places[-1]) + reach))
        if self.background is None or self.epsilon == 0.0:
            return start, low, high
        # Where the background alone has probability p below, the density has at least that: its quantile is no higher.
        above, alone = self.background.quantile(np.stack([np.minimum(p / self.epsilon, 1.0), p]))
        return np.minimum(start, above), np.minimum(low, alone), np.maximum(high, alone)
