r"""Location and scale by maximum likelihood: y = \mu + \sigma z, with z of a kernel, truncated to bounds.

    \mu = \sum_j a_j t_j,    \log \sigma = \tfrac12 \log(c^2 + d^2 s^2) + \sum_j g_j w_j

EMOS is the case of a normal kernel. Derivatives are exact, and L-BFGS takes some tens of steps.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.ensembles.calibration import KERNELS

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# The minimum is found when a Newton step would gain less than this, in natural units of the mean score.
_TOLERANCE = 1e-7
# A cell below this many standard deviations is scored by the density in its middle, which differs by less than 1e-4.
_NARROW_CELL = 0.05


class Kernel(NamedTuple):
    """A mixture of normal densities around 0: log-weights and standard deviations."""

    log_weights: Array
    sds: Array

    @classmethod
    def of(cls, name: str) -> "Kernel":
        """Return the kernel of a name in `KERNELS`."""
        weights, sds = KERNELS[name]
        return cls(np.log(np.array(weights)), np.array(sds))

    def log_density(self, u: Array) -> tuple[Array, Array]:
        """Return the log-density and its derivative at `u` (rows,)."""
        z = u[:, None] / self.sds
        parts = self.log_weights - np.log(self.sds) - 0.5 * z * z - _LOG_SQRT_2PI
        total = _log_sum(parts)
        return total, -np.sum(np.exp(parts - total[:, None]) * z / self.sds, axis=1)

    def log_between(self, low: Array, high: Array) -> Array:
        """Return the log-probability between two limits, accurate in the tails."""
        return _log_sum(self.log_weights + log_between(low[:, None] / self.sds, high[:, None] / self.sds))


def _log_sum(parts: Array) -> Array:
    top = parts.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = (top + np.log(np.sum(np.exp(parts - top), axis=1, keepdims=True)))[:, 0]
    return np.where(np.isneginf(top[:, 0]), -np.inf, total)


def log_between(low: Array, high: Array) -> Array:
    """Return the logarithm of the normal probability between two limits, accurate in the tails."""
    flip = low > 0.0
    near, far = np.where(flip, -low, high), np.where(flip, -high, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = log_ndtr(near)
        return np.asarray(below + np.log1p(-np.exp(np.minimum(log_ndtr(far) - below, 0.0))))


@dataclass(frozen=True, eq=False)
class LocationScale:
    """Rows of a location-scale model.

    Attributes
    ----------
    location, log_spread : array of shape (rows, terms)
        t and w; the columns of `location` after the first `free` ones, and all of `log_spread`, are penalised.
    spread, outcomes : array of shape (rows,)
        s and y.
    kernel : Kernel
    bounds : Bounds
        Limits of the outcomes.
    edges : (array, array), optional
        Ends of the cells of rounded outcomes.
    shifts : (array, array), optional
        Known additions to mu and log sigma.
    penalty : float
        Of standardised coefficients, in units of the residual variance.
    """

    location: Array
    log_spread: Array
    spread: Array
    outcomes: Array
    kernel: Kernel
    bounds: Bounds = OPEN
    edges: tuple[Array, Array] | None = None
    shifts: tuple[Array, Array] | None = None
    penalty: float = 1.0
    free: int = 2

    def where(self, rows: Flags | Index) -> "LocationScale":
        """Return a subset of the rows."""
        return replace(
            self,
            location=self.location[rows],
            log_spread=self.log_spread[rows],
            spread=self.spread[rows],
            outcomes=self.outcomes[rows],
            edges=None if self.edges is None else (self.edges[0][rows], self.edges[1][rows]),
            shifts=None if self.shifts is None else (self.shifts[0][rows], self.shifts[1][rows]),
        )

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return mu, log sigma and the part of c^2 in the variance."""
        count = self.location.shape[1]
        c, d = np.exp(2.0 * np.clip(theta[count : count + 2], -40.0, 40.0))
        variance = c + d * self.spread**2
        mu, log = self.location @ theta[:count], 0.5 * np.log(variance) + self.log_spread @ theta[count + 2 :]
        if self.shifts is not None:
            mu, log = mu + self.shifts[0], log + self.shifts[1]
        return mu, log, c / variance

    def scores(self, theta: Array) -> Array:
        """Return negative log-likelihoods, of cells relative to their width."""
        return self._scores_and_slopes(theta)[0]

    def _scores_and_slopes(self, theta: Array) -> tuple[Array, Array, Array, Array]:
        """Return scores, their derivatives by mu and log sigma, and the part of c^2."""
        mu, log, part = self.moments(theta)
        sigma = np.exp(log)
        u = (self.outcomes - mu) / sigma
        value, slope = self.kernel.log_density(u)
        value, by_mu, by_log = value - log, -slope / sigma, -slope * u - 1.0
        if self.edges is not None:
            wide = (self.edges[1] - self.edges[0]) > _NARROW_CELL * sigma
            if wide.any():
                cell = _between(self.kernel, (self.edges[0][wide], self.edges[1][wide]), mu[wide], sigma[wide])
                width = np.log(self.edges[1] - self.edges[0])[wide]
                value[wide], by_mu[wide], by_log[wide] = cell[0] - width, cell[1], cell[2]
        if self.bounds != OPEN:
            limits = np.full(mu.size, self.bounds.lower), np.full(mu.size, self.bounds.upper)
            inside = _between(self.kernel, limits, mu, sigma)
            value, by_mu, by_log = value - inside[0], by_mu - inside[1], by_log - inside[2]
        return -value, -by_mu, -by_log, part

    def fit(self, start: Array | None = None) -> Array:
        """Return the coefficients (a, log c, log d, g) with the least penalised mean score."""
        begin, scale = self._start()
        count, rows = self.location.shape[1], self.outcomes.size
        weights = np.zeros(begin.size)
        weights[self.free : count], weights[count + 2 :] = self.penalty / (scale * scale * rows), self.penalty / rows
        weights[count : count + 2] = 1e-3

        def objective(theta: Array) -> tuple[float, Array]:
            value, by_mu, by_log, part = self._scores_and_slopes(theta)
            ends = [np.sum(by_log * part), np.sum(by_log * (1.0 - part))]
            slope = np.concatenate([by_mu @ self.location, ends, by_log @ self.log_spread]) / rows
            away = theta - centre
            return float(value.mean() + 0.5 * weights @ away**2), slope + weights * away

        # c and d are held near their start, so that they do not run off where one of them is of no use.
        centre = np.zeros(begin.size)
        centre[count : count + 2] = begin[count : count + 2]
        first = begin if start is None else start
        return minimise(objective, first, self._information(first) + np.diag(weights))

    def _information(self, theta: Array) -> Array:
        """Return the expected second derivatives of the mean score of a normal kernel."""
        _, log, part = self.moments(theta)
        scaled = self.location / np.exp(log)[:, None]
        spread = np.column_stack([part, 1.0 - part, self.log_spread])
        count, rows = scaled.shape[1], log.size
        found = np.zeros((theta.size, theta.size))
        found[:count, :count], found[count:, count:] = scaled.T @ scaled / rows, 2.0 * spread.T @ spread / rows
        return found

    def _start(self) -> tuple[Array, float]:
        """Return least squares with half of the variance from each source, and the scale of the residuals."""
        count = self.location.shape[1]
        target = self.outcomes if self.shifts is None else self.outcomes - self.shifts[0]
        ridge = np.diag(np.where(np.arange(count) < self.free, 1e-9, max(self.penalty, 1e-6)))
        a = np.linalg.solve(self.location.T @ self.location + ridge, self.location.T @ target)
        scale = float(np.std(target - self.location @ a)) or 1e-12
        typical = math.sqrt(float(np.mean(self.spread**2))) or scale
        ends = [math.log(scale) - 0.35, math.log(scale / typical) - 0.35]
        return np.concatenate([a, ends, np.zeros(self.log_spread.shape[1])]), scale


def _between(kernel: Kernel, limits: tuple[Array, Array], mu: Array, sigma: Array) -> tuple[Array, Array, Array]:
    """Return the log-probability of an interval, and its derivatives by mu and log sigma."""
    ends = (limits[0] - mu) / sigma, (limits[1] - mu) / sigma
    log = kernel.log_between(*ends)
    densities = []
    for end in ends:
        finite = np.isfinite(end)
        ratio = np.zeros(end.size)
        with np.errstate(over="ignore", invalid="ignore"):
            ratio[finite] = np.exp(kernel.log_density(end[finite])[0] - log[finite])
        densities.append(ratio)
    a, b = (np.where(np.isfinite(end), end, 0.0) for end in ends)
    return log, (densities[0] - densities[1]) / sigma, densities[0] * a - densities[1] * b


def minimise(
    objective: Callable[[Array], tuple[float, Array]], start: Array, curvature: Array, *, iterations: int = 200
) -> Array:
    """Return the minimum of a smooth function by the BFGS method, from a start and its approximate second derivatives.

    SciPy's L-BFGS-B knows no second derivatives, and its threads cost more than these small problems.
    """
    x, inverse = start, np.linalg.inv(curvature + 1e-9 * np.trace(curvature) / start.size * np.eye(start.size))
    value, slope = objective(x)
    for _ in range(iterations):
        step = -inverse @ slope
        expected = float(step @ slope)
        if expected > -_TOLERANCE:
            break
        length, new = 1.0, objective(x + step)
        # A value that is not a number is not an improvement.
        while not new[0] <= value + 1e-4 * length * expected and length > 1e-8:
            length *= 0.4
            new = objective(x + length * step)
        if length <= 1e-8:
            break
        moved, turned = length * step, new[1] - slope
        inverse = _bfgs(inverse, moved, turned)
        x, (value, slope) = x + moved, new
    return x


def _bfgs(inverse: Array, moved: Array, turned: Array) -> Array:
    """Return the updated inverse of the second derivatives, unchanged where they are not positive along the step."""
    product = float(moved @ turned)
    if not product > 1e-12 * float(np.linalg.norm(moved) * np.linalg.norm(turned)):
        return inverse
    part = np.eye(moved.size) - np.outer(moved, turned) / product
    return np.asarray(part @ inverse @ part.T + np.outer(moved, moved) / product)
