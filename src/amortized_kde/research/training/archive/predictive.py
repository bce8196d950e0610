"""Predictive distributions of many pairs, whoever made them, and their scores.

A predictive distribution has probabilities of the atoms and, elsewhere, a density given by its logarithm and its
distribution function. All are scored alike: a rounded observation by the mean density of its cell.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, log_expit, ndtr

from amortized_kde._types import Array
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.ensembles import answers
from amortized_kde.ensembles.calibration import Power
from amortized_kde.ensembles.options import Ensembles, Options, read_ensembles
from amortized_kde.learned.model import Model
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.selection import selector_of

_LN2, _LOG_SQRT_2PI = math.log(2.0), 0.5 * math.log(2.0 * math.pi)
# Cells of less probability than this are scored by the density in their middle: the difference would cancel.
_LEAST_CELL = 1e-9
# Nodes of the quadrature of CRPS on each side of the observation, and the tail probability that is left out.
_NODES, _TAIL = 60, 1e-5


class Predictive(Protocol):
    """Distributions of pairs; arguments and results have the shape (pairs, m)."""

    @property
    def atom_probability(self) -> Array:
        """Probabilities of the atoms, (pairs, atoms)."""
        ...

    def log_density(self, at: Array) -> Array:
        """Return natural log-densities, given that no atom is hit."""
        ...

    def cdf(self, at: Array) -> Array:
        """Return probabilities up to the arguments, given that no atom is hit."""
        ...


@dataclass(frozen=True, eq=False)
class Trained:
    """Densities of ensembles by a method of the package, calibrated if its model is."""

    members: Array
    options: Options
    model: Model | None = None

    @property
    def atom_probability(self) -> Array:
        """Probabilities of the atoms."""
        return answers.atom_probabilities(self.members, options=self.options)

    def log_density(self, at: Array) -> Array:
        """Return natural log-densities, given that no atom is hit."""
        return answers.conditional_log_density(self._ensembles, at)

    def cdf(self, at: Array) -> Array:
        """Return probabilities up to the arguments, given that no atom is hit."""
        return answers.conditional_probability(self._ensembles, at)

    def crps(self, y: Array) -> Array:
        """Return continuous ranked probability scores at outcomes (pairs,), by the package's own quadrature."""
        return answers.crps_of(self._ensembles, y)[0]

    @cached_property
    def _ensembles(self) -> Ensembles:
        """The ensembles, with the model in place of the options' method if one is given."""
        read = read_ensembles(self.members, self.options, ascending=True)
        return read if self.model is None else replace(read, selector=selector_of("a model in training", self.model))


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Mixtures of normal densities, truncated to bounds: places and sds (pairs, n), weights (n,) or (pairs, n)."""

    places: Array
    sds: Array
    weights: Array
    bounds: Bounds = OPEN

    @property
    def atom_probability(self) -> Array:
        """No atoms."""
        return np.empty((len(self.places), 0))

    def log_density(self, at: Array) -> Array:
        """Return natural log-densities."""
        z = (at[:, :, None] - self.places[:, None]) / self.sds[:, None]
        with np.errstate(divide="ignore"):
            parts = -0.5 * z * z - np.log(self.sds)[:, None] + np.log(self._weights)[:, None] - _LOG_SQRT_2PI
        top = parts.max(axis=2, keepdims=True)
        found = top[:, :, 0] + np.log(np.sum(np.exp(parts - top), axis=2))
        inside = (at >= self.bounds.lower) & (at <= self.bounds.upper)
        with np.errstate(divide="ignore"):
            return np.where(inside, found - np.log(self._mass)[:, None], -np.inf)

    def cdf(self, at: Array) -> Array:
        """Return probabilities up to the arguments."""
        inside = np.clip(at, *self.bounds)
        return np.asarray((self._below(inside) - self._below_lower) / self._mass[:, None])

    @property
    def _weights(self) -> Array:
        return np.broadcast_to(self.weights, self.places.shape)

    def _below(self, at: Array) -> Array:
        z = (at[:, :, None] - self.places[:, None]) / self.sds[:, None]
        return np.asarray(np.sum(ndtr(z) * self._weights[:, None], axis=2))

    @property
    def _below_lower(self) -> Array:
        return self._below(np.full((len(self.places), 1), self.bounds.lower))

    @property
    def _mass(self) -> Array:
        upper = self._below(np.full((len(self.places), 1), self.bounds.upper))
        return np.maximum((upper - self._below_lower)[:, 0], 1e-300)


@dataclass(frozen=True, eq=False)
class CensoredLogistic:
    """A logistic variable on a power scale, censored at its origin: what is below counts as the atom there."""

    location: Array
    spread: Array
    scale: Power

    @property
    def atom_probability(self) -> Array:
        """Probability of the origin, (pairs, 1)."""
        return np.asarray(expit(-self.location / self.spread)[:, None])

    def log_density(self, at: Array) -> Array:
        """Return natural log-densities, given that the origin is not hit."""
        z = (self.scale.forward(at) - self.location[:, None]) / self.spread[:, None]
        wet = log_expit(self.location / self.spread)[:, None]
        found = log_expit(z) + log_expit(-z) - np.log(self.spread)[:, None] + self.scale.log_slope(at) - wet
        return np.where(at > self.scale.origin, found, -np.inf)

    def cdf(self, at: Array) -> Array:
        """Return probabilities up to the arguments, given that the origin is not hit."""
        z = (self.scale.forward(at) - self.location[:, None]) / self.spread[:, None]
        dry = self.atom_probability
        return np.asarray(np.clip((expit(z) - dry) / (1.0 - dry), 0.0, 1.0))


class Scores(NamedTuple):
    """Scores of each pair: the two parts of the logarithmic score in bits, CRPS in the variable's units, and PIT."""

    occurrence: Array
    amount: Array
    crps: Array
    pit: Array

    @property
    def total(self) -> Array:
        """Logarithmic scores in bits."""
        return self.occurrence + self.amount


def score(predictive: Predictive, pairs: Pairs, *, seed: int = 0) -> Scores:
    """Return the scores of predictive distributions at the observations of the pairs."""
    y, atom = pairs.observations, pairs.at_atom
    chance = predictive.atom_probability if pairs.atoms else np.zeros((y.size, 0))
    rest = 1.0 - chance.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        occurrence = -np.log2(np.append(chance, rest, axis=1)[np.arange(y.size), atom])
    amount = np.where(atom >= 0, 0.0, -cell_log_density(predictive, pairs) / _LN2)
    jump = np.where(atom >= 0, np.append(chance, np.zeros((y.size, 1)), axis=1)[np.arange(y.size), atom], 0.0)
    uniform = np.random.default_rng([seed, 8]).random(y.size)
    edge = 0.5 * pairs.resolution
    low, at, high = _whole_cdf(predictive, pairs, chance, np.stack([y - edge, y, y + edge], axis=1)).T
    # Uniform over the jump at an atom, and over the cell of a rounded observation.
    pit = np.where(atom >= 0, at - (1.0 - uniform) * jump, low + uniform * (high - low))
    exact = predictive.crps(y) if isinstance(predictive, Trained) else crps(predictive, pairs, chance)
    return Scores(occurrence, amount, exact, np.clip(pit, 0.0, 1.0))


def cell_log_density(predictive: Predictive, pairs: Pairs) -> Array:
    """Return the logarithm of the mean density over each observation's cell, given that no atom is hit."""
    y, half = pairs.observations[:, None], 0.5 * pairs.resolution
    middle = np.asarray(predictive.log_density(y)[:, 0])
    if half == 0.0:
        return middle
    ends = np.clip(np.concatenate([y - half, y + half], axis=1), *pairs.bounds)
    below = predictive.cdf(ends)
    mass, width = below[:, 1] - below[:, 0], ends[:, 1] - ends[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(mass > _LEAST_CELL, np.log(mass / width), middle))


def _whole_cdf(predictive: Predictive, pairs: Pairs, chance: Array, at: Array) -> Array:
    """Return the distribution function with its atoms."""
    found = predictive.cdf(at) * (1.0 - chance.sum(axis=1, keepdims=True))
    for k, atom in enumerate(pairs.atoms):
        found = found + chance[:, k, None] * (atom <= at)
    return np.asarray(found)


def crps(predictive: Predictive, pairs: Pairs, chance: Array) -> Array:
    """Return continuous ranked probability scores by Gauss-Legendre quadrature on both sides of the observation.

    The integral ends where less than 1e-5 of probability is left, which changes a score by less than 1e-4 of itself.
    """
    y = pairs.observations
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    total = np.zeros(y.size)
    for side in (-1.0, 1.0):
        end = _end(predictive, pairs, side)
        at = y[:, None] + (end - y)[:, None] * (0.5 * (nodes + 1.0)) ** 2
        jacobian = np.abs(end - y)[:, None] * 0.5 * (nodes + 1.0)
        f = _whole_cdf(predictive, pairs, chance, at)
        f = f if side < 0.0 else 1.0 - f
        total += (f * f * jacobian) @ weights
    return total


def _end(predictive: Predictive, pairs: Pairs, side: float) -> Array:
    """Return where the integral of a CRPS ends on one side of the observation."""
    y, bounds = pairs.observations, pairs.bounds
    typical = float(np.std(y)) or 1.0
    reach = np.full(y.size, 0.5 * typical)
    for _ in range(24):
        at = np.clip(y + side * reach, *bounds)
        below = predictive.cdf(at[:, None])[:, 0]
        more = (below if side < 0.0 else 1.0 - below) > _TAIL
        if not more.any():
            break
        reach[more] *= 1.6
    return np.asarray(np.clip(y + side * reach, *bounds))
