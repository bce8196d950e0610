"""Scores of predictive distributions against closed forms: cells, CRPS, PIT, occurrence and amount."""

import numpy as np
import pytest
from scipy.stats import norm

from amortized_kde.data.support import Bounds
from amortized_kde.ensembles.calibration import Power
from amortized_kde.research.training.archive.pairs import read_pairs
from amortized_kde.research.training.archive.predictive import CensoredLogistic, NormalMixture, score

RNG = np.random.default_rng(12)
MU, SIGMA = RNG.normal(5.0, 2.0, 300), RNG.gamma(4.0, 0.4, 300)
EXACT = MU + SIGMA * RNG.normal(size=300)
MEMBERS = MU[:, None] + RNG.normal(size=(300, 4))


def normal():
    return NormalMixture(MU[:, None], SIGMA[:, None], np.ones(1))


def test_a_normal_density_has_its_closed_forms():
    found = score(normal(), read_pairs(MEMBERS, EXACT, np.arange(300), resolution=0))
    z = (EXACT - MU) / SIGMA
    np.testing.assert_allclose(found.total, -norm.logpdf(EXACT, MU, SIGMA) / np.log(2), rtol=1e-10)
    exact = SIGMA * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    np.testing.assert_allclose(found.crps, exact, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found.pit, norm.cdf(z), rtol=1e-10)
    assert not found.occurrence.any()


def test_a_rounded_observation_is_scored_by_its_cell():
    y = np.round(EXACT)
    pairs = read_pairs(MEMBERS, y, np.arange(300))
    assert pairs.resolution == 1.0
    found = score(normal(), pairs)
    low, high = norm.cdf(y - 0.5, MU, SIGMA), norm.cdf(y + 0.5, MU, SIGMA)
    np.testing.assert_allclose(found.total, -np.log2(high - low), rtol=1e-8)
    assert ((found.pit >= low) & (found.pit <= high)).all()
    # Spread over the cells, the transforms of calibrated forecasts are uniform.
    assert np.abs(np.histogram(found.pit, 5, (0, 1))[0] / 60.0 - 1.0).max() < 0.5


def test_a_truncated_mixture_has_mass_1():
    mixture = NormalMixture(MEMBERS, np.full((300, 4), 1.5), np.array([0.1, 0.2, 0.3, 0.4]), Bounds(0.0, 9.0))
    at = np.tile(np.linspace(0.0, 9.0, 2001), (300, 1))
    mass = np.trapezoid(np.exp(mixture.log_density(at)), at, axis=1)
    np.testing.assert_allclose(mass, 1.0, atol=1e-5)
    np.testing.assert_allclose(mixture.cdf(at)[:, [0, -1]], [[0.0, 1.0]] * 300, atol=1e-12)


def test_a_censored_logistic_variable_is_one_distribution():
    rng = np.random.default_rng(13)
    mu, sigma = rng.normal(1.0, 1.0, 2000), np.full(2000, 0.8)
    y = np.maximum(mu + sigma * rng.logistic(size=2000), 0.0) ** 2
    pairs = read_pairs(y[:, None] + np.ones(3), y, np.arange(2000), bounds=(0, None), atoms=(0,), resolution=0)
    forecast = CensoredLogistic(mu, sigma, Power(0.5, 0.0))
    root = np.linspace(1e-4, 14.0, 4001)
    at = np.tile(root**2, (20, 1))
    few = CensoredLogistic(mu[:20], sigma[:20], Power(0.5, 0.0))
    # Over the square root, on which there is no peak at 0.
    np.testing.assert_allclose(np.trapezoid(2 * root * np.exp(few.log_density(at)), root, axis=1), 1.0, atol=1e-3)
    found = score(forecast, pairs)
    assert np.abs(np.histogram(found.pit, 10, (0, 1))[0] / 200.0 - 1.0).max() < 0.25
    dry = y == 0.0
    np.testing.assert_allclose(found.occurrence[dry], np.log2(1.0 + np.exp(mu[dry] / 0.8)), rtol=1e-9)
    assert not found.amount[dry].any()
    # CRPS against draws: E|X - y| - E|X - X'| / 2.
    draws = np.maximum(mu[:50, None] + 0.8 * rng.logistic(size=(50, 4000)), 0.0) ** 2
    by_draws = np.abs(draws - y[:50, None]).mean(axis=1) - 0.5 * np.abs(draws - draws[:, ::-1]).mean(axis=1)
    assert found.crps[:50].mean() == pytest.approx(by_draws.mean(), rel=0.05)
