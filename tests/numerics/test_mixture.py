import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp, ndtr

from amortized_kde.data.support import Bounds
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import Kernels
from amortized_kde.ensembles import log_densities
from amortized_kde.numerics import mixture


def kernel_sum(points, bandwidths, coefficients, lower, upper):
    """A coefficient for each (bandwidth, point), some of which can be zero."""
    used = [row > 0.0 for row in coefficients]

    def rung(k):
        return Kernels(points[used[k]], coefficients[k][used[k]])

    bounds = Bounds(lower, upper)
    return KernelSum(SimpleNamespace(bandwidths=bandwidths, bounds=bounds, direct=False, is_large=False, rung=rung))


def three_rungs(n=60, seed=1):
    """A sum of kernels of three bandwidths, with a coefficient for each point and bandwidth."""
    rng = np.random.default_rng(seed)
    coefficients = rng.gamma(0.5, size=(3, n)) * (rng.random((3, n)) > 0.3)
    coefficients[0, coefficients.sum(axis=0) == 0.0] = 0.1
    coefficients /= coefficients.sum()
    return everywhere(np.sort(rng.standard_normal(n)), np.array([0.05, 0.4, 2.0]), coefficients)


def everywhere(points, bandwidths, coefficients):
    return kernel_sum(points, bandwidths, coefficients, -math.inf, math.inf)


def slow_log_density(kernels, x):
    """Every term, in the order of the formula."""
    rungs = kernels.complete.rungs
    places, coefficients, bandwidths = rungs.places, rungs.coefficients, rungs.spread
    u = (x - places) / bandwidths
    return logsumexp(-0.5 * u * u, b=coefficients / bandwidths / math.sqrt(2.0 * math.pi))


def precise_log_density(kernels, x):
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        rungs = kernels.complete.rungs
        for p, c, h in zip(rungs.places.tolist(), rungs.coefficients.tolist(), rungs.spread.tolist(), strict=True):
            u = (mpmath.mpf(float(x)) - mpmath.mpf(p)) / mpmath.mpf(h)
            total += mpmath.mpf(c) / mpmath.mpf(h) * mpmath.npdf(u)
        return float(mpmath.log(total))


def test_several_bandwidths_against_every_term():
    kernels = three_rungs()
    at = np.concatenate([np.linspace(-6.0, 6.0, 301), kernels.complete.rungs.places, [-400.0, 1e3, 1e5]])
    exact = [slow_log_density(kernels, x) for x in at]
    np.testing.assert_allclose(kernels.log_density(at), exact, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("x", [0.0, 1.7, -9.0, 40.0, 1e3, -1e6])
def test_several_bandwidths_against_mpmath(x):
    kernels = three_rungs(n=12)
    found = kernels.log_density(np.array([x]))[0]
    assert found == pytest.approx(precise_log_density(kernels, x), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("decades", [20, 150, 290])
def test_coefficients_over_hundreds_of_decades(decades):
    rng = np.random.default_rng(decades)
    points = np.sort(rng.uniform(0.0, 40.0, 25))
    coefficients = 10.0 ** rng.uniform(-decades, 0.0, (1, 25))
    # The lightest point where nothing else is near: the nearest point says nothing about the sum.
    coefficients[0, [0, -1]] = 10.0**-decades
    kernels = everywhere(points, np.array([0.3]), coefficients / coefficients.sum())
    for x in [-5.0, points[0], 11.3, points[-1], 47.0]:
        found = kernels.log_density(np.array([x]))[0]
        assert found == pytest.approx(precise_log_density(kernels, x), rel=1e-13, abs=1e-12)


def test_nothing_is_lost_at_the_edge_of_the_window():
    # Sixty points carry a sum that one near, light point would cut off if the window were too small.
    points = np.concatenate([[0.0], np.full(60, 8.0)])
    for light in [1e-3, 1e-9, 1e-15, 1e-40]:
        weights = np.concatenate([[light], np.full(60, (1.0 - light) / 60)])
        kernels = everywhere(points, np.array([1.0]), weights[None, :])
        for x in [-1.0, 0.0, 2.0, 3.9]:
            found = kernels.log_density(np.array([x]))[0]
            assert found == pytest.approx(slow_log_density(kernels, x), rel=1e-14, abs=1e-14)


def test_special_arguments():
    found = three_rungs().log_density(np.array([math.nan, math.inf, -math.inf, 1e200]))
    assert math.isnan(found[0])
    assert np.array_equal(found[1:3], [-math.inf] * 2)
    # Below all float64 numbers: a finite argument has a finite log-density.
    assert found[3] == -np.finfo(np.float64).max


@pytest.mark.parametrize("bounds", [None, (-1.0, None), (None, 9.0), (-1.0, 9.0)])
def test_rows_against_every_term(bounds):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 9.0, (4, 30))
    x[1, 7:] = math.nan
    h = np.array([0.1, 0.7, 30.0, 2.0])
    y = rng.uniform(-1.0, 9.0, (4, 50))
    found = log_densities(x, h, y, bounds=bounds)
    low, high = (-math.inf, math.inf) if bounds is None else bounds
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    for row in range(4):
        points = np.sort(x[row][~np.isnan(x[row])])
        mass = np.sum(ndtr((high - points) / h[row]) - ndtr((low - points) / h[row]))
        coefficients = np.full((1, points.size), 1.0 / mass)
        kernels = everywhere(points, h[row : row + 1].copy(), coefficients)
        np.testing.assert_allclose(found[row], [slow_log_density(kernels, v) for v in y[row]], rtol=1e-12, atol=1e-12)


def test_sums_that_are_too_small_are_exact_in_pieces_of_any_size(monkeypatch):
    # Terms far below those of the nearest point, and weights over hundreds of decades.
    rng = np.random.default_rng(5)
    points = np.sort(rng.uniform(0.0, 40.0, 25))
    kernels = everywhere(points, np.array([0.3]), 10.0 ** rng.uniform(-290.0, 0.0, (1, 25)))
    at = np.linspace(-20.0, 60.0, 41)
    exact = [slow_log_density(kernels, x) for x in at]
    for most in (1, 60, 2**20):
        monkeypatch.setattr(mixture, "_MOST_TERMS", most)
        found = mixture._exact_log_sums(mixture.peaks_of(kernels.complete.rungs), at)
        np.testing.assert_allclose(found, exact, rtol=1e-13)
    assert mixture._exact_log_sums(mixture.peaks_of(kernels.complete.rungs), np.array([1e200])) == [-np.inf]
