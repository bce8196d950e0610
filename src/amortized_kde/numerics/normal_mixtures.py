"""Mixtures of normal or Student t components with a conjugate prior: fits, and predictions with a point left out.

The prior of every component is normal-inverse-Wishart, as in Fraley and Raftery (2007): mean 0 with the weight of
`MEAN_PRIOR` points, and a scatter matrix with some degrees of freedom, for data of unit covariance. The predictive
density of a component is a Student t, or the normal density with its covariance.

Samples are (d, n) and responsibilities (K, n) here, so that the inner loops run along points, in SIMD lanes.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry

# Fraley and Raftery (2007), section 3.1.
MEAN_PRIOR = 0.01
# Points that the prior adds to every component when weights are predicted: Jeffreys' prior.
WEIGHT_PRIOR = 0.5
_LOG_PI = math.log(math.pi)


class Prior(NamedTuple):
    """What all components have in common: prior `scatter` (d, d) with `dof`; `tail`, the degrees of freedom of a
    component, infinite for normal ones; whether all have one `shared` covariance, and `light` predictions, normal ones.
    """

    scatter: Array
    dof: float
    tail: float
    shared: bool
    light: bool


class Posterior(NamedTuple):
    """What the data say of K components.

    `counts` (K,) are their numbers of points, `masses` (K,) the same with far points of a t counting less, `means`
    (K, d), `scatters` (K, d, d) with the prior's. `inverses` (K, d, d) are inverse lower Cholesky factors of the
    scatters, `log_dets` (K,) their log-determinants. `parts` (K, n) is what every point adds to the masses.
    """

    counts: Array
    masses: Array
    means: Array
    scatters: Array
    inverses: Array
    log_dets: Array
    parts: Array


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
def _fill_distances(x: Array, inverse: Array, mean: Array, part: Array, out: Array) -> None:
    """Write the squared length of inverse (x - mean) of every point, for a lower triangular matrix."""
    d, n = x.shape
    for i in range(n):
        out[i] = 0.0
    for a in range(d):
        for i in range(n):
            part[i] = 0.0
        for b in range(a + 1):
            for i in range(n):
                part[i] += inverse[a, b] * (x[b, i] - mean[b])
        for i in range(n):
            out[i] += part[i] * part[i]


@compiled
def _fill_scatter(x: Array, weight: Array, centre: Array, part: Array, scatter: Array) -> None:
    """Write the weighted scatter around a centre."""
    d, n = x.shape
    for a in range(d):
        for i in range(n):
            part[i] = weight[i] * (x[a, i] - centre[a])
        for b in range(a + 1):
            total = 0.0
            for i in range(n):
                total += part[i] * (x[b, i] - centre[b])
            scatter[a, b] = total
            scatter[b, a] = total


@compiled
def _maximise(x: Array, resp: Array, prior: Prior, part: Array, post: Posterior) -> None:
    """Write the posterior of every component, given responsibilities in units of points."""
    d, n = x.shape
    size = resp.shape[0]
    mean, centre = np.empty(d), np.empty(d)
    for k in range(size):
        count, mass = 0.0, 0.0
        for i in range(n):
            count += resp[k, i]
        for i in range(n):
            mass += post.parts[k, i]
        post.counts[k], post.masses[k] = count, mass
        for a in range(d):
            total = 0.0
            for i in range(n):
                total += post.parts[k, i] * x[a, i]
            mean[a] = total
            centre[a] = total / max(mass, 1e-300)
            post.means[k, a] = total / (mass + MEAN_PRIOR)
        _fill_scatter(x, post.parts[k], centre, part, post.scatters[k])
        pull = MEAN_PRIOR * mass / (MEAN_PRIOR + mass)
        for a in range(d):
            for b in range(d):
                post.scatters[k, a, b] += pull * centre[a] * centre[b]
    # In loops: operations on whole arrays take seconds to compile.
    for a in range(d):
        for b in range(d):
            total = 0.0
            for k in range(size):
                total += post.scatters[k, a, b]
            for k in range(size):
                post.scatters[k, a, b] = (total if prior.shared else post.scatters[k, a, b]) + prior.scatter[a, b]
    for k in range(size):
        post.log_dets[k] = _invert_factor(post.scatters[k], post.inverses[k])


@compiled
def _expect(x: Array, counts: Array, prior: Prior, part: Array, logs: Array, top: Array, post: Posterior) -> float:
    """Write log-densities of all components, `parts` as for responsibilities of 1; return the total of counts."""
    d, n = x.shape
    total = 0.0
    for i in range(n):
        top[i] = -math.inf
        total += counts[i]
    for k in range(logs.shape[0]):
        # The mode of the covariance's posterior.
        scale = prior.dof + d + 2.0 + (total if prior.shared else post.counts[k])
        shift = math.log(max(post.counts[k], 1e-300) / total) - 0.5 * (post.log_dets[k] - d * math.log(scale))
        row, pull = logs[k], post.parts[k]
        _fill_distances(x, post.inverses[k], post.means[k], part, row)
        if prior.tail == math.inf:
            for i in range(n):
                row[i] = shift - 0.5 * scale * row[i]
                pull[i] = 1.0
        else:
            nu = prior.tail
            for i in range(n):
                pull[i] = (nu + d) / (nu + scale * row[i])
                # The constant of the t density is the same for all components.
                row[i] = shift + 0.5 * (nu + d) * math.log(pull[i])
        for i in range(n):
            top[i] = max(top[i], row[i])
    return total


@entry
def fit_mixture(
    x: Array, counts: Array, resp: Array, prior: Prior, iterations: int, tolerance: float, post: Posterior
) -> float:
    """Run expectation-maximisation from responsibilities (K, n) in units of points; return the log-likelihood.

    `x` is (d, n), `counts` (n,). `resp` and `post` are overwritten with the result. The log-likelihood of t components
    lacks a constant.
    """
    size, n = resp.shape
    logs, top, mass, part = np.empty((size, n)), np.empty(n), np.empty(n), np.empty(n)
    last, found, is_done = -math.inf, -math.inf, False
    for k in range(size):
        for i in range(n):
            post.parts[k, i] = resp[k, i]
    for step in range(iterations + 1):
        # The only call, since each is compiled anew.
        _maximise(x, resp, prior, part, post)
        if is_done or step == iterations:
            break
        total = _expect(x, counts, prior, part, logs, top, post)
        for i in range(n):
            mass[i] = 0.0
        for k in range(size):
            for i in range(n):
                logs[k, i] = exp_nonpositive(max(logs[k, i] - top[i], LOWEST_EXPONENT))
                mass[i] += logs[k, i]
        found = 0.0
        for i in range(n):
            found += counts[i] * (top[i] + math.log(mass[i]))
            mass[i] = counts[i] / mass[i]
        for k in range(size):
            for i in range(n):
                resp[k, i] = logs[k, i] * mass[i]
                post.parts[k, i] *= resp[k, i]
        is_done = found - last < tolerance * total
        last = found
    return found


@compiled
def _log_prediction(
    distance: float, log_det: float, count: float, mass: float, all_count: float, size: int, d: int, prior: Prior
) -> float:
    """The log-density of a component's prediction: distance and determinant are those of the posterior scatter.

    With few points its tails are heavier than the component's: the reciprocals of the degrees of freedom are added.
    """
    free = prior.dof - d + 1.0 + (max(all_count - size + 1.0, 0.0) if prior.shared else count)
    full = mass + MEAN_PRIOR
    if prior.light:
        variance = (full + 1.0) / (full * (free - 2.0))
        return -0.5 * (log_det + d * (math.log(2.0 * variance) + _LOG_PI) + distance / variance)
    scale = (full + 1.0) / (full * free)
    dof = 1.0 / (1.0 / free + 1.0 / prior.tail)
    log = math.lgamma(0.5 * (dof + d)) - math.lgamma(0.5 * dof) - 0.5 * d * (math.log(dof * scale) + _LOG_PI)
    return log - 0.5 * log_det - 0.5 * (dof + d) * math.log1p(distance / (scale * dof))


@compiled
def _distance(inverse: Array, mean: Array, x: Array, i: int) -> float:
    """The squared length of inverse (x_i - mean), for a lower triangular matrix."""
    total = 0.0
    for a in range(mean.size):
        part = 0.0
        for b in range(a + 1):
            part += inverse[a, b] * (x[b, i] - mean[b])
        total += part * part
    return total


@entry
def predict_mixture(x: Array, total: float, prior: Prior, post: Posterior, out: Array) -> None:
    """Write the predictive log-density at new points (d, m)."""
    size, d = post.means.shape
    for i in range(x.shape[1]):
        top, mass = -math.inf, 0.0
        for k in range(size):
            distance = _distance(post.inverses[k], post.means[k], x, i)
            log = _log_prediction(distance, post.log_dets[k], post.counts[k], post.masses[k], total, size, d, prior)
            log += math.log((post.counts[k] + WEIGHT_PRIOR) / (total + WEIGHT_PRIOR * size))
            if log > top:
                mass = mass * math.exp(top - log) + 1.0
                top = log
            else:
                mass += math.exp(log - top)
        out[i] = top + math.log(mass)


@entry
def leave_one_out(
    x: Array, counts: Array, resp: Array, chosen: Index, prior: Prior, post: Posterior, out: Array
) -> None:
    """Write the predictive log-density at some of the points, each without its own part of the posterior.

    Responsibilities of the others stay as they are, so that nothing is fitted again.
    """
    size, d = post.means.shape
    total = 0.0
    for i in range(counts.size):
        total += counts[i]
    for row in range(chosen.size):
        i = chosen[row]
        left = total - counts[i]
        top, mass = -math.inf, 0.0
        for k in range(size):
            full = post.masses[k] + MEAN_PRIOR
            r = min(post.parts[k, i], 0.999 * full)
            distance = _distance(post.inverses[k], post.means[k], x, i)
            # Sherman and Morrison: the scatter without r (x - m)(x - m)' full / (full - r).
            rest = max(1.0 - r * full / (full - r) * distance, 1e-9)
            moved = distance / rest * (full / (full - r)) ** 2
            count = max(post.counts[k] - resp[k, i], 0.0)
            log_det = post.log_dets[k] + math.log(rest)
            log = _log_prediction(moved, log_det, count, max(post.masses[k] - r, 0.0), left, size, d, prior)
            log += math.log((count + WEIGHT_PRIOR) / (left + WEIGHT_PRIOR * size))
            if log > top:
                mass = mass * math.exp(top - log) + 1.0
                top = log
            else:
                mass += math.exp(log - top)
        out[row] = top + math.log(mass)


def empty_posterior(size: int, d: int, n: int) -> Posterior:
    """Return a posterior to be written."""
    square = (size, d, d)
    return Posterior(
        np.zeros(size),
        np.zeros(size),
        np.zeros((size, d)),
        np.zeros(square),
        np.zeros(square),
        np.zeros(size),
        np.zeros((size, n)),
    )
