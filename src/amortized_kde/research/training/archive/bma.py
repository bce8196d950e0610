"""Bayesian model averaging: mixtures of one density around each member.

References: Raftery et al. (2005), Mon. Wea. Rev. 133, 1155, for normal densities; Sloughter et al. (2007), Mon. Wea.
Rev. 135, 3209, for precipitation. Named members have coefficients and a weight each, exchangeable ones share them.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammainc, gammaln, log_expit

from amortized_kde._types import Array
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.archive.predictive import NormalMixture, Predictive

# Rounds in which weights and variances of the gamma densities are fitted in turn, and steps for the weights in each.
_ROUNDS, _STEPS = 8, 30


def normal_averaging(fitted: Pairs, scored: Pairs) -> Predictive:
    """Return mixtures of normal densities around each bias-corrected member.

    Named members have a regression and a weight each, exchangeable ones share them; all have one variance.
    """
    lines = _regressions(fitted)
    places, present = _corrected(fitted, lines)
    weights = np.full(places.shape[1], 1.0 / places.shape[1])
    variance = float(np.nanvar(fitted.observations[:, None] - np.where(present, places, np.nan)))
    for _ in range(100):
        z = (fitted.observations[:, None] - places) ** 2 / variance
        parts = np.where(present, weights * np.exp(-0.5 * (z - z.min(axis=1, keepdims=True))), 0.0)
        belongs = parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)
        old = variance
        variance = float(np.sum(belongs * z) * variance / np.sum(belongs))
        if fitted.names:
            weights = belongs.mean(axis=0)
        if abs(variance - old) < 1e-6 * old:
            break
    places, present = _corrected(scored, lines)
    shares = np.where(present, weights, 0.0)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return NormalMixture(places, np.full(places.shape, math.sqrt(variance)), shares, scored.bounds)


def _regressions(pairs: Pairs) -> Array:
    """Return slope and level (n, 2) of the observations on each member, the same for all if they have no names."""
    y, x = pairs.observations, pairs.members
    if not pairs.names:
        return np.tile(np.polyfit(np.nanmean(x, axis=1), y, 1), (x.shape[1], 1))
    lines = np.zeros((x.shape[1], 2))
    for k in range(x.shape[1]):
        here = ~np.isnan(x[:, k])
        lines[k] = np.polyfit(x[here, k], y[here], 1) if here.sum() > 2 else (1.0, 0.0)
    return lines


def _corrected(pairs: Pairs, lines: Array) -> tuple[Array, Array]:
    present = ~np.isnan(pairs.members)
    return np.where(present, lines[:, 0] * pairs.members + lines[:, 1], 0.0), present


@dataclass(frozen=True, eq=False)
class GammaMixture:
    """Mixtures of dry probabilities and gamma densities of the cube root of the amount above the origin.

    Chances of no rain, shapes and rates are (pairs, n), weights too; members that are missing have the weight 0.
    """

    dry: Array
    shapes: Array
    rates: Array
    weights: Array
    origin: float

    @property
    def atom_probability(self) -> Array:
        """Probability of no rain, (pairs, 1)."""
        return np.sum(self.weights * self.dry, axis=1, keepdims=True)

    def log_density(self, at: Array) -> Array:
        """Return natural log-densities, given that it rains."""
        amount = np.maximum(at - self.origin, 1e-300)[:, :, None]
        wet = self.weights * (1.0 - self.dry) / (1.0 - self.atom_probability)
        with np.errstate(divide="ignore"):
            parts = np.log(wet)[:, None] + log_gamma(np.cbrt(amount), self.shapes[:, None], self.rates[:, None])
        top = parts.max(axis=2)
        found = top + np.log(np.sum(np.exp(parts - top[:, :, None]), axis=2))
        # The derivative of the cube root.
        found -= math.log(3.0) + np.log(amount[:, :, 0]) * 2.0 / 3.0
        return np.where(at > self.origin, found, -np.inf)

    def cdf(self, at: Array) -> Array:
        """Return probabilities up to the arguments, given that it rains."""
        root = np.cbrt(np.maximum(at - self.origin, 0.0))[:, :, None]
        wet = self.weights * (1.0 - self.dry) / (1.0 - self.atom_probability)
        return np.asarray(np.sum(wet[:, None] * gammainc(self.shapes[:, None], self.rates[:, None] * root), axis=2))


def log_gamma(x: Array, shape: Array, rate: Array) -> Array:
    """Return natural log-densities of gamma distributions."""
    return np.asarray(shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(x) - rate * x)


def gamma_averaging(fitted: Pairs, scored: Pairs) -> Predictive:
    """Return mixtures of gamma densities for rain: the cube root of a wet amount is gamma distributed.

    The chance of no rain is a logistic regression on the cube root of a member and whether it is dry; the mean of the
    cube root is linear in that of the member, its variance linear in the member itself, alike for all members.
    """
    origin = fitted.bounds.lower
    y = fitted.observations - origin
    x = np.maximum(fitted.members - origin, 0.0)
    dry, lines = _members(x, y, named=bool(fitted.names))
    present = ~np.isnan(x)
    weights = np.full(x.shape[1], 1.0 / x.shape[1])
    spread = np.log([0.1, 0.01])
    chances = _chances(x, dry)
    wet, roots = y > 0.0, np.cbrt(np.maximum(y, 1e-300))[:, None]

    def log_parts(spread: Array) -> Array:
        with np.errstate(divide="ignore"):
            density = np.log1p(-chances) + log_gamma(roots, *_gammas(x, lines, spread))
            return np.where(present, np.where(wet[:, None], density, np.log(chances)), -np.inf)

    def objective(spread: Array, weights: Array) -> float:
        return -float(np.mean(_log_mean(log_parts(spread)[wet], weights)))

    for _ in range(_ROUNDS if fitted.names else 1):
        spread = minimize(objective, spread, (weights,), "Nelder-Mead", options={"fatol": 1e-6, "xatol": 1e-3}).x
        if fitted.names:
            weights = _weights(log_parts(spread), weights)
    x = np.maximum(scored.members - origin, 0.0)
    shares = np.where(np.isnan(x), 0.0, weights)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    filled = np.where(np.isnan(x), 0.0, x)
    return GammaMixture(_chances(filled, dry), *_gammas(filled, lines, spread), shares, origin)


def _members(x: Array, y: Array, *, named: bool) -> tuple[Array, Array]:
    """Return coefficients of the chance of no rain, (3, n), and of the mean of the cube root, (2, n)."""
    columns = range(x.shape[1]) if named else [slice(None)]
    found = []
    for column in columns:
        members = np.reshape(x[:, column], (y.size, -1))
        rows, values = np.repeat(y, members.shape[1]), members.ravel()
        here = ~np.isnan(values)
        rows, values = rows[here], values[here]
        wet = rows > 0.0
        line = np.polyfit(np.cbrt(values[wet]), np.cbrt(rows[wet]), 1)
        found.append((_logistic(_summary(values), rows == 0.0), line[::-1]))
    repeats = 1 if named else x.shape[1]
    dry, lines = (np.repeat(np.stack(part, axis=1), repeats, axis=1) for part in zip(*found, strict=True))
    return dry, lines


def _summary(x: Array) -> Array:
    return np.stack([np.ones(x.shape), np.cbrt(x), x == 0.0], axis=-1)


def _logistic(rows: Array, hit: Array) -> Array:
    """Return the coefficients of a logistic regression, with a slight penalty in case the classes are separable."""

    def objective(theta: Array) -> tuple[float, Array]:
        eta = rows @ theta
        value = -np.mean(np.where(hit, log_expit(eta), log_expit(-eta))) + 1e-6 * theta @ theta
        return float(value), rows.T @ (expit(eta) - hit) / hit.size + 2e-6 * theta

    return np.asarray(minimize(objective, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x)


def _chances(x: Array, dry: Array) -> Array:
    """Probabilities of no rain of each member."""
    chances = expit(np.einsum("pnc,cn->pn", _summary(x), dry))
    return np.asarray(np.clip(chances, 1e-6, 1.0 - 1e-6))


def _gammas(x: Array, lines: Array, spread: Array) -> tuple[Array, Array]:
    """Shapes and rates of the cube root's gamma densities."""
    mean = np.maximum(lines[0] + lines[1] * np.cbrt(x), 1e-3)
    variance = np.exp(spread[0]) + np.exp(spread[1]) * x
    return mean * mean / variance, mean / variance


def _log_mean(parts: Array, weights: Array) -> Array:
    """Logarithms of weighted means of exponentials; weights of missing members go to the others."""
    shares = np.where(np.isfinite(parts), weights, 0.0)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    top = parts.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.sum(shares * np.exp(parts - top), axis=1)))


def _weights(parts: Array, weights: Array) -> Array:
    """Return weights of greater likelihood, by expectation-maximisation."""
    scaled = np.exp(parts - parts.max(axis=1, keepdims=True))
    for _ in range(_STEPS):
        belongs = weights * scaled
        weights = (belongs / belongs.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights
