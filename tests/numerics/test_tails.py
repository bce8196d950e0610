import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

from amortized_kde.data.support import Bounds
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import Kernels
from amortized_kde.numerics.tails import invert_each


def kernel_sum(points, bandwidths, coefficients, lower, upper):
    """A coefficient for each (bandwidth, point), some of which can be zero."""
    used = [row > 0.0 for row in coefficients]

    def rung(k):
        return Kernels(points[used[k]], coefficients[k][used[k]])

    bounds = Bounds(lower, upper)
    return KernelSum(SimpleNamespace(bandwidths=bandwidths, bounds=bounds, direct=False, is_large=False, rung=rung))


def three_rungs(lower=-math.inf, upper=math.inf, n=15, seed=1):
    """A sum of kernels of three bandwidths between two limits, where it has mass 1."""
    rng = np.random.default_rng(seed)
    points, bandwidths = np.sort(rng.uniform(0.0, 10.0, n)), np.array([0.1, 0.8, 3.0])
    coefficients = rng.gamma(0.5, size=(3, n)) * (rng.random((3, n)) > 0.3)
    coefficients[0, coefficients.sum(axis=0) == 0.0] = 0.1
    free = kernel_sum(points, bandwidths, coefficients, lower, upper)
    with mpmath.workdps(50):
        total = float(mass(free, lower, upper))
    return kernel_sum(points, bandwidths, coefficients / total, lower, upper)


def normal_mass(low, high):
    """Phi(high) - Phi(low), taken where both are small, so that they do not cancel."""
    return mpmath.ncdf(-low) - mpmath.ncdf(-high) if low > 0 else mpmath.ncdf(high) - mpmath.ncdf(low)


def mass(kernels, low, high):
    """Probability between two arguments, in mpmath's current precision."""
    rungs = kernels.complete.rungs
    return mpmath.fsum(
        mpmath.mpf(float(c))
        * normal_mass(*((mpmath.mpf(end) - mpmath.mpf(float(p))) / mpmath.mpf(float(h)) for end in (low, high)))
        for p, c, h in zip(rungs.places, rungs.coefficients, rungs.spread, strict=True)
    )


LIMITS = [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, 10.0), (0.0, 10.0)]
ARGUMENTS = [1e-30, 1e-12, 1e-3, 0.7, 3.0, 5.0, 9.9, 10.0 - 1e-9, -1.0, -300.0, 11.0, 500.0]


@pytest.mark.parametrize(("lower", "upper"), LIMITS)
def test_both_tails_against_mpmath(lower, upper):
    kernels = three_rungs(lower, upper)
    at = np.array([x for x in ARGUMENTS if lower < x < upper])
    below, above = kernels.log_cdf(at), kernels.log_sf(at)
    with mpmath.workdps(60):
        exact_below = [float(mpmath.log(mass(kernels, lower, x))) for x in at]
        exact_above = [float(mpmath.log(mass(kernels, x, upper))) for x in at]
    np.testing.assert_allclose(below, exact_below, rtol=3e-14, atol=3e-14)
    np.testing.assert_allclose(above, exact_above, rtol=3e-14, atol=3e-14)
    np.testing.assert_allclose(np.exp(below) + np.exp(above), 1.0, rtol=1e-14)


@pytest.mark.parametrize(("lower", "upper"), LIMITS)
def test_quantiles_of_several_bandwidths(lower, upper):
    kernels = three_rungs(lower, upper, n=40)
    p = np.concatenate([[1e-300, 1e-30, 1e-12], np.linspace(0.001, 0.999, 201), [1.0 - 1e-12]])
    x = kernels.quantile(p)
    assert np.all(np.diff(x) > 0.0)
    assert np.all((x >= lower) & (x <= upper))
    np.testing.assert_allclose(kernels.log_cdf(x), np.log(p), rtol=1e-13, atol=1e-13)
    assert np.array_equal(kernels.quantile(np.array([0.0, 1.0])), [lower, upper])


def test_special_arguments():
    kernels = three_rungs(0.0, 10.0)
    found = kernels.log_cdf(np.array([math.nan, -math.inf, -1.0, 0.0, 10.0, 11.0, math.inf]))
    assert math.isnan(found[0])
    assert np.array_equal(found[1:], [-math.inf] * 3 + [0.0] * 3)
    found = kernels.log_sf(np.array([math.nan, -math.inf, -1.0, 0.0, 10.0, 11.0, math.inf]))
    assert math.isnan(found[0])
    assert np.array_equal(found[1:], [0.0] * 3 + [-math.inf] * 3)
    free = three_rungs()
    assert np.array_equal(free.log_cdf(np.array([-math.inf, math.inf])), [-math.inf, 0.0])


def test_a_quantile_in_an_empty_gap():
    # Half the mass on each side of a gap without any: every argument in it has probability 1/2.
    kernels = kernel_sum(np.array([0.0, 1e4]), np.array([1.0]), np.array([[0.5, 0.5]]), -math.inf, math.inf)
    x = kernels.quantile(np.array([0.5, 0.4999, 0.5001]))
    np.testing.assert_allclose(np.exp(kernels.log_cdf(x)), [0.5, 0.4999, 0.5001], rtol=1e-13)
    assert 0.0 < x[1] < 4.0
    assert 1e4 - 4.0 < x[2] < 1e4


def test_heavy_kernels_ten_bandwidths_away_count_beside_a_light_one_here():
    coefficients = np.array([[1e-15, 1.0 - 1e-15]])
    for distance in (9.4, 9.6, 10.0, 12.0, 30.0):
        kernels = kernel_sum(np.array([0.0, distance]), np.array([1.0]), coefficients, -math.inf, math.inf)
        for x in (-1.0, 0.0, 0.5):
            with mpmath.workdps(50):
                exact = float(mpmath.log(mass(kernels, -math.inf, x)))
            assert kernels.log_cdf(np.array([x]))[0] == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("jump", [0.7, -3.0, 1e-300])
def test_at_a_jump_the_quantile_is_the_number_next_to_it(jump, mirrored):
    calls = []

    def log_probability(x, _):
        calls.append(x)
        return np.where(x < jump, math.log(0.1), math.log(0.4))

    ends = np.array([0.5]), np.array([-5.0]), np.array([5.0])
    found = invert_each(log_probability, lambda x, _: np.full(x.size, -40.0), np.log([0.3]), *ends, mirrored=mirrored)
    assert found[0] == (np.nextafter(jump, -math.inf) if mirrored else jump)
    # Bisection takes one call a bit, and ends.
    assert len(calls) < 1200
