"""The forms of densities, with scipy's distributions as slow twins; sums of normals, far from all components too."""

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from amortized_kde.research.tasks.standard import FORMS, STANDARDS, log_normal_sums

TWINS = {
    "normal": (stats.norm(), (1.0, 1.0)),
    "laplace": (stats.laplace(), (1.0, 1.0)),
    "student": (stats.t(1.3), (1.3, 1.0)),
    "gamma": (stats.gamma(0.15), (0.15, 1.0)),
    "beta": (stats.beta(0.4, 2.3), (0.4, 2.3)),
    "logistic": (stats.logistic(), (1.0, 1.0)),
    "lognormal": (stats.lognorm(2.9), (2.9, 1.0)),
    "pareto": (stats.lomax(0.7), (0.7, 1.0)),
    "weibull": (stats.weibull_min(0.3), (0.3, 1.0)),
    "folded": (stats.foldcauchy(0.0), (1.0, 1.0)),
}


def test_every_form_has_a_twin_and_keeps_its_code():
    assert [form.name for form in FORMS] == list(TWINS)
    assert all(form is STANDARDS[code] for code, form in enumerate(FORMS) if 0 < code < len(STANDARDS))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_scipy_agrees(form):
    twin, shape = TWINS[form.name]
    y = twin.ppf(np.linspace(0.001, 0.999, 301))[None]
    shapes = np.array([shape])
    assert np.allclose(form.logpdf(y, shapes), twin.logpdf(y), rtol=1e-10, atol=1e-10)
    assert np.allclose(form.cdf(y, shapes), twin.cdf(y), rtol=1e-10, atol=1e-14)
    assert form.support == pytest.approx(twin.support())


@pytest.mark.parametrize("name", ["pareto", "weibull"])
def test_probabilities_near_the_end_keep_their_digits(name):
    form = next(f for f in FORMS if f.name == name)
    twin, shape = TWINS[name]
    assert form.cdf(np.array([[1e-30]]), np.array([shape]))[0, 0] == pytest.approx(twin.cdf(1e-30), rel=1e-12)


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
