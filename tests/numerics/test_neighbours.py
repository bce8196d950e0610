"""Local densities against the obvious sum over all pairs."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from amortized_kde.numerics.neighbours import AROUND, FAINT, NEAR, Anchored, local_density_rows, region_rows

RUNGS = 2.0 ** np.arange(8.0, -16.5, -1.0)
SIDES, LOCAL = slice(6, 17), slice(4, 20)
ENDS, COLUMNS = np.array([6, 17]), np.array([4, 20, RUNGS.size + 11])


def densities_and_sides(x, lower, upper, anchors, masses=None, counts=None, positions=None, fading=None):
    rungs, one, all_anchors = RUNGS[None, :].copy(), np.array([0, x.size]), np.array([0, anchors.size])
    out = np.empty((anchors.size, RUNGS.size + 11 + 32))
    masses = np.full(anchors.size, 1.0 / anchors.size) if masses is None else masses
    counts = np.ones(x.size) if counts is None else counts
    positions = anchors.astype(float) if positions is None else positions
    samples = Anchored(x, one, counts, np.array([lower]), np.array([upper]), rungs, anchors, all_anchors)
    local_density_rows(samples, np.zeros((1, RUNGS.size)) if fading is None else fading, x.size, ENDS, out, 0, 1)
    pooled, parts = np.zeros((1, 2 * RUNGS.size)), np.array([NEAR, AROUND])
    region_rows(np.array([counts.sum()]), positions, all_anchors, masses, parts, COLUMNS, out, pooled, 0, 1)
    return *np.split(out, [RUNGS.size, RUNGS.size + 11], axis=1), pooled[0]


def obvious(x, lower, upper, anchors, counts=1.0):
    densities, sides = [], []
    for a in anchors:
        u = (x[:, None] - x[a]) / RUNGS
        inside = norm.cdf((upper - x[:, None]) / RUNGS) - norm.cdf((lower - x[:, None]) / RUNGS)
        e = np.exp(-0.5 * u**2) / inside * np.broadcast_to(counts, x.size)[:, None]
        left, right = e[:a].sum(axis=0), e[a + 1 :].sum(axis=0)
        both = left + right + FAINT
        densities.append(np.log(both))
        sides.append(np.abs(right - left) / both)
    return np.array(densities), np.array(sides)


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-8.0, math.inf), (-8.0, 8.0)])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 128, 256, 257, 300])
def test_every_pair_counts(n, bounds):
    x = np.sort(np.random.default_rng(n).standard_t(3, n).clip(-7.9, 7.9))
    anchors = np.arange(n)
    densities, sides, around, pooled = densities_and_sides(x, *bounds, anchors)
    expected = obvious(x, *bounds, anchors)
    np.testing.assert_allclose(densities, expected[0], atol=1e-11)
    np.testing.assert_allclose(sides, expected[1][:, SIDES], atol=1e-11)
    for part, found in zip((NEAR, AROUND), np.split(around, 2, axis=1), strict=True):
        reach = max(1, n // part)
        means = [expected[0][max(i - reach, 0) : i + reach + 1, LOCAL].mean(axis=0) for i in range(n)]
        np.testing.assert_allclose(found, means, atol=1e-11)
    np.testing.assert_allclose(pooled[: RUNGS.size], expected[0].mean(axis=0), atol=1e-11)
    np.testing.assert_allclose(pooled[RUNGS.size :], expected[0].var(axis=0), atol=1e-11)


def test_ties_are_neighbours():
    x = np.array([0.0, 0.0, 0.0, 1.0])
    densities, *_ = densities_and_sides(x, -math.inf, math.inf, np.arange(4))
    assert np.exp(densities[0, -1]) - FAINT == pytest.approx(2.0)
    assert np.exp(densities[3, -1]) == pytest.approx(FAINT)


def test_anchors_count_by_their_mass_in_means_over_a_region():
    x = np.sort(np.random.default_rng(5).normal(size=300))
    anchors, masses = np.array([0, 1, 150, 160, 298, 299]), np.array([1.0, 74.0, 75.0, 75.0, 74.0, 1.0]) / 300.0
    _, _, around, _ = densities_and_sides(x, -math.inf, math.inf, anchors, masses)
    densities = obvious(x, -math.inf, math.inf, anchors)[0][:, LOCAL]
    wide = np.average(densities[2:4], axis=0, weights=masses[2:4])
    np.testing.assert_allclose(around[2, 16:], wide, atol=1e-11)
    np.testing.assert_allclose(around[0, :16], (densities[0] + 74.0 * densities[1]) / 75.0, atol=1e-11)


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-8.0, math.inf), (-8.0, 8.0)])
@pytest.mark.parametrize("n", [2, 9, 128, 300])
def test_values_count_by_their_counts_and_regions_by_positions(n, bounds):
    rng = np.random.default_rng(n)
    x, counts = np.sort(rng.standard_t(3, n).clip(-7.9, 7.9)), rng.gamma(1.0, 1.0, n)
    masses, positions, anchors = counts / counts.sum(), np.cumsum(counts) - 0.5 * counts - 0.5, np.arange(n)
    densities, sides, around, pooled = densities_and_sides(x, *bounds, anchors, masses, counts, positions)
    expected = obvious(x, *bounds, anchors, counts)
    np.testing.assert_allclose(densities, expected[0], atol=1e-11)
    np.testing.assert_allclose(sides, expected[1][:, SIDES], atol=1e-11)
    np.testing.assert_allclose(pooled[: RUNGS.size], masses @ expected[0], atol=1e-11)
    kept = np.maximum(masses, 1e-4 / n)
    for part, found in zip((NEAR, AROUND), np.split(around, 2, axis=1), strict=True):
        near = np.abs(positions[:, None] - positions) <= max(1.0, counts.sum() / part)
        means = (near * kept) @ expected[0][:, LOCAL] / (near @ kept)[:, None]
        np.testing.assert_allclose(found, means, atol=1e-9)
