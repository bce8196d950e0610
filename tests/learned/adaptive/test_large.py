"""Predictions for large samples, checked against plain sums over all values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import amortized_kde as akde
from amortized_kde.data.reading import read_samples
from amortized_kde.learned.adaptive.large import (
    _scores,
    averaged_shares,
    bandwidth_multiplier,
    moved_bandwidth,
    quantile_nodes,
)

WHOLE_LINE = (-math.inf, math.inf)


def factor(x, local, *, bounds=WHOLE_LINE, size_ratio=1000.0, weights=None):
    """With one bandwidth for all values."""
    samples = read_samples([x], axis=-1, weights=None if weights is None else [weights])
    return bandwidth_multiplier(samples, bounds, np.array([0, len(x) - 1]), np.full(2, local), size_ratio)


def claw(rng, n):
    narrow = rng.random(n) < 0.5
    return np.where(narrow, rng.integers(-2, 3, n) / 2.0 + 0.1 * rng.standard_normal(n), rng.standard_normal(n))


def slow_score(x, h, bounds, low, high):
    """Mean of ln q(x_i), each value left out in turn, over all between the limits, less the integral of q there."""

    def mass(a, b):
        return 0.5 * (math.erf(b / math.sqrt(2.0)) - math.erf(a / math.sqrt(2.0)))

    inside = np.array([mass((bounds[0] - xi) / hi, (bounds[1] - xi) / hi) for xi, hi in zip(x, h, strict=True)])
    height = 1.0 / (math.sqrt(2.0 * math.pi) * h * inside)
    total = 0.0
    for i in np.flatnonzero((x > low) & (x < high)):
        terms = height * np.exp(-0.5 * ((x[i] - x) / h) ** 2)
        total += math.log(np.sum(np.delete(terms, i)) / x.size)
    between = [mass((low - xi) / hi, (high - xi) / hi) for xi, hi in zip(x, h, strict=True)]
    return total / x.size - np.mean(between / inside)


@pytest.mark.parametrize(
    ("bounds", "draw"), [(WHOLE_LINE, "standard_normal"), ((0.0, math.inf), "standard_exponential")]
)
def test_scores_at_nodes_are_those_of_all_values(bounds, draw):
    x = np.sort(getattr(np.random.default_rng(1), draw)(4500))
    anchors, local = np.array([0, 1500, 4499]), np.log([0.2, 0.1, 0.3])
    positions = (np.arange(512) + 0.5) * (x.size / 512)
    nodes, h = quantile_nodes(read_samples([x], axis=-1), anchors, local, positions)
    steps = np.arange(2, -4, -1)
    found = _scores(nodes, h, bounds, x.size, steps)[::2]
    low, high = 0.5 * (nodes[15] + nodes[16]), 0.5 * (nodes[-17] + nodes[-16])
    every = np.exp(np.interp(np.arange(x.size), anchors, local))
    slow = np.array([slow_score(x, 2.0 ** (step / 2) * every, bounds, low, high) for step in steps[::2]])
    # Only differences decide; as samples vary they are known to some 1e-3.
    np.testing.assert_allclose(np.diff(found), np.diff(slow), atol=3e-4, rtol=0.02)


def test_the_factor_is_the_best_of_all_values():
    """A bandwidth that is too wide or too narrow is put right, but for what doubt leaves."""
    x = np.sort(np.random.default_rng(2).standard_normal(1_000_000))
    best = 1.06 * x.size**-0.2
    for wrong in (1.0, 2.0, 3.0):
        assert 0.8 < wrong * factor(x, math.log(wrong * best)) < 1.5
    assert factor(x, math.log(0.5 * best)) > 1.1


def test_detail_that_few_values_do_not_show_makes_bandwidths_narrower():
    x = np.sort(claw(np.random.default_rng(3), 100_000))
    for h in (0.2, 0.1, 0.05, 0.03):
        assert h * factor(x, math.log(h)) == pytest.approx(0.022, abs=0.004)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    mirrored=st.booleans(),
    bounded=st.booleans(),
)
def test_the_factor_is_the_same_for_a_shifted_scaled_mirrored_sample(seed, scale, shift, mirrored, bounded):
    x = np.sort(np.random.default_rng(seed).gamma(1.5, size=5000))
    bounds = (0.0, math.inf) if bounded else WHOLE_LINE
    sign = -1.0 if mirrored else 1.0
    moved = np.sort(sign * scale * (x + shift))
    ends = tuple(sorted(sign * scale * (end + shift) for end in bounds))
    found = factor(moved, math.log(0.3 * scale), bounds=ends)
    assert found == pytest.approx(factor(x, math.log(0.3), bounds=bounds), rel=1e-7)


@pytest.mark.parametrize("unit", [1.0, 0.3, 0.1, 0.03, 0.01])
def test_rounded_values_and_atoms_do_not_draw_bandwidths_to_zero(unit):
    x = np.random.default_rng(4).standard_normal(100_000)
    for h in (0.03, 0.1, 0.5):
        assert factor(np.sort(np.round(x / unit) * unit), math.log(h)) >= 0.99
    x[:1000] = 0.0
    assert factor(np.sort(x), math.log(0.1)) >= 0.99


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), h=st.floats(0.01, 3.0), size_ratio=st.floats(1.0, 100.0))
def test_the_factor_grows_in_from_one(seed, h, size_ratio):
    x = np.sort(claw(np.random.default_rng(seed), 5000))
    whole, part = (factor(x, math.log(h), size_ratio=b) for b in (1000.0, size_ratio))
    assert math.log(part) == pytest.approx(math.log(whole) * min(math.log(size_ratio) / math.log(4.0), 1.0), abs=1e-12)
    assert 0.125 <= whole <= 2.0


def test_weights_count():
    rng = np.random.default_rng(5)
    x = np.sort(rng.standard_normal(20_000))
    alike = 1.0 + 1e-9 * rng.random(x.size)
    assert factor(x, math.log(0.3), weights=alike) == pytest.approx(factor(x, math.log(0.3)), rel=1e-5)
    # One value that weighs more than a node is no reason for narrow bandwidths.
    heavy = np.ones(x.size)
    heavy[7000] = 100.0
    assert factor(x, math.log(0.3), weights=heavy) == 1.0
    # Half of the values are those of a claw, and the others hardly count.
    both = np.concatenate([claw(rng, 20_000), x])
    order, weights = np.argsort(both), np.repeat([1.0, 1e-6], 20_000)
    alone = factor(np.sort(both[:20_000]), math.log(0.2))
    assert alone < 0.6
    assert factor(both[order], math.log(0.2), weights=weights[order]) == pytest.approx(alone, rel=1e-3)


def slow_averages(shares, bandwidths, reach):
    out, count = np.empty_like(shares), len(shares)
    local = [float(row @ np.log(bandwidths)) for row in shares]
    for i in range(count):
        width = min(reach, i, count - 1 - i) + 1.0
        weights = [
            max(1.0 - abs(i - j) / width, 0.0) * math.exp(-0.5 * (local[i] - local[j]) ** 2) for j in range(count)
        ]
        out[i] = np.average(shares, axis=0, weights=weights)
    return out


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), count=st.integers(2, 120), size_ratio=st.floats(1.0, 200.0))
def test_averaged_shares_are_weighted_means(seed, count, size_ratio):
    shares, rungs = np.random.default_rng(seed).dirichlet(np.full(6, 0.3), count), 2.0 ** np.arange(6.0)
    found = averaged_shares(shares, rungs, size_ratio)
    reach = 24.0 * min(math.log(size_ratio) / math.log(64.0), 1.0)
    np.testing.assert_allclose(found, slow_averages(shares, rungs, reach), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(averaged_shares(shares[::-1], rungs, size_ratio), found[::-1], rtol=1e-12, atol=1e-15)
    assert np.array_equal(averaged_shares(shares, rungs, 1.0), shares)


def test_averaged_shares_have_less_noise_and_keep_jumps():
    rng, rungs = np.random.default_rng(14), 2.0 ** np.arange(0.0, 8.0)
    noisy = rng.dirichlet(np.r_[20.0, 30.0, 20.0, np.full(5, 0.1)], 200)
    assert averaged_shares(noisy, rungs, 64.0)[30:-30].std(axis=0).max() < 0.4 * noisy[30:-30].std(axis=0).max()
    step = np.repeat(np.eye(8)[[0, 7]], 100, axis=0)
    np.testing.assert_allclose(averaged_shares(step, rungs, 64.0), step, atol=2e-5)


@pytest.mark.parametrize(
    ("draw", "truth", "most"),
    [
        (lambda rng, n: rng.standard_normal(n), lambda y: np.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi), 4e-4),
        (
            claw,
            lambda y: sum(
                w * np.exp(-0.5 * ((y - m) / s) ** 2) / (s * math.sqrt(2.0 * math.pi))
                for w, m, s in [(0.5, 0.0, 1.0), *((0.1, k / 2, 0.1) for k in range(-2, 3))]
            ),
            2e-3,
        ),
    ],
)
def test_a_large_sample_is_smoothed_as_its_density_wants(draw, truth, most):
    """Answers for 4096 values, with narrower bandwidths, had an excess of 5e-4 and 2e-2 bits."""
    x = draw(np.random.default_rng(5), 100_000)
    d, y = akde.fit(x), np.linspace(-5.0, 5.0, 4001)
    assert np.trapezoid(truth(y) * np.log2(truth(y) / d.pdf(y)), y) < most


def slow_leave_one_out(x, counts, h, bounds):
    """The mean log-density of each value under all others, kernels cut at the bounds; tied values are left out too."""
    inside = norm.cdf((bounds[1] - x) / h) - norm.cdf((bounds[0] - x) / h)
    kernels = np.where(x[:, None] == x, 0.0, norm.pdf((x[:, None] - x) / h) / h) * counts
    others = np.where(x[:, None] == x, 0.0, inside) * counts
    return float(np.sum(counts * np.log(kernels.sum(axis=1) / others.sum(axis=1))) / counts.sum())


@pytest.mark.parametrize("start", [0.1, 0.9])
@pytest.mark.parametrize("kind", ["open", "bounded", "tied", "weighted"])
def test_a_bandwidth_moves_towards_the_best_left_out_score(kind, start):
    rng = np.random.default_rng(4)
    x = np.sort(rng.exponential(size=400).round(2 if kind == "tied" else 15))
    bounds = (0.0, math.inf) if kind == "bounded" else WHOLE_LINE
    weights = rng.uniform(0.5, 1.5, 400) if kind == "weighted" else None
    sample = read_samples([x], axis=-1, weights=None if weights is None else [weights])
    distinct, which = np.unique(x, return_inverse=True)
    counts = np.bincount(which, np.ones(400) if weights is None else sample.counts)
    found = minimize_scalar(
        lambda log_h: -slow_leave_one_out(distinct, counts, math.exp(log_h), bounds), (-3.0, -1.0), tol=1e-8
    )
    best = math.exp(found.x)
    # Three quarters of the way from a size ratio of 2 on, on a logarithmic scale; half of that at the root of 2.
    moved = moved_bandwidth(sample, bounds, start, 5.0)
    assert math.log(moved / start) == pytest.approx(0.75 * math.log(best / start), abs=0.02)
    partly = moved_bandwidth(sample, bounds, start, math.sqrt(2.0))
    assert math.log(partly / start) == pytest.approx(0.5 * math.log(moved / start))


def test_a_bandwidth_without_a_best_one_stays_in_reach():
    # Two values: the wider, the better left out, without end.
    sample = read_samples([[0.0, 1.0]], axis=-1)
    assert moved_bandwidth(sample, WHOLE_LINE, 1e-3, 2.0) == pytest.approx(1e-3 * 2.0 ** (0.75 * 6.0))


def test_single_continues_beyond_the_trained_sizes():
    x = np.random.default_rng(8).normal(size=4097)
    ratio = akde.bandwidth(x, method="amortized:single") / akde.bandwidth(x[:4096], method="amortized:single")
    assert ratio == pytest.approx(1.0, abs=0.03)
