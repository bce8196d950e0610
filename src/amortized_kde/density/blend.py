"""Gaussian kernels and a background blended into one density between two limits: log-density and lower tail.

Arrays of arguments enter, arrays of logarithms leave. That kernels may be condensed and stand for more, is
known here only because such sums can fail.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from amortized_kde._types import Array
from amortized_kde.density.background import Background
from amortized_kde.numerics import mixture, tails
from amortized_kde.numerics.mixture import Rungs

# Beyond so many bandwidths there is less probability than the smallest positive float64.
FARTHEST = 40.0


@dataclass(frozen=True, eq=False)
class Blend:
    """Rungs and background between two limits, looked at from below; `mirror` looks at them from above."""

    rungs: Rungs
    lower: float
    upper: float
    epsilon: float
    background: Background | None
    condensed: bool

    @cached_property
    def mirror(self) -> "Blend":
        """The same with the axis turned around."""
        background = None if self.background is None else self.background.mirrored()
        return Blend(
            self.rungs.mirrored(), -self.upper, -self.lower, self.epsilon, background, condensed=self.condensed
        )

    @cached_property
    def _peaks(self) -> mixture.Peaks:
        return mixture.peaks_of(self.rungs)

    @cached_property
    def _tail(self) -> tails.Tail:
        return tails.tail_of(self.rungs, self.lower)

    @cached_property
    def highest(self) -> float:
        """Logarithm of what all kernels could reach together."""
        return float(logsumexp(np.log(np.abs(self.rungs.coefficients) / self.rungs.spread)))

    def _log_background(self, part: Callable[[Background], Array], count: int) -> Array:
        if self.background is None or self.epsilon == 0.0:
            return np.full(count, -math.inf)
        return math.log(self.epsilon) + part(self.background)

    def log_density(self, x: Array) -> Array:
        """Natural log-density, minus infinity outside the limits."""
        known = self._log_background(lambda b: b.log_density(x), x.size)
        log = mixture.log_density(self._peaks, x, known, condensed=self.condensed)
        return np.asarray(np.where((x < self.lower) | (x > self.upper), -math.inf, log))

    def log_cdf(self, x: Array) -> Array:
        """Natural logarithm of the probability below."""
        known = self._log_background(lambda b: b.log_cdf(x), x.size)
        log = tails.log_tail(self._tail, x, known, condensed=self.condensed)
        return np.asarray(np.where(x >= self.upper, 0.0, log))

    @cached_property
    def _passed(self) -> tuple[Array, Array]:
        """All places, ascending, and the mass of the kernels up to each."""
        prefix, offsets = self._tail.prefix, self.rungs.offsets
        order = np.argsort(self.rungs.places, kind="stable")
        # Each rung's prefix begins with a zero, where there is no place.
        masses = np.delete(np.diff(prefix, prepend=0.0), offsets[:-1] + np.arange(offsets.size - 1))
        return self.rungs.places[order], np.cumsum(masses[order])

    def start_and_bracket(self, p: Array) -> tuple[Array, Array, Array]:
        """Where to look for quantiles of probabilities in (0, 1/2]: a guess, and two ends that enclose them."""
        places, masses = self._passed
        start = places[np.minimum(np.searchsorted(masses, p), places.size - 1)]
        reach = FARTHEST * float(self.rungs.bandwidths.max())
        low = np.full(p.size, max(self.lower, float(places[0]) - reach))
        high = np.full(p.size, min(self.upper, float(places[-1]) + reach))
        if self.background is None or self.epsilon == 0.0:
            return start, low, high
        # Below epsilon the background alone has that probability somewhere, which is no lower.
        above, alone = self.background.quantile(np.stack([np.minimum(p / self.epsilon, 1.0), p]))
        return np.minimum(start, above), np.minimum(low, alone), np.maximum(high, alone)
