"""Crowds around points against the obvious sum over all pairs."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from amortized_kde.numerics.neighbours import FAINT, neighbour_rows

RUNGS = 2.0 ** np.arange(8.0, -16.5, -1.0)


def crowds_and_sides(x, lower, upper, anchors):
    rungs, one = RUNGS[None, :].copy(), np.array([0, x.size])
    shape = (anchors.size, RUNGS.size)
    crowds, sides, pooled = np.empty(shape), np.empty(shape), np.empty((1, 2 * RUNGS.size))
    masses = np.full(anchors.size, 1.0 / anchors.size)
    ends = np.array([lower]), np.array([upper])
    neighbour_rows(
        x, one, *ends, rungs, anchors, np.array([0, anchors.size]), masses, x.size, crowds, sides, pooled, 0, 1
    )
    return crowds, sides, pooled


def obvious(x, lower, upper, anchors):
    crowds, sides = [], []
    for a in anchors:
        u = (x[:, None] - x[a]) / RUNGS
        inside = norm.cdf((upper - x[:, None]) / RUNGS) - norm.cdf((lower - x[:, None]) / RUNGS)
        e = np.exp(-0.5 * u**2) / inside
        left, right = e[:a].sum(axis=0), e[a + 1 :].sum(axis=0)
        both = left + right + FAINT
        crowds.append(np.log(both))
        sides.append(np.abs(right - left) / both)
    return np.array(crowds), np.array(sides)


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-8.0, math.inf), (-8.0, 8.0)])
@pytest.mark.parametrize("n", [1, 2, 7, 128, 129, 300])
def test_every_pair_counts(n, bounds):
    x = np.sort(np.random.default_rng(n).standard_t(3, n).clip(-7.9, 7.9))
    anchors = np.arange(n)
    crowds, sides, pooled = crowds_and_sides(x, *bounds, anchors)
    expected = obvious(x, *bounds, anchors)
    np.testing.assert_allclose(crowds, expected[0], atol=1e-11)
    np.testing.assert_allclose(sides, expected[1], atol=1e-11)
    np.testing.assert_allclose(pooled[0, : RUNGS.size], expected[0].mean(axis=0), atol=1e-11)
    np.testing.assert_allclose(pooled[0, RUNGS.size :], expected[0].var(axis=0), atol=1e-11)


def test_ties_are_neighbours():
    x = np.array([0.0, 0.0, 0.0, 1.0])
    crowds, _, _ = crowds_and_sides(x, -math.inf, math.inf, np.arange(4))
    assert np.exp(crowds[0, -1]) - FAINT == pytest.approx(2.0)
    assert np.exp(crowds[3, -1]) == pytest.approx(FAINT)
