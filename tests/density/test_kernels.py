"""The core with several bandwidths; with one it is tested through KernelDensity."""

import math

import numpy as np
import pytest
from scipy import stats

from amortized_kde.density.kernels import KernelSum
from amortized_kde.density.moments import central_mass

LIMITS = [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, 10.0), (0.0, 10.0)]


def kernel_sum(points, bandwidths, coefficients, lower, upper):
    """A coefficient for each (bandwidth, point), of which some may be zero."""
    used = [row > 0.0 for row in coefficients]
    return KernelSum(bandwidths, lambda k: (points[used[k]], coefficients[k][used[k]]), lower, upper)


def three_rungs(lower, upper):
    rng = np.random.default_rng(1)
    points, bandwidths = np.sort(rng.uniform(0.0, 10.0, 30)), np.array([0.05, 0.6, 4.0])
    coefficients = rng.gamma(0.5, size=(3, 30))
    h = bandwidths[:, None]
    total = np.sum(coefficients * central_mass((lower - points) / h, (upper - points) / h))
    return kernel_sum(points, bandwidths, coefficients / total, lower, upper)


def evaluated(loop, at):
    at = np.array(at, float)
    out = np.empty(at.size)
    loop(at, out, 0, at.size)
    return out


def quadrature(function, low, high, points):
    """Gauss-Legendre on panels that are short near the points."""
    edges = np.unique(np.concatenate([np.linspace(low, high, 400), *(points + k * 0.05 for k in range(-9, 10))]))
    edges = edges[(edges >= low) & (edges <= high)]
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    y = edges[:-1, None] + half * (1.0 + nodes)
    return np.sum(function(y.ravel()).reshape(y.shape) * weights * half)


@pytest.mark.parametrize(("lower", "upper"), LIMITS)
def test_mass_and_mean_against_quadrature(lower, upper):
    kernels = three_rungs(lower, upper)
    low, high = max(lower, -50.0), min(upper, 60.0)
    density = lambda y: np.exp(evaluated(kernels.log_density, y))  # noqa: E731
    assert quadrature(density, low, high, kernels.rungs.places) == pytest.approx(1.0, abs=1e-12)
    mean = quadrature(lambda y: y * density(y), low, high, kernels.rungs.places)
    assert kernels.mean() == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(("lower", "upper"), LIMITS)
def test_draws_follow_the_distribution_function(lower, upper):
    kernels = three_rungs(lower, upper)
    draws = kernels.draw(20_000, np.random.default_rng(2))
    assert np.all((draws >= lower) & (draws <= upper))
    assert stats.kstest(draws, lambda y: np.exp(evaluated(kernels.log_cdf, y))).pvalue > 1e-3


def test_pieces_fill_only_their_range():
    kernels = three_rungs(0.0, 10.0)
    at = np.linspace(0.1, 0.9, 9)
    for loop in (kernels.log_density, kernels.log_cdf, kernels.log_sf, kernels.quantile):
        out = np.full(9, 99.0)
        loop(at, out, 3, 6)
        assert np.array_equal(out[[0, 1, 2, 6, 7, 8]], np.full(6, 99.0))
        assert np.array_equal(out[3:6], evaluated(loop, at)[3:6])
