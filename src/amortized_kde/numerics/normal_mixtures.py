"""Gaussian mixtures with a conjugate prior: expectation-maximisation, and predictive densities with a point left out.

The prior of every component is normal-inverse-Wishart, as in Fraley and Raftery (2007): mean 0 with the weight of
`MEAN_PRIOR` points, scatter `spread` times the identity with d + 2 degrees of freedom, for data of unit covariance. The
predictive density of a component is a Student t.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.jit import compiled, entry

# Fraley and Raftery (2007), section 3.1.
MEAN_PRIOR = 0.01
# Points that the prior adds to every component when weights are predicted: Jeffreys' prior.
WEIGHT_PRIOR = 0.5
_LOG_PI = math.log(math.pi)


class Posterior(NamedTuple):
    """What the data say of K components: `counts` (K,), `means` (K, d), `scatters` (K, d, d), their posterior scatter.

    `inverses` (K, d, d) are inverse lower Cholesky factors of the scatters, `log_dets` (K,) their log-determinants.
    """

    counts: Array
    means: Array
    scatters: Array
    inverses: Array
    log_dets: Array


@compiled
def _invert_factor(scatter: Array, inverse: Array) -> float:
    """Write the inverse of the lower Cholesky factor, and return the log-determinant of the scatter."""
    d = scatter.shape[0]
    factor = np.zeros((d, d))
    log_det = 0.0
    for i in range(d):
        for j in range(i + 1):
            total = scatter[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(max(total, 1e-300))
                log_det += 2.0 * math.log(factor[i, i])
            else:
                factor[i, j] = total / factor[j, j]
    for j in range(d):
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total -= factor[i, k] * inverse[k, j]
            inverse[i, j] = total / factor[i, i]
    return log_det


@compiled
def _distance(inverse: Array, mean: Array, x: Array) -> float:
    """The squared length of inverse (x - mean), for a lower triangular matrix."""
    total = 0.0
    for i in range(x.size):
        part = 0.0
        for j in range(i + 1):
            part += inverse[i, j] * (x[j] - mean[j])
        total += part * part
    return total


@compiled
def _maximise(x: Array, resp: Array, prior: Array, shared: bool, post: Posterior) -> None:
    """Write the posterior of every component, given responsibilities in units of points."""
    n, d = x.shape
    size = resp.shape[1]
    for k in range(size):
        count = 0.0
        mean = np.zeros(d)
        for i in range(n):
            count += resp[i, k]
            for a in range(d):
                mean[a] += resp[i, k] * x[i, a]
        post.counts[k] = count
        for a in range(d):
            post.means[k, a] = mean[a] / (count + MEAN_PRIOR)
        scatter = np.zeros((d, d))
        centre = mean / max(count, 1e-300)
        for i in range(n):
            r = resp[i, k]
            if r > 1e-12:
                for a in range(d):
                    for b in range(a + 1):
                        scatter[a, b] += r * (x[i, a] - centre[a]) * (x[i, b] - centre[b])
        pull = MEAN_PRIOR * count / (MEAN_PRIOR + count)
        for a in range(d):
            for b in range(a + 1):
                post.scatters[k, a, b] = scatter[a, b] + pull * centre[a] * centre[b]
                post.scatters[k, b, a] = post.scatters[k, a, b]
    if shared:
        total = np.zeros((d, d))
        for k in range(size):
            total += post.scatters[k]
        for k in range(size):
            post.scatters[k] = total
    for k in range(size):
        post.scatters[k] += prior
        post.log_dets[k] = _invert_factor(post.scatters[k], post.inverses[k])


@entry
def fit_mixture(
    x: Array,
    counts: Array,
    resp: Array,
    prior: Array,
    dof: float,
    shared: bool,
    iterations: int,
    tolerance: float,
    post: Posterior,
) -> float:
    """Run expectation-maximisation from responsibilities (n, K) in units of points; return the log-likelihood.

    `resp` and `post` are overwritten with the result. With `shared` all components have one covariance.
    """
    n, d = x.shape
    size = resp.shape[1]
    total = counts.sum()
    logs = np.empty(size)
    shift = np.empty(size)
    scale = np.empty(size)
    last = -math.inf
    found = -math.inf
    for _ in range(iterations):
        _maximise(x, resp, prior, shared, post)
        for k in range(size):
            # The mode of the covariance's posterior.
            scale[k] = dof + d + 2.0 + (total if shared else post.counts[k])
            shift[k] = math.log(max(post.counts[k], 1e-300) / total) - 0.5 * (post.log_dets[k] - d * math.log(scale[k]))
        found = 0.0
        for i in range(n):
            top = -math.inf
            for k in range(size):
                logs[k] = shift[k] - 0.5 * scale[k] * _distance(post.inverses[k], post.means[k], x[i])
                top = max(top, logs[k])
            mass = 0.0
            for k in range(size):
                logs[k] = math.exp(logs[k] - top)
                mass += logs[k]
            found += counts[i] * (top + math.log(mass))
            for k in range(size):
                resp[i, k] = counts[i] * logs[k] / mass
        if found - last < tolerance * total:
            break
        last = found
    _maximise(x, resp, prior, shared, post)
    return found


@compiled
def _log_t(
    distance: float, log_det: float, count: float, all_count: float, size: int, d: int, prior_dof: float, shared: bool
) -> float:
    """The log-density of a component's predictive t: distance and determinant are those of the posterior scatter."""
    dof = prior_dof - d + 1.0 + (max(all_count - size + 1.0, 0.0) if shared else count)
    mass = count + MEAN_PRIOR
    scale = (mass + 1.0) / (mass * dof)
    log = math.lgamma(0.5 * (dof + d)) - math.lgamma(0.5 * dof) - 0.5 * d * (math.log(dof * scale) + _LOG_PI)
    return log - 0.5 * log_det - 0.5 * (dof + d) * math.log1p(distance / (scale * dof))


@entry
def predict_mixture(x: Array, total: float, dof: float, shared: bool, post: Posterior, out: Array) -> None:
    """Write the predictive log-density at new points."""
    size, d = post.means.shape
    for i in range(x.shape[0]):
        top, mass = -math.inf, 0.0
        for k in range(size):
            distance = _distance(post.inverses[k], post.means[k], x[i])
            log = _log_t(distance, post.log_dets[k], post.counts[k], total, size, d, dof, shared)
            log += math.log((post.counts[k] + WEIGHT_PRIOR) / (total + WEIGHT_PRIOR * size))
            if log > top:
                mass = mass * math.exp(top - log) + 1.0
                top = log
            else:
                mass += math.exp(log - top)
        out[i] = top + math.log(mass)


@entry
def leave_one_out(
    x: Array, counts: Array, resp: Array, chosen: Index, dof: float, shared: bool, post: Posterior, out: Array
) -> None:
    """Write the predictive log-density at some of the points, each without its own part of the posterior.

    Responsibilities of the others stay as they are, so that nothing is fitted again.
    """
    size, d = post.means.shape
    total = counts.sum()
    for row in range(chosen.size):
        i = chosen[row]
        left = total - counts[i]
        top, mass = -math.inf, 0.0
        for k in range(size):
            r = min(resp[i, k], 0.999 * (post.counts[k] + MEAN_PRIOR))
            full = post.counts[k] + MEAN_PRIOR
            distance = _distance(post.inverses[k], post.means[k], x[i])
            # Sherman and Morrison: the scatter without r (x - m)(x - m)' full / (full - r).
            rest = max(1.0 - r * full / (full - r) * distance, 1e-9)
            moved = distance / rest * (full / (full - r)) ** 2
            log = _log_t(
                moved, post.log_dets[k] + math.log(rest), max(post.counts[k] - r, 0.0), left, size, d, dof, shared
            )
            log += math.log((max(post.counts[k] - r, 0.0) + WEIGHT_PRIOR) / (left + WEIGHT_PRIOR * size))
            if log > top:
                mass = mass * math.exp(top - log) + 1.0
                top = log
            else:
                mass += math.exp(log - top)
        out[row] = top + math.log(mass)


def empty_posterior(size: int, d: int) -> Posterior:
    """Return a posterior to be written."""
    square = (size, d, d)
    return Posterior(np.zeros(size), np.zeros((size, d)), np.zeros(square), np.zeros(square), np.zeros(size))
