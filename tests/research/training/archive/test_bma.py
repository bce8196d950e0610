"""Bayesian model averaging: weights, missing members, and rain from the model itself."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from amortized_kde.research.training.archive.bma import gamma_averaging, normal_averaging
from amortized_kde.research.training.archive.pairs import read_pairs
from amortized_kde.research.training.archive.predictive import score
from amortized_kde.research.training.archive.rivals import censored_logistic, climatology, emos


def test_bma_weighs_the_better_model():
    rng = np.random.default_rng(14)
    truth = rng.normal(0.0, 4.0, 500)
    x = truth[:, None] + np.array([3.0, 0.0]) + np.array([0.5, 5.0]) * rng.normal(size=(500, 2))
    pairs = read_pairs(x, truth, np.arange(500), names=("good", "bad"))
    found = normal_averaging(pairs, pairs)
    assert found.weights[0, 0] > 0.8
    assert score(found, pairs).total.mean() < score(emos(pairs, pairs, ()), pairs).total.mean() - 0.5
    x[0, 0] = np.nan
    missing = normal_averaging(pairs, read_pairs(x, truth, np.arange(500), names=("good", "bad")))
    np.testing.assert_allclose(missing.weights[0], [0.0, 1.0])


def rain(rng, days, *, names=()):
    """Pairs from the model: the first of three members says how much it rains, the others are like it or noise."""
    first = np.where(rng.random(days) < 0.4, 0.0, rng.gamma(1.0, 6.0, days))
    dry = rng.random(days) < 1.0 / (1.0 + np.exp(-(0.3 - 1.2 * np.cbrt(first) + 0.8 * (first == 0.0))))
    mean, variance = 0.4 + 0.7 * np.cbrt(first), 0.08 + 0.01 * first
    amount = gamma.rvs(mean**2 / variance, scale=variance / mean, random_state=rng) ** 3
    others = np.where(rng.random((days, 2)) < 0.4, 0.0, rng.gamma(1.0, 6.0, (days, 2)))
    x = np.column_stack([first, others]) if names else np.repeat(first[:, None], 3, axis=1)
    y = np.where(dry, 0.0, amount)
    return read_pairs(x, y, np.arange(days), bounds=(0, None), atoms=(0,), names=names, resolution=0.0)


def test_gamma_densities_are_those_that_made_the_rain():
    rng = np.random.default_rng(3)
    fitted, scored = rain(rng, 4000), rain(rng, 3000)
    found = gamma_averaging(fitted, scored)
    first = scored.members[:, 0]
    dry = 1.0 / (1.0 + np.exp(-(0.3 - 1.2 * np.cbrt(first) + 0.8 * (first == 0.0))))
    np.testing.assert_allclose(found.atom_probability[:, 0], dry, atol=0.06)
    mean, variance = 0.4 + 0.7 * np.cbrt(first), 0.08 + 0.01 * first
    np.testing.assert_allclose(found.shapes[:, 0] / found.rates[:, 0], mean, atol=0.05)
    np.testing.assert_allclose(found.shapes[:, 0] / found.rates[:, 0] ** 2, variance, rtol=0.25, atol=0.02)
    ours, other = (score(one, scored).total.mean() for one in (found, censored_logistic(fitted, scored, ())))
    assert ours < other < score(climatology(fitted, scored), scored).total.mean()


def test_gamma_mixtures_integrate_to_one_and_to_their_distribution():
    rng = np.random.default_rng(4)
    pairs = rain(rng, 600, names=("a", "b", "c"))
    few = pairs.where(np.arange(4))
    found = gamma_averaging(pairs, few)
    for row in range(4):

        def density(t, row=row):
            return np.exp(found.log_density(np.full((4, 1), t))[row, 0])

        below = quad(density, 1e-12, 5.0, limit=400)[0]
        assert below == pytest.approx(found.cdf(np.full((4, 1), 5.0))[row, 0], abs=1e-4)
        assert found.cdf(np.full((4, 1), 1e4))[row, 0] == pytest.approx(1.0)
    assert np.all(found.log_density(np.zeros((4, 1))) == -np.inf)


def test_gamma_averaging_weighs_the_better_model_and_does_without_a_missing_one():
    rng = np.random.default_rng(5)
    pairs = rain(rng, 1500, names=("good", "noise", "more noise"))
    found = gamma_averaging(pairs, pairs)
    assert found.weights[0, 0] > 0.8
    x = pairs.members[:2].copy()
    x[0, 0] = np.nan
    missing = gamma_averaging(pairs, read_pairs(x, [0.0, 1.0], [0, 1], bounds=(0, None), atoms=(0,), names=pairs.names))
    np.testing.assert_allclose(missing.weights.sum(axis=1), 1.0)
    assert missing.weights[0, 0] == 0.0
    assert np.all(np.isfinite(missing.log_density(np.ones((2, 1)))))
