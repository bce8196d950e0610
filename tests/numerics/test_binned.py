"""The stated error of binned densities, against sums over all kernels."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.numerics import binned, gather
from amortized_kde.numerics.mixture import Rungs


def binned_rungs(points, weights, bandwidths):
    """All points at each bandwidth, binned as those of large samples are."""
    rows = []
    for h in bandwidths:
        ends = np.array([0, points.size - 1])
        gathered = gather.gather(points, weights, ends, h / binned.CELLS_PER_BANDWIDTH, threads=1)
        rows.append(gather.kernels_of(gathered, np.ones(2)))
    offsets = np.cumsum([0, *(row[0].size for row in rows)])
    rungs = Rungs(*(np.concatenate([row[i] for row in rows]) for i in range(2)), offsets, np.array(bandwidths))
    for array in rungs:
        array.flags.writeable = False
    return rungs


def exact_density(points, weights, bandwidths, x):
    total = 0.0
    for h in bandwidths:
        u = (x[:, None] - points) / h
        total = total + np.exp(-0.5 * u * u) @ weights / (h * math.sqrt(2.0 * math.pi))
    return total


@st.composite
def samples(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(20, 2000))
    points = rng.standard_normal(n) * rng.random(n) ** draw(st.floats(0.0, 4.0)) + rng.choice([0.0, 8.0], n)
    return np.sort(points), 10.0 ** rng.uniform(-draw(st.floats(0.0, 12.0)), 0.0, n), rng


@given(samples(), st.lists(st.floats(-2.0, 1.0), min_size=1, max_size=3))
def test_relative_error_is_below_the_tolerance_wherever_it_answers(sample, exponents):
    points, weights, rng = sample
    bandwidths = np.unique(10.0 ** np.array(exponents))
    bins = binned.bins_of(binned_rungs(points, weights, bandwidths))
    near = rng.choice(points, 60) + bandwidths[-1] * rng.uniform(-11.0, 11.0, 60)
    x = np.concatenate([near, np.linspace(points[0], points[-1], 60)])
    found, exact = binned.binned_density(bins, x, np.zeros(x.size)), exact_density(points, weights, bandwidths, x)
    answered = ~np.isnan(found)
    assert np.all(np.abs(found - exact)[answered] <= binned.TOLERANCE * exact[answered])
    # What it leaves to others is far below all that is seen in a picture.
    assert np.all(exact[~answered] <= 1e-12 * bins.highest)


@pytest.mark.parametrize(("distance", "most"), [(0.0, 3e-14), (3.0, 2e-12), (6.0, 3e-9), (7.5, 3e-7)])
def test_nodes_of_the_widest_cell_are_off_by_as_much_as_is_stated(distance, most):
    """All weight on one point of a cell that is full of others, and the argument at this distance from it."""
    nodes = [mpmath.cos((j + mpmath.mpf(1) / 2) * mpmath.pi / 16) for j in range(16)]
    half = mpmath.mpf(1) / (2 * mpmath.mpf(binned.CELLS_PER_BANDWIDTH))

    def node_weight(t, j):
        others = [node for i, node in enumerate(nodes) if i != j]
        return mpmath.fprod((t - node) / (nodes[j] - node) for node in others)

    worst = 0.0
    for t in (mpmath.cos(mpmath.pi * i / 16) for i in range(17)):
        kernels = (
            node_weight(t, j) * mpmath.exp(-((distance + half * (t - node)) ** 2) / 2) for j, node in enumerate(nodes)
        )
        worst = max(worst, abs(float(mpmath.fsum(kernels) * mpmath.exp(mpmath.mpf(distance) ** 2 / 2) - 1)))
    assert worst <= most


def test_what_is_known_is_added_and_arguments_that_are_not_finite_have_no_answer():
    points, weights = np.linspace(-1.0, 1.0, 500), np.full(500, 0.002)
    bins = binned.bins_of(binned_rungs(points, weights, [0.3]))
    x = np.array([0.2, math.nan, math.inf, -math.inf, 1e6])
    alone, more = (binned.binned_density(bins, x, np.full(5, known)) for known in (0.0, 2.0))
    assert more[0] == pytest.approx(2.0 + alone[0], rel=1e-14)
    assert np.all(np.isnan(alone[1:]))
    # Far away what is known is all there is.
    assert more[4] == 2.0


def test_an_answer_does_not_depend_on_the_others():
    points, weights = np.sort(np.random.default_rng(2).standard_normal(3000)), np.full(3000, 1.0 / 3000)
    bins = binned.bins_of(binned_rungs(points, weights, [0.05, 0.4]))
    x = np.linspace(-6.0, 6.0, 101)
    together = binned.binned_density(bins, x, np.zeros(101))
    alone = np.concatenate([binned.binned_density(bins, x[i : i + 1], np.zeros(1)) for i in range(101)])
    assert np.array_equal(together, alone, equal_nan=True)
