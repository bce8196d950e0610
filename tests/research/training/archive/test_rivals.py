"""Rivals: EMOS against plain optimisers, BMA's weights, kernel dressing and climatology on data of known shape."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from amortized_kde.research.training.archive.calibrate import Choice
from amortized_kde.research.training.archive.pairs import read_pairs
from amortized_kde.research.training.archive.predictive import score
from amortized_kde.research.training.archive.rivals import (
    censored_logistic,
    climatology,
    emos,
    emos_by_crps,
    kernel_dressing,
    raw,
    rivals_of,
)


def slow_emos(fitted, scored):
    """EMOS by a general optimiser, without derivatives."""
    m, s = fitted.members.mean(axis=1), fitted.members.std(axis=1, ddof=1)

    def mean_score(p):
        sd = np.sqrt(np.exp(2 * p[2]) + np.exp(2 * p[3]) * s**2)
        return -norm.logpdf(fitted.observations, p[0] + p[1] * m, sd).mean()

    p = minimize(mean_score, [0.0, 1.0, 0.0, -0.5], method="Nelder-Mead", options={"maxiter": 5000, "fatol": 1e-10}).x
    m, s = scored.members.mean(axis=1), scored.members.std(axis=1, ddof=1)
    sd = np.sqrt(np.exp(2 * p[2]) + np.exp(2 * p[3]) * s**2)
    return -norm.logpdf(scored.observations, p[0] + p[1] * m, sd) / np.log(2)


def halves(pairs):
    return pairs.where(pairs.days < 300), pairs.where(pairs.days >= 300)


def test_emos_is_that_of_a_slow_optimiser(made):
    fitted, scored = halves(made())
    found = score(emos(fitted, scored, ()), scored)
    np.testing.assert_allclose(found.total, slow_emos(fitted, scored), atol=0.01)


def test_emos_by_crps_has_the_lower_crps_where_it_is_fitted(made):
    pairs = made(days=1000)
    skewed = read_pairs(pairs.members, pairs.observations + np.random.default_rng(1).exponential(4.0, 1000), pairs.days)
    likelihood, ranked = (score(f(skewed, skewed), skewed) for f in (lambda a, b: emos(a, b, ()), emos_by_crps))
    assert ranked.crps.mean() < likelihood.crps.mean()
    assert likelihood.total.mean() < ranked.total.mean()


def test_season_helps_emos_where_there_is_one(made):
    fitted, scored = halves(made(days=1000, season=5.0))
    plain, seasonal = (score(emos(fitted, scored, groups), scored) for groups in ((), ("season",)))
    assert seasonal.total.mean() < plain.total.mean() - 0.3


def test_kernel_dressing_keeps_two_modes():
    rng = np.random.default_rng(15)
    centre = rng.normal(0.0, 3.0, (400, 1))
    drawn = centre + np.where(rng.random((400, 21)) < 0.5, 3.0, -3.0) + 0.3 * rng.normal(size=(400, 21))
    pairs = read_pairs(drawn[:, 1:], drawn[:, 0], np.arange(400))
    dressed, normal = (score(f(pairs, pairs), pairs) for f in (kernel_dressing, lambda a, b: emos(a, b, ())))
    assert dressed.total.mean() < normal.total.mean() - 0.5


def test_climatology_knows_the_season_and_no_forecast(made):
    pairs = made(days=1000, season=8.0, numbers=(0.0, 0.0, 1.0, 0.0))
    fitted, scored = pairs.where(pairs.days < 800), pairs.where(pairs.days >= 800)
    found = score(climatology(fitted, scored), scored)
    assert found.total.mean() < -norm.logpdf(0.0, 0.0, 6.0) / np.log(2) + 0.3
    assert np.abs(found.pit.mean() - 0.5) < 0.05


def test_censored_logistic_gives_the_chance_of_rain(wet):
    pairs = wet()
    fitted, scored = halves(pairs)
    found = censored_logistic(fitted, scored, ())
    assert found.atom_probability.mean() == pytest.approx(np.mean(scored.observations == 0.0), abs=0.06)
    assert score(found, scored).total.mean() < score(raw(fitted, scored), scored).total.mean()


def test_the_rivals_suit_the_variable(made, wet):
    temperature = rivals_of(made(), Choice(groups=("season", "summaries")))
    assert {"EMOS, maximum likelihood", "EMOS, CRPS", "EMOS, season", "EMOS, same covariates", "BMA"} <= set(
        temperature
    )
    rain = rivals_of(wet(), Choice())
    assert "censored logistic" in rain
    assert not any("EMOS" in name for name in rain)
