"""What densities with one bandwidth answer; with several, see test_density_ladder.py, and contracts for all."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import scoringrules
from scipy import stats
from scipy.integrate import quad

from amortized_kde import KernelDensity
from amortized_kde.errors import (
    InvalidParameterError,
    InvalidSampleError,
)

X = np.random.default_rng(1).gamma(2.0, 1.0, 40)
BOUNDS = [None, (0.0, None), (None, 12.0), (0.0, 12.0)]


def ends(bounds):
    low, high = bounds or (None, None)
    return (-math.inf if low is None else low, math.inf if high is None else high)


def normal_mass(low, high):
    """Phi(high) - Phi(low) in mpmath, taken where both are small, so that they do not cancel."""
    return mpmath.ncdf(-low) - mpmath.ncdf(-high) if low > 0 else mpmath.ncdf(high) - mpmath.ncdf(low)


class Precise:
    """The same density in 50 digits, term by term."""

    def __init__(self, x, h, bounds=None, weights=None):
        self.h = mpmath.mpf(float(h))
        self.x = [mpmath.mpf(float(v)) for v in x]
        weights = np.ones(len(x)) if weights is None else weights
        self.w = [mpmath.mpf(float(v)) for v in weights]
        self.low, self.high = map(mpmath.mpf, ends(bounds))
        self.total = self.mass(self.low, self.high)

    def mass(self, low, high):
        return mpmath.fsum(
            w * normal_mass((mpmath.mpf(low) - x) / self.h, (mpmath.mpf(high) - x) / self.h)
            for w, x in zip(self.w, self.x, strict=True)
        )

    def logpdf(self, y):
        terms = (w * mpmath.npdf((mpmath.mpf(y) - x) / self.h) for w, x in zip(self.w, self.x, strict=True))
        return float(mpmath.log(mpmath.fsum(terms) / self.h / self.total))

    def logcdf(self, y):
        return float(mpmath.log(self.mass(self.low, y) / self.total))

    def logsf(self, y):
        return float(mpmath.log(self.mass(y, self.high) / self.total))


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize("bounds", [(0.0, 12.0), (0.0, math.inf), (-math.inf, 12.0), (-math.inf, math.inf)])
@pytest.mark.parametrize("h", [0.05, 0.5, 3.0])
def test_log_density_against_scoringrules(bounds, h):
    rng = np.random.default_rng(2)
    d = KernelDensity(X, bandwidth=h, bounds=bounds)
    outcomes = rng.uniform(0.01, 11.9, 300)
    # It takes the logarithm of a density, so it is exact only where that does not underflow.
    outcomes = outcomes[np.min(np.abs(outcomes[:, None] - X), axis=1) < 10.0 * h]
    ensembles = np.broadcast_to(X, (outcomes.size, X.size))
    theirs = scoringrules.clogs_ensemble(
        outcomes, ensembles, *bounds, bw=np.full(outcomes.size, h), cens=False, backend="numpy"
    )
    np.testing.assert_allclose(d.logpdf(outcomes), -theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bounds", [None, (0.0, None), (0.0, 1e4)])
@pytest.mark.parametrize("distance", [1.0, 9.0, 40.0, 300.0, 900.0])
def test_far_tail_against_mpmath(bounds, distance):
    h = 0.3
    d, precise = KernelDensity(X, bandwidth=h, bounds=bounds), Precise(X, h, bounds)
    y = float(X.max() + distance * h)
    assert d.logpdf(y) == pytest.approx(precise.logpdf(y), rel=1e-14)
    assert d.logsf(y) == pytest.approx(precise.logsf(y), rel=1e-13)
    assert math.isfinite(d.logpdf(y))
    if bounds is None:
        y = float(X.min() - distance * h)
        assert d.logpdf(y) == pytest.approx(precise.logpdf(y), rel=1e-14)
        assert d.logcdf(y) == pytest.approx(precise.logcdf(y), rel=1e-13)


@pytest.mark.parametrize("ratio", 10.0 ** np.arange(-6.0, 7.0))
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, None), (None, 1.0)])
def test_normaliser_with_bandwidths_from_a_millionth_to_a_million_intervals(ratio, bounds):
    x = np.array([0.0, 1e-7, 0.2, 0.55, 0.9, 1.0])
    d, precise = KernelDensity(x, bandwidth=ratio, bounds=bounds), Precise(x, ratio, bounds)
    for y in (0.0, 0.2, 0.5, 1.0):
        exact = precise.logpdf(y)
        assert d.logpdf(y) == pytest.approx(exact, rel=1e-14, abs=1e-12)


@pytest.mark.parametrize("ratio", [1e-3, 0.1, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, None), (None, 1.0)])
def test_tails_near_the_bounds_against_mpmath(ratio, bounds):
    x = np.array([0.0, 0.2, 0.55, 0.9, 1.0])
    d, precise = KernelDensity(x, bandwidth=ratio, bounds=bounds), Precise(x, ratio, bounds)
    for y in (1e-20, 1e-9, 0.3, 0.5, 0.999, float(np.nextafter(1.0, 0.0))):
        if bounds[0] is not None:
            assert d.logcdf(y) == pytest.approx(precise.logcdf(y), rel=1e-13, abs=1e-13)
        if bounds[1] is not None:
            assert d.logsf(y) == pytest.approx(precise.logsf(y), rel=1e-13, abs=1e-13)


PROBABILITIES = np.concatenate([[1e-300, 1e-20, 1e-12], np.linspace(0.0005, 0.9995, 400), [1.0 - 1e-12]])


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("h", [1e-4, 0.02, 0.4, 5.0, 1e5])
def test_quantiles_invert_the_distribution_function(bounds, h):
    d = KernelDensity(X, bandwidth=h, bounds=bounds)
    x = d.ppf(PROBABILITIES)
    assert np.all(np.diff(x) >= 0.0)
    assert np.max(np.abs(d.cdf(x) - PROBABILITIES)) <= 1e-12
    low, high = ends(bounds)
    assert np.all((x >= low) & (x <= high))
    # Where the density is not tiny the argument comes back.
    y = np.concatenate([X, X + 0.5 * h, X - 0.5 * h])
    y = y[(y > low) & (y < high)]
    # A probability near 1/2 is known to 1e-15, which moves the quantile by that over the density.
    np.testing.assert_allclose(d.ppf(d.cdf(y)), y, rtol=1e-12, atol=1e-14 + 1e-15 / np.min(d.pdf(y)))


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("h", [1e-4, 0.02, 0.4, 5.0, 1e5])
def test_upper_quantiles_invert_the_survival_function(bounds, h):
    d = KernelDensity(X, bandwidth=h, bounds=bounds)
    mirrored = KernelDensity(-X, bandwidth=h, bounds=None if bounds is None else [b and -b for b in bounds[::-1]])
    x = d.isf(PROBABILITIES)
    assert np.all(np.diff(x) <= 0.0)
    np.testing.assert_allclose(x, -mirrored.ppf(PROBABILITIES), rtol=1e-12, atol=1e-14)
    # Relative to the probability, be it 1e-300, up to the spacing of float64 numbers at x.
    spacing = d.pdf(x) * np.spacing(np.abs(x))
    assert np.all(np.abs(d.sf(x) - PROBABILITIES) <= 1e-12 * PROBABILITIES + 2.0 * spacing)


def test_upper_quantiles_against_scipy():
    d, q = KernelDensity([2.0], bandwidth=0.5), np.array([1e-300, 1e-30, 1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-9])
    np.testing.assert_allclose(d.isf(q), stats.norm.isf(q, 2.0, 0.5), rtol=1e-13)
    np.testing.assert_allclose(d.sf(d.isf(q)), q, rtol=1e-11)
    assert np.array_equal(d.isf([0.0, 1.0]), [math.inf, -math.inf])
    assert np.array_equal(KernelDensity(X, bandwidth=0.3, bounds=(0, 12)).isf([0.0, 1.0]), [12.0, 0.0])
    for bad in (-0.1, 1.1, math.nan, [0.5, 2.0]):
        with pytest.raises(InvalidParameterError, match=r"probabilities must lie in \[0, 1\]"):
            d.isf(bad)


def test_a_hundred_thousand_equal_points_do_not_add_up_their_rounding():
    d, y = KernelDensity(np.full(100_000, 0.3), bandwidth=1.0), np.array([-4.0, 0.0, 0.3, 1.0, 3.0, 7.0])
    np.testing.assert_allclose(d.cdf(y), stats.norm.cdf(y - 0.3), rtol=1e-13)
    np.testing.assert_allclose(d.pdf(y), stats.norm.pdf(y - 0.3), rtol=1e-13)


def test_quantiles_at_the_ends():
    assert np.array_equal(KernelDensity(X, bandwidth=0.3).ppf([0.0, 1.0]), [-math.inf, math.inf])
    assert np.array_equal(KernelDensity(X, bandwidth=0.3, bounds=(0, 12)).ppf([0.0, 1.0]), [0.0, 12.0])
    for bad in (-0.1, 1.1, math.nan, [0.5, 2.0]):
        with pytest.raises(InvalidParameterError, match=r"probabilities must lie in \[0, 1\]"):
            KernelDensity(X, bandwidth=0.3).ppf(bad)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("h", [0.01, 0.7, 20.0])
def test_draws_follow_the_distribution_function(bounds, h):
    d = KernelDensity(X, bandwidth=h, bounds=bounds, weights=np.arange(1.0, 41.0))
    draws = d.sample(20_000, rng=5)
    low, high = ends(bounds)
    assert np.all((draws >= low) & (draws <= high))
    assert stats.kstest(draws, d.cdf).pvalue > 1e-3


def test_draws_come_in_the_shape_asked_and_repeat_with_the_seed():
    d = KernelDensity(X, bandwidth=0.3, bounds=(0, None))
    assert isinstance(d.sample(rng=1), float)
    assert d.sample(0, rng=1).shape == (0,)
    assert d.sample((2, 3), rng=1).shape == (2, 3)
    assert np.array_equal(d.sample((2, 3), rng=1).ravel(), d.sample(6, rng=1))
    assert np.array_equal(d.sample(6, rng=np.random.default_rng(1)), d.sample(6, rng=1))
    assert not np.array_equal(d.sample(6, rng=1), d.sample(6, rng=2))
    assert not np.array_equal(d.sample(6), d.sample(6))
    for bad in (-1, 2.5, (3, -1), "six"):
        with pytest.raises(InvalidParameterError, match="size must be a whole number"):
            d.sample(bad)


def test_draws_by_the_names_of_scipy():
    d = KernelDensity(X, bandwidth=0.3, bounds=(0, None))
    for size in (None, 1, 5, (2, 3)):
        ours, theirs = d.rvs(size=size, random_state=1), stats.norm().rvs(size=size, random_state=1)
        assert np.shape(ours) == np.shape(theirs)
        assert np.array_equal(ours, d.sample(size, rng=1))
        assert np.array_equal(d.rvs(size, np.random.default_rng(1)), ours)
    old = [np.random.RandomState(seed) for seed in (1, 1, 2)]
    first, same, other = (d.rvs(6, random_state=state) for state in old)
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    # The old state moves on.
    assert not np.array_equal(d.rvs(6, random_state=old[0]), first)
    assert not np.array_equal(d.rvs(6), d.rvs(6))


def test_support_and_median():
    assert KernelDensity(X, bandwidth=0.3).support() == (-math.inf, math.inf)
    d = KernelDensity(X, bandwidth=0.3, bounds=(0, None))
    assert d.support() == (0.0, math.inf)
    assert d.median() == d.ppf(0.5)
    assert isinstance(d.median(), float)


def test_draws_of_a_point_at_a_bound():
    d = KernelDensity([0.0], bandwidth=1.0, bounds=(0, None))
    assert stats.kstest(d.sample(20_000, rng=3), stats.halfnorm.cdf).pvalue > 1e-3


@pytest.mark.parametrize("bounds", BOUNDS)
def test_whole_weights_are_repeated_points(bounds):
    weights = np.random.default_rng(4).integers(0, 4, X.size)
    weighted = KernelDensity(X, bandwidth=0.4, bounds=bounds, weights=weights)
    repeated = KernelDensity(np.repeat(X, weights), bandwidth=0.4, bounds=bounds)
    y = np.linspace(0.0, 12.0, 201)
    for name in ("logpdf", "cdf", "logsf"):
        np.testing.assert_allclose(getattr(weighted, name)(y), getattr(repeated, name)(y), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(weighted.ppf(PROBABILITIES), repeated.ppf(PROBABILITIES), rtol=1e-12)
    assert weighted.mean() == pytest.approx(repeated.mean(), rel=1e-13)
    assert weighted.points.size == np.sum(weights > 0)
    assert weighted.weights.sum() == pytest.approx(1.0, abs=1e-15)


def test_rescaled_weights_are_the_same():
    weights = np.random.default_rng(5).gamma(1.0, 1.0, X.size)
    a = KernelDensity(X, bandwidth=0.4, weights=weights)
    b = KernelDensity(X, bandwidth=0.4, weights=weights * 1e200)
    np.testing.assert_allclose(a.logpdf(X), b.logpdf(X), rtol=1e-14)


def test_weights_over_hundreds_of_decades():
    x, weights = np.array([0.0, 3.0, 50.0, 100.0]), np.array([1e-300, 1e-250, 1e-8, 1.0])
    d, precise = KernelDensity(x, bandwidth=1.0, weights=weights), Precise(x, 1.0, weights=weights)
    for y in (-20.0, 0.0, 1.5, 30.0, 45.0, 75.0, 300.0):
        assert d.logpdf(y) == pytest.approx(precise.logpdf(y), rel=1e-14)
        assert d.logcdf(y) == pytest.approx(precise.logcdf(y), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("h", [0.01, 0.8, 30.0])
def test_mean_against_quadrature(bounds, h):
    d = KernelDensity(X, bandwidth=h, bounds=bounds, weights=np.arange(1.0, 41.0))
    low, high = ends(bounds)
    low, high = max(low, X.min() - 12.0 * h), min(high, X.max() + 12.0 * h)
    edges = np.unique(np.concatenate([np.linspace(low, high, 200), X]))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    y = middle[:, None] + half[:, None] * nodes
    assert np.sum(d.pdf(y) * y * weights * half[:, None]) == pytest.approx(d.mean(), rel=1e-12)


@pytest.mark.parametrize("ratio", [1e-6, 1e-2, 1.0, 1e2, 1e4, 1e6])
def test_mean_with_bandwidths_beyond_the_interval(ratio):
    x = np.array([0.1, 0.2, 0.9])
    d, precise = KernelDensity(x, bandwidth=ratio, bounds=(0, 1)), Precise(x, ratio, (0, 1))
    pieces = sorted({0.0, 1.0, *(min(max(v + k * ratio, 0.0), 1.0) for v in x for k in (-9, -3, 0, 3, 9))})
    exact = sum(
        quad(lambda y: y * math.exp(precise.logpdf(y)), a, b, epsabs=1e-13, epsrel=1e-13)[0]
        for a, b in pairwise(pieces)
    )  # fmt: skip
    assert d.mean() == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("mass", [0.05, 0.5, 0.9, 0.999])
def test_intervals_hold_their_mass(bounds, mass):
    d = KernelDensity(X, bandwidth=0.6, bounds=bounds)
    low, high = d.interval(mass)
    assert d.cdf(low) == pytest.approx(d.sf(high), abs=1e-12)
    assert d.cdf(high) - d.cdf(low) == pytest.approx(mass, abs=1e-12)
    a, b = d.interval(mass, kind="highest-density")
    assert d.cdf(b) - d.cdf(a) == pytest.approx(mass, abs=1e-12)
    assert b - a <= high - low + 1e-12
    # No interval of the same mass is shorter.
    tails = np.linspace(0.0, 1.0 - mass, 2003)[1:-1]
    assert b - a <= np.min(d.ppf(tails + mass) - d.ppf(tails)) + 1e-9


def test_interval_of_one_kernel():
    d = KernelDensity([2.0], bandwidth=0.5)
    z = stats.norm.ppf(0.95) * 0.5
    np.testing.assert_allclose(d.interval(0.9), [2.0 - z, 2.0 + z], rtol=1e-13)
    np.testing.assert_allclose(d.interval(0.9, kind="highest-density"), [2.0 - z, 2.0 + z], rtol=1e-6)


def test_intervals_are_those_of_scipy():
    d, theirs = KernelDensity([2.0], bandwidth=0.5), stats.norm(2.0, 0.5)
    assert all(isinstance(end, float) for end in d.interval(confidence=0.9))
    for confidence in (0.0, 0.5, 1.0, [0.0, 0.2, 0.99, 1.0], np.full((2, 3), 0.7)):
        ours = d.interval(confidence)
        assert np.shape(ours) == (2, *np.shape(confidence))
        np.testing.assert_allclose(ours, theirs.interval(confidence), rtol=1e-13)
    assert KernelDensity(X, bandwidth=0.3, bounds=(0, None)).interval(1.0) == (0.0, math.inf)
    # Unlike SciPy's, the upper end is not the quantile of a rounded 1.
    low, high = d.interval(1.0 - 1e-15)
    assert 2.0 - low == high - 2.0


@pytest.mark.parametrize("mass", [0.0, 1.0, -0.1, 1.5, math.nan, [0.5, 0.6]])
def test_bad_masses(mass):
    d = KernelDensity([2.0], bandwidth=0.5)
    for act in (lambda m: d.interval(m, kind="highest-density"), d.region):
        with pytest.raises(InvalidParameterError, match="probability of an interval"):
            act(mass)
    for bad in (-0.1, 1.5, math.nan, [0.5, 2.0]):
        with pytest.raises(InvalidParameterError, match=r"probabilities must lie in \[0, 1\]"):
            d.interval(bad)
    with pytest.raises(InvalidParameterError, match="kind must be"):
        d.interval(0.5, kind="shortest")


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("mass", [0.05, 0.5, 0.9, 0.999])
def test_region_is_a_level_set_of_its_mass(bounds, mass):
    d = KernelDensity(X, bandwidth=0.15, bounds=bounds)
    region = d.region(mass)
    assert np.all(np.diff(region.ravel()) > 0.0)
    assert np.sum(d.cdf(region[:, 1]) - d.cdf(region[:, 0])) == pytest.approx(mass, abs=1e-10)
    # Every edge inside the bounds lies at one level, and no point outside is denser than one inside.
    low, high = ends(bounds)
    edges = region.ravel()
    edges = edges[(edges > low) & (edges < high)]
    level = d.logpdf(edges[0])
    np.testing.assert_allclose(d.logpdf(edges), level, atol=1e-8)
    y = np.linspace(max(low, -3.0), min(high, 14.0), 4001)
    inside = np.any((y[:, None] > region[:, 0] + 1e-9) & (y[:, None] < region[:, 1] - 1e-9), axis=1)
    outside = np.all((y[:, None] < region[:, 0] - 1e-9) | (y[:, None] > region[:, 1] + 1e-9), axis=1)
    assert np.min(d.logpdf(y[inside])) >= level - 1e-8
    assert np.max(d.logpdf(y[outside])) <= level + 1e-8
    shortest = d.interval(mass, kind="highest-density")
    assert np.sum(region[:, 1] - region[:, 0]) <= shortest[1] - shortest[0] + 1e-7


def test_two_clusters_give_two_regions():
    d = KernelDensity([0.0, 10.0], bandwidth=1.0)
    assert d.region(0.9).shape == (2, 2)
    assert d.region(0.9)[0, 1] < d.region(0.9)[1, 0]


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("h", [1e-3, 1.0, 1e4])
def test_two_kernels_part_at_two_bandwidths(offset, h):
    # The sum of two equal normal densities has two modes if and only if they are more than 2h apart.
    centre = offset * h
    together = KernelDensity([centre - 0.99 * h, centre + 0.99 * h], bandwidth=h).modes(prominence=0).places
    np.testing.assert_allclose(together, [centre], atol=1e-3 * h)
    apart = KernelDensity([centre - 1.02 * h, centre + 1.02 * h], bandwidth=h).modes(prominence=0).places
    assert apart.size == 2
    # Between them lies the valley: the modes are the roots of u = a tanh(a u).
    u = 0.2
    for _ in range(2000):
        u = 1.02 * math.tanh(1.02 * u)
    np.testing.assert_allclose(apart, [centre - u * h, centre + u * h], atol=1e-5 * h)


def test_modes_against_a_dense_grid():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, h = rng.standard_normal(30), rng.uniform(0.02, 0.5)
        bounds = (None, None) if seed % 2 else (x.min(), x.max() + 0.01)
        d = KernelDensity(x, bandwidth=h, bounds=bounds)
        low, high = (b if b is not None else x.min() - s for b, s in zip(bounds, (4.0, -12.0), strict=True))
        y = np.linspace(low, high, 60001)
        log = np.concatenate([[-math.inf], d.logpdf(y), [-math.inf]])
        peaks = y[(log[1:-1] > log[:-2]) & (log[1:-1] >= log[2:])]
        modes = d.modes(prominence=0)
        np.testing.assert_allclose(modes.places, peaks, atol=2e-3)
        assert np.array_equal(modes.heights, d.pdf(modes.places))
        assert np.all(np.isin(d.modes(prominence=0.2).places, modes.places))
        assert d.modes(prominence=0.99).places.tolist() == [modes.places[np.argmax(modes.heights)]]


def test_modes_at_the_bounds():
    d = KernelDensity([0.0, 1.0], bandwidth=0.05, bounds=(0, 1))
    np.testing.assert_allclose(d.modes(prominence=0).places, [0.0, 1.0], atol=1e-12)
    # The kernel's centre is at the bound: the density falls from there.
    assert KernelDensity([0.0], bandwidth=1.0, bounds=(0, None)).modes(prominence=0).places.tolist() == [0.0]


@pytest.mark.parametrize("h", [3.0, 8.0, 20.0, 100.0])
@pytest.mark.parametrize("x", [[0.0, 0.2, 1.0], [0.5, 0.9], [0.0, 1.0]])
def test_a_bandwidth_beyond_the_interval_leaves_one_mode_near_the_mean_of_the_points(x, h):
    # log q is -(y - mean)^2 / 2h^2 up to terms of the fourth order.
    modes = KernelDensity(x, bandwidth=h, bounds=(0, 1)).modes(prominence=0).places
    np.testing.assert_allclose(modes, [np.mean(x)], atol=0.02 * (3.0 / h) ** 2 + 2e-7 * h)


def test_a_flat_density_has_one_mode():
    # At a million intervals the log-density varies by 1e-13: where the mode lies is rounding, that there is one is not.
    d = KernelDensity([0.1, 0.4, 0.9], bandwidth=1e6, bounds=(0, 1))
    assert len(d.modes(prominence=0)) == 1
    region = d.region(0.5)
    assert np.sum(d.cdf(region[:, 1]) - d.cdf(region[:, 0])) == pytest.approx(0.5, abs=0.01)


def test_a_single_point():
    d = KernelDensity([7.0], bandwidth=2.0)
    assert d.domain == (1.0, 13.0)
    assert KernelDensity([7.0], bandwidth=2.0, bounds=(5, None)).domain == (5.0, 13.0)
    np.testing.assert_allclose(d.logpdf([5.0, 7.0]), stats.norm.logpdf([5.0, 7.0], 7.0, 2.0), rtol=1e-14)
    assert d.modes(prominence=0).places == pytest.approx([7.0], abs=1e-6)
    assert d.mean() == 7.0


def test_results_have_the_shape_of_the_argument():
    d = KernelDensity(X, bandwidth=0.4, bounds=(0, 12))
    for act in (d.pdf, d.logpdf, d.cdf, d.sf, d.logcdf, d.logsf, d.ppf, d.isf):
        assert isinstance(act(0.5), float)
        assert isinstance(act(np.array(0.5)), float)
        assert act([]).shape == (0,)
        assert act([[0.5, 0.6]]).shape == (1, 2)
        assert act(np.full((2, 1, 3), 0.5)).shape == (2, 1, 3)
        assert np.array_equal(act(np.full((3, 2), 0.5).T), act(np.full((2, 3), 0.5)))
        with pytest.raises(InvalidSampleError, match="must hold real numbers"):
            act("0.5")


def test_outside_the_bounds_and_special_arguments():
    d = KernelDensity(X, bandwidth=0.4, bounds=(0, 12))
    y = [-1.0, 13.0, -math.inf, math.inf, math.nan]
    assert np.array_equal(d.pdf(y), [0.0, 0.0, 0.0, 0.0, math.nan], equal_nan=True)
    assert np.array_equal(d.logpdf(y), [-math.inf] * 4 + [math.nan], equal_nan=True)
    assert np.array_equal(d.cdf(y), [0.0, 1.0, 0.0, 1.0, math.nan], equal_nan=True)
    assert np.array_equal(d.sf(y), [1.0, 0.0, 1.0, 0.0, math.nan], equal_nan=True)
    assert np.array_equal(d.cdf([0.0, 12.0]), [0.0, 1.0])
    assert np.all(d.pdf([0.0, 12.0]) > 0.0)
