"""Candidate densities of a sample in its frame: mixtures of Student t, kernel estimates, and broad t densities.

Every candidate is evaluated at new points, and at points of the sample with that point left out. A network weighs them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import gammaln

from amortized_kde._types import Array, Index
from amortized_kde.numerics.kernel_pairs import sum_kernels
from amortized_kde.numerics.normal_mixtures import (
    Posterior,
    empty_posterior,
    fit_mixture,
    leave_one_out,
    predict_mixture,
)

SHARED = (1, 2, 3, 4, 6, 8)
WEAK = (2, 3, 4, 6, 8, 12)
POOLED = (2, 3, 4, 6, 8, 12, 16, 24)
# Bandwidths of round kernels, in units of the sample's standard deviation.
ROUND = tuple(2.0 ** (0.5 - 0.5 * k) for k in range(10))
# Kernels with the shape of their component in a pooled mixture of this size, drawn towards its mean.
SHAPED = ((6, (0.7, 0.5, 0.35, 0.25)), (24, (0.7, 0.5, 0.35, 0.25)))
# (degrees of freedom, scale) of t densities around the sample's mean; with fewer than 3 there would be no variance.
BROAD = ((3.0, 1.0), (3.0, 3.0), (3.0, 10.0))


class Mixed(NamedTuple):
    """A mixture of `size` components whose covariances are ``"shared"``, ``"weak"`` (free) or ``"pooled"`` (alike)."""

    size: int
    kind: str


MIXTURES = (
    *(Mixed(size, "shared") for size in SHARED),
    *(Mixed(size, "weak") for size in WEAK),
    *(Mixed(size, "pooled") for size in POOLED),
)
# Columns of every group of kernels.
GROUP_SIZES = (len(ROUND), *(len(sizes) for _, sizes in SHAPED))
KERNELS = sum(GROUP_SIZES)
COLUMNS = len(MIXTURES) + KERNELS + len(BROAD)
_ITERATIONS = 60
_TOLERANCE = 1e-4
# A mixture has at most one component for this many points.
_FEWEST = 3.0
# Clustering is quadratic: at most this many points, the first ones, start the mixtures.
_MOST_CLUSTERED = 1024


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fitted mixture in the sample's frame."""

    kind: str
    total: float
    dof: float
    posterior: Posterior
    responsibilities: Array

    @property
    def shared(self) -> bool:
        """Whether all components have one covariance."""
        return self.kind == "shared"

    def predictive_dofs(self) -> Array:
        """Return the degrees of freedom of the components' predictive t densities, of shape (K,)."""
        size, d = self.posterior.means.shape
        counts = np.full(size, max(self.total - size + 1.0, 0.0)) if self.shared else self.posterior.counts
        return np.asarray(self.dof - d + 1.0 + counts)

    def covariances(self) -> Array:
        """Return the covariances of the components, of shape (K, d, d): the modes of their posteriors."""
        counts = np.full(self.posterior.counts.size, self.total) if self.shared else self.posterior.counts
        return self.posterior.scatters / (counts + self.dof + self.posterior.means.shape[1] + 2.0)[:, None, None]


class Group(NamedTuple):
    """Kernels of several sizes that share the shapes of their groups of points."""

    label: Index
    centres: Array
    covariances: Array
    sizes: Array
    pulls: Array


@dataclass(frozen=True, eq=False)
class Experts:
    """All candidates of a sample (n, d) in its frame; `weights` (n,) sum to 1."""

    points: Array
    weights: Array
    mixtures: tuple[Mixture | None, ...]
    groups: tuple[Group | None, ...]

    def logs(self, y: Array) -> Array:
        """Return log-densities at new points, of shape (m, COLUMNS), minus infinity where there is no candidate."""
        columns = []
        for mixture in self.mixtures:
            out = np.full(len(y), -np.inf)
            if mixture is not None:
                predict_mixture(y, mixture.total, mixture.dof, mixture.shared, mixture.posterior, out)
            columns.append(out)
        return self._joined(columns, y, np.full(len(y), -1))

    def logs_left_out(self, chosen: Index) -> Array:
        """Return log-densities at some points of the sample, each without that point, of shape (a, COLUMNS)."""
        counts, columns = self.weights / np.sum(self.weights**2), []
        for mixture in self.mixtures:
            out = np.full(chosen.size, -np.inf)
            if mixture is not None:
                of = mixture.responsibilities
                leave_one_out(self.points, counts, of, chosen, mixture.dof, mixture.shared, mixture.posterior, out)
            columns.append(out)
        logs = self._joined(columns, self.points[chosen], chosen)
        logs[:, len(MIXTURES) : len(MIXTURES) + KERNELS] -= np.log1p(-self.weights[chosen])[:, None]
        return logs

    def label(self, group: "Group", y: Array) -> Index:
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
                sum_kernels(
                    y,
                    skip,
                    self.points,
                    self.weights,
                    group.label,
                    group.centres,
                    np.linalg.inv(factors),
                    log_dets,
                    group.sizes,
                    group.pulls,
                    out,
                )
        with np.errstate(divide="ignore"):
            kernels = np.log(np.concatenate(sums, axis=1))
        return np.concatenate([np.stack(columns, axis=1), kernels, _log_broad(y)], axis=1)


def fit_experts(y: Array, weights: Array) -> Experts:
    """Fit all candidates to a sample in its frame, whose points are in an order that does not matter."""
    mixtures = _fit_mixtures(y, weights / np.sum(weights**2))
    n, d = y.shape
    groups: list[Group | None] = [
        Group(np.zeros(n, dtype=np.int64), np.zeros((1, d)), np.eye(d)[None], np.array(ROUND), np.ones(len(ROUND)))
    ]
    for size, sizes in SHAPED:
        mixture = mixtures[MIXTURES.index(Mixed(size, "pooled"))]
        if mixture is None:
            groups.append(None)
            continue
        label = np.argmax(mixture.responsibilities, axis=1)
        h = np.array(sizes)
        groups.append(Group(label, mixture.posterior.means, mixture.covariances(), h, np.sqrt(1.0 - h**2)))
    return Experts(y, weights, tuple(mixtures), tuple(groups))


def _fit_mixtures(y: Array, counts: Array) -> list[Mixture | None]:
    n, d = y.shape
    total = float(counts.sum())
    labels = _labels(y, sorted({size for size, _ in MIXTURES if size <= max(1.0, total / _FEWEST)}))
    pooled: dict[int, Array] = {}
    fitted: list[Mixture | None] = []
    for size, kind in MIXTURES:
        if size not in labels:
            fitted.append(None)
            continue
        resp = np.zeros((n, size))
        resp[np.arange(n), labels[size]] = counts
        prior = np.eye(d) * size ** (-2.0 / d)
        if kind == "pooled":
            prior = (d + 2.0) * (pooled[size] if size in pooled else _within(y, counts, labels[size], prior))
        post = empty_posterior(size, d)
        fit_mixture(y, counts, resp, prior, d + 2.0, kind == "shared", _ITERATIONS, _TOLERANCE, post)
        made = Mixture(kind, total, d + 2.0, post, resp)
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
