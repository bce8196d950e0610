"""The laws that every density obeys (docs/architecture.md): with and without bounds, with and without weights."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde import KernelDensity

SHAPES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "skewed": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "clusters": lambda rng, n: rng.normal(0.0, 0.1, n) + rng.choice([-3.0, 0.0, 1.0], n),
    "rounded": lambda rng, n: np.round(rng.standard_normal(n), 1),
    "many zeros": lambda rng, n: rng.exponential(2.0, n) * (rng.random(n) > 0.4),
    "outlier": lambda rng, n: np.append(rng.standard_normal(n - 1), 60.0),
    "constant": lambda rng, n: np.full(n, 0.7),
}
WEIGHTS = {
    "equal": lambda rng, n: None,
    "gamma": lambda rng, n: rng.gamma(0.7, 1.0, n),
    "some zero": lambda rng, n: np.append(rng.integers(0, 3, n - 1), 1),
    "decades": lambda rng, n: 10.0 ** rng.uniform(-60.0, 0.0, n),
}


@st.composite
def parts(draw):
    """Sample, bandwidth, bounds and weights of a density."""
    n = draw(st.one_of(st.integers(1, 8), st.integers(9, 300)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = SHAPES[draw(st.sampled_from(sorted(SHAPES)))](rng, n)
    h = 10.0 ** draw(st.floats(-2.0, 2.0)) * (np.std(x) if np.ptp(x) > 0.0 else 1.0)
    margins = st.sampled_from([None, 0.0, 0.01, 1.0])
    low, high, span = draw(margins), draw(margins), np.ptp(x) or 1.0
    if low == high == 0.0 and np.ptp(x) == 0.0:
        high = 1.0
    bounds = (None if low is None else x.min() - low * span, None if high is None else x.max() + high * span)
    weights = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))](rng, n)
    return x, h, bounds, weights


def build(x, h, bounds, weights):
    return KernelDensity(x, bandwidth=h, bounds=bounds, weights=weights)


def arguments(d):
    """Where a density is interesting: from far outside through the points, within the bounds."""
    lower, upper = (-math.inf if d.bounds[0] is None else d.bounds[0], math.inf if d.bounds[1] is None else d.bounds[1])
    steps = np.array([-300.0, -30.0, -3.0, -1.0, -0.1, 0.0, 0.1, 1.0, 3.0, 30.0, 300.0]) * d.bandwidth
    y = np.concatenate([d.points[[0, d.points.size // 2, -1]][:, None] + steps, d.grid(11)[None, :]], axis=0).ravel()
    return y[(y >= lower) & (y <= upper)]


def panels(d):
    """Edges no more than half a bandwidth apart wherever there is mass."""
    # Of the upper side there is no probability so close to 1, so ten bandwidths say the same.
    low, high = d.ppf(1e-18), d.points[-1] + 10.0 * d.bandwidth
    high = high if d.bounds[1] is None else min(high, d.bounds[1])
    step = 0.5 * d.bandwidth
    cells = np.unique(np.floor((d.points - d.points[0]) / step)[:, None] + np.arange(-20.0, 21.0))
    edges = np.unique(np.concatenate([cells * step + d.points[0], [low, high]]))
    return edges[(edges >= low) & (edges <= high)]


NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)


def integrals(d, low, high):
    """Integral of the density over each interval."""
    half = 0.5 * (high - low)[:, None]
    return np.sum(d.pdf(low[:, None] + half * (1.0 + NODES)) * NODE_WEIGHTS * half, axis=1)


@given(parts())
def test_mass_is_one(given_parts):
    d = build(*given_parts)
    edges = panels(d)
    # Between cells far from all points there is nothing.
    near = np.diff(edges) <= 0.51 * d.bandwidth
    assert np.sum(integrals(d, edges[:-1][near], edges[1:][near])) == pytest.approx(1.0, abs=1e-11)


@given(parts())
def test_density_is_the_derivative_of_the_distribution_function(given_parts):
    d = build(*given_parts)
    edges = panels(d)
    edges = edges[:: max(1, edges.size // 60)]
    low = edges[:-1]
    high = np.minimum(edges[1:], low + 0.5 * d.bandwidth)
    np.testing.assert_allclose(d.cdf(high) - d.cdf(low), integrals(d, low, high), rtol=1e-11, atol=2e-14)
    np.testing.assert_allclose(d.sf(low) - d.sf(high), integrals(d, low, high), rtol=1e-11, atol=2e-14)


@given(parts())
def test_distribution_function_rises_from_0_to_1(given_parts):
    d = build(*given_parts)
    y = np.sort(arguments(d))
    assert np.all(np.diff(d.cdf(y)) >= -1e-15)
    np.testing.assert_allclose(d.cdf(y) + d.sf(y), 1.0, rtol=1e-13)
    assert np.array_equal(d.cdf([-math.inf, math.inf]), [0.0, 1.0])


@given(parts(), st.integers(0, 1000))
def test_quantiles(given_parts, seed):
    d = build(*given_parts)
    p = np.concatenate([np.random.default_rng(seed).random(20), [0.5, 1e-9, 1.0 - 1e-9, 1e-200]])
    x = d.ppf(p)
    # The spacing of float64 numbers at x limits what any x can give.
    spacing = d.pdf(x) * np.spacing(np.abs(x))
    assert np.all(np.abs(d.cdf(x) - p) <= np.maximum(1e-12, spacing))
    y = d.points[:: max(1, d.points.size // 20)]
    y = y[d.pdf(y) * d.bandwidth > 1e-6]
    assert np.all(np.abs(d.ppf(d.cdf(y)) - y) * d.pdf(y) <= 1e-14 + 4.0 * d.pdf(y) * np.spacing(np.abs(y)))


@given(parts())
def test_log_density_is_finite_hundreds_of_bandwidths_away(given_parts):
    d = build(*given_parts)
    log = d.logpdf(arguments(d))
    assert np.all(np.isfinite(log))
    assert np.array_equal(d.pdf(arguments(d)), np.exp(log))


@given(parts(), st.floats(-1e6, 1e6), st.floats(-6.0, 6.0))
def test_shift_and_scale(given_parts, offset, exponent):
    x, h, bounds, weights = given_parts
    factor = 10.0**exponent
    shift = offset * factor
    d = build(x, h, bounds, weights)
    there = build(shift + factor * x, factor * h, [None if b is None else shift + factor * b for b in bounds], weights)
    y = arguments(d)
    moved = shift + factor * y
    if there.bounds[0] is not None:
        moved = np.maximum(moved, there.bounds[0])
    if there.bounds[1] is not None:
        moved = np.minimum(moved, there.bounds[1])
    # An ulp of the offset is so many bandwidths or intervals, and moves the log-density by its slope times that.
    finest = h if None in bounds else min(h, bounds[1] - bounds[0])
    rounded = 1e-9 + 4e-16 * (abs(offset) + np.max(np.abs(x))) / finest
    u = np.abs(y[:, None] - d.points).min(axis=1) / h + 1.0 + np.ptp(x) / h
    tolerance = rounded * u
    assert np.all(np.abs(there.logpdf(moved) + math.log(factor) - d.logpdf(y)) <= tolerance)
    # Where a probability is not tiny.
    assert np.all(np.abs(there.cdf(moved) - d.cdf(y)) <= rounded)
    assert abs((there.mean() - shift) / factor - d.mean()) <= rounded * (h + np.ptp(x))


@given(parts())
def test_reflection(given_parts):
    x, h, bounds, weights = given_parts
    d = build(x, h, bounds, weights)
    mirrored = build(-x, h, [None if b is None else -b for b in bounds[::-1]], weights)
    y = arguments(d)
    np.testing.assert_allclose(mirrored.logpdf(-y), d.logpdf(y), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(mirrored.logsf(-y), d.logcdf(y), rtol=1e-13, atol=1e-13)
    p = np.array([0.01, 0.3, 0.8])
    np.testing.assert_allclose(d.cdf(-mirrored.ppf(p)), 1.0 - p, atol=1e-12)
    assert mirrored.mean() == pytest.approx(-d.mean(), rel=1e-12, abs=1e-12 * (h + np.ptp(x)))


@given(parts(), st.integers(0, 1000))
def test_permutation(given_parts, seed):
    x, h, bounds, weights = given_parts
    order = np.random.default_rng(seed).permutation(x.size)
    d = build(x, h, bounds, weights)
    shuffled = build(x[order], h, bounds, None if weights is None else np.asarray(weights)[order])
    y = arguments(d)
    np.testing.assert_allclose(shuffled.logpdf(y), d.logpdf(y), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(shuffled.cdf(y), d.cdf(y), rtol=1e-13, atol=1e-15)


@given(parts())
def test_input_stays_and_pickle_keeps_every_bit(given_parts):
    x, h, bounds, weights = given_parts
    before = x.copy(), None if weights is None else np.array(weights)
    d = build(x, h, bounds, weights)
    twin = pickle.loads(pickle.dumps(d))
    y = arguments(d)
    kept = y.copy()
    assert np.array_equal(twin.logpdf(y), d.logpdf(y))
    assert np.array_equal(twin.cdf(y), d.cdf(y))
    assert np.array_equal(twin.sample(7, rng=5), d.sample(7, rng=5))
    assert np.array_equal(x, before[0])
    assert weights is None or np.array_equal(weights, before[1])
    assert np.array_equal(y, kept)
