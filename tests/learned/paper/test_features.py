import math

import numpy as np
import pytest
from scipy import stats

from amortized_kde.data.reading import read_samples
from amortized_kde.data.sample import moments
from amortized_kde.learned.paper.features import moments_in_domain, network_inputs


def test_moments_follow_the_stated_conventions():
    rng = np.random.default_rng(0)
    rows = [rng.gamma(2.0, size=n) + 1e3 for n in (2, 3, 10, 200)]
    found = moments(read_samples(rows, axis=-1))
    for row, m in zip(rows, found, strict=True):
        expected = [row.size, row.mean(), row.std(ddof=1), stats.skew(row), stats.kurtosis(row, fisher=False)]
        np.testing.assert_allclose(m[:5], expected, rtol=1e-9, atol=1e-12)
        assert (m[5], m[6]) == (row.min(), row.max())


@pytest.mark.parametrize("row", [[0.3], [0.3, 0.3], [0.1, 0.9], [0.2, 0.2, 0.2]])
def test_inputs_are_defined_for_tiny_and_constant_samples(row):
    inputs = network_inputs(moments(read_samples([row], axis=-1)))
    assert np.isfinite(inputs).all()


def test_moments_in_the_domain_are_those_of_the_mapped_sample():
    rng = np.random.default_rng(1)
    x = rng.uniform(3.0, 7.0, size=(5, 30))
    raw = moments(read_samples(x, axis=-1))
    mapped = moments_in_domain(raw, np.full(5, 3.0), np.full(5, 8.0))
    np.testing.assert_allclose(mapped, moments(read_samples((x - 5.5) / 2.5, axis=-1))[:, :5], rtol=1e-10)


def test_empty_sample_has_no_moments_but_its_size():
    found = moments(read_samples([[math.nan, math.nan]], axis=-1))[0]
    assert found[0] == 0.0
    assert np.isnan(found[1:]).all()


def test_an_input_beyond_its_limits_is_moved_to_the_nearer_one():
    features = np.array([[50.0, 0.9, 0.01, 0.0, 3.0], [50.0, 0.0, 0.3, 0.0, 3.0]])
    free, held = network_inputs(features), network_inputs(features, limits={"mean": [-2.0, 2.0], "sd": [-4.0, 4.0]})
    assert held[0].tolist() == [free[0, 0], 2.0, -4.0, free[0, 3], free[0, 4]]
    assert held[1].tolist() == free[1].tolist()


def test_weighted_moments_stand_beside_unweighted_ones():
    x, w = [[1.0, 2.0, 6.0], [1.0, 2.0, 6.0], [5.0], []], [[1.0, 1.0, 2.0], [4.0, 4.0, 4.0], [3.0], []]
    found, usual = moments(read_samples(x, axis=-1, weights=w)), moments(read_samples(x, axis=-1))
    np.testing.assert_array_equal(found[1:], usual[1:])
    n, mean, sd = 16.0 / 6.0, 3.75, math.sqrt((2.75**2 + 1.75**2 + 2.0 * 2.25**2) / 4.0 / (1.0 - 6.0 / 16.0))
    np.testing.assert_allclose(found[0, [0, 1, 2, 5, 6]], [n, mean, sd, 1.0, 6.0], rtol=1e-14)
