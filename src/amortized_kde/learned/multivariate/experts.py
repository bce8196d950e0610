"""Candidate densities of a sample in its frame: mixtures, kernel estimates, broad t densities and shrunk copulas.

In normal scores no candidate has heavier tails than a normal density: what is far there is much farther in data units,
and a density at a bound could have any height.

Every candidate is evaluated at new points, and at points of the sample with that point left out. A network weighs them.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import gammaln

from amortized_kde._types import Array, Index
from amortized_kde.numerics.kernel_pairs import KernelGroup, sum_kernels
from amortized_kde.numerics.normal_mixtures import (
    Posterior,
    Prior,
    empty_posterior,
    fit_mixture,
    leave_one_out,
    predict_mixture,
)

SHARED = (1, 2, 3, 4, 6, 8)
WEAK = (2, 3, 4, 6, 8, 12)
POOLED = (2, 3, 4, 6, 8, 12, 16, 24)
# Components and their degrees of freedom, of data only; with fewer the variance would be many times the sample's.
TAILED = ((1, 4.0), (1, 8.0), (2, 5.0), (4, 5.0))
# Bandwidths of round kernels, in units of the sample's standard deviation.
ROUND = tuple(2.0 ** (0.5 - 0.5 * k) for k in range(10))
# Kernels with the shape of their component in a pooled mixture of this size, drawn towards its mean.
SHAPED = ((6, (0.7, 0.5, 0.35, 0.25)), (24, (0.7, 0.5, 0.35, 0.25)))
# Of normal scores only with bandwidths below this: the scores' variance is 1, and wide kernels would add to it.
_WIDEST_OF_SCORES = 0.9
# (degrees of freedom, scale) of t densities around the sample's mean, of data only.
BROAD = ((4.0, 1.0), (4.0, 2.5), (4.0, 6.0))
# Normal copulas whose correlations are this much nearer to 0 than the sample's; 1 is the product of the margins.
SHRUNK = (0.2, 0.45, 0.7, 1.0)


class Mixed(NamedTuple):
    """A mixture of `size` components: ``"shared"``, ``"weak"`` (free) or ``"pooled"`` (alike) covariances; its tail."""

    size: int
    kind: str
    tail: float = math.inf


MIXTURES = (
    *(Mixed(size, "shared") for size in SHARED),
    *(Mixed(size, "weak") for size in WEAK),
    *(Mixed(size, "pooled") for size in POOLED),
    *(Mixed(size, "pooled" if size > 1 else "weak", tail) for size, tail in TAILED),
)
# Columns of every group of kernels.
GROUP_SIZES = (len(ROUND), *(len(sizes) for _, sizes in SHAPED))
KERNELS = sum(GROUP_SIZES)
# Numbers of candidates of every sort, in the order of their columns.
SORTS = (len(MIXTURES), KERNELS, len(BROAD), len(SHRUNK))
COLUMNS = sum(SORTS)
_ITERATIONS = 60
_TOLERANCE = 1e-4
# A mixture has at most one component for this many points.
_FEWEST = 3.0
# Clustering is quadratic: at most this many points, the first ones, start the mixtures.
_MOST_CLUSTERED = 1024


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fitted mixture in the sample's frame; `resp` (K, n) are responsibilities in units of points."""

    total: float
    prior: Prior
    posterior: Posterior
    resp: Array

    def _counts(self, fewer: float) -> Array:
        """Points behind each covariance, less so many of all points where it is shared."""
        size = self.posterior.counts.size
        return np.full(size, max(self.total - fewer, 0.0)) if self.prior.shared else self.posterior.counts

    def predictive_dofs(self) -> tuple[Array, Array]:
        """Return degrees of freedom of the predictive densities (K,), and those behind their scales."""
        size, d = self.posterior.means.shape
        free = self.prior.dof - d + 1.0 + self._counts(size - 1.0)
        if self.prior.light:
            return np.full(size, np.inf), free - 2.0
        return 1.0 / (1.0 / free + 1.0 / self.prior.tail), free

    def covariances(self) -> Array:
        """Return the covariances of the components, of shape (K, d, d): the modes of their posteriors."""
        scale = self._counts(0.0) + self.prior.dof + self.posterior.means.shape[1] + 2.0
        return self.posterior.scatters / scale[:, None, None]


class Group(NamedTuple):
    """Kernels of several sizes that share the shapes of their groups of points."""

    label: Index
    centres: Array
    covariances: Array
    sizes: Array
    pulls: Array


class Copula(NamedTuple):
    """Correlations of the normal scores, for candidates that shrink them.

    `matrix` (d, d) and `origin` (d,) map coordinates of the frame to normal scores of unit variance, `log_det` is the
    map's; `correlations` (d, d).
    """

    matrix: Array
    origin: Array
    log_det: float
    correlations: Array

    def logs(self, y: Array, own: Array) -> Array:
        """Return log-densities at y (m, d), of shape (m, SHRUNK), without the weights `own` (m,) of these points."""
        values, vectors = np.linalg.eigh(self.correlations)
        z = (y @ self.matrix.T + self.origin) @ vectors
        columns = []
        for shrinkage in SHRUNK:
            # The matrix without a point is a rank-one change, by the formulas of Sherman, Morrison and Sylvester.
            kept = (1.0 - shrinkage) / (1.0 - own)
            spectra = kept[:, None] * values + shrinkage
            length = np.sum(z**2 / spectra, axis=1)
            rest = np.maximum(1.0 - kept * own * length, 1e-9)
            log_det = np.log(spectra).sum(axis=1) + np.log(rest)
            columns.append(self.log_det - 0.5 * (length / rest + log_det + values.size * math.log(2.0 * math.pi)))
        return np.stack(columns, axis=1)

    def covariance(self, shrinkage: float) -> Array:
        """Return the covariance (d, d) of a candidate's normal scores."""
        return (1.0 - shrinkage) * self.correlations + shrinkage * np.eye(len(self.origin))


@dataclass(frozen=True, eq=False)
class Experts:
    """All candidates of a sample (n, d) in its frame; `weights` (n,) sum to 1."""

    points: Array
    weights: Array
    mixtures: tuple[Mixture | None, ...]
    groups: tuple[Group | None, ...]
    copula: Copula | None

    def logs(self, y: Array) -> Array:
        """Return log-densities at new points, of shape (m, COLUMNS), minus infinity where there is no candidate."""
        columns, rows = [], np.ascontiguousarray(y.T)
        for mixture in self.mixtures:
            out = np.full(len(y), -np.inf)
            if mixture is not None:
                predict_mixture(rows, mixture.total, mixture.prior, mixture.posterior, out)
            columns.append(out)
        return self._joined(columns, y, np.full(len(y), -1))

    def logs_left_out(self, chosen: Index) -> Array:
        """Return log-densities at some points of the sample, each without that point, of shape (a, COLUMNS)."""
        counts, columns = self.weights / np.sum(self.weights**2), []
        rows = np.ascontiguousarray(self.points.T)
        for mixture in self.mixtures:
            out = np.full(chosen.size, -np.inf)
            if mixture is not None:
                leave_one_out(rows, counts, mixture.resp, chosen, mixture.prior, mixture.posterior, out)
            columns.append(out)
        logs = self._joined(columns, self.points[chosen], chosen)
        logs[:, len(MIXTURES) : len(MIXTURES) + KERNELS] -= np.log1p(-self.weights[chosen])[:, None]
        return logs

    def label(self, group: Group, y: Array) -> Index:
        """Return the group of each of more points, the one whose kernel shape is nearest."""
        if len(group.centres) == 1:
            return np.zeros(len(y), dtype=np.int64)
        inverses = np.linalg.inv(np.linalg.cholesky(group.covariances))
        log_dets = -np.log(np.diagonal(inverses, axis1=1, axis2=2)).sum(axis=1)
        costs = [
            0.5 * np.sum(((y - centre) @ inverse.T) ** 2, axis=1) + log_det
            for centre, inverse, log_det in zip(group.centres, inverses, log_dets, strict=True)
        ]
        return np.asarray(np.argmin(costs, axis=0))

    def _joined(self, columns: list[Array], y: Array, skip: Index) -> Array:
        sums = [np.zeros((len(y), size)) for size in GROUP_SIZES]
        for group, out in zip(self.groups, sums, strict=True):
            if group is not None:
                factors = np.linalg.cholesky(group.covariances)
                log_dets = 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
                shapes = group.centres, np.linalg.inv(factors), log_dets
                kernels = KernelGroup(self.points, self.weights, group.label, *shapes, group.sizes, group.pulls)
                sum_kernels(y, skip, kernels, out)
        with np.errstate(divide="ignore"):
            kernel_logs = np.log(np.concatenate(sums, axis=1))
        broad, shrunk = (np.full((len(y), len(sort)), -np.inf) for sort in (BROAD, SHRUNK))
        if self.copula is None:
            broad = _log_broad(y)
        else:
            shrunk = self.copula.logs(y, np.where(skip < 0, 0.0, self.weights[skip]))
            kernel_logs[:, : len(ROUND)][:, np.array(ROUND) >= _WIDEST_OF_SCORES] = -np.inf
        return np.concatenate([np.stack(columns, axis=1), kernel_logs, broad, shrunk], axis=1)


def fit_experts(y: Array, weights: Array, copula: Copula | None = None) -> Experts:
    """Fit all candidates to a sample in its frame, of normal scores if there is a copula."""
    mixtures = _fit_mixtures(y, weights / np.sum(weights**2), light=copula is not None)
    n, d = y.shape
    groups: list[Group | None] = [
        Group(np.zeros(n, dtype=np.int64), np.zeros((1, d)), np.eye(d)[None], np.array(ROUND), np.ones(len(ROUND)))
    ]
    for size, sizes in SHAPED:
        mixture = mixtures[MIXTURES.index(Mixed(size, "pooled"))]
        if mixture is None:
            groups.append(None)
            continue
        label = np.argmax(mixture.resp, axis=0)
        h = np.array(sizes)
        groups.append(Group(label, mixture.posterior.means, mixture.covariances(), h, np.sqrt(1.0 - h**2)))
    return Experts(y, weights, tuple(mixtures), tuple(groups), copula)


def _fit_mixtures(y: Array, counts: Array, *, light: bool) -> list[Mixture | None]:
    n, d = y.shape
    total, rows = float(counts.sum()), np.ascontiguousarray(y.T)
    labels = _labels(y, sorted({mixed.size for mixed in MIXTURES if mixed.size <= max(1.0, total / _FEWEST)}))
    pooled: dict[int, Array] = {}
    fitted: list[Mixture | None] = []
    for size, kind, tail in MIXTURES:
        if size not in labels or (light and tail < math.inf):
            fitted.append(None)
            continue
        resp = np.zeros((size, n))
        resp[labels[size], np.arange(n)] = counts
        scatter = np.eye(d) * size ** (-2.0 / d)
        if kind == "pooled":
            scatter = (d + 2.0) * (pooled[size] if size in pooled else _within(y, counts, labels[size], scatter))
        prior, post = Prior(scatter, d + 2.0, tail, kind == "shared", light), empty_posterior(size, d, n)
        fit_mixture(rows, counts, resp, prior, _ITERATIONS, _TOLERANCE, post)
        made = Mixture(total, prior, post, resp)
        fitted.append(made)
        if kind == "shared":
            pooled[size] = made.covariances()[0]
    return fitted


def _within(y: Array, counts: Array, label: Index, prior: Array) -> Array:
    """The covariance within clusters, with a prior."""
    sums = np.zeros((label.max() + 1, y.shape[1]))
    masses = np.bincount(label, counts)
    np.add.at(sums, label, y * counts[:, None])
    rest = y - (sums / masses[:, None])[label]
    return np.asarray(((rest.T * counts) @ rest + prior) / (counts.sum() + 2.0 * y.shape[1] + 4.0))


def _labels(y: Array, sizes: list[int]) -> dict[int, Index]:
    """Ward's clusters, for each number of them."""
    some = y[:_MOST_CLUSTERED]
    tree, found = linkage(some, "ward"), {}
    for size in sizes:
        # With equal distances there can be fewer clusters.
        label = fcluster(tree, size, "maxclust") - 1
        if len(y) > len(some):
            means = np.stack([some[label == k].mean(axis=0) for k in range(label.max() + 1)])
            label = np.argmin(((y[:, None] - means) ** 2).sum(axis=2), axis=1)
        found[size] = label.astype(np.int64)
    return found


def _log_broad(y: Array) -> Array:
    d, length = y.shape[1], np.sum(y**2, axis=1)
    logs = [
        gammaln(0.5 * (dof + d))
        - gammaln(0.5 * dof)
        - 0.5 * d * np.log(dof * np.pi)
        - d * np.log(scale)
        - 0.5 * (dof + d) * np.log1p(length / (dof * scale**2))
        for dof, scale in BROAD
    ]
    return np.stack(logs, axis=1)
