"""Log-densities of normal mixtures against the obvious sum, near and very far from the components."""

import mpmath
import numpy as np
from scipy.special import logsumexp

from amortized_kde.research.tasks.normal_sums import log_normal_sums


def obvious(weights, locations, scales, x):
    with np.errstate(divide="ignore"):
        terms = (
            np.log(weights / scales)[:, :, None]
            - 0.5 * ((x[:, None, :] - locations[:, :, None]) / scales[:, :, None]) ** 2
        )
    return logsumexp(terms, axis=1) - 0.5 * np.log(2.0 * np.pi)


def mixtures(rows, components):
    rng = np.random.default_rng(5)
    weights = rng.dirichlet(np.full(components, 0.1), rows)
    return weights, rng.uniform(-1, 1, (rows, components)), np.exp(rng.uniform(-4, -1, (rows, components))), rng


def test_agrees_with_the_obvious_sum():
    weights, locations, scales, rng = mixtures(20, 32)
    x = np.concatenate([rng.uniform(-1, 1, (20, 200)), rng.uniform(-50, 50, (20, 50))], axis=1)
    out = np.empty(x.shape)
    log_normal_sums(weights, locations, scales, x, out)
    assert np.allclose(out, obvious(weights, locations, scales, x), rtol=1e-13, atol=1e-13)


def test_weights_of_zero_and_of_almost_zero_change_nothing():
    x = np.linspace(-1, 1, 9)[None]
    one, three = np.empty((1, 9)), np.empty((1, 9))
    log_normal_sums(np.ones((1, 1)), np.zeros((1, 1)), np.full((1, 1), 0.3), x, one)
    weights, scales = np.array([[0.0, 1.0, 1e-300]]), np.array([[1.0, 0.3, 0.015]])
    log_normal_sums(weights, np.zeros((1, 3)), scales, x, three)
    assert np.allclose(one, three, rtol=1e-15, atol=1e-15)


def test_far_away_to_fifty_digits():
    x, out = np.array([[1e3, -2e4]]), np.empty((1, 2))
    log_normal_sums(np.array([[0.25, 0.75]]), np.array([[-0.5, 0.25]]), np.array([[0.1, 0.05]]), x, out)
    with mpmath.workdps(50):
        for argument, value in zip(x[0], out[0], strict=True):
            parts = [
                mpmath.mpf(w) * mpmath.npdf(mpmath.mpf(float(argument)), mpmath.mpf(m), mpmath.mpf(s))
                for w, m, s in ((0.25, -0.5, 0.1), (0.75, 0.25, 0.05))
            ]
            assert abs(value / float(mpmath.log(mpmath.fsum(parts))) - 1.0) < 1e-14
