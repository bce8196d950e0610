"""Coordinates in which a sample is described: whitened data, or whitened normal scores of the margins."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from amortized_kde._types import Array
from amortized_kde.density import KernelDensity
from amortized_kde.density.kernels import mass_between

# Up to this many points for each dimension the covariance is shrunk to its diagonal; above, affine maps change nothing.
_SHRUNK_BELOW = 4.0
_LOG_ROOT = 0.5 * np.log(2.0 * np.pi)
# Normal scores are cut here: probabilities of 1e-15 and less have no digits.
_FARTHEST_SCORE = 7.9


@dataclass(frozen=True, eq=False)
class Frame:
    """An affine map to coordinates of mean 0 and unit covariance, after normal scores if there are `margins`."""

    mean: Array
    factor: Array
    margins: tuple[KernelDensity, ...] | None

    def coordinates(self, x: Array) -> tuple[Array, Array]:
        """Return the coordinates (m, d) of points in data units, and the log-determinants (m,) of the map there."""
        z, log_jacobian = (x, np.zeros(len(x))) if self.margins is None else normal_scores(x, self.margins)
        # An inverse, since a triangular solver starts threads even for two columns.
        y = (z - self.mean) @ np.linalg.inv(self.factor).T
        return np.ascontiguousarray(y), log_jacobian - np.sum(np.log(np.diag(self.factor)))


def normal_scores(x: Array, margins: tuple[KernelDensity, ...]) -> tuple[Array, Array]:
    """Return Phi^-1(F_j(x_j)), of shape (m, d), and the logarithm of the product of its derivatives, (m,)."""
    z, log_jacobian = np.empty_like(x), np.zeros(len(x))
    for j, margin in enumerate(margins):
        column = np.ascontiguousarray(x[:, j])
        lower, upper = margin.cdf(column), margin.sf(column)
        z[:, j] = np.clip(np.where(lower < 0.5, ndtri(lower), -ndtri(upper)), -_FARTHEST_SCORE, _FARTHEST_SCORE)
        log_jacobian += margin.logpdf(column) + 0.5 * z[:, j] ** 2 + _LOG_ROOT
    return z, log_jacobian


def own_part(x: Array, margins: tuple[KernelDensity, ...]) -> Array:
    """Return by how much the log-densities of the margins, summed, fall at each point of their sample without it."""
    fall = np.zeros(len(x))
    for margin, column in zip(margins, x.T, strict=True):
        if margin.points.size != len(x) or margin.bandwidths.size == 1:
            # A margin of many more points hardly changes with one of them.
            continue
        h, (lower, upper) = margin.bandwidths[:, None], margin.support()
        masses = mass_between((lower - margin.points) / h, (upper - margin.points) / h)
        own = (1.0 - margin.epsilon) * margin.weights * np.sum(margin.shares / (h * masses), axis=0)
        density = np.asarray(margin.pdf(margin.points))
        rest = np.maximum(density - own / np.sqrt(2.0 * np.pi), 1e-6 * density) / (1.0 - margin.weights)
        fall[np.argsort(column, kind="stable")] += np.log(density / rest)
    return fall


def frame_of(x: Array, weights: Array, margins: tuple[KernelDensity, ...] | None = None) -> Frame:
    """Return the frame of a sample (n, d) whose weights (n,) sum to 1."""
    z = x if margins is None else normal_scores(x, margins)[0]
    mean = weights @ z
    centred = z - mean
    size, d = 1.0 / np.sum(weights**2), x.shape[1]
    covariance = (centred.T * weights) @ centred * size / (size - 1.0)
    shrinkage = 0.5 * max(0.0, 1.0 - (size - 1.0) / (_SHRUNK_BELOW * d))
    diagonal = np.diag(np.diag(covariance))
    return Frame(mean, np.linalg.cholesky((1.0 - shrinkage) * covariance + shrinkage * diagonal), margins)
