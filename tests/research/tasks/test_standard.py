"""The forms of compound densities, with scipy's distributions as their slow twins."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.research.tasks.standard import FORMS, STANDARDS

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
