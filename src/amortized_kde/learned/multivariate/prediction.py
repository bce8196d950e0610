r"""Predict the density of a sample in several dimensions: weigh candidate densities in two frames.

.. math:: q(x) = \sum_c \pi_c\, q_c(x), \qquad \pi = \mathrm{softmax}(\log \beta + \mathrm{net}(\text{left-out scores}))

The candidates :math:`q_c` are mixtures of Student t densities and kernel estimates, of the data and of their normal
scores. :math:`\beta` are the weights that maximise the left-out likelihood (stacking), and the network corrects them.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.density import KernelDensity
from amortized_kde.density.components import Components, Part
from amortized_kde.learned.multivariate.experts import (
    BROAD,
    GROUP_SIZES,
    SHRUNK,
    SORTS,
    Copula,
    Experts,
    Mixture,
)
from amortized_kde.learned.multivariate.features import MOST_LEFT_OUT, Described, describe, features_of, nothing
from amortized_kde.learned.multivariate.frames import Frame, frame_of
from amortized_kde.learned.multivariate.network import log_weights
from amortized_kde.numerics.normal_mixtures import MEAN_PRIOR, WEIGHT_PRIOR

# The largest sample that is described; of a larger one this many points are, and bandwidths shrink further.
MOST_DESCRIBED = 4096
# Candidates of less weight are left out, and cost no time then.
_LEAST_WEIGHT = 1e-4
# From this many points on, kernels are joined whose points share a cell of this size, in bandwidths.
_JOINED_FROM, _CELL = 1024, 0.5


def predict(
    values: Array,
    weights: Array,
    margins: tuple[KernelDensity, ...],
    *,
    raw: bool,
    arrays: Mapping[str, Array],
) -> tuple[Part, ...]:
    """Return the parts of the density of a sample (n, d), with weights (n,) that sum to 1.

    `margins` are densities of the columns; without `raw`, as where there are bounds, only normal scores are used.
    `arrays` are those of the network.
    """
    order = _canonical_order(values, weights)
    x, w = values[order], weights[order]
    some, w_some = x[:MOST_DESCRIBED], w[:MOST_DESCRIBED] / w[:MOST_DESCRIBED].sum()
    frames = (frame_of(some, w_some) if raw else None, frame_of(some, w_some, margins))
    described = [None if frame is None else describe(some, w_some, frame) for frame in frames]
    shares = _candidate_weights(described, w_some, x.shape[1], arrays)
    return tuple(
        part
        for found, frame_shares in zip(described, np.split(shares, 2), strict=True)
        if found is not None
        for part in _parts(found, frame_shares, x, w)
    )


def _canonical_order(values: Array, weights: Array) -> Index:
    """An order of the rows that does not depend on how they, or the columns, were given; any part is a fair sample."""
    n = len(values)
    if n <= MOST_LEFT_OUT:
        return np.arange(n)
    y, _ = frame_of(values, weights).coordinates(values)
    return np.argsort(np.sum(y**2, axis=1), kind="stable")[np.random.default_rng(0).permutation(n)]


def _candidate_weights(described: list[Described | None], weights: Array, d: int, arrays: Mapping[str, Array]) -> Array:
    masses = weights[:MOST_LEFT_OUT] / weights[:MOST_LEFT_OUT].sum()
    left_out = np.concatenate([nothing(masses.size) if one is None else one.left_out for one in described], axis=1)
    inputs, stacked = features_of(left_out, masses, 1.0 / float(np.sum(weights**2)), d)
    found = np.exp(log_weights(arrays, inputs[None], stacked[None])[0])
    found[found < _LEAST_WEIGHT] = 0.0
    return np.asarray(found / found.sum())


def _parts(described: Described, shares: Array, x: Array, weights: Array) -> list[Part]:
    """The part of one frame, with its share; none if that is 0."""
    if not shares.any():
        return []
    experts, frame = described.experts, described.frame
    of_mixtures, of_kernels, of_broad, of_shrunk = np.split(shares, np.cumsum(SORTS)[:-1])
    made = [
        _of_mixture(m, share) for m, share in zip(experts.mixtures, of_mixtures, strict=True) if share and m is not None
    ]
    made += _of_kernels(experts, of_kernels, frame.coordinates(x)[0], weights, len(experts.points))
    made += [
        _of_broad(dof, scale, share, x.shape[1]) for (dof, scale), share in zip(BROAD, of_broad, strict=True) if share
    ]
    if experts.copula is not None:
        made += [_of_copula(experts.copula, s, share) for s, share in zip(SHRUNK, of_shrunk, strict=True) if share]
    total = float(shares.sum())
    return [Part(total, _in_data_units(_joined(made), frame), frame.margins)]


def _of_mixture(mixture: Mixture, share: float) -> Components:
    """The predictive Student t densities of the components."""
    post, size = mixture.posterior, len(mixture.posterior.means)
    dofs, free = mixture.predictive_dofs()
    mass = post.masses + MEAN_PRIOR
    sizes = np.sqrt((mass + 1.0) / (mass * free))
    weights = share * (post.counts + WEIGHT_PRIOR) / (mixture.total + WEIGHT_PRIOR * size)
    return Components(
        weights, post.means, np.asarray(np.linalg.cholesky(post.scatters), np.float64), np.arange(size), sizes, dofs
    )


def _of_kernels(experts: Experts, shares: Array, y: Array, weights: Array, described: int) -> list[Components]:
    """Kernels on all points; more points than were described have smaller bandwidths, at the rate of Scott's rule."""
    n, d = y.shape
    shrink = (n / described) ** (-1.0 / (d + 4.0))
    made, start = [], 0
    for group, count in zip(experts.groups, GROUP_SIZES, strict=True):
        own = shares[start : start + count]
        start += count
        if group is None or not own.any():
            continue
        label = group.label if n == described else experts.label(group, y)
        factors = np.asarray(np.linalg.cholesky(group.covariances), np.float64)
        for share, size, pull in zip(own, group.sizes, group.pulls, strict=True):
            if share:
                h = size * shrink
                drawn = 1.0 if pull == 1.0 else math.sqrt(1.0 - h * h)
                centre = group.centres[label]
                kernels = Kernels(weights, centre + drawn * (y - centre), label, h)
                masses, means, labels, h = kernels if n < _JOINED_FROM else _join_close(kernels, factors)
                sizes, dofs = np.full(masses.size, h), np.full(masses.size, np.inf)
                made.append(Components(share * masses, means, factors, labels, sizes, dofs))
    return made


class Kernels(NamedTuple):
    """Normal kernels: weights (m,), means (m, d), the shapes they have (m,), and their common size."""

    weights: Array
    means: Array
    label: Index
    size: float


def _join_close(kernels: Kernels, factors: Array) -> Kernels:
    """Join kernels of one shape whose means share a cell; what varies inside the cells is added to the bandwidth."""
    weights, means, label, h = kernels
    inverse = np.linalg.inv(factors)
    units = np.einsum("nij,nj->ni", inverse[label], means) / h
    keys = np.column_stack([label, np.floor(units / _CELL)])
    _, first, cell = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    cell = cell.reshape(-1)
    masses = np.bincount(cell, weights).astype(np.float64)
    centres = np.stack([np.bincount(cell, weights * column) / masses for column in means.T], axis=1)
    inside = np.einsum("nij,nj->ni", inverse[label], means - centres[cell]) / h
    lost = float(weights @ np.mean(inside**2, axis=1) / weights.sum())
    return Kernels(masses, centres, label[first], h * math.sqrt(1.0 + lost))


def _of_broad(dof: float, scale: float, share: float, d: int) -> Components:
    one = np.ones(1)
    return Components(share * one, np.zeros((1, d)), np.eye(d)[None], np.zeros(1, np.int64), scale * one, dof * one)


def _of_copula(copula: Copula, shrinkage: float, share: float) -> Components:
    """The normal density of the scores, in the frame's coordinates."""
    factor = np.tril(np.linalg.solve(copula.matrix, np.linalg.cholesky(copula.covariance(shrinkage))))
    mean, one = np.linalg.solve(copula.matrix, -copula.origin), np.ones(1)
    means, factors = np.asarray(mean[None], np.float64), np.asarray(factor[None], np.float64)
    return Components(share * one, means, factors, np.zeros(1, np.int64), one, np.full(1, np.inf))


def _joined(parts: list[Components]) -> Components:
    offsets = np.cumsum([0, *(len(part.factors) for part in parts)])
    weights = np.concatenate([part.weights for part in parts])
    return Components(
        weights / math.fsum(weights),
        np.concatenate([part.means for part in parts]),
        np.concatenate([part.factors for part in parts]),
        np.concatenate([part.shape_of + offset for part, offset in zip(parts, offsets, strict=False)]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.dofs for part in parts]),
    )


def _in_data_units(components: Components, frame: Frame) -> Components:
    """Components of the frame's coordinates, in data units or normal scores."""
    return Components(
        components.weights,
        frame.mean + components.means @ frame.factor.T,
        np.tril(frame.factor @ components.factors),
        components.shape_of,
        components.sizes,
        components.dofs,
    )
