"""Cores with shares at anchors and of large samples, against those that look at every point for every bandwidth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from amortized_kde.density.background import Background
from amortized_kde.density.sums import BINNED_FROM, ladder_sum, truncated_sum

LIMITS = [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, 10.0), (0.0, 10.0)]
RUNGS = np.array([0.02, 0.03, 0.2, 1.0, 30.0])


def evaluated(loop, at):
    at = np.array(at, float)
    out = np.empty(at.size)
    loop(at, out, 0, at.size)
    return out


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
    rest = {"limits": limits, "epsilon": epsilon, "background": background}
    everywhere = np.stack([np.interp(np.arange(n), anchors, row) for row in shares])
    return (
        ladder_sum(points, weights, RUNGS, shares, anchors=anchors, **rest),
        ladder_sum(points, weights, RUNGS, everywhere, **rest),
    )


def arguments(limits):
    at = np.concatenate([np.linspace(-3.0, 14.0, 171), np.geomspace(1e-9, 9.9, 40), [-200.0, 300.0, 1e4]])
    return at[(at > limits[0]) & (at < limits[1])]


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@pytest.mark.parametrize("limits", LIMITS)
def test_shares_at_anchors_give_the_same_density(limits, epsilon):
    few, all_of_them = both(limits, epsilon=epsilon)
    at = arguments(limits)
    for name in ("log_density", "log_cdf", "log_sf"):
        exact = evaluated(getattr(all_of_them, name), at)
        np.testing.assert_allclose(evaluated(getattr(few, name), at), exact, rtol=1e-12, atol=1e-12)
    p = [0.0, 1e-300, 1e-9, 0.01, 0.5, 0.99, 1.0]
    np.testing.assert_allclose(evaluated(few.quantile, p), evaluated(all_of_them.quantile, p), rtol=1e-11, atol=1e-11)
    assert few.mean() == pytest.approx(all_of_them.mean(), rel=1e-12)
    assert few.std() == pytest.approx(all_of_them.std(), rel=1e-12)
    draws = (kernels.draw(50, np.random.default_rng(3)) for kernels in (few, all_of_them))
    np.testing.assert_allclose(*draws, rtol=1e-13)


@pytest.mark.parametrize("limits", LIMITS)
def test_binned_density(limits):
    few, all_of_them = both(limits, epsilon=1e-3, weights=10.0 ** np.random.default_rng(4).uniform(-8.0, 0.0, 3000))
    few.prepare_bins(1)
    at = np.concatenate([arguments(limits), [limits[0], limits[1], -1e9, 1e9, math.nan]])
    found, exact = evaluated(few.binned_density, at), np.exp(evaluated(all_of_them.log_density, at))
    untold = np.isnan(found)
    assert np.all(np.abs(at[untold & ~np.isnan(at)]) > 100.0)
    np.testing.assert_allclose(found[~untold], exact[~untold], rtol=1e-6)
    np.testing.assert_allclose(np.exp(evaluated(few.condensed_log_density, at)), exact, rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(-12.0, 0.0), st.sampled_from(LIMITS), st.sampled_from([-1, 1]))
def test_points_that_are_near_enough_make_the_whole_probability(seed, exponent, limits, side):
    few, all_of_them = both(limits, n=400, seed=seed)
    end, far = limits[(1 + side) // 2], 5.0 + 40.0 * side
    at = (far if math.isinf(end) else end) - side * 10.0**exponent * np.array([1.0, 0.3])
    for k in range(RUNGS.size):
        (near, theirs), (places, coefficients) = few.crowd.near(k, at, side), all_of_them.kernels_of(k)
        for x in at if places.size else ():
            low, high = (limits[0], x) if side < 0 else (x, limits[1])
            parts = [
                np.log(c) + log_mass((low - p) / RUNGS[k], (high - p) / RUNGS[k], abs(x - end) / RUNGS[k])
                for p, c in ((near, theirs), (places, coefficients))
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
def test_points_that_are_near_enough_make_the_whole_sum(seed, exponent):
    few, all_of_them = both((-math.inf, math.inf), n=400, seed=seed)
    rng = np.random.default_rng(seed)
    at = 5.0 + 10.0**exponent * rng.uniform(-1.0, 1.0, 5)
    for k in range(RUNGS.size):
        (near, theirs), (places, coefficients) = few.crowd.near(k, at, 0), all_of_them.kernels_of(k)
        if places.size == 0:
            assert near.size == 0
            continue
        for x in at:
            logs = [np.log(c) - 0.5 * ((x - p) / RUNGS[k]) ** 2 for p, c in ((near, theirs), (places, coefficients))]
            assert np.logaddexp.reduce(logs[0]) == pytest.approx(np.logaddexp.reduce(logs[1]), rel=1e-13, abs=1e-13)


def test_far_away_few_points_are_near():
    few, _ = both((-math.inf, math.inf))
    for side, at in ((0, [-5.0, -3.0]), (-1, [-5.0, -3.0]), (0, [13.0, 15.0]), (1, [13.0, 15.0])):
        places, _ = few.crowd.near(0, np.array(at), side)
        assert 0 < places.size < 1000


@pytest.mark.parametrize("limits", [*LIMITS, (0.0, 0.5)])
def test_one_bandwidth_of_a_large_sample(limits):
    rng = np.random.default_rng(5)
    high = min(limits[1], 10.0)
    points, h = np.sort(rng.beta(0.7, 3.0, BINNED_FROM) * high), 0.2
    large = truncated_sum(points, np.broadcast_to(1.0 / BINNED_FROM, BINNED_FROM), h, *limits)
    # Two halves, neither of which is large.
    weights = np.full(BINNED_FROM // 2, 2.0 / BINNED_FROM)
    half, other = (truncated_sum(points[i::2].copy(), weights, h, *limits) for i in (0, 1))
    assert large.crowd is not None
    assert half.crowd is None
    at = arguments(limits)[::5]
    # The density is the mean of both halves', by their masses between the limits.
    masses = [1.0 / kernels.kernels_of(0)[1][0] for kernels in (half, other)]
    shares = np.log(np.array(masses) / sum(masses))
    exact = np.logaddexp(evaluated(half.log_density, at) + shares[0], evaluated(other.log_density, at) + shares[1])
    np.testing.assert_allclose(evaluated(large.log_density, at), exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(evaluated(large.condensed_log_density, at), exact, rtol=1e-12, atol=1e-12)
    large.prepare_bins(2)
    found, told = evaluated(large.binned_density, at), np.exp(exact) > 1e-11 / h
    np.testing.assert_allclose(found[told], np.exp(exact)[told], rtol=1e-6)


def test_no_array_has_a_number_for_each_point_and_rung():
    few, _ = both((-math.inf, math.inf), n=20_000)
    few.prepare_bins(1)
    evaluated(few.log_density, np.linspace(-1.0, 11.0, 50))
    evaluated(few.log_density, [-1e4])
    assert "rungs" not in vars(few)
