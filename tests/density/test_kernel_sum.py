"""Sums of kernels of several bandwidths; with one they are tested through KernelDensity."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from amortized_kde.data.support import Bounds
from amortized_kde.density import moments
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import Kernels, Ladder, mass_between

LIMITS = [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, 10.0), (0.0, 10.0)]


def kernel_sum(points, bandwidths, coefficients, lower, upper):
    """A coefficient for each (bandwidth, point), some of which can be zero."""
    used = [row > 0.0 for row in coefficients]

    def rung(k):
        return Kernels(points[used[k]], coefficients[k][used[k]])

    bounds = Bounds(lower, upper)
    return KernelSum(SimpleNamespace(bandwidths=bandwidths, bounds=bounds, direct=False, is_large=False, rung=rung))


def three_rungs(lower, upper):
    """Points, bandwidths and a coefficient for each (bandwidth, point), and their sum with mass 1."""
    rng = np.random.default_rng(1)
    points, bandwidths = np.sort(rng.uniform(0.0, 10.0, 30)), np.array([0.05, 0.6, 4.0])
    coefficients = rng.gamma(0.5, size=(3, 30))
    h = bandwidths[:, None]
    masses = coefficients * mass_between((lower - points) / h, (upper - points) / h)
    return points, bandwidths, masses / masses.sum(), coefficients / masses.sum()


def sum_of_three_rungs(lower, upper):
    points, bandwidths, _, coefficients = three_rungs(lower, upper)
    return kernel_sum(points, bandwidths, coefficients, lower, upper)


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
    kernels = sum_of_three_rungs(lower, upper)
    low, high = max(lower, -50.0), min(upper, 60.0)
    density = lambda y: np.exp(kernels.log_density(y))  # noqa: E731
    assert quadrature(density, low, high, kernels.complete.rungs.places) == pytest.approx(1.0, abs=1e-12)
    mean = quadrature(lambda y: y * density(y), low, high, kernels.complete.rungs.places)
    assert moments.mean(kernels.for_moments) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(("lower", "upper"), LIMITS)
def test_draws_follow_the_distribution_function(lower, upper):
    points, bandwidths, masses, _ = three_rungs(lower, upper)
    weights = masses.sum(axis=0)
    kernels = KernelSum(Ladder(points, weights, bandwidths, masses / weights, Bounds(lower, upper)))
    at = np.linspace(max(lower, -5.0), min(upper, 15.0), 41)
    np.testing.assert_allclose(kernels.log_density(at), sum_of_three_rungs(lower, upper).log_density(at), rtol=1e-12)
    draws = kernels.draw(20_000, np.random.default_rng(2))
    assert np.all((draws >= lower) & (draws <= upper))
    assert stats.kstest(draws, lambda y: np.exp(kernels.log_cdf(y))).pvalue > 1e-3


def test_a_piece_of_the_arguments_gives_the_same_bits():
    kernels = sum_of_three_rungs(0.0, 10.0)
    at = np.linspace(0.1, 0.9, 9)
    for function in (kernels.log_density, kernels.log_cdf, kernels.log_sf, kernels.quantile):
        assert np.array_equal(function(at[3:6]), function(at)[3:6])


@pytest.mark.parametrize("n", [30, 20_000])
def test_no_rung_is_built_twice(n):
    """Neither where nothing is condensed nor, for sums that are large enough, where something is."""
    points, calls = np.sort(np.random.default_rng(4).standard_normal(n)), []

    def rung(k):
        calls.append(k)
        return Kernels(points, np.full(n, 0.5 / n))

    bandwidths = np.array([0.3, 1.0])
    kernels = KernelSum(
        SimpleNamespace(bandwidths=bandwidths, bounds=Bounds(), direct=False, is_large=False, rung=rung)
    )
    at = np.linspace(-1.0, 1.0, 5)
    kernels.log_density(at), kernels.log_cdf(at), kernels.quantile(np.array([0.2, 0.7])), kernels.for_moments
    assert calls == [0, 1]
    assert kernels.condensed.is_condensed == (n > 30)
