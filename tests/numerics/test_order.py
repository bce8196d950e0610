import math
from fractions import Fraction

import mpmath
import numba
import numpy as np
import pytest

from amortized_kde.numerics.order import first_at_least, interquartile_range, standard_deviation


@numba.njit
def statistics(ascending):
    return standard_deviation(ascending), interquartile_range(ascending)


@numba.njit
def search(ascending, x):
    return first_at_least(ascending, x)


def exact_standard_deviation(values):
    exact = [Fraction(float(v)) for v in values]
    mean = sum(exact) / len(exact)
    variance = sum((v - mean) ** 2 for v in exact) / (len(exact) - 1)
    return float(mpmath.sqrt(mpmath.mpf(variance.numerator) / variance.denominator))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 18, 101, 400])
@pytest.mark.parametrize(("offset", "scale"), [(0, 1), (1e6, 1), (-1e12, 1), (3, 1e-150), (0, 1e200), (0, 1e-300)])
def test_scale_statistics_against_exact_arithmetic(n, offset, scale):
    rng = np.random.default_rng(n)
    values = np.sort(offset * scale + scale * rng.standard_normal(n))
    sd, iqr = statistics(values)
    centred = values - values[0]
    np.testing.assert_allclose(sd, exact_standard_deviation(values), rtol=1e-14)
    np.testing.assert_allclose(iqr, np.subtract(*np.percentile(centred, [75, 25])), rtol=1e-12)


def test_tied_quartiles_are_no_distance_apart():
    assert statistics(np.array([0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 7.0]))[1] == 0.0


def test_search_is_that_of_numpy():
    ascending = np.array([-2.0, 0.0, 0.0, 1.0, 5.0])
    for x in [-3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 5.0, 6.0, math.inf, -math.inf]:
        assert search(ascending, x) == np.searchsorted(ascending, x)
    assert search(ascending[:0], 1.0) == 0
