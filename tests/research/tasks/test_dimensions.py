"""The world of tasks in several dimensions has exact densities."""

import numpy as np
import pytest

from amortized_kde.research.tasks.dimensions import KINDS, Elliptical, random_truth


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_densities_have_mass_one_and_the_mean_of_their_draws(name, seed):
    rng = np.random.default_rng(seed)
    truth = KINDS[name][1](2, rng)
    draws = truth.draw(20_000, rng)
    factor = np.linalg.cholesky(2.0 * np.cov(draws.T))
    broad = Elliptical(np.ones(1), draws.mean(axis=0)[None], factor[None], np.array([2.0]))
    places = broad.draw(100_000, rng)
    with np.errstate(all="ignore"):
        ratio = np.nan_to_num(np.exp(truth.log_density(places) - broad.log_density(places)))
    error = 5.0 * ratio.std() / np.sqrt(ratio.size)
    assert abs(ratio.mean() - 1.0) < error + 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_random_truths_have_finite_densities_inside_their_bounds(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    truth = random_truth(d, rng)
    draws = truth.draw(50, rng)
    assert draws.shape == (50, d)
    assert np.isfinite(truth.log_density(draws)).all()
    for column, (low, high) in zip(draws.T, truth.bounds, strict=True):
        assert low is None or column.min() >= low
        assert high is None or column.max() <= high
