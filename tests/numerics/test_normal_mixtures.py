"""Mixtures with a conjugate prior, against direct formulas."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.numerics.normal_mixtures import (
    MEAN_PRIOR,
    WEIGHT_PRIOR,
    empty_posterior,
    fit_mixture,
    leave_one_out,
    predict_mixture,
)


def sample(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(
        rng.random((n, 1)) < 0.4, rng.standard_normal((n, d)) - 2.0, rng.standard_normal((n, d)) @ np.diag([1, 2, 0.5])
    )


def fitted(x, size, shared, *, iterations=50, dof=None):
    n, d = x.shape
    resp = np.zeros((n, size))
    resp[np.arange(n), np.argsort(np.argsort(x[:, 0])) * size // n] = 1.0
    post, dof = empty_posterior(size, d), d + 2.0 if dof is None else dof
    value = fit_mixture(x, np.ones(n), resp, np.eye(d) * 0.3, dof, shared, iterations, 0.0, post)
    return value, resp, post, dof


def slow_log_density(x, resp, place, shared, dof):
    """The predictive density of components whose posterior is computed from scratch."""
    size, d = resp.shape[1], x.shape[1]
    total, densities, scatters, means = resp.sum(), [], [], []
    for r in resp.T:
        count = r.sum()
        centre = r @ x / count
        scatter = (x - centre).T * r @ (x - centre) + MEAN_PRIOR * count / (MEAN_PRIOR + count) * np.outer(
            centre, centre
        )
        scatters.append(scatter)
        means.append(r @ x / (count + MEAN_PRIOR))
    if shared:
        scatters = [sum(scatters)] * size
    for r, mean, scatter in zip(resp.T, means, scatters, strict=True):
        count = r.sum()
        free = dof - d + 1.0 + (total - size + 1.0 if shared else count)
        mass = count + MEAN_PRIOR
        shape = (scatter + 0.3 * np.eye(d)) * (mass + 1.0) / (mass * free)
        weight = (count + WEIGHT_PRIOR) / (total + WEIGHT_PRIOR * size)
        densities.append(weight * stats.multivariate_t(mean, shape, df=free).pdf(place))
    return np.log(np.sum(densities, axis=0))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_predictive_densities_equal_direct_formulas(size, shared):
    x = sample()
    _, resp, post, dof = fitted(x, size, shared)
    places = np.random.default_rng(1).standard_normal((20, 3)) * 3.0
    out = np.empty(20)
    predict_mixture(places, 60.0, dof, shared, post, out)
    np.testing.assert_allclose(out, slow_log_density(x, resp, places, shared, dof), rtol=1e-9)


def test_a_point_is_left_out_as_if_it_had_never_been_there():
    x = sample()
    _, resp, post, dof = fitted(x, 3, False)
    out = np.empty(60)
    leave_one_out(x, np.ones(60), resp, np.arange(60), dof, False, post, out)
    for i in range(60):
        others = np.delete(np.arange(60), i)
        np.testing.assert_allclose(out[i], slow_log_density(x[others], resp[others], x[i], False, dof), rtol=1e-6)


@pytest.mark.parametrize("shared", [False, True])
def test_the_posterior_rises_with_every_step(shared):
    x = sample()

    values = [fitted(x, 3, shared, iterations=k)[0] for k in (1, 2, 4, 8, 16, 64)]
    assert values[-1] > values[0]
    assert abs(values[-1] - values[-2]) < abs(values[1] - values[0])


def test_weights_of_two_count_as_two_points():
    x = sample(30)
    counts = np.ones(30)
    counts[:5] = 2.0
    twice = np.concatenate([x, x[:5]])
    resp = np.zeros((30, 2))
    resp[np.arange(30), (x[:, 0] > 0).astype(int)] = counts
    more = np.zeros((35, 2))
    more[np.arange(35), (twice[:, 0] > 0).astype(int)] = 1.0
    one, other = empty_posterior(2, 3), empty_posterior(2, 3)
    fit_mixture(x, counts, resp, np.eye(3), 5.0, False, 20, 0.0, one)
    fit_mixture(twice, np.ones(35), more, np.eye(3), 5.0, False, 20, 0.0, other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
