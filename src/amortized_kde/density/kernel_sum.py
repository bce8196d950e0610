"""Log-densities, tails, quantiles and draws of all kernels of a source and a background between two bounds.

`KernelSum` decides which kernels to sum: all, fewer that stand for them, or those that matter at an argument.
Arguments and results are checked float64 arrays of shape (m,).
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.background import Background
from amortized_kde.density.curve import Layer
from amortized_kde.density.kernels import Kernels, KernelSource, Tail
from amortized_kde.density.mixture import Mixture
from amortized_kde.density.tabulated import Tabulated
from amortized_kde.numerics import binned, tails
from amortized_kde.numerics.condense import CELLS_PER_BANDWIDTH, FAITHFUL, condense
from amortized_kde.numerics.mixture import Rungs

Function = Callable[[Array], Array]

# The function of a mixture that is evaluated, and the tail whose probability it is (None for the density).
_FUNCTIONS: dict[Tail | None, Callable[[Mixture, Array], Array]]
_FUNCTIONS = {None: Mixture.log_density, "lower": Mixture.log_cdf, "upper": Mixture.log_sf}


class KernelSum:
    """q(x) = sum of c phi((x - place)/h)/h over all kernels of a source + epsilon b(x), with mass 1 between the bounds.

    Many kernels are condensed for sums, except where a sum is too small for that. Methods are safe to call from several
    threads, on pieces of the arguments.
    """

    def __init__(self, source: KernelSource, epsilon: float = 0.0, background: Background | None = None) -> None:
        self.source = source
        self.epsilon = epsilon
        self.background = background
        self._bins: binned.Bins | None = None

    def _mixture(self, kernels: Sequence[Kernels], is_condensed: bool) -> Mixture:
        rungs = join_rungs(self.source.bandwidths, kernels)
        return Mixture(rungs, self.source.bounds, self.epsilon, self.background, is_condensed)

    @cached_property
    def complete(self) -> Mixture:
        """All kernels."""
        # Kernels that could not be condensed are complete: no rung is built twice.
        if not (self.source.direct or self.condensed.is_condensed):
            return self.condensed
        return self._mixture([self.source.rung(k) for k in range(self.source.bandwidths.size)], is_condensed=False)

    @cached_property
    def condensed(self) -> Mixture:
        """Fewer kernels that stand for all, or all if there are few."""
        source = self.source
        if source.is_large:
            return self._mixture(source.condensed(CELLS_PER_BANDWIDTH, threads=1), is_condensed=True)
        made, is_condensed = [], False
        for k, h in enumerate(source.bandwidths.tolist()):
            kernels = source.rung(k)
            made.append(Kernels(*condense(*kernels, h)))
            is_condensed |= made[-1].places is not kernels.places
        if source.direct and not is_condensed:
            return self.complete
        return self._mixture(made, is_condensed)

    @cached_property
    def tabulated(self) -> Tabulated:
        """The same functions for many arguments at a time, NaN where they have to be computed as here."""
        return Tabulated(self.condensed, self.log_cdf, self.log_sf)

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density, minus infinity outside the bounds."""
        return self.complete.log_density(x) if self.source.direct else self.condensed_log_density(x)

    def condensed_log_density(self, x: Array) -> Array:
        """Return the natural log-density from condensed kernels, of any source."""
        return self._where_faithful(x, least=self.condensed.log_highest + FAITHFUL)

    def log_cdf(self, x: Array) -> Array:
        """Return the natural logarithm of the probability below."""
        return self._where_faithful(x, least=self._least_tail(x, self.source.bounds.lower), tail="lower")

    def log_sf(self, x: Array) -> Array:
        """Return the natural logarithm of the probability above."""
        return self._where_faithful(x, least=self._least_tail(x, self.source.bounds.upper), tail="upper")

    def _least_tail(self, x: Array, bound: float) -> float | Array:
        """The smallest log-probability between an argument and a bound that condensed kernels get right."""
        if not self.source.is_large:
            return FAITHFUL
        # A kernel's probability between the two is at most its highest density times their distance.
        gap = np.maximum(np.abs(np.where(np.isinf(x), 1.0, x) - bound), 1e-300)
        return FAITHFUL + np.minimum(self.condensed.log_highest + np.log(gap), 0.0)

    def _where_faithful(self, x: Array, *, least: float | Array, tail: Tail | None = None) -> Array:
        """Values from condensed kernels, except below `least` inside the bounds: there from all that matter."""
        out, (lower, upper) = _FUNCTIONS[tail](self.condensed, x), self.source.bounds
        small = np.flatnonzero(~(out >= least) & (x > lower) & (x < upper) & self.condensed.is_condensed)
        if small.size:
            out[small] = self._from_all(x[small], tail)
        return out

    def _from_all(self, x: Array, tail: Tail | None) -> Array:
        """Values from all kernels that matter; of a large sample rung by rung, to limit memory."""
        source, function = self.source, _FUNCTIONS[tail]
        if not source.is_large:
            return function(self.complete, x)
        total, epsilon = np.full(x.size, -math.inf), self.epsilon
        for k in range(source.bandwidths.size):
            kernels = source.kernels_reaching(k, x, tail)
            if kernels.places.size:
                rung = join_rungs(source.bandwidths[k : k + 1], [kernels])
                # The background is added once.
                one = Mixture(rung, source.bounds, epsilon, self.background, is_condensed=False)
                np.logaddexp(total, function(one, x), out=total)
                epsilon = 0.0
        return total

    def bins(self, threads: int | None) -> binned.Bins:
        """Return the kernels of a large sample, binned once for `binned_density`."""
        # Two threads that come here at the same time bin twice, with the same result.
        if self._bins is None:
            kernels = self.source.condensed(binned.CELLS_PER_BANDWIDTH, threads)
            self._bins = binned.bins_of(join_rungs(self.source.bandwidths, kernels))
        return self._bins

    def binned_density(self, bins: binned.Bins, x: Array) -> Array:
        """Return the density from binned kernels, NaN where these are not accurate enough."""
        lower, upper = self.source.bounds
        inside = np.isfinite(x) & (x >= lower) & (x <= upper)
        background = np.zeros(x.size)
        if self.background is not None and self.epsilon > 0.0:
            background = self.epsilon * np.exp(self.background.log_density(x))
        return np.where(inside | np.isnan(x), binned.binned_density(bins, x, background), 0.0)

    def quantile(self, p: Array) -> Array:
        """Return the quantiles of probabilities in [0, 1], each from the tail in which it is the smaller."""
        return _from_smaller_tail(p, self._from_below, self._from_above, *self.source.bounds)

    def upper_quantile(self, p: Array) -> Array:
        """Return the arguments above which the probabilities in [0, 1] lie."""
        lower, upper = self.source.bounds
        return _from_smaller_tail(p, self._from_above, self._from_below, upper, lower)

    def _from_below(self, p: Array) -> Array:
        return _invert(self.log_cdf, self.log_density, p, self.condensed, mirrored=False)

    def _from_above(self, p: Array) -> Array:
        mixture = self.condensed.mirrored
        return -_invert(lambda x: self.log_sf(-x), lambda x: self.log_density(-x), p, mixture, mirrored=True)

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Return exact draws, of shape (size,)."""
        draws = self.source.draw(size, rng)
        if self.background is not None and self.epsilon > 0.0:
            broad = rng.random(size) < self.epsilon
            draws[broad] = self.background.draw(int(broad.sum()), rng)
        # Only rounding can put a draw an ulp outside.
        return np.asarray(np.clip(draws, *self.source.bounds))

    @property
    def for_moments(self) -> Mixture:
        """The kernels whose moments are those of the density."""
        return self.complete if self.source.direct else self.condensed

    def layers(self) -> list[Layer]:
        """Return the kernels, or those that stand for them, with their peaks' heights summed."""
        if self.source.is_large:
            places, heights, offsets, bandwidths, _ = self.bins(None)
        else:
            places, coefficients, offsets, bandwidths = self.condensed.rungs
            heights = coefficients / (math.sqrt(2.0 * math.pi) * self.condensed.rungs.spread)
        # Kernels that stand for others can be negative; for a bound only their size matters.
        sums = (np.concatenate([[0.0], np.cumsum(np.abs(part))]) for part in np.split(heights, offsets[1:-1]))
        return [Layer(*layer) for layer in zip(np.split(places, offsets[1:-1]), sums, bandwidths.tolist(), strict=True)]


def join_rungs(bandwidths: Array, kernels: Sequence[Kernels]) -> Rungs:
    """Return the kernels of several bandwidths one after the other, without rungs that have none."""
    kept = [k for k, rung in enumerate(kernels) if rung.places.size]
    rungs = Rungs(
        np.concatenate([kernels[k].places for k in kept]),
        np.concatenate([kernels[k].coefficients for k in kept]),
        np.cumsum([0, *(kernels[k].places.size for k in kept)]),
        bandwidths[kept],
    )
    for array in rungs:
        # Read-only arrays are another type to the compiler; all rungs must be of one type.
        array.flags.writeable = False
    return rungs


def _invert(log_cdf: Function, log_density: Function, p: Array, kernels: Mixture, *, mirrored: bool) -> Array:
    functions = lambda x, _: log_cdf(x), lambda x, _: log_density(x)
    return tails.invert_each(*functions, np.log(p), *kernels.start_and_bracket(p), mirrored=mirrored)


def _from_smaller_tail(p: Array, near: Function, far: Function, at_0: float, at_1: float) -> Array:
    """Arguments for probabilities from one tail, those above a half from the complement in the other tail."""
    found = np.where(p <= 0.0, at_0, at_1)
    small, large = (p > 0.0) & (p <= 0.5), (p > 0.5) & (p < 1.0)
    for some, tail, mass in ((small, near, p), (large, far, 1.0 - p)):
        if some.any():
            found[some] = tail(mass[some])
    return found
