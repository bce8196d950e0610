"""Kernels with shares at anchors and of large samples, against those of every point and every bandwidth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import norm

from amortized_kde.data.support import Bounds
from amortized_kde.density import moments
from amortized_kde.density.background import Background
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import BINNED_FROM, Ladder, SingleBandwidth, collapse_equal

LIMITS = [Bounds(), Bounds(0.0), Bounds(upper=10.0), Bounds(0.0, 10.0)]
RUNGS = np.array([0.02, 0.03, 0.2, 1.0, 30.0])


def both(limits, n=3000, epsilon=0.0, weights=None, seed=1):
    """The same density twice: shares at anchors, and at all points."""
    rng = np.random.default_rng(seed)
    points = np.sort(rng.beta(0.5, 2.0, n) * 10.0)
    anchors = np.unique(np.append(rng.integers(0, n, 30), [0, n - 1]))
    shares = rng.gamma(0.5, size=(RUNGS.size, anchors.size)) * (rng.random((RUNGS.size, anchors.size)) > 0.5)
    shares[1] += 0.01
    shares /= shares.sum(axis=0)
    weights = np.broadcast_to(1.0 / n, n) if weights is None else weights / weights.sum()
    background = Background(*limits, location=5.0, scale=1.0)
    everywhere = np.stack([np.interp(np.arange(n), anchors, row) for row in shares])
    few = Ladder(points, weights, RUNGS, shares, limits, 1.0 - epsilon, anchors)
    all_of_them = Ladder(points, weights, RUNGS, everywhere, limits, 1.0 - epsilon)
    return KernelSum(few, epsilon, background), KernelSum(all_of_them, epsilon, background)


def arguments(limits):
    at = np.concatenate([np.linspace(-3.0, 14.0, 171), np.geomspace(1e-9, 9.9, 40), [-200.0, 300.0, 1e4]])
    return at[(at > limits[0]) & (at < limits[1])]


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@pytest.mark.parametrize("limits", LIMITS)
def test_shares_at_anchors_give_the_same_density(limits, epsilon):
    few, all_of_them = both(limits, epsilon=epsilon)
    at = arguments(limits)
    for name in ("log_density", "log_cdf", "log_sf"):
        exact = getattr(all_of_them, name)(at)
        np.testing.assert_allclose(getattr(few, name)(at), exact, rtol=1e-12, atol=1e-12)
    p = np.array([0.0, 1e-300, 1e-9, 0.01, 0.5, 0.99, 1.0])
    np.testing.assert_allclose(few.quantile(p), all_of_them.quantile(p), rtol=1e-11, atol=1e-11)
    for moment in (moments.mean, moments.std):
        assert moment(few.for_moments) == pytest.approx(moment(all_of_them.for_moments), rel=1e-12)
    draws = (kernels.draw(50, np.random.default_rng(3)) for kernels in (few, all_of_them))
    np.testing.assert_allclose(*draws, rtol=1e-13)


@pytest.mark.parametrize("limits", LIMITS)
def test_binned_density(limits):
    few, all_of_them = both(limits, epsilon=1e-3, weights=10.0 ** np.random.default_rng(4).uniform(-8.0, 0.0, 3000))
    at = np.concatenate([arguments(limits), [limits[0], limits[1], -1e9, 1e9, math.nan]])
    found, exact = few.binned_density(few.bins(1), at), np.exp(all_of_them.log_density(at))
    missing = np.isnan(found)
    assert np.all(np.abs(at[missing & ~np.isnan(at)]) > 100.0)
    np.testing.assert_allclose(found[~missing], exact[~missing], rtol=1e-6)
    np.testing.assert_allclose(np.exp(few.condensed_log_density(at)), exact, rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(-12.0, 0.0), st.sampled_from(LIMITS), st.sampled_from(["lower", "upper"]))
def test_points_that_reach_an_argument_make_the_whole_probability(seed, exponent, limits, tail):
    few, all_of_them = both(limits, n=400, seed=seed)
    side = -1 if tail == "lower" else 1
    end, far = limits[(1 + side) // 2], 5.0 + 40.0 * side
    at = (far if math.isinf(end) else end) - side * 10.0**exponent * np.array([1.0, 0.3])
    for k in range(RUNGS.size):
        near, (places, coefficients) = few.source.kernels_reaching(k, at, tail), all_of_them.source.rung(k)
        for x in at if places.size else ():
            low, high = (limits[0], x) if side < 0 else (x, limits[1])
            parts = [
                np.log(c) + log_mass((low - p) / RUNGS[k], (high - p) / RUNGS[k], abs(x - end) / RUNGS[k])
                for p, c in (near, (places, coefficients))
            ]
            assert np.logaddexp.reduce(parts[0]) == pytest.approx(np.logaddexp.reduce(parts[1]), rel=1e-12, abs=1e-12)


def log_mass(a, b, width):
    """Logarithm of the normal probability from a to b: of a narrow interval the density in the middle times `width`."""
    if width < 1e-6:
        return -0.5 * (0.5 * (a + b)) ** 2 - 0.5 * math.log(2.0 * math.pi) + math.log(width)
    above = a > 0.0
    far, nearer = np.where(above, -b, a), np.where(above, -a, b)
    return log_ndtr(nearer) + np.log1p(-np.exp(log_ndtr(far) - log_ndtr(nearer)))


@given(st.integers(0, 2**32 - 1), st.floats(-1.0, 3.0))
def test_points_that_reach_an_argument_make_the_whole_sum(seed, exponent):
    few, all_of_them = both(Bounds(), n=400, seed=seed)
    rng = np.random.default_rng(seed)
    at = 5.0 + 10.0**exponent * rng.uniform(-1.0, 1.0, 5)
    for k in range(RUNGS.size):
        near, (places, coefficients) = few.source.kernels_reaching(k, at), all_of_them.source.rung(k)
        if places.size == 0:
            assert near.places.size == 0
            continue
        for x in at:
            logs = [np.log(c) - 0.5 * ((x - p) / RUNGS[k]) ** 2 for p, c in (near, (places, coefficients))]
            assert np.logaddexp.reduce(logs[0]) == pytest.approx(np.logaddexp.reduce(logs[1]), rel=1e-13, abs=1e-13)


def test_few_points_reach_far_away():
    few, _ = both(Bounds())
    for tail, at in ((None, [-5.0, -3.0]), ("lower", [-5.0, -3.0]), (None, [13.0, 15.0]), ("upper", [13.0, 15.0])):
        places, _ = few.source.kernels_reaching(0, np.array(at), tail)
        assert 0 < places.size < 1000


@pytest.mark.parametrize("limits", [*LIMITS, Bounds(0.0, 0.5)])
def test_one_bandwidth_of_a_large_sample(limits):
    rng = np.random.default_rng(5)
    high = min(limits[1], 10.0)
    points, h = np.sort(rng.beta(0.7, 3.0, BINNED_FROM) * high), 0.2
    large = KernelSum(SingleBandwidth(points, np.broadcast_to(1.0 / BINNED_FROM, BINNED_FROM), h, limits))
    # Two halves, neither of which is large.
    weights = np.full(BINNED_FROM // 2, 2.0 / BINNED_FROM)
    half, other = (KernelSum(SingleBandwidth(points[i::2].copy(), weights, h, limits)) for i in (0, 1))
    assert large.source.is_large
    assert not half.source.is_large
    at = arguments(limits)[::5]
    # The density is the mean of both halves', by their masses between the limits.
    masses = [1.0 / kernels.source.rung(0).coefficients[0] for kernels in (half, other)]
    parts = np.log(np.array(masses) / sum(masses))
    exact = np.logaddexp(half.log_density(at) + parts[0], other.log_density(at) + parts[1])
    np.testing.assert_allclose(large.log_density(at), exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(large.condensed_log_density(at), exact, rtol=1e-12, atol=1e-12)
    found, high_enough = large.binned_density(large.bins(2), at), np.exp(exact) > 1e-11 / h
    np.testing.assert_allclose(found[high_enough], np.exp(exact)[high_enough], rtol=1e-6)


def test_no_array_has_a_number_for_each_point_and_rung():
    few, _ = both(Bounds(), n=20_000)
    few.bins(1)
    few.log_density(np.linspace(-1.0, 11.0, 50))
    few.log_density(np.array([-1e4]))
    assert "complete" not in vars(few)


def test_equal_weights_collapse_to_one_number():
    assert collapse_equal(np.broadcast_to(0.25, 4)).tolist() == [0.25]
    weights = np.full(4, 0.25)
    assert collapse_equal(weights) is weights


def test_points_in_one_place_are_one_kernel():
    rng = np.random.default_rng(3)
    points, weights = np.sort(rng.integers(0, 5, 300)).astype(float), rng.dirichlet(np.ones(300))
    one = SingleBandwidth(points, weights, 0.3, Bounds(0.0, 9.0))
    places, _ = one.rung(0)
    assert places.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    y = np.linspace(0.0, 9.0, 50)
    mass = (norm.cdf(9.0, points, 0.3) - norm.cdf(0.0, points, 0.3)) @ weights
    slow = norm.pdf(y[:, None], points, 0.3) @ weights / mass
    np.testing.assert_allclose(np.exp(KernelSum(one).log_density(y)), slow, rtol=1e-11)
    assert np.isin(one.draw(100, rng).round(), np.arange(6.0)).all()
