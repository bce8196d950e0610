"""Gathered kernels against the sum over all points, with shares interpolated point by point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.numerics import gather


def direct_sum(points, weights, shares, h, x):
    u = (np.asarray(x)[:, None] - points) / h
    return np.exp(-0.5 * u * u) @ (weights * shares)


def at_points(anchors, shares, n):
    return np.interp(np.arange(n), anchors, shares)


def summed(gathered, shares, h, x):
    places, coefficients = gather.kernels_of(gathered, shares)
    return direct_sum(places, coefficients, 1.0, h, x)


@st.composite
def samples(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 3000))
    points = np.sort(rng.standard_normal(n) * rng.random(n) ** draw(st.floats(0.0, 6.0)))
    if draw(st.booleans()):
        points = points.round(draw(st.integers(0, 2)))
    weights = np.ones(1) if draw(st.booleans()) else 10.0 ** rng.uniform(-6.0, 0.0, n)
    anchors = np.unique(np.append(rng.integers(0, n, draw(st.integers(0, 40))), [0, n - 1]))
    shares = rng.gamma(0.5, size=anchors.size) * (rng.random(anchors.size) > 0.3)
    return points, weights, anchors, shares


@given(samples(), st.floats(-2.0, 1.0), st.integers(0, 4))
def test_sums_stay(sample, exponent, octaves):
    points, weights, anchors, shares = sample
    h = 10.0**exponent
    gathered = gather.gather(points, weights, anchors, 0.25 * h / 2.0**octaves, threads=1)
    for octave in range(octaves, 0, -1):
        gathered = gather.wider(gathered, 0.25 * h / 2.0 ** (octave - 1))
    x = np.concatenate([points[[0, points.size // 3, -1]], np.linspace(-4.0, 4.0, 9)])
    exact = direct_sum(points, np.broadcast_to(weights, points.size), at_points(anchors, shares, points.size), h, x)
    scale = exact.max() + 1e-300
    # Sums that see all places from more than fourteen bandwidths away are left to others.
    seen = exact > 1e-40 * scale
    np.testing.assert_allclose(summed(gathered, shares, h, x)[seen], exact[seen], rtol=1e-11, atol=1e-14 * scale)


@given(samples(), st.floats(-2.0, 1.0))
def test_places_ascend_between_the_points_and_masses_stay(sample, exponent):
    points, weights, anchors, shares = sample
    gathered = gather.gather(points, weights, anchors, 10.0**exponent, threads=1)
    for level in (gathered, gather.wider(gathered, 3.0 * 10.0**exponent)):
        assert np.all(np.diff(level.places) >= 0.0)
        assert points[0] <= level.places[0]
        assert level.places[-1] <= points[-1]
        assert np.all(np.diff(level.anchor) >= 0)
        assert level.place.size <= points.size
        total = np.sum(np.broadcast_to(weights, points.size) * at_points(anchors, shares, points.size))
        assert gather.kernels_of(level, shares)[1].sum() == pytest.approx(total, rel=1e-12, abs=1e-300)


def test_many_points_become_few_places_on_any_number_of_threads():
    points = np.sort(np.random.default_rng(1).standard_normal(50_000))
    given = points, np.ones(1), np.array([0, 1000, 49_999]), 0.1
    one, three = (gather.gather(*given, threads=threads) for threads in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))
    assert one.places.size < 2000
    assert gather.wider(one, 0.8).places.size < 500


def test_ties_are_one_place():
    points = np.repeat([0.0, 1.0, 5.0], 1000)
    gathered = gather.gather(points, np.ones(1), np.array([0, 2999]), 0.1, threads=1)
    places, coefficients = gather.kernels_of(gathered, np.ones(2))
    # A tie can fall into two runs of points.
    assert np.array_equal(np.unique(places), [0.0, 1.0, 5.0])
    assert places.size <= 3 + 16
    np.testing.assert_allclose(np.bincount(np.searchsorted([0.0, 1.0, 5.0], places), coefficients), 1000.0, rtol=1e-12)


def test_places_that_no_share_reaches_are_left_out():
    points = np.linspace(0.0, 1.0, 4000)
    gathered = gather.gather(points, np.ones(1), np.array([0, 1999, 2000, 3999]), 1e-2, threads=1)
    places, _ = gather.kernels_of(gathered, np.array([1.0, 1.0, 0.0, 0.0]))
    assert places[-1] <= points[1999] + 1e-2
