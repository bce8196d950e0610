"""A world of tasks in two to eight dimensions: mixtures, copulas with many margins, warps, shells and products."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy import stats
from scipy.special import gammaln, logsumexp

from amortized_kde._types import Array

Rng = np.random.Generator
Range = tuple[float | None, float | None]


class Truth(Protocol):
    """A density in d dimensions that can be drawn from, and its known bounds."""

    @property
    def bounds(self) -> tuple[Range, ...]:
        """Known bounds of every coordinate, None where a side is open."""
        ...

    def draw(self, n: int, rng: Rng) -> Array:
        """Return draws of shape (n, d)."""
        ...

    def log_density(self, x: Array) -> Array:
        """Return natural log-densities at x (m, d)."""
        ...


def _log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


@dataclass(frozen=True, eq=False)
class Elliptical:
    """A mixture of Gaussian or Student t components; `dofs` are infinite for Gaussian ones."""

    weights: Array
    means: Array
    factors: Array
    dofs: Array

    @property
    def bounds(self) -> tuple[Range, ...]:
        """No bounds."""
        return ((None, None),) * self.means.shape[1]

    def draw(self, n: int, rng: Rng) -> Array:
        """Return draws of shape (n, d)."""
        k = rng.choice(self.weights.size, n, p=self.weights)
        z = rng.standard_normal((n, self.means.shape[1]))
        dof = self.dofs[k]
        with np.errstate(invalid="ignore"):
            z /= np.where(np.isinf(dof), 1.0, np.sqrt(rng.chisquare(np.where(np.isinf(dof), 1.0, dof)) / dof))[:, None]
        return np.asarray(self.means[k] + np.einsum("nij,nj->ni", self.factors[k], z))

    def log_density(self, x: Array) -> Array:
        """Return natural log-densities at x (m, d)."""
        d, logs = x.shape[1], []
        for w, mean, factor, dof in zip(self.weights, self.means, self.factors, self.dofs, strict=True):
            length = np.sum(np.linalg.solve(factor, (x - mean).T) ** 2, axis=0)
            log = np.log(w) - np.log(np.diag(factor)).sum()
            if np.isinf(dof):
                log = log - 0.5 * length - 0.5 * d * np.log(2.0 * np.pi)
            else:
                log = log + gammaln(0.5 * (dof + d)) - gammaln(0.5 * dof) - 0.5 * d * np.log(dof * np.pi)
                log = log - 0.5 * (dof + d) * np.log1p(length / dof)
            logs.append(log)
        return np.asarray(logsumexp(logs, axis=0))


def mixture(d: int, rng: Rng, *, most: int = 32) -> Elliptical:
    """Return a mixture with 1 to `most` components of varied weights, separation, shapes, sizes and tails."""
    size = 1 if rng.random() < 0.12 else int(np.clip(round(_log_uniform(rng, 1.6, most)), 2, most))
    weights = rng.dirichlet(np.full(size, _log_uniform(rng, 0.5, 10.0)))
    weights = (weights + 1e-3) / (weights + 1e-3).sum()
    means = _log_uniform(rng, 0.3, 5.0) * rng.standard_normal((size, d))
    # With fewer than d directions a component is a sheet of some thickness.
    dof = int(rng.integers(1, d + 1) if rng.random() < 0.15 else rng.integers(d, 3 * d + 1))
    shapes = rng.standard_normal((size, d, dof))
    if rng.random() < 0.3:
        shapes[:] = shapes[0]
    covariances = shapes @ shapes.transpose(0, 2, 1) / dof + _log_uniform(rng, 1e-3, 0.3) * np.eye(d)
    scales = np.exp(rng.uniform(0.0, 0.8) * rng.standard_normal(size))
    factors = np.asarray(np.linalg.cholesky(covariances) * scales[:, None, None], np.float64)
    heavy = rng.random() < 0.2
    return Elliptical(weights, means, factors, np.full(size, _log_uniform(rng, 2.0, 20.0) if heavy else np.inf))


# Margins of the copulas, with parameters drawn anew for every task.
MARGINS: dict[str, Callable[[Rng], object]] = {
    "normal": lambda rng: stats.norm(),
    "gamma": lambda rng: stats.gamma(_log_uniform(rng, 0.6, 10.0)),
    "exponential": lambda rng: stats.expon(),
    "lognormal": lambda rng: stats.lognorm(rng.uniform(0.2, 1.0)),
    "t": lambda rng: stats.t(_log_uniform(rng, 2.0, 15.0)),
    "beta": lambda rng: stats.beta(_log_uniform(rng, 0.6, 5.0), _log_uniform(rng, 0.6, 5.0)),
    "uniform": lambda rng: stats.uniform(),
    "weibull": lambda rng: stats.weibull_min(_log_uniform(rng, 0.8, 4.0)),
    "laplace": lambda rng: stats.laplace(),
    "logistic": lambda rng: stats.logistic(),
    "gumbel": lambda rng: stats.gumbel_r(),
}


@dataclass(frozen=True, eq=False)
class Copula:
    """A Gaussian or t copula with given margins."""

    margins: tuple[object, ...]
    base: Elliptical
    known: bool

    @property
    def bounds(self) -> tuple[Range, ...]:
        """The ends of the margins, if they are known."""
        if not self.known:
            return ((None, None),) * len(self.margins)
        ends = [margin.support() for margin in self.margins]  # type: ignore[attr-defined]
        return tuple((lo if np.isfinite(lo) else None, hi if np.isfinite(hi) else None) for lo, hi in ends)

    def _scores(self) -> object:
        dof = self.base.dofs[0]
        return stats.norm() if np.isinf(dof) else stats.t(dof)

    def draw(self, n: int, rng: Rng) -> Array:
        """Return draws of shape (n, d)."""
        z, scores = self.base.draw(n, rng), self._scores()
        columns = []
        for j, margin in enumerate(self.margins):
            low = scores.cdf(z[:, j])  # type: ignore[attr-defined]
            high = scores.sf(z[:, j])  # type: ignore[attr-defined]
            columns.append(np.where(low < 0.5, margin.ppf(low), margin.isf(high)))  # type: ignore[attr-defined]
        return np.stack(columns, axis=1)

    def log_density(self, x: Array) -> Array:
        """Return natural log-densities at x (m, d)."""
        scores, z, log = self._scores(), np.empty_like(x), np.zeros(len(x))
        for j, margin in enumerate(self.margins):
            low, high = margin.cdf(x[:, j]), margin.sf(x[:, j])  # type: ignore[attr-defined]
            z[:, j] = np.where(low < 0.5, scores.ppf(low), scores.isf(high))  # type: ignore[attr-defined]
            log += margin.logpdf(x[:, j]) - scores.logpdf(z[:, j])  # type: ignore[attr-defined]
        return np.asarray(log + self.base.log_density(z))


def copula(d: int, rng: Rng) -> Copula:
    """Return a copula with margins of one family, or each of its own; half of the bounded ones have known bounds."""
    names = list(MARGINS)
    chosen = (
        [names[rng.integers(len(names))]] * d
        if rng.random() < 0.6
        else [names[k] for k in rng.integers(len(names), size=d)]
    )
    shape = rng.standard_normal((d, int(rng.integers(max(1, d - 1), 3 * d + 1))))
    covariance = shape @ shape.T / shape.shape[1] + _log_uniform(rng, 0.02, 1.0) * np.eye(d)
    sd = np.sqrt(np.diag(covariance))
    factor = np.linalg.cholesky(covariance / np.outer(sd, sd))
    dof = _log_uniform(rng, 2.0, 15.0) if rng.random() < 0.3 else np.inf
    base = Elliptical(np.ones(1), np.zeros((1, d)), factor[None], np.array([dof]))
    return Copula(tuple(MARGINS[name](rng) for name in chosen), base, bool(rng.random() < 0.4))


@dataclass(frozen=True, eq=False)
class Warped:
    """A density whose coordinates are scaled and moved one after the other by functions of those before them."""

    base: Elliptical
    curves: Array
    frequencies: Array
    stretch: Array
    bounds: tuple[Range, ...] = field(default=())

    def _move(self, y: Array, j: int) -> tuple[Array, Array]:
        before = y[:, :j]
        waves = np.sin(before @ self.frequencies[j, :j]) if j else np.zeros(len(y))
        square = (before**2 - 1.0) @ self.curves[j, :j] if j else np.zeros(len(y))
        slope = np.tanh(before @ self.stretch[j, :j]) if j else np.zeros(len(y))
        return square + waves * np.abs(self.curves[j]).sum(), slope

    def draw(self, n: int, rng: Rng) -> Array:
        """Return draws of shape (n, d)."""
        y = self.base.draw(n, rng)
        x = np.empty_like(y)
        for j in range(y.shape[1]):
            shift, slope = self._move(y, j)
            x[:, j] = y[:, j] * np.exp(slope) + shift
        return x

    def log_density(self, x: Array) -> Array:
        """Return natural log-densities at x (m, d)."""
        y, log = np.zeros_like(x), np.zeros(len(x))
        for j in range(x.shape[1]):
            shift, slope = self._move(y, j)
            y[:, j] = (x[:, j] - shift) * np.exp(-slope)
            log -= slope
        return log + self.base.log_density(y)


def warped(d: int, rng: Rng) -> Warped:
    """Return a banana, or a wave, in some of the coordinates of a small mixture."""
    base = mixture(d, rng, most=3) if rng.random() < 0.3 else _normal(d)
    lower = np.tril(np.ones((d, d)), -1) * (rng.random((d, d)) < rng.uniform(0.2, 1.0))
    curves = lower * rng.standard_normal((d, d)) * _log_uniform(rng, 0.1, 1.0)
    frequencies = lower * rng.standard_normal((d, d)) * (rng.random() < 0.4)
    stretch = lower * rng.standard_normal((d, d)) * 0.5 * (rng.random() < 0.4)
    return Warped(base, curves, frequencies, stretch, ((None, None),) * d)


def _normal(d: int) -> Elliptical:
    return Elliptical(np.ones(1), np.zeros((1, d)), np.eye(d)[None], np.array([np.inf]))


@dataclass(frozen=True, eq=False)
class Shell:
    """A ring or sphere in the first k coordinates: the distance from 0 is gamma distributed; the others are normal."""

    d: int
    k: int
    shape: float

    @property
    def bounds(self) -> tuple[Range, ...]:
        """No bounds."""
        return ((None, None),) * self.d

    def draw(self, n: int, rng: Rng) -> Array:
        """Return draws of shape (n, d)."""
        x = rng.standard_normal((n, self.d))
        x[:, : self.k] *= (rng.gamma(self.shape, size=n) / self.shape / np.linalg.norm(x[:, : self.k], axis=1))[:, None]
        return x

    def log_density(self, x: Array) -> Array:
        """Return natural log-densities at x (m, d)."""
        radius = np.linalg.norm(x[:, : self.k], axis=1)
        area = np.log(2.0) + 0.5 * self.k * np.log(np.pi) - gammaln(0.5 * self.k)
        log = stats.gamma(self.shape, scale=1.0 / self.shape).logpdf(radius) - area - (self.k - 1) * np.log(radius)
        return np.asarray(log + stats.norm.logpdf(x[:, self.k :]).sum(axis=1))


def shell(d: int, rng: Rng) -> Shell:
    """Return a ring or sphere of some thickness."""
    return Shell(d, int(rng.integers(2, min(d, 4) + 1)), _log_uniform(rng, 4.0, 200.0))


@dataclass(frozen=True, eq=False)
class Blocks:
    """Independent blocks of coordinates."""

    blocks: tuple[tuple[int, Truth], ...]

    @property
    def bounds(self) -> tuple[Range, ...]:
        """The bounds of the blocks."""
        return tuple(pair for _, block in self.blocks for pair in block.bounds)

    def draw(self, n: int, rng: Rng) -> Array:
        """Return draws of shape (n, d)."""
        return np.concatenate([block.draw(n, rng) for _, block in self.blocks], axis=1)

    def log_density(self, x: Array) -> Array:
        """Return natural log-densities at x (m, d)."""
        edges = np.cumsum([width for width, _ in self.blocks])[:-1]
        parts = np.split(x, edges, axis=1)
        return np.asarray(sum(block.log_density(part) for (_, block), part in zip(self.blocks, parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Turned:
    """A density after a linear map."""

    base: Truth
    matrix: Array

    @property
    def bounds(self) -> tuple[Range, ...]:
        """No bounds."""
        return ((None, None),) * len(self.matrix)

    def draw(self, n: int, rng: Rng) -> Array:
        """Return draws of shape (n, d)."""
        return self.base.draw(n, rng) @ self.matrix.T

    def log_density(self, x: Array) -> Array:
        """Return natural log-densities at x (m, d)."""
        y = np.asarray(np.linalg.solve(self.matrix, x.T).T, np.float64)
        return np.asarray(self.base.log_density(y) - np.linalg.slogdet(self.matrix)[1])


# How often a task is of a kind.
KINDS: dict[str, tuple[float, Callable[[int, Rng], Truth]]] = {
    "mixture": (0.40, mixture),
    "copula": (0.32, copula),
    "warped": (0.18, warped),
    "shell": (0.10, shell),
}


def random_truth(d: int, rng: Rng) -> Truth:
    """Return a density of the world: some are products of two blocks, and a third without bounds is turned."""
    if d >= 3 and rng.random() < 0.15:
        first = int(rng.integers(1, d))
        widths = (first, d - first)
        made: Truth = Blocks(tuple((width, _of_kind(width, rng)) for width in widths))
    else:
        made = _of_kind(d, rng)
    free = all(low is None and high is None for low, high in made.bounds)
    if free and rng.random() < 0.33:
        return Turned(made, rng.standard_normal((d, d)) + 0.5 * np.eye(d))
    return made


def _of_kind(d: int, rng: Rng) -> Truth:
    rates = np.array([rate if d > 1 or name in ("mixture", "copula") else 0.0 for name, (rate, _) in KINDS.items()])
    name = list(KINDS)[rng.choice(len(rates), p=rates / rates.sum())]
    return KINDS[name][1](d, rng)
