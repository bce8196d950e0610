"""The paired bootstrap against indices drawn one by one, and against what statistics says of it."""

import math

import numpy as np
import pytest

from amortized_kde.research.reproduction.bootstrap import bootstrap_means


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(3)
    common = rng.exponential(1.0, 400)
    return np.stack([common, common + 0.1 * rng.standard_normal(400), 1e9 * common, np.full(400, 2.5)], axis=1)


def test_all_methods_share_the_indices_of_a_replicate(scores):
    # An indicator of every task counts how often each was drawn.
    counts = 400.0 * bootstrap_means(np.eye(400), seed=7, stream=2, replicates=20)
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=1), 400.0)
    slow = np.stack([(row[:, None] * scores).sum(axis=0) / 400.0 for row in np.rint(counts)])
    np.testing.assert_allclose(bootstrap_means(scores, seed=7, stream=2, replicates=20), slow, rtol=1e-12)


def test_every_task_is_as_likely_as_any_other():
    counts = np.rint(50.0 * bootstrap_means(np.eye(50), seed=11, replicates=4000))
    # Sums over 4000 replicates of a binomial count with mean 1 and variance 1 - 1/50.
    z = (counts.sum(axis=0) - 4000.0) / math.sqrt(4000.0 * 0.98)
    assert np.abs(z).max() < 4.5
    assert 30.0 < np.sum(z**2) < 75.0
    assert counts.var() == pytest.approx(0.98, rel=0.02)


def test_spread_and_centre_are_those_of_the_mean(scores):
    means = bootstrap_means(scores, seed=1)
    error = scores.std(axis=0) / math.sqrt(400)
    assert np.all(np.abs(means.mean(axis=0) - scores.mean(axis=0)) <= 4.0 * error / math.sqrt(1000))
    np.testing.assert_allclose(means[:, :3].std(axis=0), error[:3], rtol=0.1)
    # Paired: the difference of two methods varies far less than either.
    assert np.std(means[:, 1] - means[:, 0]) < 0.15 * np.std(means[:, 0])
    assert np.all(means[:, 3] == 2.5)


def test_the_same_bits_on_any_number_of_threads(scores):
    np.testing.assert_array_equal(
        bootstrap_means(scores, seed=1, threads=1), bootstrap_means(scores, seed=1, threads=3)
    )
    assert (bootstrap_means(scores, seed=1)[:, 0] != bootstrap_means(scores, seed=2)[:, 0]).any()
    assert (bootstrap_means(scores, seed=1)[:, 0] != bootstrap_means(scores, seed=1, stream=1)[:, 0]).any()


def test_infinite_scores_stay_infinite():
    means = bootstrap_means(np.array([[1.0, 1.0], [math.inf, 2.0]]), seed=1, replicates=50)
    assert set(np.unique(means[:, 0])) == {1.0, math.inf}
    assert np.isfinite(means[:, 1]).all()
