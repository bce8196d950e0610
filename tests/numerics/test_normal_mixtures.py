"""Mixtures with a conjugate prior, against direct formulas."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.numerics.normal_mixtures import (
    MEAN_PRIOR,
    WEIGHT_PRIOR,
    Prior,
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


def fitted(x, size, shared, *, iterations=50, tail=np.inf, light=False):
    n, d = x.shape
    resp = np.zeros((size, n))
    resp[np.argsort(np.argsort(x[:, 0])) * size // n, np.arange(n)] = 1.0
    prior, post = Prior(0.3 * np.eye(d), d + 2.0, tail, shared, light), empty_posterior(size, d, n)
    value = fit_mixture(np.ascontiguousarray(x.T), np.ones(n), resp, prior, iterations, 0.0, post)
    return value, resp, post, prior


def slow_log_density(x, resp, parts, place, prior):
    """The predictive density of components whose posterior is computed from scratch."""
    size, d = len(resp), x.shape[1]
    total, densities, scatters, means = resp.sum(), [], [], []
    for r in parts:
        mass = r.sum()
        centre = r @ x / mass
        scatter = (x - centre).T * r @ (x - centre) + MEAN_PRIOR * mass / (MEAN_PRIOR + mass) * np.outer(centre, centre)
        scatters.append(scatter)
        means.append(r @ x / (mass + MEAN_PRIOR))
    if prior.shared:
        scatters = [sum(scatters)] * size
    for r, part, mean, scatter in zip(resp, parts, means, scatters, strict=True):
        count, mass = r.sum(), part.sum() + MEAN_PRIOR
        free = prior.dof - d + 1.0 + (total - size + 1.0 if prior.shared else count)
        shape = (scatter + prior.scatter) * (mass + 1.0) / (mass * free)
        weight = (count + WEIGHT_PRIOR) / (total + WEIGHT_PRIOR * size)
        dof = 1.0 / (1.0 / free + 1.0 / prior.tail)
        densities.append(weight * stats.multivariate_t(mean, shape, df=dof).pdf(place))
    return np.log(np.sum(densities, axis=0))


KINDS = [(False, np.inf), (True, np.inf), (False, 3.0)]


@pytest.mark.parametrize(("shared", "tail"), KINDS)
@pytest.mark.parametrize("size", [1, 3])
def test_predictive_densities_equal_direct_formulas(size, shared, tail):
    x = sample()
    _, resp, post, prior = fitted(x, size, shared, tail=tail)
    places = np.random.default_rng(1).standard_normal((20, 3)) * 3.0
    out = np.empty(20)
    predict_mixture(np.ascontiguousarray(places.T), 60.0, prior, post, out)
    np.testing.assert_allclose(out, slow_log_density(x, resp, post.parts, places, prior), rtol=1e-9)


@pytest.mark.parametrize("tail", [np.inf, 3.0])
def test_a_point_is_left_out_as_if_it_had_never_been_there(tail):
    x = sample()
    _, resp, post, prior = fitted(x, 3, False, tail=tail)
    out = np.empty(60)
    leave_one_out(np.ascontiguousarray(x.T), np.ones(60), resp, np.arange(60), prior, post, out)
    for i in range(60):
        others = np.delete(np.arange(60), i)
        expected = slow_log_density(x[others], resp[:, others], post.parts[:, others], x[i], prior)
        np.testing.assert_allclose(out[i], expected, rtol=1e-6)


@pytest.mark.parametrize(("shared", "tail"), KINDS)
def test_the_posterior_rises_with_every_step(shared, tail):
    x = sample()

    values = [fitted(x, 3, shared, iterations=k, tail=tail)[0] for k in (1, 2, 4, 8, 16, 64)]
    assert values[-1] > values[0]
    assert abs(values[-1] - values[-2]) < abs(values[1] - values[0])


def test_light_predictions_are_normal_densities_with_the_covariance_of_the_t():
    x = sample()
    _, _, post, prior = fitted(x, 2, False, light=True)
    places, expected, out = np.random.default_rng(1).standard_normal((20, 3)) * 3.0, 0.0, np.empty(20)
    for k in range(2):
        mass, free = post.masses[k] + MEAN_PRIOR, prior.dof - 2.0 + post.counts[k]
        covariance = post.scatters[k] * (mass + 1.0) / (mass * free) * free / (free - 2.0)
        weight = (post.counts[k] + WEIGHT_PRIOR) / (60.0 + 2.0 * WEIGHT_PRIOR)
        expected = expected + weight * stats.multivariate_normal(post.means[k], covariance).pdf(places)
    predict_mixture(np.ascontiguousarray(places.T), 60.0, prior, post, out)
    np.testing.assert_allclose(out, np.log(expected), rtol=1e-9)


def test_one_t_component_has_the_location_and_scale_of_maximum_likelihood():
    x = stats.multivariate_t(np.zeros(3), np.diag([1.0, 4.0, 0.25]), df=3.0).rvs(3000, random_state=1)
    _, _, post, prior = fitted(x, 1, False, tail=3.0)
    scale = post.scatters[0] / (post.counts[0] + prior.dof + 5.0)
    np.testing.assert_allclose(np.diag(scale), [1.0, 4.0, 0.25], rtol=0.1)
    np.testing.assert_allclose(post.means[0], 0.0, atol=0.1)


def test_weights_of_two_count_as_two_points():
    x = sample(30)
    counts = np.ones(30)
    counts[:5] = 2.0
    twice = np.concatenate([x, x[:5]])
    resp = np.zeros((2, 30))
    resp[(x[:, 0] > 0).astype(int), np.arange(30)] = counts
    more = np.zeros((2, 35))
    more[(twice[:, 0] > 0).astype(int), np.arange(35)] = 1.0
    one, other, prior = (
        empty_posterior(2, 3, 30),
        empty_posterior(2, 3, 35),
        Prior(np.eye(3), 5.0, np.inf, False, False),
    )
    fit_mixture(np.ascontiguousarray(x.T), counts, resp, prior, 20, 0.0, one)
    fit_mixture(np.ascontiguousarray(twice.T), np.ones(35), more, prior, 20, 0.0, other)
    for a, b in zip(one[:-1], other[:-1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
