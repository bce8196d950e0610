"""The ten families of the bounded multi-family benchmark: the paper's Table 1, line by line.

A generator of random numbers enters, shape parameters leave, one row a setting. Location and scale are not
chosen here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array

Rng = np.random.Generator


@dataclass(frozen=True)
class Family:
    """One family: its standard form, how shape parameters are drawn, and what Table 1 calls its parameters.

    ``draw_shapes(rng, count)`` gives (count, p). `mirrored` families get ε = ±1, equiprobably. A mixture is
    given by the names of its components.
    """

    name: str
    standard: str
    draw_shapes: Callable[[Rng, int], Array]
    scale_name: str = "lambda"
    shape_names: tuple[str, ...] = ()
    component_names: tuple[str, ...] = ()
    mirrored: bool = False


def _log_uniform(rng: Rng, low: float, high: float, shape: tuple[int, ...]) -> Array:
    return np.asarray(np.exp(rng.uniform(math.log(low), math.log(high), shape)))


def _no_shape(rng: Rng, count: int) -> Array:
    return np.zeros((count, 0))


def _student(rng: Rng, count: int) -> Array:
    return _log_uniform(rng, 3.0, 30.0, (count, 1))


def _gamma(rng: Rng, count: int) -> Array:
    return _log_uniform(rng, 0.5, 10.0, (count, 1))


# Intervals of a and b in the four regimes: both singular, both smooth, near uniform, one of each.
_BETA_REGIMES = np.array(
    [[[0.4, 0.9], [0.4, 0.9]], [[1.2, 5.0], [1.2, 5.0]], [[0.8, 1.2], [0.8, 1.2]], [[0.4, 0.9], [1.2, 5.0]]]
)


def _beta(rng: Rng, count: int) -> Array:
    regimes = _BETA_REGIMES[rng.integers(4, size=count)]
    ab = rng.uniform(regimes[..., 0], regimes[..., 1])
    # In random order; where a and b have one law this changes nothing.
    swap = rng.random(count) < 0.5
    return np.where(swap[:, None], ab[:, ::-1], ab)


def _lognormal(rng: Rng, count: int) -> Array:
    return rng.uniform(0.25, 1.0, (count, 1))


def _three(weights: Array, locations: Array, scales: Array) -> Array:
    """Shape parameters of a mixture, filled up to three components with components of no weight."""
    missing = ((0, 0), (0, 3 - weights.shape[1]))
    parts = np.pad(weights, missing), np.pad(locations, missing), np.pad(scales, missing, constant_values=1.0)
    return np.concatenate(parts, axis=1)


def _gaussian(rng: Rng, count: int) -> Array:
    return _three(np.ones((count, 1)), np.zeros((count, 1)), np.ones((count, 1)))


def _two_weights(rng: Rng, count: int) -> Array:
    w = rng.uniform(0.2, 0.8, count)
    return np.stack([w, 1.0 - w], axis=1)


def _bimodal(rng: Rng, count: int) -> Array:
    weights = _two_weights(rng, count)
    return _three(weights, np.tile([-1.0, 1.0], (count, 1)), _log_uniform(rng, 0.15, 0.45, (count, 2)))


def _trimodal(rng: Rng, count: int) -> Array:
    weights = rng.dirichlet([2.0, 2.0, 2.0], count)
    while (small := weights.min(axis=1) < 0.1).any():
        weights[small] = rng.dirichlet([2.0, 2.0, 2.0], int(small.sum()))
    left, right = rng.uniform(0.8, 1.2, (2, count))
    return _three(weights, np.stack([-left, 0.0 * left, right], axis=1), _log_uniform(rng, 0.1, 0.3, (count, 3)))


def _spike_slab(rng: Rng, count: int) -> Array:
    weights = _two_weights(rng, count)
    spike = _log_uniform(rng, 0.05, 0.2, (count,))
    return _three(weights, np.zeros((count, 2)), np.stack([spike, np.ones(count)], axis=1))


_TABLE_1 = (
    Family("gaussian", "mixture", _gaussian, "sigma"),
    Family("laplace", "laplace", _no_shape, "b"),
    Family("student-t", "student", _student, "s", ("nu",)),
    Family("gamma", "gamma", _gamma, "theta", ("k",), mirrored=True),
    Family("beta", "beta", _beta, "s", ("a", "b")),
    Family("logistic", "logistic", _no_shape, "s"),
    Family("lognormal", "lognormal", _lognormal, "s", ("tau",), mirrored=True),
    Family("bimodal", "mixture", _bimodal, component_names=("1", "2")),
    Family("trimodal", "mixture", _trimodal, component_names=("1", "2", "3")),
    Family("spike-slab", "mixture", _spike_slab, component_names=("spike", "slab")),
)

FAMILIES = {family.name: family for family in _TABLE_1}
