import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from amortized_kde.density.background import Background, log_cdf, log_density, log_sf, mean, quantile, std
from amortized_kde.errors import InvalidParameterError

INF = math.inf
# Bounds around, at and beyond the location 3 with scale 1.5.
LIMITS = [(-INF, INF), (0.0, INF), (3.0, INF), (4.0, INF), (200.0, INF), (-1e5, INF), (-INF, 10.0), (-INF, -50.0)]
CUT = [*LIMITS, (0.0, 10.0), (2.9, 3.05), (200.0, 201.0), (3.0, 1e9), (-1e12, 2.0)]


class Precise:
    """The same in 60 digits, by the formulas as they stand."""

    def __init__(self, lower, upper, location=3.0, scale=1.5):
        self.lower, self.upper, self.location, self.scale = map(mpmath.mpf, (lower, upper, location, scale))

    def free(self, x):
        x = mpmath.mpf(x)
        if mpmath.isinf(x):
            return mpmath.mpf(x > 0)
        y = (x - self.location) / self.scale / mpmath.sqrt(3)
        return mpmath.mpf(1) / 2 + (y / (1 + y * y) + mpmath.atan(y)) / mpmath.pi

    def below(self, x):
        return (self.free(x) - self.free(self.lower)) / (self.free(self.upper) - self.free(self.lower))

    def density(self, x):
        y = (mpmath.mpf(x) - self.location) / self.scale / mpmath.sqrt(3)
        peak = 2 / (mpmath.pi * mpmath.sqrt(3) * self.scale)
        return peak / (1 + y * y) ** 2 / (self.free(self.upper) - self.free(self.lower))


def places(lower, upper):
    near = [lower + d for d in (1e-30, 1e-12, 1e-3, 0.3, 5.0, 1e4)] + [upper - d for d in (1e-12, 1e-3, 0.3, 5.0, 1e4)]
    free = [3.0, 2.9, 1.0, 5.0, 5.9, 6.5, 8.2, 8.3, -2.1, -2.3, 60.0, -1e6, 1e6, 1e30, -1e90]
    return [x for x in near + free if lower < x < upper]


@pytest.fixture(autouse=True)
def many_digits():
    # A tail of 1e-270 is the difference of two numbers near 1.
    with mpmath.workdps(400):
        yield


@pytest.mark.parametrize(("lower", "upper"), CUT)
def test_density_and_both_tails_against_mpmath(lower, upper):
    b, precise = Background(lower, upper, location=3.0, scale=1.5), Precise(lower, upper)
    x = np.array(places(lower, upper))
    exact = [(precise.density(v), precise.below(v), 1 - precise.below(v)) for v in x.tolist()]
    density, below, above = (np.array([float(mpmath.log(v)) for v in column]) for column in zip(*exact, strict=True))
    np.testing.assert_allclose(b.log_density(x), density, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(b.log_cdf(x), below, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(b.log_sf(x), above, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(("lower", "upper"), CUT)
def test_quantiles_against_the_tails(lower, upper):
    b = Background(lower, upper, location=3.0, scale=1.5)
    p = np.concatenate(
        [10.0 ** -np.arange(1.0, 300.0, 13.0), np.linspace(0.001, 0.999, 301), 1.0 - 10.0 ** -np.arange(1.0, 16.0)]
    )
    x = b.quantile(p)
    for tail, log_p, used in ((b.log_cdf, np.log(p), p <= 0.5), (b.log_sf, np.log1p(-p), p > 0.5)):
        # A few spacings of float64 numbers at x move a probability by the density times them.
        spacing = 8.0 * np.exp(b.log_density(x) - log_p) * np.spacing(np.abs(x))
        error, allowed = np.abs(np.exp(tail(x) - log_p) - 1.0), 1e-14 + 4e-16 * np.abs(log_p) + spacing
        assert np.all((error <= allowed)[used])
    assert np.all(np.diff(b.quantile(np.sort(p))) >= 0.0)
    assert np.array_equal(b.quantile([0.0, 1.0]), [lower, upper])


def test_quantiles_at_a_bound_of_zero_are_accurate_relative_to_themselves():
    b = Background(0.0, INF, location=3.0, scale=1.5)
    p = 10.0 ** -np.arange(1.0, 290.0, 7.0)
    np.testing.assert_allclose(b.log_cdf(b.quantile(p)), np.log(p), rtol=1e-14)


def test_against_scipy():
    b = Background(-INF, INF, location=-2.0, scale=0.3)
    x = np.linspace(-9.0, 5.0, 201)
    theirs = stats.t(3, -2.0, 0.3)
    np.testing.assert_allclose(b.log_density(x), theirs.logpdf(x), rtol=1e-13)
    np.testing.assert_allclose(np.exp(b.log_cdf(x)), theirs.cdf(x), rtol=1e-12)
    p = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(b.quantile(p), theirs.ppf(p), rtol=1e-10)


@pytest.mark.parametrize(("lower", "upper"), CUT)
def test_mean_against_quadrature(lower, upper):
    b = Background(lower, upper, location=3.0, scale=1.5)
    # The integral of the quantiles over p, from both ends in the logarithm of p.
    nodes, weights = np.polynomial.legendre.leggauss(30)
    e = np.linspace(math.log(0.5), -50.0, 100)[:, None]
    half = -0.5 * np.diff(e, axis=0)
    p = np.exp(e[:-1] - half * (1.0 + nodes))
    assert b.mean() == pytest.approx(np.sum((b.quantile(p) - b.mirrored().quantile(p)) * p * half * weights), rel=1e-9)


@pytest.mark.parametrize(("lower", "upper"), CUT)
def test_standard_deviation_against_quadrature(lower, upper):
    b = Background(lower, upper, location=3.0, scale=1.5)
    # As for the mean, with the squares; a tail of p contributes the cube root of p, so p has to be smaller still.
    nodes, weights = np.polynomial.legendre.leggauss(30)
    e = np.linspace(math.log(0.5), -120.0, 240)[:, None]
    half = -0.5 * np.diff(e, axis=0)
    p = np.exp(e[:-1] - half * (1.0 + nodes))
    squares = (b.quantile(p) - b.mean()) ** 2 + (b.mirrored().quantile(p) + b.mean()) ** 2
    assert b.std() ** 2 == pytest.approx(np.sum(squares * p * half * weights), rel=1e-9)


def test_standard_deviation_against_scipy():
    theirs = stats.t(3, -2.0, 0.3)
    assert Background(-INF, INF, location=-2.0, scale=0.3).std() == pytest.approx(theirs.std(), rel=1e-14)
    for lower, upper in ((-2.5, INF), (-INF, -1.0), (-2.5, -1.0), (-2.01, -1.99)):
        b = Background(lower, upper, location=-2.0, scale=0.3)
        about = lambda x, b=b: (x - b.mean()) ** 2  # noqa: E731
        assert b.std() ** 2 == pytest.approx(theirs.expect(about, lb=lower, ub=upper, conditional=True), rel=1e-7)
    # A narrow interval is uniform.
    assert Background(1.0, 1.0 + 1e-6, 1.0, 1.0).std() == pytest.approx(stats.uniform(1.0, 1e-6).std(), rel=1e-9)
    # Far bounds change nothing.
    assert Background(-1e300, 1e300, -2.0, 0.3).std() == pytest.approx(theirs.std(), rel=1e-12)


@pytest.mark.parametrize(("lower", "upper"), CUT)
def test_draws_follow_the_distribution_function(lower, upper):
    b = Background(lower, upper, location=3.0, scale=1.5)
    draws = b.draw(20_000, np.random.default_rng(1))
    assert np.all((draws >= lower) & (draws <= upper))
    assert stats.kstest(draws, lambda x: np.exp(b.log_cdf(x))).pvalue > 1e-3


def test_arrays_broadcast():
    rng = np.random.default_rng(2)
    rows = {
        "lower": np.array([-INF, 0.0, -INF, 0.0])[:, None],
        "upper": np.array([INF, INF, 9.0, 9.0])[:, None],
        "location": np.array([1.0, 2.0, 3.0, 4.0])[:, None],
        "scale": np.array([0.5, 1.0, 2.0, 4.0])[:, None],
    }
    x, p = rng.uniform(-1.0, 10.0, (4, 7)), rng.random((4, 7))
    for function, at in ((log_density, x), (log_cdf, x), (log_sf, x), (quantile, p)):
        found = function(at, **rows)
        assert found.shape == (4, 7)
        for i in range(4):
            one = function(at[i], **{name: float(column[i, 0]) for name, column in rows.items()})
            assert np.array_equal(found[i], one)
    for moment in (mean, std):
        assert moment(**rows).shape == (4, 1)
        assert np.all(np.isfinite(moment(**rows)))


def test_special_arguments():
    for lower, upper in CUT:
        b = Background(lower, upper, location=3.0, scale=1.5)
        at = [math.nan, lower, upper, -INF, INF]
        assert np.array_equal(b.log_cdf(at), [math.nan, -INF, 0.0, -INF, 0.0], equal_nan=True)
        assert np.array_equal(b.log_sf(at), [math.nan, 0.0, -INF, 0.0, -INF], equal_nan=True)
        assert np.array_equal(b.log_density(at[3:]), [-INF, -INF])
        assert math.isnan(b.log_density(math.nan))
    assert np.array_equal(Background(0.0, 2.0, 1.0, 1.0).log_density([-0.1, 2.1]), [-INF, -INF])


@pytest.mark.parametrize(
    "parts",
    [
        *((0.0, INF, 1.0, 0.0), (0.0, INF, 1.0, -1.0), (0.0, INF, 1.0, INF), (-INF, INF, INF, 1.0)),
        *((2.0, 1.0, 1.0, 1.0), (0.0, 1.0, math.nan, 1.0), (0.0, 1.0, 0.5, math.nan)),
    ],
)
def test_bad_parts(parts):
    with pytest.raises(InvalidParameterError, match="a background needs an interval"):
        Background(*parts)


@pytest.mark.parametrize("scale", [1e-10, 1e-6, 1.0])
@pytest.mark.parametrize(("lower", "upper"), [(-1e300, 1e300), (-1e300, 3.0), (-2.0, 1e299)])
def test_moments_between_far_bounds_are_those_of_an_open_side(lower, upper, scale):
    far = Background(lower, upper, 0.5, scale)
    open_sides = Background(lower if lower > -9.0 else -math.inf, upper if upper < 9.0 else math.inf, 0.5, scale)
    assert far.mean() == pytest.approx(open_sides.mean(), rel=1e-12)
    assert far.std() == pytest.approx(open_sides.std(), rel=1e-9)


def test_bounds_that_are_too_far_away_to_be_said_in_units_of_the_scale_are_none():
    near, far = (Background(-end, end, 1e-101, 7.5e-101) for end in (1e190, 1e300))
    y = np.array([-1e100, -1e-99, -1e-100, 0.0, 1e-101, 1e-100, 1e-99, 1e100])
    np.testing.assert_allclose(np.exp(far.log_cdf(y)) + np.exp(far.log_sf(y)), 1.0, rtol=1e-15)
    for name in ("log_density", "log_cdf", "log_sf"):
        np.testing.assert_allclose(getattr(far, name)(y), getattr(near, name)(y), rtol=1e-14, err_msg=name)
    p = np.array([1e-9, 0.2, 0.5, 0.8, 1.0 - 1e-9])
    np.testing.assert_allclose(far.quantile(p), near.quantile(p), rtol=1e-13)
