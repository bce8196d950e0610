"""Kernels of adaptive estimates against the formula, kernel by kernel."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from amortized_kde.numerics.cells import Kernels
from amortized_kde.numerics.ladders import Ladders, ladder_kernels


def some_ladders(rng, sizes, anchors, rungs):
    bandwidths = np.exp(rng.normal(size=(len(sizes), 1))) * 2.0 ** -np.arange(float(rungs))
    offsets = np.concatenate([[0], np.cumsum([len(ranks) for ranks in anchors])])
    shares = rng.random((offsets[-1], rungs)) * (rng.random((offsets[-1], rungs)) < 0.4)
    return Ladders(bandwidths, shares, np.concatenate(anchors), offsets, rng.uniform(0.0, 0.1, len(sizes)))


def expected_kernels(x, t, ladders, bounds):
    ranks = ladders.anchors[ladders.offsets[t] : ladders.offsets[t + 1]]
    shares = ladders.shares[ladders.offsets[t] : ladders.offsets[t + 1]]
    for i, value in enumerate(x):
        for k, h in enumerate(ladders.bandwidths[t]):
            share = np.interp(i, ranks, shares[:, k])
            if share > 0.0:
                inside = norm.cdf((bounds[1] - value) / h) - norm.cdf((bounds[0] - value) / h)
                yield value, 1.0 / h, (1.0 - ladders.epsilons[t]) * share / (x.size * inside)


@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)])
@pytest.mark.parametrize("rungs", [3, 32, 70])
def test_kernels_have_the_shares_of_their_points(bounds, rungs):
    rng = np.random.default_rng(rungs)
    sizes, anchors = [5, 0, 9], [np.arange(5), np.arange(0), np.array([0, 2, 3, 8])]
    rows = [np.sort(rng.random(n)) for n in sizes]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    ladders = some_ladders(rng, sizes, anchors, rungs)
    numbers, (starts, stops), widest = np.empty((3, 14 * rungs)), np.empty((2, 3), np.int64), np.empty(3)
    out = Kernels(*numbers, starts, stops, True)
    ladder_kernels(np.concatenate(rows), offsets, bounds, ladders, out, widest, 0, 3)
    for t, x in enumerate(rows):
        expected = np.array(list(expected_kernels(x, t, ladders, bounds))).reshape(-1, 3)
        np.testing.assert_allclose(numbers[:, starts[t] : stops[t]].T, expected, rtol=1e-12)
        assert widest[t] == pytest.approx(1.0 / expected[:, 1].min() if len(expected) else 0.0)
