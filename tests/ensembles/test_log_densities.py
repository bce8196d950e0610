import math

import numpy as np
import pytest

from amortized_kde import KernelDensity
from amortized_kde.ensembles import log_densities
from amortized_kde.errors import InvalidBoundsError, InvalidParameterError, InvalidSampleError


@pytest.mark.parametrize("bounds", [None, (0.0, None), (None, 9.0), (0.0, 9.0)])
def test_each_row_is_its_own_density(bounds):
    rng = np.random.default_rng(1)
    x, h, y = rng.uniform(0.0, 9.0, (6, 25)), rng.gamma(1.0, 1.0, 6), rng.uniform(-2.0, 11.0, (6, 40))
    found = log_densities(x, h, y, bounds=bounds)
    for row in range(6):
        d = KernelDensity(x[row], bandwidth=h[row], bounds=bounds)
        np.testing.assert_allclose(found[row], d.logpdf(y[row]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weights", [None, [[1.0, 2.0]]])
def test_farther_than_any_power_of_a_bandwidth(weights):
    found = log_densities([[0.0, 1.0]], [1e-200], [[0.5, 1.0]], weights=weights)
    d = KernelDensity([0.0, 1.0], bandwidth=1e-200, weights=None if weights is None else weights[0])
    assert found[0, 0] == d.logpdf(0.5) == -np.finfo(np.float64).max
    assert found[0, 1] == pytest.approx(d.logpdf(1.0), rel=1e-12)


def test_shapes():
    rng = np.random.default_rng(2)
    x, h, y = rng.standard_normal((2, 3, 10)), np.full((2, 3), 0.4), rng.standard_normal((2, 3, 5))
    found = log_densities(x, h, y)
    assert found.shape == (2, 3, 5)
    assert np.array_equal(found[1, 2], log_densities(x[1, 2], 0.4, y[1, 2]))
    # One row of arguments serves all samples.
    assert np.array_equal(log_densities(x, h, y[0, 0])[0, 0], found[0, 0])
    assert log_densities(np.empty((0, 4)), np.empty(0), np.empty((0, 7))).shape == (0, 7)
    assert log_densities(x, h, np.empty((2, 3, 0))).shape == (2, 3, 0)
    # Whatever the memory layout.
    assert np.array_equal(log_densities(np.asfortranarray(x), h, y), found)
    assert np.array_equal(log_densities(np.repeat(x, 2, axis=-1)[..., ::2], h, y), found)


def test_missing_values_and_rows_without_an_answer():
    x = [[1.0, 2.0, math.nan], [math.nan] * 3, [1.0, 2.0, 3.0], [1.0, math.inf, 2.0], [1.0, 2.0, 3.0]]
    found = log_densities(x, [0.5, 0.5, math.nan, 0.5, 0.5], [1.5, math.nan])
    assert found[0, 0] == pytest.approx(KernelDensity([1.0, 2.0], bandwidth=0.5).logpdf(1.5), rel=1e-14)
    assert found[4, 0] == pytest.approx(KernelDensity([1.0, 2.0, 3.0], bandwidth=0.5).logpdf(1.5), rel=1e-14)
    assert np.all(np.isnan(found[1:4]))
    assert np.all(np.isnan(found[:, 1]))


def test_rows_of_unequal_length():
    found = log_densities([[1.0], [1.0, 2.0]], [0.5, 0.5], [1.5])
    assert found[1, 0] == pytest.approx(KernelDensity([1.0, 2.0], bandwidth=0.5).logpdf(1.5), rel=1e-14)


def test_the_callers_arrays_stay():
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal((3, 8)), np.ones(3), rng.standard_normal((3, 8))]
    before = [a.copy() for a in arrays]
    log_densities(*arrays)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 2.0]], [0.1, 0.2], [[1.0]]), "bandwidths have shape"),
        (([[1.0, 2.0]], [0.1], 1.0), "y has shape"),
        (([[1.0, 2.0]], [0.1], [[1.0], [2.0]]), "y has shape"),
        (([["a"]], [0.1], [1.0]), "real numbers"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InvalidSampleError, match=message):
        log_densities(*arguments)
    with pytest.raises(InvalidBoundsError):
        log_densities([[1.0, 2.0]], [0.1], [1.0], bounds=(3, 1))
    with pytest.raises(InvalidParameterError, match="threads"):
        log_densities([[1.0, 2.0]], [0.1], [1.0], threads=0)


@pytest.mark.parametrize("bounds", [None, (0.0, None), (0.0, 9.0)])
@pytest.mark.parametrize("decades", [1.0, 290.0])
def test_each_weighted_row_is_its_own_density(bounds, decades):
    rng = np.random.default_rng(4)
    x, h, y = rng.uniform(0.0, 9.0, (6, 25)), rng.gamma(1.0, 1.0, 6), rng.uniform(-2.0, 11.0, (6, 40))
    w = 10.0 ** rng.uniform(-decades, 0.0, x.shape)
    w[2], w[3, 4:9] = 7.0, 0.0
    found = log_densities(x, h, y, bounds=bounds, weights=w)
    for row in range(6):
        d = KernelDensity(x[row], bandwidth=h[row], bounds=bounds, weights=w[row])
        np.testing.assert_allclose(found[row], d.logpdf(y[row]), rtol=1e-12, atol=1e-12)
    alike = log_densities(x, h, y, bounds=bounds, weights=w[0])
    np.testing.assert_array_equal(alike[0], found[0])
    assert np.array_equal(
        log_densities(x, h, y, bounds=bounds, weights=np.ones(25)), log_densities(x, h, y, bounds=bounds)
    )


def test_weighted_rows_without_an_answer():
    x, w = [[1.0, 2.0, math.nan], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[1.0, 2.0, 5.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
    found = log_densities(x, [0.5, 0.5, math.nan], [1.5, math.nan], weights=w)
    expected = KernelDensity([1.0, 2.0], bandwidth=0.5, weights=[1.0, 2.0]).logpdf(1.5)
    assert found[0, 0] == pytest.approx(expected, rel=1e-14)
    assert np.isnan(found[1:]).all()
    with pytest.raises(InvalidSampleError, match="weights have shape"):
        log_densities(x, [0.5, 0.5, 0.5], [1.0], weights=[1.0, 2.0])
