"""Sums of Gaussian kernels with one shape and a scale for each point."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from amortized_kde._types import Array

Generator = np.random.Generator
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels N(x_i, s_i² LL') with equal weights.

    Attributes
    ----------
    points : array of shape (n, d)
    factor : array of shape (d, d)
        L, lower triangular.
    sizes : array of shape (n,)
        s_i.
    """

    points: Array
    factor: Array
    sizes: Array

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each row."""
        squares = cdist(self._whiten(x), self._whiten(self.points), "sqeuclidean")
        return log_kernel_means(squares, self.sizes, self.points.shape[1]) - self.log_scale

    def draw(self, size: int, rng: Generator) -> Array:
        """Return independent rows."""
        which = rng.integers(len(self.points), size=size)
        z = rng.normal(size=(size, self.points.shape[1])) * self.sizes[which, None]
        return np.asarray(self.points[which] + z @ self.factor.T)

    @property
    def log_scale(self) -> float:
        """Logarithm of the determinant of L."""
        return float(np.sum(np.log(np.diag(self.factor))))

    def _whiten(self, x: Array) -> Array:
        return np.asarray(solve_triangular(self.factor, x.T, lower=True).T)


def log_kernel_means(squares: Array, sizes: Array, d: int) -> Array:
    """Return log-densities from squared distances (m, n) in units of the shape, for sizes (n,)."""
    terms = squares * (-0.5 / sizes**2)
    terms -= d * np.log(sizes)
    top = np.max(terms, axis=1)
    terms -= top[:, None]
    sums = np.sum(np.exp(terms, out=terms), axis=1)
    return np.asarray(np.log(sums) + top - np.log(sizes.size) - 0.5 * d * _LOG_2PI)


def leave_one_out(squares: Array, sizes: Array, d: int) -> Array:
    """Return the log-density at points of the kernels at all others; a point's own distance is infinite."""
    n = sizes.size
    return log_kernel_means(squares, sizes, d) + np.log(n / (n - 1.0))
