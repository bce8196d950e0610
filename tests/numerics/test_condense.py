import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

from amortized_kde.data.support import Bounds
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import Kernels
from amortized_kde.numerics.condense import condense

RNG = np.random.default_rng(1)
SAMPLES = {
    "normal": RNG.standard_normal(20_000),
    "gamma": RNG.gamma(0.5, 2.0, 20_000),
    "rounded": np.round(RNG.standard_normal(20_000), 1),
    "clusters": RNG.normal(0.0, 1e-3, 20_000) + RNG.choice([-3.0, 0.0, 0.01], 20_000),
    "far from zero": 1e6 + RNG.standard_normal(20_000),
    "constant": np.full(20_000, 0.7),
}


def kernel_sum(points, bandwidths, coefficients, lower, upper):
    """A coefficient for each (bandwidth, point), some of which can be zero."""
    used = [row > 0.0 for row in coefficients]

    def rung(k):
        return Kernels(points[used[k]], coefficients[k][used[k]])

    bounds = Bounds(lower, upper)
    return KernelSum(SimpleNamespace(bandwidths=bandwidths, bounds=bounds, direct=False, is_large=False, rung=rung))


def kernels(name):
    coefficients = np.random.default_rng(2).gamma(0.5, size=20_000)
    return np.sort(SAMPLES[name]), coefficients / coefficients.sum()


def log_sum(places, coefficients, h, x):
    u = (x - places) / h
    return logsumexp(-0.5 * u * u, b=coefficients)


@pytest.mark.parametrize("h", [0.1, 0.3, 5.0])
@pytest.mark.parametrize("name", SAMPLES)
def test_fewer_kernels_make_the_same_sum(name, h):
    places, coefficients = kernels(name)
    fewer, theirs = condense(places, coefficients, h)
    assert fewer.size < 0.5 * places.size
    assert np.all(np.diff(fewer) >= 0.0)
    assert theirs.sum() == pytest.approx(1.0, abs=1e-14)
    for x in (places[0] - 9.0 * h, places[0], places[5000], places[10_000] + 0.3 * h, places[-1], places[-1] + 5.0 * h):
        exact = log_sum(places, coefficients, h, x)
        # Places that are rounded at a large offset are that much of a bandwidth elsewhere.
        rounding = 20.0 * np.spacing(np.max(np.abs(places))) / h
        assert log_sum(fewer, theirs, h, x) == pytest.approx(exact, abs=3e-14 + rounding)
        below, exact = (logsumexp(log_ndtr((x - p) / h), b=c) for p, c in ((fewer, theirs), (places, coefficients)))
        assert below == pytest.approx(exact, abs=3e-14 + rounding)


def test_few_or_scattered_kernels_stay():
    places, coefficients = kernels("normal")
    for n, h in ((8000, 1.0), (20_000, 1e-6)):
        fewer, theirs = condense(places[:n], coefficients[:n], h)
        assert np.array_equal(fewer, places[:n])
        assert np.array_equal(theirs, coefficients[:n])


@pytest.mark.parametrize("name", ["gamma", "clusters"])
def test_far_away_every_kernel_is_summed(name):
    points, row = kernels(name)
    q = kernel_sum(points, np.array([0.01, 0.5]), np.stack([0.3 * row, 0.7 * row]), -math.inf, math.inf)
    at = points[-1] + np.array([1.0, 5.0, 7.0, 12.0, 50.0, 500.0])
    for x, found, tail in zip(at, q.log_density(at), q.log_sf(at), strict=True):
        parts = [log_sum(points, c * row / h, h, x) for c, h in ((0.3, 0.01), (0.7, 0.5))]
        assert found == pytest.approx(np.logaddexp(*parts) - 0.5 * math.log(2.0 * math.pi), rel=1e-13, abs=1e-13)
        parts = [logsumexp(log_ndtr((points - x) / h), b=c * row) for c, h in ((0.3, 0.01), (0.7, 0.5))]
        assert tail == pytest.approx(np.logaddexp(*parts), rel=1e-13, abs=1e-13)


def test_kernels_hardly_wider_than_the_spacing_of_numbers_stay():
    places = np.sort(1.0 + np.random.default_rng(2).integers(0, 300, 20_000) * 2.0**-52)
    for h in (1e-18, 1e-15, 1e-13):
        assert condense(places, np.full(20_000, 5e-5), h)[0] is places
