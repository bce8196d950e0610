import math

import mpmath
import numba
import numpy as np
import pytest
from scipy.special import ndtr

from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, central_mass, exp_nonpositive, lower_tail, mass_and_slope
from amortized_kde.numerics.jit import entry, power_of_two


@numba.njit
def exponentials(x, out):
    for i in range(x.size):
        out[i] = exp_nonpositive(x[i])


@numba.njit
def powers(k, out):
    for i in range(k.size):
        out[i] = power_of_two(k[i])


def test_exponential_agrees_with_mpmath_to_4e_16():
    rng = np.random.default_rng(1)
    # Half-integer multiples of ln 2 are where the argument reduction is at its worst.
    worst = -np.log(2.0) * (np.arange(0, 1021) + 0.5)
    x = np.concatenate([[0.0, -1e-300, -1e-17, LOWEST_EXPONENT], -np.geomspace(1e-12, 708, 500), worst])
    x = np.concatenate([x, rng.uniform(LOWEST_EXPONENT, 0.0, 1000)])
    out = np.empty_like(x)
    exponentials(x, out)
    with mpmath.workdps(40):
        errors = [abs(mpmath.mpf(float(y)) / mpmath.exp(mpmath.mpf(float(v))) - 1) for v, y in zip(x, out, strict=True)]
    assert max(errors) <= 4e-16
    assert out[0] == 1.0


def test_every_normal_power_of_two_is_exact():
    k = np.arange(-1022.0, 1024.0)
    out = np.empty_like(k)
    powers(k, out)
    assert np.array_equal(out, np.ldexp(1.0, k.astype(int)))


@entry
def tails(u, out):
    for i in range(u.size):
        out[i] = lower_tail(u[i])


def lower_tails(u):
    out = np.empty(u.size)
    tails(u, out)
    return out


def test_lower_tail_is_accurate_relative_to_itself():
    u = np.concatenate([np.linspace(-9.0, 9.0, 2001), np.linspace(-37.0, -9.0, 301)])
    np.testing.assert_allclose(lower_tails(u), ndtr(u), rtol=3e-13)
    few = np.array([-37.5, -20.0, -5.0, -1e-9, 0.0, 0.3])
    exact = [float(mpmath.ncdf(mpmath.mpf(float(x)))) for x in few]
    np.testing.assert_allclose(lower_tails(few), exact, rtol=3e-13)
    near = np.linspace(-6.0, 6.0, 1001)
    np.testing.assert_allclose(lower_tails(near), ndtr(near), rtol=1e-14)


def test_lower_tail_at_its_ends():
    assert lower_tails(np.array([-np.inf, -1e300, -40.0, 40.0, 1e300, np.inf])).tolist() == [
        0.0,
        0.0,
        0.0,
        1.0,
        1.0,
        1.0,
    ]
    assert lower_tails(np.array([0.0]))[0] == pytest.approx(0.5, rel=1e-15)


@numba.njit
def central(a, b):
    return central_mass(a, b)


@numba.njit
def with_slope(x, h, low, high):
    return mass_and_slope(x, h, low, high)


def relative_error(value, exact):
    return float(abs(mpmath.mpf(value) / exact - 1))


@pytest.mark.parametrize("b", [0.0, 1e-12, 1e-3, 0.7, 3.0, 9.0, math.inf])
@pytest.mark.parametrize("a", [-1e-9, -0.2, -5.0, -math.inf])
def test_mass_around_the_centre_is_accurate_relative_to_itself(a, b):
    with mpmath.workdps(40):
        exact = mpmath.ncdf(b) - mpmath.ncdf(a)
        assert relative_error(central(a, b), exact) < 1e-15


@pytest.mark.parametrize(("low", "high"), [(-math.inf, math.inf), (-0.5, math.inf), (-math.inf, 2.0), (-0.5, 2.0)])
@pytest.mark.parametrize("h", [1e-3, 0.4, 3.0, 1e3])
def test_slope_of_a_mass_is_its_derivative_by_log_h(low, high, h):
    mass, slope = with_slope(0.25, h, low, high)
    assert mass == central((low - 0.25) / h, (high - 0.25) / h)
    step = 1e-5
    numeric = with_slope(0.25, h * math.exp(step), low, high)[0] - with_slope(0.25, h * math.exp(-step), low, high)[0]
    np.testing.assert_allclose(slope, numeric / (2.0 * step), rtol=1e-8, atol=1e-10)
