"""Location-scale likelihoods: densities, cells and truncation against SciPy, slopes against differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm, truncnorm

from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.research.training.archive.likelihood import Kernel, LocationScale, log_between, minimise

RNG = np.random.default_rng(7)
ROWS = 200
X = np.column_stack([np.ones(ROWS), RNG.normal(size=(ROWS, 2))])
W, S = RNG.normal(size=(ROWS, 1)), RNG.gamma(3.0, 0.5, ROWS)
THETA = np.array([3.0, 1.0, 0.3, -0.2, -0.4, 0.2])


def model(kernel="normal", y=None, **options):
    outcomes = np.abs(X @ THETA[:3] + RNG.normal(size=ROWS)) if y is None else y
    return LocationScale(X, W, S, outcomes, Kernel.of(kernel), **options)


def sigma():
    return np.sqrt(np.exp(-0.4) + np.exp(-0.8) * S**2) * np.exp(0.2 * W[:, 0])


def test_scores_are_those_of_scipy():
    plain = model()
    mu = X @ THETA[:3]
    np.testing.assert_allclose(plain.scores(THETA), -norm.logpdf(plain.outcomes, mu, sigma()), rtol=1e-12)
    bounded = model(bounds=Bounds(0.0, np.inf))
    exact = -truncnorm.logpdf(bounded.outcomes, -mu / sigma(), np.inf, mu, sigma())
    np.testing.assert_allclose(bounded.scores(THETA), exact, rtol=1e-9)


def test_a_cell_is_scored_by_its_probability():
    y = np.round(X @ THETA[:3])
    cells = model(y=y, edges=(y - 0.5, y + 0.5))
    mu = X @ THETA[:3]
    exact = -np.log(norm.cdf(y + 0.5, mu, sigma()) - norm.cdf(y - 0.5, mu, sigma()))
    np.testing.assert_allclose(cells.scores(THETA), exact, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["normal", "logistic"])
@pytest.mark.parametrize("bounds", [OPEN, Bounds(0.0, np.inf), Bounds(0.0, 9.0)])
@pytest.mark.parametrize("rounded", [False, True])
def test_slopes_are_those_of_differences(kernel, bounds, rounded):
    y = np.clip(X @ THETA[:3] + RNG.normal(size=ROWS), 0.5, 8.5)
    edges = (np.floor(y), np.floor(y) + 1.0) if rounded else None
    rows = model(kernel, y, bounds=bounds, edges=edges)
    _, by_mu, by_log, part = rows._scores_and_slopes(THETA)
    ends = [np.sum(by_log * part), np.sum(by_log * (1.0 - part))]
    found = np.concatenate([by_mu @ X, ends, by_log @ W])
    numeric = approx_fprime(THETA, lambda theta: rows.scores(theta).sum(), 1e-6)
    np.testing.assert_allclose(found, numeric, rtol=1e-3, atol=1e-3)


def test_the_coefficients_of_a_large_sample_are_found():
    rng, count = np.random.default_rng(8), 20_000
    x = np.column_stack([np.ones(count), rng.normal(size=(count, 2))])
    w, s = rng.normal(size=(count, 1)), rng.gamma(1.0, 2.0, count)
    rows = LocationScale(x, w, s, np.zeros(count), Kernel.of("normal"))
    mu, log, _ = rows.moments(THETA)
    y = mu + np.exp(log) * rng.normal(size=count)
    found = LocationScale(x, w, s, y, Kernel.of("normal")).fit()
    np.testing.assert_allclose(found, THETA, atol=0.06)


def test_a_penalty_shrinks_all_but_the_free_coefficients():
    rows = model()
    loose, tight = (LocationScale(X, W, S, rows.outcomes, rows.kernel, penalty=p).fit() for p in (1e-6, 1e5))
    assert abs(tight[2]) < 0.05 * abs(loose[2])
    assert tight[1] == pytest.approx(loose[1], rel=0.1)


def test_intervals_in_the_tails_keep_their_digits():
    np.testing.assert_allclose(log_between(np.array([30.0]), np.array([31.0])), norm.logsf(30.0), rtol=1e-9)
    np.testing.assert_allclose(log_between(np.array([-31.0]), np.array([-30.0])), norm.logsf(30.0), rtol=1e-9)


def test_minimise_finds_the_bottom_of_a_valley():
    def rosenbrock(x):
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        return value, np.array([-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)])

    np.testing.assert_allclose(minimise(rosenbrock, np.array([-1.2, 1.0]), np.eye(2)), 1.0, atol=1e-3)
