"""Four simple densities with known bounds, on which an estimator that knows its limits should not fail.

Uniform, triangular and Beta(2, 2) on [0, 1], and the exponential on [0, ∞), of which only the lower bound is told.
"""

import math
from collections.abc import Callable

import numpy as np

from amortized_kde._types import Array
from contests.known_density import KnownDensity

Rng = np.random.Generator

_UNIT = (0.0, 1.0)
# 25 panels, and ever shorter ones towards both ends, where the density may vanish.
_HALVES = 0.5 ** np.arange(1.0, 30.0)
_UNIT_ENDS = np.unique(np.concatenate([np.linspace(0.0, 1.0, 51), _HALVES, 1.0 - _HALVES]))
# Beyond 60 the exponential has less than 1e-26 of its mass.
_LINE_ENDS = np.unique(np.concatenate([np.linspace(0.0, 60.0, 241), np.linspace(0.0, 6.0, 121)]))


def simple_bounded() -> tuple[KnownDensity, ...]:
    """Give the four densities.

    Examples
    --------
    >>> [known.name for known in simple_bounded()]
    ['uniform', 'exponential', 'triangular', 'beta(2, 2)']
    """
    return (
        KnownDensity("uniform", _UNIT, np.zeros_like, _drawing(1, lambda rng, shape: rng.random(shape)), _UNIT_ENDS),
        KnownDensity(
            "exponential",
            (0.0, None),
            np.negative,
            _drawing(2, lambda rng, shape: rng.exponential(size=shape)),
            _LINE_ENDS,
        ),
        KnownDensity(
            "triangular",
            _UNIT,
            _triangular,
            _drawing(3, lambda rng, shape: rng.triangular(0.0, 0.5, 1.0, shape)),
            _UNIT_ENDS,
        ),
        KnownDensity("beta(2, 2)", _UNIT, _beta, _drawing(4, lambda rng, shape: rng.beta(2.0, 2.0, shape)), _UNIT_ENDS),
    )


def _triangular(x: Array) -> Array:
    return np.asarray(math.log(4.0) + np.log(np.minimum(x, 1.0 - x)))


def _beta(x: Array) -> Array:
    return np.asarray(math.log(6.0) + np.log(x) + np.log1p(-x))


def _drawing(number: int, draw: Callable[[Rng, tuple[int, int]], Array]) -> Callable[[int, int, int], Array]:
    """Samples from a generator that no other density and seed share."""
    return lambda replicates, n, seed: draw(np.random.default_rng([seed, number]), (replicates, n))
