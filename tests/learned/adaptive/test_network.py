"""The forward pass of `adaptive` and `single`: against plain matrices, and the same for every size of a batch."""

import numpy as np
import pytest

from amortized_kde.learned.adaptive.network import BACKGROUND_OFFSET, LadderNetwork, Standards
from amortized_kde.learned.store import load_model


@pytest.fixture(scope="module")
def features():
    rng = np.random.default_rng(5)
    return rng.normal(size=(9, 96)), rng.integers(1, 500, 9), rng.normal(size=(37, 80)), np.sort(rng.integers(0, 9, 37))


def relu(x):
    return np.maximum(x, 0.0)


def test_shares_are_those_of_plain_matrices(features):
    of_samples, sizes, points, sample_of_point = features
    a = load_model("adaptive").arrays
    network = LadderNetwork.of(a)
    layer = lambda name, x: x @ a[f"{name}.weight"] + a[f"{name}.bias"]  # noqa: E731
    e = relu(layer("whole2", relu(layer("whole1", network.standards.standardise_samples(of_samples)))))
    gates, shifts = (np.split(layer(part, e)[sample_of_point], (64, 128), axis=1) for part in ("gates", "shifts"))
    y = relu(gates[0] * layer("point1", network.standards.standardise_points(points)) + shifts[0])
    z = relu(gates[1] * layer("point2", y) + shifts[1])
    logits = gates[2] * layer("shares", z) + shifts[2]
    expected = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected[expected < 1e-7] = 0.0
    expected /= expected.sum(axis=1, keepdims=True)
    shares, epsilons = network.shares_and_background(of_samples, sizes, [(0, points)], sample_of_point)
    np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    odds = layer("background", e)[:, 0] - BACKGROUND_OFFSET - np.log(sizes)
    np.testing.assert_allclose(epsilons, 1.0 / (1.0 + np.exp(-odds)), rtol=1e-9)


def test_the_number_of_rows_changes_no_bit(features):
    of_samples, sizes, points, sample_of_point = features
    a, b = (LadderNetwork.of(load_model(name).arrays) for name in ("adaptive", "single"))
    shares, epsilons = a.shares_and_background(of_samples, sizes, [(0, points)], sample_of_point)
    for t in range(9):
        mine = sample_of_point == t
        alone = a.shares_and_background(
            of_samples[t : t + 1], sizes[t : t + 1], [(0, points[mine])], np.zeros(mine.sum(), int)
        )
        assert np.array_equal(alone[0], shares[mine])
        assert alone[1][0] == epsilons[t]
        assert b.log_bandwidths(of_samples[t : t + 1])[0] == b.log_bandwidths(of_samples)[t]


def test_features_are_held_inside_their_range():
    rng = np.random.default_rng(6)
    of_samples, points = rng.normal(3.0, 2.0, (50, 4)), rng.normal(size=(80, 2))
    standards = Standards.of(of_samples, points)
    inside = standards.standardise_samples(of_samples)
    np.testing.assert_allclose(inside.mean(axis=0), 0.0, atol=1e-3)
    far = standards.standardise_samples(np.full((1, 4), 1e6))
    np.testing.assert_allclose(far[0], inside.max(axis=0))
