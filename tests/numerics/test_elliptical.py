import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

from amortized_kde.numerics.elliptical import RELATIVE_ERROR, kernels_in_blocks, log_densities, neighbour_codes


def mixture(rng, count, shapes, d, *, size=0.3, students=3):
    """Arguments of `kernels_in_blocks` for a mixture of many shapes and sizes."""
    a = 0.3 * rng.standard_normal((shapes, d, d)) + np.eye(d)
    factors = np.linalg.cholesky(a @ np.swapaxes(a, 1, 2))
    weights = rng.dirichlet(np.ones(count))
    dofs = np.full(count, math.inf)
    dofs[:students] = rng.uniform(1.0, 9.0, students)
    means, sizes = rng.standard_normal((count, d)), size * 2.0 ** rng.uniform(-2.0, 2.0, count)
    return weights, means, factors, rng.integers(0, shapes, count), sizes, dofs


def exponents(arguments, points):
    """The logarithm of every weighted kernel at every point, by SciPy."""
    rows = []
    for weight, mean, shape, size, dof in zip(*(arguments[i] for i in (0, 1, 3, 4, 5)), strict=True):
        scatter = size**2 * arguments[2][shape] @ arguments[2][shape].T
        law = multivariate_normal(mean, scatter) if math.isinf(dof) else multivariate_t(mean, scatter, df=dof)
        rows.append(np.log(weight) + np.atleast_1d(law.logpdf(points)))
    return np.array(rows)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 2, 33, 300])
def test_it_is_the_sum_of_kernels(d, count):
    rng = np.random.default_rng(d + count)
    arguments = mixture(rng, count, min(count, 7), d, students=min(count // 2, 3))
    points = 3.0 * rng.standard_normal((130, d))
    expected = logsumexp(exponents(arguments, points), axis=0)
    np.testing.assert_allclose(log_densities(kernels_in_blocks(*arguments), points), expected, rtol=1e-11, atol=1e-11)


def test_blocks_that_are_left_out_are_negligible():
    """Narrow kernels in many blocks, near and far arguments: what is left out is less than the error that is stated."""
    rng = np.random.default_rng(3)
    arguments = mixture(rng, 3000, 50, 2, size=0.02, students=0)
    kernels = kernels_in_blocks(*arguments)
    assert kernels.tops.size > 90
    grid = np.linspace(-6.0, 6.0, 24)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    found, expected = log_densities(kernels, points), logsumexp(exponents(arguments, points), axis=0)
    assert expected.min() < -1000.0
    np.testing.assert_allclose(np.expm1(found - expected), 0.0, atol=2e-10)
    near = expected > -20.0
    assert np.abs(np.expm1(found - expected))[near].max() < 10.0 * RELATIVE_ERROR


def test_an_own_kernel_is_left_out():
    rng = np.random.default_rng(4)
    arguments = mixture(rng, 200, 5, 2)
    own = rng.permutation(200)[:70]
    points = arguments[1][own]
    logs = exponents(arguments, points)
    logs[own, np.arange(70)] = -math.inf
    found = log_densities(kernels_in_blocks(*arguments), points, own=own)
    np.testing.assert_allclose(found, logsumexp(logs, axis=0), rtol=1e-11, atol=1e-11)


def test_threads_change_no_bit():
    rng = np.random.default_rng(5)
    kernels = kernels_in_blocks(*mixture(rng, 2000, 20, 3))
    points = rng.standard_normal((1000, 3))
    alone = log_densities(kernels, points, threads=1)
    np.testing.assert_array_equal(alone, log_densities(kernels, points, threads=3))


def test_it_is_finite_where_squares_overflow():
    kernels = kernels_in_blocks(*mixture(np.random.default_rng(6), 10, 2, 2, students=0))
    found = log_densities(kernels, np.array([[1e200, 0.0], [1e3, 0.0]]))
    assert np.isfinite(found).all()
    assert found[0] < -1e300
    assert log_densities(kernels, np.empty((0, 2))).size == 0


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_neighbours_have_near_codes(d):
    rng = np.random.default_rng(d)
    points = rng.random((4096, d))
    order = np.argsort(neighbour_codes(points))
    steps = np.linalg.norm(np.diff(points[order], axis=0), axis=1).mean()
    assert steps < 0.75 * np.linalg.norm(np.diff(points, axis=0), axis=1).mean()
    # Points of one half come before those of the other.
    last = points[order, d - 1]
    assert np.sum(np.diff(last > 0.5 * (last.min() + last.max()))) == 1
