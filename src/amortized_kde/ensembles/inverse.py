"""Quantiles of many densities at once: probabilities enter, arguments leave."""

from collections.abc import Callable

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.density import background
from amortized_kde.ensembles.estimates import Estimates
from amortized_kde.numerics.tails import invert_each

# Beyond so many bandwidths there is less probability than the smallest positive float64.
_FARTHEST = 40.0


def quantiles_of(estimates: Estimates, p: Array, own: Index) -> Array:
    """Quantiles of probabilities `p` in [0, 1], each of density ``own``; NaN where that has no kernels.

    Each is looked for from the side on which less probability is left, so that upper tails are as exact as lower ones.
    """
    lower, upper = estimates.bounds
    found = np.where(p <= 0.0, lower, upper)
    answered = estimates.kernels.stops[own] > estimates.kernels.starts[own]
    found[~answered | np.isnan(p)] = np.nan
    for above in (False, True):
        here = np.flatnonzero(answered & ((p > 0.5) & (p < 1.0) if above else (p > 0.0) & (p <= 0.5)))
        if here.size:
            found[here] = _from_one_side(estimates, 1.0 - p[here] if above else p[here], own[here], above)
    return found


def _from_one_side(estimates: Estimates, p: Array, own: Index, above: bool) -> Array:
    """Quantiles of probabilities up to a half, looked for from below, or from above."""
    # From above the axis is turned around, so that one method serves both.
    sign = -1.0 if above else 1.0

    def ask(function: Callable[[Array, Index, Index], Array]) -> Callable[[Array, Index], Array]:
        return lambda x, which: function(sign * x, own[which], np.arange(x.size + 1))

    def log_probability(x: Array, density: Index, edges: Index) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(estimates.probability(x, density, edges, above=above))

    ends = _start_and_ends(estimates, p, own, above)
    return sign * invert_each(ask(log_probability), ask(estimates.log_density), np.log(p), *ends)


def _start_and_ends(estimates: Estimates, p: Array, own: Index, above: bool) -> tuple[Array, Array, Array]:
    """Where to look: a guess and two ends that enclose it, turned around if from above."""
    kernels, sign = estimates.kernels, -1.0 if above else 1.0
    first, count = kernels.starts[own], kernels.stops[own] - kernels.starts[own]
    rank = np.minimum((p * count).astype(np.int64), count - 1)
    guess = kernels.places[first + (count - 1 - rank if above else rank)]
    reach = _FARTHEST * estimates.widest[own]
    low, high = kernels.places[first] - reach, kernels.places[first + count - 1] + reach
    epsilon = estimates.epsilons[own]
    if epsilon.any():
        placed, share = estimates.placed(own), np.where(epsilon > 0.0, epsilon, 1.0)
        # Below epsilon the background alone has that probability somewhere, which is no nearer.
        far, alone = (background.quantile(1.0 - q if above else q, **placed) for q in (np.minimum(p / share, 1.0), p))
        broad = epsilon > 0.0
        guess = np.where(broad, np.maximum(guess, far) if above else np.minimum(guess, far), guess)
        low, high = np.where(broad, np.minimum(low, alone), low), np.where(broad, np.maximum(high, alone), high)
    low, high = np.clip(low, *estimates.bounds), np.clip(high, *estimates.bounds)
    return (sign * guess, -high, -low) if above else (guess, low, high)
