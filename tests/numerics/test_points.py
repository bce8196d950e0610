"""Features of points against their NumPy versions, and these against the obvious."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from amortized_kde.numerics import uncompiled
from amortized_kde.numerics.neighbours import Anchored
from amortized_kde.numerics.points import AROUND, NEAR, Frames, Layout, local_rows, point_rows
from amortized_kde.numerics.uncompiled import FAINT

RUNGS = 2.0 ** np.arange(8.0, -16.5, -1.0)
LOCAL = slice(4, 20)
ONE_SIDED = np.array([6, 17])
LAYOUT = Layout(np.array([4, 20]), np.array([NEAR, AROUND]), 1e-5, 20.0)
LOCATION, SCALE, SIGNED = 0.3, 1.7, np.array([[2.0, -0.5, 0.0]])


def all_features(x, lower, upper, anchors, masses=None, counts=None, positions=None, fading=None, samples_only=False):
    one, all_anchors = np.array([0, x.size]), np.array([0, anchors.size])
    masses = np.full(anchors.size, 1.0 / anchors.size) if masses is None else masses
    counts = np.ones(x.size) if counts is None else counts
    positions = anchors.astype(float) if positions is None else positions
    fading = np.zeros((1, RUNGS.size)) if fading is None else fading
    rungs = RUNGS[None, :].copy()
    samples = Anchored(x, one, counts, np.array([lower]), np.array([upper]), rungs, anchors, all_anchors)
    frames = Frames(np.array([counts.sum()]), np.array([LOCATION]), np.array([SCALE]), SIGNED)
    local = np.empty((anchors.size, RUNGS.size if samples_only else RUNGS.size + 11))
    pooled = np.empty((1, 2 * RUNGS.size))
    local_rows(samples, fading, ONE_SIDED, masses, x.size, local, pooled, 0, 1)
    if samples_only:
        return local, pooled[0]
    out = np.empty((anchors.size, RUNGS.size + 11 + 32 + 4 + 3))
    point_rows(samples, frames, masses, positions, LAYOUT, x.size, local, out, 0, 1)
    return out, pooled[0]


def densities_and_sides(*args):
    out, pooled = all_features(*args)
    return *np.split(out[:, :-7], [RUNGS.size, RUNGS.size + 11], axis=1), pooled


def in_numpy(*args, **options):
    """The features and their means by the NumPy versions of the loops."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("local_rows", "point_rows"):
            patch.setitem(globals(), name, getattr(uncompiled, name))
        return all_features(*args, **options)


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-8.0, math.inf), (-8.0, 8.0)])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 128, 256, 257, 300])
def test_every_pair_counts(n, bounds):
    x = np.sort(np.random.default_rng(n).standard_t(3, n).clip(-7.9, 7.9))
    anchors = np.arange(n)
    densities, _, around, pooled = densities_and_sides(x, *bounds, anchors)
    for one, other in zip(all_features(x, *bounds, anchors), in_numpy(x, *bounds, anchors), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    for part, found in zip((NEAR, AROUND), np.split(around, 2, axis=1), strict=True):
        reach = max(1, n // part)
        means = [densities[max(i - reach, 0) : i + reach + 1, LOCAL].mean(axis=0) for i in range(n)]
        np.testing.assert_allclose(found, means, atol=1e-11)
    np.testing.assert_allclose(pooled[: RUNGS.size], densities.mean(axis=0), atol=1e-11)
    np.testing.assert_allclose(pooled[RUNGS.size :], densities.var(axis=0), atol=1e-11)


def test_ties_are_neighbours():
    x = np.array([0.0, 0.0, 0.0, 1.0])
    densities, *_ = densities_and_sides(x, -math.inf, math.inf, np.arange(4))
    assert np.exp(densities[0, -1]) - FAINT == pytest.approx(2.0)
    assert np.exp(densities[3, -1]) == pytest.approx(FAINT)


def test_anchors_count_by_their_mass_in_means_over_a_region():
    x = np.sort(np.random.default_rng(5).normal(size=300))
    anchors, masses = np.array([0, 1, 150, 160, 298, 299]), np.array([1.0, 74.0, 75.0, 75.0, 74.0, 1.0]) / 300.0
    densities, _, around, _ = densities_and_sides(x, -math.inf, math.inf, anchors, masses)
    densities = densities[:, LOCAL]
    wide = np.average(densities[2:4], axis=0, weights=masses[2:4])
    np.testing.assert_allclose(around[2, 16:], wide, atol=1e-11)
    np.testing.assert_allclose(around[0, :16], (densities[0] + 74.0 * densities[1]) / 75.0, atol=1e-11)


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-8.0, math.inf), (-8.0, 8.0)])
@pytest.mark.parametrize("n", [2, 9, 128, 300])
def test_values_count_by_their_counts_and_regions_by_positions(n, bounds):
    rng = np.random.default_rng(n)
    x, counts = np.sort(rng.standard_t(3, n).clip(-7.9, 7.9)), rng.gamma(1.0, 1.0, n)
    masses, positions, anchors = counts / counts.sum(), np.cumsum(counts) - 0.5 * counts - 0.5, np.arange(n)
    given = x, *bounds, anchors, masses, counts, positions
    (found, pooled), (expected, expected_pooled) = all_features(*given), in_numpy(*given)
    np.testing.assert_allclose(pooled, expected_pooled, rtol=1e-12, atol=1e-11)
    regions = slice(RUNGS.size + 11, RUNGS.size + 11 + 32)
    # Differences of running sums, where the masses of a region are small.
    np.testing.assert_allclose(found[:, regions], expected[:, regions], atol=1e-9)
    others = np.delete(np.arange(found.shape[1]), regions)
    np.testing.assert_allclose(found[:, others], expected[:, others], rtol=1e-12, atol=1e-11)


def test_of_some_anchors_the_same_numbers_as_of_all():
    x = np.sort(np.random.default_rng(6).standard_t(2, 90))
    anchors = np.array([0, 1, 5, 30, 31, 32, 60, 88, 89])
    some, _ = all_features(x, -math.inf, math.inf, anchors)
    every, _ = all_features(x, -math.inf, math.inf, np.arange(90))
    np.testing.assert_allclose(some[:, : RUNGS.size + 11], every[anchors, : RUNGS.size + 11], atol=1e-13)


@pytest.mark.parametrize("n", [51, 300])
def test_one_exponential_serves_all_rungs(n):
    # Pairs at every distance. Each kernel may be off by half a unit in the last place of 1, and all in one direction.
    x = np.sort(np.concatenate([2.0 ** -np.linspace(0.0, 18.0, n - 1), [400.0]]))
    out, _ = all_features(x, -math.inf, math.inf, np.arange(n))
    wide = x.astype(np.longdouble)
    for k in range(RUNGS.size):
        e = np.exp(-0.5 * ((wide[:, None] - wide) / RUNGS[k]) ** 2)
        np.fill_diagonal(e, 0.0)
        np.testing.assert_allclose(
            out[:, k], np.log(e.sum(axis=1) + FAINT).astype(float), rtol=0.0, atol=n * 2.0**-54 / FAINT
        )


def test_finest_densities_fade_into_the_next_wider():
    x = np.sort(np.random.default_rng(9).normal(size=20))
    plain, _ = all_features(x, -math.inf, math.inf, np.arange(20))
    fading = np.zeros((1, RUNGS.size))
    fading[0, 10:12] = 0.25, 0.5
    faded, _ = all_features(x, -math.inf, math.inf, np.arange(20), None, None, None, fading)
    first = plain[:, 10] + 0.25 * (plain[:, 9] - plain[:, 10])
    np.testing.assert_allclose(faded[:, 10], first, atol=1e-14)
    np.testing.assert_allclose(faded[:, 11], 0.5 * (first + plain[:, 11]), atol=1e-14)
    np.testing.assert_array_equal(faded[:, 12 : RUNGS.size], plain[:, 12 : RUNGS.size])


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-8.0, math.inf), (-8.0, 9.0)])
def test_positions_and_distances_to_bounds(bounds):
    x = np.sort(np.random.default_rng(10).normal(size=19))
    out, _ = all_features(x, *bounds, np.arange(19))
    position = np.arcsinh(2.0 * (x - LOCATION) / SCALE)
    gaps = [np.minimum(gap / SCALE, 1e100) for gap in (x - bounds[0], bounds[1] - x)]
    below, above = (np.log(gap / (1.0 + gap / 20.0) + 1e-5) for gap in gaps)
    expected = [np.abs(position), np.minimum(below, above), np.maximum(below, above), position * (below - above)]
    np.testing.assert_allclose(out[:, -7:-3], np.stack(expected, axis=1), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(out[:, -3:], position[:, None] * SIGNED, rtol=1e-14, atol=1e-14)


def test_of_samples_alone_only_local_densities_are_written():
    x = np.sort(np.random.default_rng(11).normal(size=40))
    every, pooled = all_features(x, -math.inf, math.inf, np.arange(40))
    some, same = all_features(x, -math.inf, math.inf, np.arange(40), samples_only=True)
    np.testing.assert_array_equal(some, every[:, : RUNGS.size])
    np.testing.assert_array_equal(same, pooled)


def test_several_samples_are_those_of_each():
    rng = np.random.default_rng(5)
    x, y = np.sort(rng.normal(size=40)), np.sort(rng.gamma(2.0, size=13))
    fading = np.zeros((2, RUNGS.size))
    samples = Anchored(
        np.concatenate([x, y]),
        np.array([0, 40, 53]),
        np.ones(53),
        np.full(2, -math.inf),
        np.full(2, math.inf),
        np.stack([RUNGS, RUNGS]),
        np.concatenate([np.arange(40), np.arange(13)]),
        np.array([0, 40, 53]),
    )
    masses = np.concatenate([np.full(40, 1 / 40), np.full(13, 1 / 13)])
    local, pooled = np.empty((53, RUNGS.size + 11)), np.empty((2, 2 * RUNGS.size))
    local_rows(samples, fading, ONE_SIDED, masses, 40, local, pooled, 0, 2)
    for k, (sample, rows) in enumerate([(x, slice(0, 40)), (y, slice(40, 53))]):
        densities, sides, *_, expected = densities_and_sides(sample, -math.inf, math.inf, np.arange(sample.size))
        np.testing.assert_array_equal(local[rows], np.hstack([densities, sides]))
        np.testing.assert_array_equal(pooled[k], expected)


@pytest.mark.parametrize("shift", [-64.0, 64.0])
def test_local_densities_do_not_depend_on_the_origin(shift):
    # On this mesh shifted values are exact.
    x = np.sort(np.round(np.random.default_rng(6).normal(size=60) * 2.0**20) / 2.0**20)
    given = densities_and_sides(x, -math.inf, math.inf, np.arange(60))
    shifted = densities_and_sides(x + shift, -math.inf, math.inf, np.arange(60))
    for part, other in zip(given[:2], shifted[:2], strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-8.0, math.inf), (-8.0, 8.0)])
def test_in_numpy_every_pair_counts(bounds):
    x, counts = np.sort(np.random.default_rng(3).standard_t(3, 30).clip(-7.9, 7.9)), np.linspace(0.5, 1.5, 30)
    out, _ = in_numpy(x, *bounds, np.arange(30), counts=counts)
    for a in (0, 1, 12, 29):
        u = (x[:, None] - x[a]) / RUNGS
        inside = norm.cdf((bounds[1] - x[:, None]) / RUNGS) - norm.cdf((bounds[0] - x[:, None]) / RUNGS)
        e = counts[:, None] * np.exp(-0.5 * u**2) / inside
        left, right = e[:a].sum(axis=0), e[a + 1 :].sum(axis=0)
        np.testing.assert_allclose(out[a, : RUNGS.size], np.log(left + right + FAINT), atol=1e-12)
        sides = np.abs(right - left) / (left + right + FAINT)
        np.testing.assert_allclose(out[a, RUNGS.size : RUNGS.size + 11], sides[6:17], atol=1e-12)
