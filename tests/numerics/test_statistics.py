"""Row statistics against exact arithmetic and their definitions, and against NumPy where weights are equal."""

from fractions import Fraction

import mpmath
import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from amortized_kde.numerics import uncompiled
from amortized_kde.numerics.statistics import (
    interquartile_range,
    moment_rows,
    quantile_rows,
    spacing_rows,
    standard_deviation,
)

P = np.array([0.0, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98, 1.0])


def row(w):
    w = np.asarray(w, float)
    return w / w.sum()


def moments_of(x, w):
    out = np.zeros((1, 8))
    moment_rows(np.asarray(x, float), np.array([0, len(x)]), row(w), np.ones(1, bool), out, 0, 1)
    return out[0]


def quantiles_of(x, w, p=P):
    w, out = row(w), np.zeros((1, len(p)))
    order = np.argsort(x, kind="stable")
    n = np.array([1.0 / np.sum(w**2)])
    given = np.asarray(x, float)[order], np.array([0, len(x)]), w[order], n
    quantile_rows(*given, np.ones(1, bool), np.asarray(p), out, 0, 1)
    return out[0]


def obvious_quantile(x, w, p):
    """The mean of the quantile function over the window, from the pieces between all its steps."""
    x, w = np.asarray(x, float)[np.argsort(x, kind="stable")], row(w)[np.argsort(x, kind="stable")]
    n, steps = 1.0 / np.sum(w**2), np.cumsum(w)
    low = (1.0 - 1.0 / n) * p
    edges = np.unique(np.clip(np.concatenate([[low, low + 1.0 / n], steps]), low, low + 1.0 / n))
    at = x[np.minimum(np.searchsorted(steps, 0.5 * (edges[1:] + edges[:-1])), x.size - 1)]
    return np.sum(at * np.diff(edges)) / np.sum(np.diff(edges))


@st.composite
def weighted(draw, least=2):
    n = draw(st.integers(least, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = np.round(rng.standard_t(3, n), draw(st.sampled_from([0, 1, 12])))
    w = draw(st.sampled_from([rng.gamma(0.5, 1.0, n), rng.integers(1, 5, n) + 0.0, 10.0 ** rng.uniform(-6, 0, n)]))
    return x, w


@given(weighted())
def test_moments_are_those_of_the_formulas(given_sample):
    x, w = given_sample
    n, mean, sd, skewness, kurtosis, low, high, spare = moments_of(x, w)
    w = row(w)
    centre = np.sum(w * x)
    m2, m3, m4 = (np.sum(w * (x - centre) ** k) for k in (2, 3, 4))
    assert n == pytest.approx(1.0 / np.sum(w**2), rel=1e-12)
    assert spare == pytest.approx(n - 1.0, rel=1e-9)
    assert mean == pytest.approx(centre, rel=1e-9, abs=1e-12)
    assert sd == pytest.approx(np.sqrt(m2 / (1.0 - np.sum(w**2))), rel=1e-9, abs=1e-12)
    assert (low, high) == (x.min(), x.max())
    if x.min() < x.max():
        assert skewness == pytest.approx(m3 / m2**1.5, rel=1e-7, abs=1e-9)
        assert kurtosis == pytest.approx(m4 / m2**2, rel=1e-7)


def test_equal_weights_give_the_usual_moments():
    x = np.random.default_rng(1).gamma(2.0, size=50) + 1e3
    usual = [50.0, x.mean(), x.std(ddof=1), stats.skew(x), stats.kurtosis(x, fisher=False), x.min(), x.max(), 49.0]
    np.testing.assert_allclose(moments_of(x, np.ones(50)), usual, rtol=1e-9)


def test_the_variance_is_unbiased_where_nearly_all_weight_is_on_one_value():
    # Of two values with weights 1 - e and e it is half the squared distance, whatever e.
    for e in (1e-3, 1e-12, 1e-30, 1e-200):
        for x in ([0.0, 3.0], [3.0, 0.0], [1e6 + 3.0, 1e6]):
            found = moments_of(x, [1.0, e])
            assert found[2] == pytest.approx(3.0 / np.sqrt(2.0), rel=1e-9)
            assert found[7] == pytest.approx(2.0 * e, rel=2e-3)


def test_a_constant_sample_has_no_spread():
    assert moments_of([0.1, 0.1, 0.1], [1.0, 2.0, 5.0])[2:5].tolist() == [0.0, 0.0, 1.0]


@given(weighted(least=1))
def test_quantiles_are_means_over_their_window(given_sample):
    x, w = given_sample
    found = quantiles_of(x, w)
    np.testing.assert_allclose(found, [obvious_quantile(x, w, p) for p in P], rtol=1e-9, atol=1e-9 * np.ptp(x) + 1e-15)
    assert np.all(np.diff(found) >= -1e-12 * np.ptp(x))


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
def test_equal_weights_give_type_seven(x):
    np.testing.assert_allclose(quantiles_of(x, np.ones(len(x))), np.quantile(x, P), rtol=1e-11, atol=1e-9)


@given(weighted())
def test_quantiles_of_the_mirrored_sample_are_mirrored(given_sample):
    x, w = given_sample
    np.testing.assert_allclose(quantiles_of(-x, w), -quantiles_of(x, w)[::-1], rtol=1e-12, atol=1e-12 * np.ptp(x))


@given(weighted(), st.floats(0.0, 1.0), st.floats(-5.0, 5.0))
def test_a_weight_of_nearly_zero_is_nearly_none(given_sample, p, place):
    x, w = given_sample
    without = quantiles_of(x, w, [p])
    with_one = quantiles_of(np.append(x, place), np.append(w, 1e-13 * w.sum()), [p])
    assert with_one == pytest.approx(without, abs=1e-9)


def test_rows_that_are_not_wanted_stay():
    x, offsets, w = np.arange(6.0), np.array([0, 3, 3, 6]), np.array([0.2, 0.2, 0.6, 0.1, 0.1, 0.8])
    wanted, moments, quantiles = np.array([False, False, True]), np.full((3, 8), 7.0), np.full((3, 2), 7.0)
    moment_rows(x, offsets, w, wanted, moments, 0, 3)
    quantile_rows(x, offsets, w, np.full(3, 2.0), wanted, np.array([0.2, 0.7]), quantiles, 0, 3)
    assert np.all(moments[:2] == 7.0)
    assert np.all(quantiles[:2] == 7.0)
    assert moments[2, 1] == pytest.approx(0.3 + 0.4 + 4.0)


def test_a_row_of_one_value_does_not_see_its_neighbours():
    moments = np.empty((3, 8))
    one_each = np.arange(4)
    moment_rows(np.array([5.0, -3.0, 8.0]), one_each, np.ones(3), np.ones(3, bool), moments, 0, 3)
    np.testing.assert_array_equal(moments[:, 5:7], [[5.0, 5.0], [-3.0, -3.0], [8.0, 8.0]])


@numba.njit
def statistics(ascending):
    return standard_deviation(ascending), interquartile_range(ascending)


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


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.sets(st.integers(0, 29), min_size=1))
def test_spacings_beside_anchors_against_the_list_of_them(values, ranks):
    x = np.sort(np.array(values, float)) / 4.0
    anchors = np.array(sorted({rank % x.size for rank in ranks}))
    out = np.full((1, 5), np.nan)
    one, all_anchors = np.array([0, x.size]), np.array([0, anchors.size])
    spacing_rows(x, one, anchors, all_anchors, np.array([3.0]), 1e-4, 0.01, out, 0, 1)
    beside = [3.0 * (x[j + 1] - x[j]) for a in anchors for j in (a - 1, a) if 0 <= j < x.size - 1]
    if not beside:
        assert np.isnan(out).all(), "nothing is written"
        return
    expected = np.full((1, 5), np.nan)
    uncompiled.spacing_rows(x, one, anchors, all_anchors, np.array([3.0]), 1e-4, 0.01, expected, 0, 1)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    logs = np.log(np.array(beside) + 1e-4)
    np.testing.assert_allclose(expected[0, [0, 1, 4]], [logs.mean(), logs.var(), beside.count(0.0) / len(beside)])
