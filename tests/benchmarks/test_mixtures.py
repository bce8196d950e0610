"""Mixtures against scikit-learn's own numbers."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.data.support import Bounds
from contests.mixtures import VARIANCE_FLOOR, Mixture, bic_mixture, dirichlet_mixture, standardised

SAMPLE = np.concatenate([np.random.default_rng(1).normal(-2.0, 0.5, 60), np.random.default_rng(2).normal(2.0, 1.0, 60)])
X = np.linspace(-6.0, 7.0, 30)


def test_density_and_mass_are_those_of_the_components():
    mixture = Mixture(np.array([0.3, 0.7]), np.array([-1.0, 2.0]), np.array([0.5, 2.0]))
    parts = [stats.norm(-1.0, 0.5), stats.norm(2.0, 2.0)]
    np.testing.assert_allclose(mixture.log_density(X), np.log(0.3 * parts[0].pdf(X) + 0.7 * parts[1].pdf(X)))
    expected = sum(w * (part.cdf(3.0) - part.cdf(-1.0)) for w, part in zip((0.3, 0.7), parts, strict=True))
    assert mixture.mass(Bounds(-1.0, 3.0)) == pytest.approx(expected)
    assert mixture.mass(Bounds()) == 1.0


def test_the_lowest_bic_of_scikit_learn_is_kept():
    mixtures = pytest.importorskip("sklearn.mixture")
    found = bic_mixture(SAMPLE)
    assert found.weights.size == 2
    options = {"n_init": 5, "init_params": "k-means++", "max_iter": 1000, "random_state": 0}
    options["reg_covar"] = VARIANCE_FLOOR * SAMPLE.var()
    fits = [mixtures.GaussianMixture(k, **options).fit(SAMPLE[:, None]) for k in range(1, 10)]
    best = min(fits, key=lambda fit: fit.bic(SAMPLE[:, None]))
    # Two means and variances, and one free weight.
    bic = 5 * np.log(SAMPLE.size) - 2.0 * found.log_density(SAMPLE).sum()
    assert bic == pytest.approx(best.bic(SAMPLE[:, None]))
    np.testing.assert_allclose(found.log_density(X), best.score_samples(X[:, None]))


def test_one_component_is_the_normal_density():
    sample = stats.norm(3.0, 2.0).ppf((np.arange(100) + 0.5) / 100)
    found = bic_mixture(sample)
    assert found.weights.size == 1
    assert found.means[0] == pytest.approx(sample.mean())
    assert found.sds[0] == pytest.approx(sample.std() * np.sqrt(1.0 + VARIANCE_FLOOR))


def test_fewer_values_than_components():
    assert bic_mixture(np.array([0.0, 1.0, 5.0])).weights.size <= 3
    assert dirichlet_mixture(np.array([0.0, 1.0, 5.0])).weights.size == 2


def test_a_dirichlet_process_is_the_density_that_scikit_learn_draws_from():
    mixtures = pytest.importorskip("sklearn.mixture")
    found = dirichlet_mixture(SAMPLE)
    prior = {"weight_concentration_prior_type": "dirichlet_process", "max_iter": 1000, "random_state": 0}
    model = mixtures.BayesianGaussianMixture(n_components=10, **prior).fit(SAMPLE[:, None])
    draws = np.sort(model.sample(20_000)[0][:, 0])
    cdf = stats.norm.cdf(draws[:, None], found.means, found.sds) @ found.weights
    assert stats.kstest(cdf, "uniform").pvalue > 1e-3


def test_standardised_fits_have_no_unit():
    plain, scaled = standardised(bic_mixture, SAMPLE), standardised(bic_mixture, 1e6 + 1e3 * SAMPLE)
    np.testing.assert_allclose(scaled.sds, 1e3 * plain.sds, rtol=1e-6)
    np.testing.assert_allclose(scaled.means, 1e6 + 1e3 * plain.means, rtol=1e-9)
    with pytest.raises(ValueError, match="equal"):
        standardised(bic_mixture, np.ones(5))
