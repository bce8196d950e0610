import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from amortized_kde import KernelDensity
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density import moments
from amortized_kde.density.background import Background

X = np.random.default_rng(1).gamma(2.0, 1.0, 40)
LIMITS = [Bounds(), Bounds(0.0), Bounds(-math.inf, 12.0), Bounds(0.0, 12.0)]


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def precise_moments(d):
    """Mean and standard deviation of a density without background in 60 digits, by the textbook's formulas."""
    masses, firsts, seconds = [], [], []
    low, high = map(mpmath.mpf, d.support())
    for row, h in zip(d.shares.tolist(), map(mpmath.mpf, d.bandwidths.tolist()), strict=True):
        for x, v, w in zip(map(mpmath.mpf, d.points.tolist()), d.weights.tolist(), row, strict=True):
            a, b = (low - x) / h, (high - x) / h
            whole = mpmath.ncdf(b) - mpmath.ncdf(a)
            edge_a, edge_b = (0 if mpmath.isinf(z) else z * mpmath.npdf(z) for z in (a, b))
            mean = h * (mpmath.npdf(a) - mpmath.npdf(b)) / whole
            square = h * h * (1 + (edge_a - edge_b) / whole)
            # The paper's form cuts the sum as a whole, the other each kernel by itself.
            masses.append(mpmath.mpf(v) * w * (whole if d._parts.shares is None else 1))
            firsts.append(x + mean)
            seconds.append(x * x + 2 * x * mean + square)
    total = mpmath.fsum(masses)
    mean = mpmath.fdot(masses, firsts) / total
    return float(mean), float(mpmath.sqrt(mpmath.fdot(masses, seconds) / total - mean * mean))


@pytest.mark.parametrize("bounds", LIMITS)
@pytest.mark.parametrize("h", [1e-6, 0.01, 0.7, 20.0, 1e6])
def test_one_bandwidth_against_mpmath(bounds, h):
    d = KernelDensity(X, bandwidth=h, bounds=bounds, weights=np.arange(1.0, 41.0))
    mean, std = precise_moments(d)
    assert d.mean() == pytest.approx(mean, rel=1e-13)
    assert d.std() == pytest.approx(std, rel=1e-13)


@pytest.mark.parametrize("bounds", LIMITS)
def test_a_ladder_against_mpmath(bounds):
    shares = np.random.default_rng(2).dirichlet(np.full(3, 0.5), 40).T
    d = KernelDensity.from_ladder(read_sample(X), [0.003, 0.5, 40.0], shares, bounds=bounds)
    mean, std = precise_moments(d)
    assert d.mean() == pytest.approx(mean, rel=1e-13)
    assert d.std() == pytest.approx(std, rel=1e-13)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("h", [0.1, 1.0, 5.0])
def test_one_kernel_against_scipy(x, h):
    d, theirs = KernelDensity([x], bandwidth=h, bounds=(0, 1)), stats.truncnorm((0.0 - x) / h, (1.0 - x) / h, x, h)
    assert d.mean() == pytest.approx(theirs.mean(), rel=1e-9)
    assert d.std() == pytest.approx(theirs.std(), rel=1e-9)
    assert d.var() == pytest.approx(theirs.var(), rel=1e-9)
    d = KernelDensity([0.0], bandwidth=h, bounds=(0, None))
    assert (d.mean(), d.std()) == pytest.approx((stats.halfnorm.mean(0, h), stats.halfnorm.std(0, h)), rel=1e-13)


@pytest.mark.parametrize("bounds", LIMITS)
def test_the_background_adds_its_share(bounds):
    shares, epsilon = np.random.default_rng(3).dirichlet(np.ones(2), 40).T, 0.1
    background = Background(*bounds, location=1.5, scale=1.2)
    d = KernelDensity.from_ladder(
        read_sample(X), [0.1, 2.0], shares, bounds=bounds, epsilon=epsilon, background=background
    )
    kernels = KernelDensity.from_ladder(read_sample(X), [0.1, 2.0], shares, bounds=bounds)
    mean = (1.0 - epsilon) * kernels.mean() + epsilon * background.mean()
    between = (1.0 - epsilon) * epsilon * (kernels.mean() - background.mean()) ** 2
    within = (1.0 - epsilon) * kernels.var() + epsilon * background.std() ** 2
    assert d.mean() == pytest.approx(mean, rel=1e-13)
    assert d.var() == pytest.approx(within + between, rel=1e-13)


@pytest.mark.parametrize("bounds", LIMITS)
def test_condensed_kernels_have_the_same_moments(bounds):
    # With 20 000 points some stand for others, at the upper end even from beyond it.
    x = np.random.default_rng(4).uniform(0.0, 12.0, 20_000)
    d = KernelDensity.from_ladder(read_sample(x), [0.5, 30.0], np.full((2, x.size), 0.5), bounds=bounds)
    exact, quick = d._kernels.complete, d._kernels.condensed
    assert quick.rungs.places.size < 0.1 * exact.rungs.places.size
    assert quick.rungs.places.max() > 12.1
    assert d.mean() == moments.mean(quick) == pytest.approx(moments.mean(exact), rel=1e-13)
    assert d.std() == moments.std(quick) == pytest.approx(moments.std(exact), rel=1e-12)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_squares_neither_vanish_nor_overflow(factor):
    d, there = KernelDensity(X, bandwidth=0.5), KernelDensity(X * factor, bandwidth=0.5 * factor)
    assert there.std() == pytest.approx(factor * d.std(), rel=1e-13)


def test_an_offset_costs_no_more_than_its_own_rounding():
    d, there = KernelDensity(X, bandwidth=0.5), KernelDensity(X + 1e9, bandwidth=0.5)
    assert there.std() == pytest.approx(d.std(), rel=1e-6)
    assert there.mean() - 1e9 == pytest.approx(d.mean(), abs=2e-7)
