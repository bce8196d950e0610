r"""Mixtures of elliptical kernels in d dimensions, and the parts of a density that they make.

A component with weight w, mean m, size s and shape factor L is a normal density with covariance :math:`s^2 L L^T`, or
Student's t with that scatter matrix. Marginal and conditional mixtures are mixtures again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.density.kernel_density import KernelDensity
from amortized_kde.density.scores import NormalScores
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.elliptical import Kernels, kernels_in_blocks, log_densities, log_determinants

# Weights and their sums are accurate to this; a million of them round by less.
_SUM_TOLERANCE = 1e-9
# Components of less weight than this, relative to the largest, are dropped where a mixture is conditioned.
_SMALLEST_WEIGHT = 1e-30


@dataclass(frozen=True, eq=False)
class Components:
    """A mixture of N elliptical kernels in d dimensions.

    Attributes
    ----------
    weights : ndarray of shape (N,)
        Positive, summing to 1.
    means : ndarray of shape (N, d)
    factors : ndarray of shape (S, d, d)
        Lower triangular factors L of S shapes, with positive diagonals.
    shape_of : ndarray of int, of shape (N,)
        The shape of each component.
    sizes : ndarray of shape (N,)
        The covariance, or scatter matrix, of component c is ``sizes[c]**2 * L @ L.T``.
    dofs : ndarray of shape (N,)
        Degrees of freedom of Student's t, infinite for a normal component.
    """

    weights: Array
    means: Array
    factors: Array
    shape_of: Index
    sizes: Array
    dofs: Array

    @classmethod
    def gaussian(cls, weights: Array, means: Array, factor: Array, sizes: Array | float = 1.0) -> "Components":
        """Return normal components that share one shape, with factor (d, d)."""
        n = len(means)
        every = np.broadcast_to(np.asarray(sizes, float), n).copy()
        return cls(weights, means, factor[None], np.zeros(n, np.int64), every, np.full(n, math.inf))

    @property
    def dimension(self) -> int:
        """The number d of variables."""
        return int(self.means.shape[1])

    def __len__(self) -> int:
        return int(self.weights.size)

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @cached_property
    def mean(self) -> Array:
        """Mean of the mixture, of shape (d,), by the components' locations."""
        return np.asarray(self.weights @ self.means)

    def covariance(self, inflation: Array | float = 1.0) -> Array:
        """Return the covariance of the mixture (d, d), with the scatter of each component times `inflation`."""
        away = self.means - self.mean
        between = (self.weights[:, None] * away).T @ away
        masses = np.bincount(self.shape_of, self.weights * self.sizes**2 * inflation, len(self.factors))
        return np.asarray(between + np.einsum("s,sij,skj->ik", masses, self.factors, self.factors))

    @cached_property
    def _whitening(self) -> tuple[Array, Array]:
        """The centre and the factor of coordinates in which the mixture has unit scatter."""
        # In units of the axes' scales, so that no square overflows.
        scale = np.abs(self.means - self.mean).max(axis=0) + np.abs(self.factors).max(axis=(0, 2)) * self.sizes.max()
        unit = Components(
            self.weights, (self.means - self.mean) / scale, self.factors / scale[:, None], *self._kinds
        ).covariance()
        # A kernel of which one part is tiny can be singular to the last bit.
        unit.flat[:: self.dimension + 1] *= 1.0 + 1e-12
        return self.mean, scale[:, None] * np.linalg.cholesky(unit)

    @property
    def _kinds(self) -> tuple[Index, Array, Array]:
        return self.shape_of, self.sizes, self.dofs

    @cached_property
    def _kernels(self) -> Kernels:
        centre, factor = self._whitening
        means = _solve(factor, (self.means - centre).T).T
        return kernels_in_blocks(self.weights, means, np.tril(_solve(factor, self.factors)), *self._kinds)

    def log_density(self, points: Array, *, own: Index | None = None, threads: int | None = None) -> Array:
        """Return the log-density at finite points (m, d), to 1e-12; `own` is a component to leave out at each point."""
        centre, factor = self._whitening
        away = np.ascontiguousarray(_solve(factor, (points - centre).T).T)
        logs = log_densities(self._kernels, away, own=own, threads=threads)
        return np.asarray(logs - log_determinants(factor[None])[0])

    def marginal(self, axes: Sequence[int]) -> "Components":
        """Return the mixture of these axes, in this order."""
        return Components(self.weights, self.means[:, axes], _reordered(self.factors, axes), *self._kinds)

    def conditional(self, axes: Sequence[int], values: Array) -> tuple[float, "Components"]:
        """Return the log-density of `values` on these axes, and the mixture of the other axes given them."""
        given = len(axes)
        rest = [axis for axis in range(self.dimension) if axis not in axes]
        factors = _reordered(self.factors, [*axes, *rest])
        away = (values - self.means[:, axes]) / self.sizes[:, None]
        whitened = np.linalg.solve(factors[:, :given, :given][self.shape_of], away[:, :, None])[:, :, 0]
        logs = _log_heights(self, factors[:, :given, :given], np.sum(whitened**2, axis=1))
        highest = logs.max()
        relative = np.exp(logs - highest)
        kept = relative > _SMALLEST_WEIGHT
        shifts = np.einsum("cij,cj->ci", factors[:, given:, :given][self.shape_of], whitened) * self.sizes[:, None]
        # A conditional t has more degrees of freedom, and is the wider the farther the values are from its centre.
        finite = np.isfinite(self.dofs)
        dofs = np.where(finite, self.dofs, 1.0)
        wider = np.where(finite, np.sqrt((dofs + np.sum(whitened**2, axis=1)) / (dofs + given)), 1.0)
        shapes, shape_of = np.unique(self.shape_of[kept], return_inverse=True)
        mixture = Components(
            relative[kept] / relative[kept].sum(),
            (self.means[:, rest] + shifts)[kept],
            factors[:, given:, given:][shapes],
            shape_of.astype(np.int64),
            (self.sizes * wider)[kept],
            (self.dofs + given)[kept],
        )
        return float(highest + math.log(relative.sum())), mixture

    def draw(self, chosen: Index, rng: np.random.Generator) -> Array:
        """Return one draw (m, d) from each of the chosen components."""
        steps = rng.standard_normal((chosen.size, self.dimension))
        dofs, sizes = self.dofs[chosen], self.sizes[chosen]
        student = np.isfinite(dofs)
        if student.any():
            sizes[student] *= np.sqrt(dofs[student] / rng.chisquare(dofs[student]))
        steps = np.einsum("cij,cj->ci", self.factors[self.shape_of[chosen]], steps)
        return np.asarray(self.means[chosen] + sizes[:, None] * steps)


def _log_heights(components: Components, factors: Array, squares: Array) -> Array:
    """Weight times density of every component, in logarithms, at squared distances from its mean."""
    from scipy.special import gammaln

    d, dofs = factors.shape[1], components.dofs
    finite = np.where(np.isfinite(dofs), dofs, 1.0)
    student = gammaln(0.5 * (finite + d)) - gammaln(0.5 * finite) - 0.5 * d * np.log(math.pi * finite)
    student -= 0.5 * (finite + d) * np.log1p(squares / finite)
    kernel = np.where(np.isfinite(dofs), student, -0.5 * d * math.log(2.0 * math.pi) - 0.5 * squares)
    scale = d * np.log(components.sizes) + log_determinants(factors)[components.shape_of]
    return np.asarray(np.log(components.weights) + kernel - scale)


def _reordered(factors: Array, axes: Sequence[int]) -> Array:
    """Lower triangular factors of the matrices ``L @ L.T`` with only these rows and columns, in this order."""
    upper = np.linalg.qr(np.swapaxes(factors[:, list(axes), :], 1, 2), mode="r")
    signs = np.where(np.diagonal(upper, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray(np.swapaxes(signs[:, :, None] * upper, 1, 2))


def _solve(factor: Array, right: Array) -> Array:
    """Solve ``factor @ x = right`` for a lower triangular factor (d, d), and right sides (..., d, m)."""
    out = np.array(right, dtype=float)
    for j in range(factor.shape[0]):
        for k in range(j):
            out[..., j, :] -= factor[j, k] * out[..., k, :]
        out[..., j, :] /= factor[j, j]
    return out


@dataclass(frozen=True, eq=False)
class Part:
    """A mixture of components with the probability `weight`, in data units or of normal scores.

    Attributes
    ----------
    weight : float
    components : Components
    margins : tuple of KernelDensity, or None
        None: the components are in data units. Otherwise they are a mixture of the normal scores of every variable,
        z = Phi^-1(F(x)), with F the distribution functions of these densities.
    """

    weight: float
    components: Components
    margins: tuple[KernelDensity, ...] | None = None

    @cached_property
    def maps(self) -> tuple[NormalScores, ...]:
        """The map of each variable to its normal scores; none for components in data units."""
        return () if self.margins is None else tuple(NormalScores.of(margin) for margin in self.margins)

    def inner(self, points: Array) -> tuple[Array, Array]:
        """Return the components' coordinates (m, d) of points, and the logarithm of the map's derivative (m,)."""
        if self.margins is None:
            return points, np.zeros(len(points))
        scores, logs = np.empty(points.shape), np.zeros(len(points))
        for j, map_ in enumerate(self.maps):
            # On a grid there are few different values.
            values, place = np.unique(points[:, j], return_inverse=True)
            z, log_slope = map_.forward(values)
            scores[:, j] = z[place]
            logs += log_slope[place]
        return scores, logs

    def outer(self, inner: Array) -> Array:
        """Return the points in data units with these components' coordinates."""
        if self.margins is None:
            return inner
        return np.stack([map_.inverse(inner[:, j]) for j, map_ in enumerate(self.maps)], axis=1)

    def log_density(self, points: Array, *, threads: int | None = None) -> Array:
        """Return the log-density of the mixture, without its weight, at points (m, d) inside the bounds."""
        inner, logs = self.inner(points)
        return np.asarray(self.components.log_density(inner, threads=threads) + logs)

    def marginal(self, axes: Sequence[int]) -> "Part":
        """Return the part of these axes, in this order."""
        return self._of(self.weight, self.components.marginal(axes), axes)

    def conditional(self, axes: Sequence[int], values: Array) -> tuple[float, "Part"]:
        """Return the log-density of `values` on these axes, times the weight, and the part of the other axes."""
        inner, log_slopes = values, 0.0
        if self.margins is not None:
            pairs = [self.maps[axis].forward(values[[k]]) for k, axis in enumerate(axes)]
            inner, log_slopes = np.array([z[0] for z, _ in pairs]), float(sum(log[0] for _, log in pairs))
        height, mixture = self.components.conditional(axes, inner)
        rest = [axis for axis in range(self.components.dimension) if axis not in axes]
        return math.log(self.weight) + height + log_slopes, self._of(self.weight, mixture, rest)

    def with_weight(self, weight: float) -> "Part":
        """Return the part with another probability."""
        return self._of(weight, self.components, range(self.components.dimension))

    def _of(self, weight: float, components: Components, axes: Sequence[int]) -> "Part":
        """A part of some of the variables, which shares their maps."""
        if self.margins is None:
            return Part(weight, components)
        made = Part(weight, components, tuple(self.margins[axis] for axis in axes))
        # In the place of the cached property.
        made.__dict__["maps"] = tuple(self.maps[axis] for axis in axes)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


def check_components(components: Components, d: int) -> None:
    """Raise `InvalidParameterError` unless these are components of a mixture in d dimensions."""
    n, shapes = components.weights.size, len(components.factors)
    vectors = (components.weights, components.shape_of, components.sizes, components.dofs)
    if n == 0 or any(vector.shape != (n,) for vector in vectors) or components.means.shape != (n, d):
        raise InvalidParameterError(f"a mixture in {d} dimensions needs means (N, {d}), and N of everything else.")
    if components.factors.shape != (shapes, d, d) or shapes == 0:
        raise InvalidParameterError(f"factors must have shape (shapes, {d}, {d}), not {components.factors.shape}.")
    if not (components.shape_of.min() >= 0 and components.shape_of.max() < shapes):
        raise InvalidParameterError(f"shape_of must be numbers from 0 to {shapes - 1}.")
    if not (np.all(components.weights > 0.0) and abs(math.fsum(components.weights) - 1.0) <= _SUM_TOLERANCE):
        raise InvalidParameterError("the weights of components must be positive and sum to 1.")
    if not (np.all((components.sizes > 0.0) & (components.sizes < math.inf)) and np.all(components.dofs > 0.0)):
        raise InvalidParameterError("sizes must be positive and finite, and degrees of freedom positive.")
    diagonals = np.diagonal(components.factors, axis1=1, axis2=2)
    lower = np.array_equal(components.factors, np.tril(components.factors))
    if not (lower and np.isfinite(components.factors).all() and np.all(diagonals > 0.0)):
        raise InvalidParameterError("factors must be finite and lower triangular, with positive diagonals.")
    if not np.isfinite(components.means).all():
        raise InvalidParameterError("the means of components must be finite.")
