"""Densities in several dimensions that can be drawn from and whose log-density is exact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp, ndtr
from scipy.stats import t as student

from amortized_kde._types import Array

Limits = tuple[tuple[float | None, float | None], ...]
Generator = np.random.Generator
_LOG_2PI = float(np.log(2.0 * np.pi))
# Copula values are kept this far from 0 and 1, where quantiles would be infinite.
_EDGE = 1e-16
# The same where densities are evaluated, in tails where no draw will be.
_SMALLEST = 1e-100


class Truth(Protocol):
    """A density in `dimension` dimensions."""

    @property
    def dimension(self) -> int:
        """Number of columns."""

    def draw(self, size: int, rng: Generator) -> Array:
        """Return `size` independent rows."""

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row."""


def normal_log_density(x: Array, factor: Array) -> Array:
    """Return the log-density of N(0, LL') at each row, for the lower Cholesky factor L."""
    z = solve_triangular(factor, x.T, lower=True)
    return -0.5 * (np.sum(z**2, axis=0) + factor.shape[0] * _LOG_2PI) - float(np.sum(np.log(np.diag(factor))))


def student_log_density(x: Array, factor: Array, dof: float) -> Array:
    """Return the log-density of the multivariate t with scatter LL' at each row."""
    d = factor.shape[0]
    squares = np.sum(solve_triangular(factor, x.T, lower=True) ** 2, axis=0)
    constant = gammaln(0.5 * (dof + d)) - gammaln(0.5 * dof) - 0.5 * d * np.log(dof * np.pi)
    return np.asarray(
        constant - np.sum(np.log(np.diag(factor))) - 0.5 * (dof + d) * np.log1p(squares / dof), dtype=np.float64
    )


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Weights (k,), means (k, d) and covariances (k, d, d)."""

    weights: Array
    means: Array
    covariances: Array

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return int(self.means.shape[1])

    def draw(self, size: int, rng: Generator) -> Array:
        """Return independent rows."""
        which = rng.choice(self.weights.size, size=size, p=self.weights)
        factors = np.linalg.cholesky(self.covariances)[which]
        return np.asarray(self.means[which] + np.einsum("nij,nj->ni", factors, rng.normal(size=(size, self.dimension))))

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row."""
        parts = [
            np.log(w) + normal_log_density(x - mean, factor)
            for w, mean, factor in zip(self.weights, self.means, np.linalg.cholesky(self.covariances), strict=True)
        ]
        return np.asarray(logsumexp(parts, axis=0))


@dataclass(frozen=True)
class Banana:
    """Haario's twisted normal: every second axis is a parabola of the one before, plus normal noise."""

    dimension: int
    curvature: float
    noise: float

    def draw(self, size: int, rng: Generator) -> Array:
        """Return independent rows."""
        x = rng.normal(size=(size, self.dimension))
        for j in range(1, self.dimension, 2):
            x[:, j] = self.noise * x[:, j] + self._bend(x[:, j - 1])
        return x

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row."""
        z, log_scale = x.copy(), 0.0
        for j in range(1, self.dimension, 2):
            z[:, j] = (x[:, j] - self._bend(x[:, j - 1])) / self.noise
            log_scale += np.log(self.noise)
        return normal_log_density(z, np.eye(self.dimension)) - log_scale

    def _bend(self, x: Array) -> Array:
        return self.curvature * (x**2 - 1.0)


@dataclass(frozen=True)
class Ring:
    """Uniform angle and normal radius, cut at 0, in the first two axes; the others are standard normal."""

    dimension: int
    radius: float
    width: float

    def draw(self, size: int, rng: Generator) -> Array:
        """Return independent rows."""
        x = rng.normal(size=(size, self.dimension))
        # Radii below zero are drawn anew; with radius > 4 widths that is hardly ever.
        r = self.radius + self.width * x[:, 0]
        while (r <= 0.0).any():
            r = np.where(r <= 0.0, self.radius + self.width * rng.normal(size=size), r)
        angle = rng.uniform(0.0, 2.0 * np.pi, size)
        x[:, 0], x[:, 1] = r * np.cos(angle), r * np.sin(angle)
        return x

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row."""
        r = np.hypot(x[:, 0], x[:, 1])
        of_radius = normal_log_density(((r - self.radius) / self.width)[:, None], np.eye(1)) - np.log(self.width)
        of_radius = of_radius - np.log(ndtr(self.radius / self.width))
        rest = -0.5 * (np.sum(x[:, 2:] ** 2, axis=1) + (self.dimension - 2) * _LOG_2PI)
        return np.asarray(of_radius - np.log(2.0 * np.pi * r) + rest)


@dataclass(frozen=True)
class Funnel:
    """Neal's funnel: the first axis is N(0, s²); given it, the others are N(0, exp(first))."""

    dimension: int
    sd: float

    def draw(self, size: int, rng: Generator) -> Array:
        """Return independent rows."""
        x = rng.normal(size=(size, self.dimension))
        x[:, 0] *= self.sd
        x[:, 1:] *= np.exp(0.5 * x[:, :1])
        return x

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row."""
        first = normal_log_density(x[:, :1] / self.sd, np.eye(1)) - np.log(self.sd)
        # Far below zero the others' variance underflows: the density is zero there.
        with np.errstate(over="ignore"):
            squares = np.sum(x[:, 1:] ** 2, axis=1) * np.exp(-x[:, 0])
        return np.asarray(first - 0.5 * (squares + (self.dimension - 1) * (x[:, 0] + _LOG_2PI)))


@dataclass(frozen=True, eq=False)
class StudentT:
    """Multivariate t with location 0, scatter R (d, d) and some degrees of freedom."""

    scatter: Array
    dof: float

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return int(self.scatter.shape[0])

    def draw(self, size: int, rng: Generator) -> Array:
        """Return independent rows."""
        z = rng.normal(size=(size, self.dimension)) @ np.linalg.cholesky(self.scatter).T
        return np.asarray(z / np.sqrt(rng.chisquare(self.dof, size) / self.dof)[:, None])

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row."""
        return student_log_density(x, np.asarray(np.linalg.cholesky(self.scatter), np.float64), self.dof)


@dataclass(frozen=True, eq=False)
class Copula:
    """A Gaussian (dof infinite) or t copula with correlations R and margins of SciPy, one for each column."""

    correlations: Array
    margins: Sequence[Any]
    dof: float = np.inf

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.margins)

    def draw(self, size: int, rng: Generator) -> Array:
        """Return independent rows."""
        z = rng.normal(size=(size, self.dimension)) @ np.linalg.cholesky(self.correlations).T
        if np.isfinite(self.dof):
            z = z / np.sqrt(rng.chisquare(self.dof, size) / self.dof)[:, None]
        # The smaller of both tails is computed, so that large values keep their digits.
        lower, upper = (np.maximum(p, _EDGE) for p in (self._cdf(z), self._cdf(-z)))
        columns = [
            np.where(z[:, j] < 0.0, margin.ppf(lower[:, j]), margin.isf(upper[:, j]))
            for j, margin in enumerate(self.margins)
        ]
        return np.stack(columns, axis=1)

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row, -inf outside the support."""
        inside = np.all(np.isfinite([m.logpdf(x[:, j]) for j, m in enumerate(self.margins)]), axis=0)
        answer = np.full(x.shape[0], -np.inf)
        answer[inside] = self._log_density_inside(x[inside])
        return answer

    def _log_density_inside(self, x: Array) -> Array:
        columns = []
        for j, margin in enumerate(self.margins):
            lower, upper = margin.cdf(x[:, j]), margin.sf(x[:, j])
            columns.append(np.where(lower < 0.5, self._ppf(lower), -self._ppf(upper)))
        z = np.stack(columns, axis=1)
        factor = np.asarray(np.linalg.cholesky(self.correlations), np.float64)
        if np.isfinite(self.dof):
            joint, alone = student_log_density(z, factor, self.dof), student.logpdf(z, self.dof)
        else:
            joint, alone = normal_log_density(z, factor), -0.5 * (z**2 + _LOG_2PI)
        logs = np.sum([margin.logpdf(x[:, j]) for j, margin in enumerate(self.margins)], axis=0)
        return np.asarray(joint - np.sum(alone, axis=1) + logs)

    def _cdf(self, z: Array) -> Array:
        return np.asarray(student.cdf(z, self.dof) if np.isfinite(self.dof) else ndtr(z))

    def _ppf(self, p: Array) -> Array:
        from scipy.special import ndtri

        p = np.maximum(p, _SMALLEST)
        return np.asarray(student.ppf(p, self.dof) if np.isfinite(self.dof) else ndtri(p))
