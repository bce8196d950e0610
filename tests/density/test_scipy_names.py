"""SciPy's names for what a density does; `gaussian_kde`, closed forms and exact moments judge."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats

import amortized_kde as akde
from amortized_kde import KernelDensity
from amortized_kde.density.scipy_distribution import DensityDistribution, random_variable
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, PrecisionError

X = np.random.default_rng(1).gamma(2.0, 1.0, 60)
DENSITIES = {
    "one bandwidth": KernelDensity(X, bandwidth=0.3),
    "bounds": KernelDensity(X, bandwidth=0.3, bounds=(0, 12)),
    "weights": KernelDensity(X, bandwidth=0.5, weights=np.arange(1.0, 61.0)),
    "adaptive": akde.fit(X),
    "adaptive, half open": akde.fit(X, bounds=(0, None)),
    "adaptive, bounded": akde.fit(X, bounds=(0, 20)),
    "large offset": KernelDensity(1e6 + X, bandwidth=0.3),
}


@pytest.fixture(params=DENSITIES)
def d(request):
    return DENSITIES[request.param]


def test_a_call_is_the_density(d):
    at = d.grid(20)
    assert np.array_equal(d(at), d.pdf(at))
    assert np.array_equal(d.evaluate(at), d.pdf(at))
    assert d(at[3]) == d.pdf(at[3])


def test_gaussian_kde_agrees():
    d = DENSITIES["one bandwidth"]
    theirs = stats.gaussian_kde(X, bw_method=0.3 / X.std(ddof=1))
    for low, high in ((0.0, 1.0), (-math.inf, 2.0), (3.0, 1.0), (20.0, 21.0)):
        assert d.integrate_box_1d(low, high) == pytest.approx(theirs.integrate_box_1d(low, high), rel=1e-9, abs=1e-15)
    assert np.array_equal(d.integrate_box_1d([0.0, 1.0], 2.0), [d.integrate_box_1d(a, 2.0) for a in (0.0, 1.0)])
    np.testing.assert_allclose(d([0.5, 2.0]), theirs([0.5, 2.0]), rtol=1e-12)
    assert d.resample(7, seed=1).shape == theirs.resample(7, seed=1).shape
    assert d.resample().shape == theirs.resample().shape
    assert np.array_equal(d.resample(7, seed=3), d.resample(7, seed=3))
    assert np.array_equal(d.resample(7, seed=3)[0], d.sample(7, rng=3))


def test_the_box_is_accurate_in_both_tails():
    d = KernelDensity([0.0], bandwidth=1.0)
    for low, high in ((30.0, 31.0), (-31.0, -30.0)):
        assert d.integrate_box_1d(low, high) == pytest.approx(stats.norm.sf(30.0) - stats.norm.sf(31.0), rel=1e-12)


def test_expectations_are_the_exact_moments(d):
    assert d.expect() == pytest.approx(d.mean(), rel=1e-10)
    assert d.expect(lambda x: (x - d.mean()) ** 2) == pytest.approx(d.var(), rel=1e-9)
    assert d.expect(lambda x: 1.0) == pytest.approx(1.0, abs=1e-10)
    assert d.expect(lambda x: -np.log(d.pdf(x))) == pytest.approx(d.entropy(), abs=1e-8)
    middle = d.median()
    assert d.expect(lambda x: 1.0 if x > middle else 0.0) == pytest.approx(0.5, abs=1e-9)


@given(st.floats(0.01, 0.6), st.floats(0.3, 0.95))
def test_expectations_between_limits(p, width):
    d = DENSITIES["adaptive"]
    low, high = d.ppf(p), d.ppf(min(p + width, 0.999))
    inside = d.integrate_box_1d(low, high)
    assert d.expect(lambda x: 1.0, lb=low, ub=high) == pytest.approx(inside, rel=1e-9)
    at = np.linspace(low, high, 20_001)
    by_hand = np.trapezoid(at * d.pdf(at), at)
    assert d.expect(lb=low, ub=high) == pytest.approx(by_hand, rel=1e-5)
    assert d.expect(lb=low, ub=high, conditional=True) == pytest.approx(by_hand / inside, rel=1e-5)


def test_functions_of_numbers_only_and_of_arrays_agree():
    d = DENSITIES["one bandwidth"]
    assert d.expect(lambda x: math.exp(-x)) == pytest.approx(d.expect(lambda x: np.exp(-x)), rel=1e-13)
    # The mean of exp(-x) over a normal kernel is exp(-x_i + h^2 / 2).
    assert d.expect(lambda x: np.exp(-x)) == pytest.approx(np.mean(np.exp(-X + 0.045)), rel=1e-10)


def test_a_needle_is_not_missed():
    d = KernelDensity(np.append(X, 7.123456), bandwidth=1e-7)
    assert d.expect() == pytest.approx(d.mean(), rel=1e-9)


def test_what_has_no_expectation_is_an_error():
    with pytest.raises(PrecisionError, match="does not converge"):
        DENSITIES["adaptive"].expect(lambda x: x**4)
    with pytest.raises(InvalidParameterError, match="no probability between"):
        DENSITIES["bounds"].expect(lb=20.0, ub=30.0)
    with pytest.raises(InvalidParameterError, match="lb must be a number below ub"):
        DENSITIES["bounds"].expect(lb=3.0, ub=1.0)
    with pytest.raises(InvalidParameterError, match="one number for each value"):
        DENSITIES["bounds"].expect(lambda x: np.ones(3))
    with pytest.raises(InvalidSampleError, match="lb"):
        DENSITIES["bounds"].expect(lb="low")


def test_moments_of_a_normal_density():
    d = KernelDensity([2.0], bandwidth=3.0)
    for order in range(9):
        assert d.moment(order) == pytest.approx(stats.norm.moment(order, 2.0, 3.0), rel=1e-9)


def test_moments_of_a_truncated_density_are_averages_of_its_kernels():
    d = DENSITIES["bounds"]
    kernels = [stats.truncnorm(-x / 0.3, (12.0 - x) / 0.3, loc=x, scale=0.3) for x in X]
    masses = stats.norm.cdf((12.0 - X) / 0.3) - stats.norm.cdf(-X / 0.3)
    for order in (1, 2, 3, 5):
        expected = np.average([kernel.moment(order) for kernel in kernels], weights=masses)
        assert d.moment(order) == pytest.approx(expected, rel=1e-8)


def test_heavy_tails_have_no_third_moment():
    assert math.isnan(DENSITIES["adaptive"].moment(3))
    assert DENSITIES["adaptive"].moment(4) == math.inf
    assert DENSITIES["adaptive, half open"].moment(3) == math.inf
    assert akde.fit(-X, bounds=(None, 0)).moment(3) == -math.inf
    assert math.isfinite(DENSITIES["adaptive, bounded"].moment(5))


@pytest.mark.parametrize("order", [-1, 1.5, "2", True, 1000])
def test_bad_orders(order):
    with pytest.raises(InvalidParameterError, match="order of a moment is a whole number"):
        DENSITIES["bounds"].moment(order)


@pytest.mark.skipif(not hasattr(stats, "make_distribution"), reason="SciPy has the new infrastructure from 1.15 on")
def test_a_random_variable_of_scipy(d):
    x, at, p = d.to_scipy(), d.grid(9), np.array([0.01, 0.5, 0.9])
    for theirs, ours in ((x.pdf, d.pdf), (x.logpdf, d.logpdf), (x.cdf, d.cdf), (x.ccdf, d.sf), (x.logccdf, d.logsf)):
        np.testing.assert_allclose(theirs(at), ours(at), rtol=1e-13)
    np.testing.assert_allclose(x.icdf(p), d.ppf(p), rtol=1e-13)
    np.testing.assert_allclose(x.iccdf(p), d.isf(p), rtol=1e-13)
    assert (x.mean(), x.median(), x.entropy()) == pytest.approx((d.mean(), d.median(), d.entropy()), rel=1e-12)
    assert x.variance() == pytest.approx(d.var(), rel=1e-12)
    assert x.support() == d.support()
    assert np.array_equal(x.sample(5, rng=np.random.default_rng(2)), d.sample(5, rng=2))
    assert (2.0 * x + 1.0).mean() == pytest.approx(2.0 * d.mean() + 1.0, rel=1e-12)


@pytest.mark.skipif(not hasattr(stats, "make_distribution"), reason="SciPy has the new infrastructure from 1.15 on")
def test_what_scipy_derives_from_a_random_variable(d):
    x, (low, high) = d.to_scipy(), d.ppf([0.2, 0.7])
    assert x.cdf(low, high) == pytest.approx(0.5, rel=1e-9)
    assert stats.truncate(x, low, high).cdf(d.ppf(0.45)) == pytest.approx(0.5, rel=1e-6)
    drawn = x.plot(ax=Figure().subplots()).lines[0]
    np.testing.assert_allclose(drawn.get_ydata(), d.pdf(drawn.get_xdata()), rtol=1e-12)
    assert np.isnan(x.icdf([-0.1, 1.1])).all()


def test_before_scipy_1_15_it_is_an_rv_continuous(d, monkeypatch):
    monkeypatch.delattr(stats, "make_distribution", raising=False)
    x, at = random_variable(d), d.grid(9)
    assert isinstance(x, DensityDistribution)
    np.testing.assert_allclose(x.pdf(at), d.pdf(at), rtol=1e-13)
    np.testing.assert_allclose(x.ppf([0.1, 0.9]), d.ppf([0.1, 0.9]), rtol=1e-13)
    assert x.mean() == pytest.approx(d.mean(), rel=1e-12)
    assert x.support() == d.support()
    assert x().cdf(at[4]) == pytest.approx(d.cdf(at[4]), rel=1e-13)
    inside = np.array(d.interval(1.0 - 1e-12))
    draws = x.rvs(size=50, random_state=1)
    assert inside[0] <= draws.min() <= draws.max() <= inside[1]
