import math

import mpmath
import numba
import numpy as np
import pytest

from amortized_kde.numerics.gaussian import central_mass, mass_and_slope


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
