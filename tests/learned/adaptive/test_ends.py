"""Kernels at sharp ends of large samples, checked against plain sums over all values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import amortized_kde as akde
from amortized_kde.data.reading import read_samples
from amortized_kde.learned.adaptive import ends
from amortized_kde.learned.adaptive.ends import _most_octaves, _outer_score, moved_shares, narrowed_ends
from amortized_kde.learned.adaptive.features import RUNG_EXPONENTS

OPEN = (-math.inf, math.inf)
LADDER = RUNG_EXPONENTS


def octaves(x, h, side, weights=None):
    """With one bandwidth for all values."""
    sample = read_samples([x], axis=-1, weights=None if weights is None else [weights])
    return _most_octaves(sample, side, np.array([0, len(x) - 1]), np.full(2, math.log(h)))


@given(st.integers(0, 2**32), st.floats(-9.0, 0.0))
def test_moved_shares_keep_their_sum_and_move_the_bandwidth(seed, by):
    shares = np.random.default_rng(seed).dirichlet(np.full(LADDER.size, 0.3), 5)
    shares[:, LADDER[-1] + 9.5 > LADDER] = 0.0
    moved = moved_shares(shares, LADDER, np.full(5, by))
    assert np.all(moved >= 0.0)
    np.testing.assert_allclose(moved.sum(axis=1), shares.sum(axis=1))
    # Linear between rungs, so that the mean logarithm of the bandwidths moves exactly.
    np.testing.assert_allclose(moved @ LADDER, shares @ LADDER + by * shares.sum(axis=1), atol=1e-9)


def test_shares_that_do_not_move_stay():
    shares = np.random.default_rng(1).dirichlet(np.ones(LADDER.size), 7)
    np.testing.assert_allclose(moved_shares(shares, LADDER, np.zeros(7)), shares, atol=1e-15)
    # At the narrow end of the ladder they stop.
    np.testing.assert_allclose(moved_shares(shares, LADDER, np.full(7, -99.0))[:, -1], 1.0)


def test_scores_of_the_outer_values_are_those_of_all():
    x = np.sort(np.random.default_rng(2).exponential(size=16_384))
    n, h = x.size, 0.02
    zone = x[: n // 8].reshape(512, 4).mean(axis=1)
    half = 0.5 * (zone[255] + zone[256])
    outer = x[x < half]
    density = np.array([np.sum(np.exp(-0.5 * ((y - x) / h) ** 2)) - 1.0 for y in outer]) / (
        n * h * math.sqrt(2 * math.pi)
    )
    mass = np.mean([0.5 * math.erfc((xi - half) / (h * math.sqrt(2.0))) for xi in x])
    found = _outer_score(zone, np.full(512, h), n)
    assert found == pytest.approx(np.sum(np.log(density)) / n - mass, abs=2e-5)


@pytest.mark.parametrize("side", [-1, 1])
def test_sharp_ends_are_found_and_smooth_ones_left(side):
    rng = np.random.default_rng(3)
    sharp, smooth = -side * rng.exponential(size=100_000), rng.normal(size=100_000)
    assert octaves(sharp, 0.05, side) == 1.0
    assert octaves(sharp, 0.05, -side) == 0.0
    assert octaves(smooth, 0.1, side) == 0.0


def test_ties_and_weights():
    rng = np.random.default_rng(4)
    x = rng.exponential(size=50_000)
    assert octaves(x.round(2), 0.05, -1) == 0.0
    weighted = octaves(x, 0.05, -1, weights=rng.uniform(0.9, 1.1, x.size))
    assert weighted == pytest.approx(octaves(x, 0.05, -1), abs=0.3)
    heavy = np.ones(x.size)
    heavy[7] = 1e6
    assert octaves(x, 0.05, -1, weights=heavy) == 0.0


def test_mirrored_samples_have_mirrored_ends():
    x = np.random.default_rng(5).exponential(size=30_000)
    assert octaves(x, 0.05, -1) == pytest.approx(octaves(-x, 0.05, 1))


def test_known_bounds_and_trained_sizes_are_left_alone():
    x = np.sort(np.random.default_rng(6).exponential(size=20_000))
    anchors, local = np.arange(0, x.size, 100), np.full(200, math.log(0.05))
    shares = np.random.default_rng(7).dirichlet(np.ones(LADDER.size), 200)
    sample = read_samples([x], axis=-1)
    kept = narrowed_ends(shares, LADDER, sample, (0.0, math.inf), anchors, local, 4.0)
    np.testing.assert_allclose(kept, shares, atol=1e-15)
    begun = narrowed_ends(shares, LADDER, sample, OPEN, anchors, local, 1.0)
    np.testing.assert_allclose(begun, shares, atol=1e-15)
    moved = narrowed_ends(shares, LADDER, sample, OPEN, anchors, local, 4.0)
    assert moved[0] @ LADDER < shares[0] @ LADDER - 0.9
    np.testing.assert_allclose(moved[100:], shares[100:], atol=1e-15)


def test_less_probability_leaves_a_sharp_end(monkeypatch):
    x = np.random.default_rng(8).exponential(size=50_000)
    narrow = akde.fit(x).cdf(0.0)
    monkeypatch.setattr(ends, "_most_octaves", lambda *_: 0.0)
    assert narrow < 0.7 * akde.fit(x).cdf(0.0)
