"""Archives that the tests share, with every number known."""

import numpy as np
import pytest

from amortized_kde.research.training.archive.pairs import read_pairs


@pytest.fixture(scope="session")
def made():
    """Pairs of an archive in which members, moved by (a, b, c), and the observation are alike: exchangeable draws."""

    def make(seed, *, numbers=(0.0, 1.0, 1.0), steps=200, places=20, members=20):
        rng = np.random.default_rng(seed)
        season = 8.0 * np.sin(2.0 * np.pi * np.arange(steps) / 365.25)
        centre = 10.0 + season[:, None] + rng.normal(0.0, 3.0, (steps, places))
        drawn = centre[..., None] + rng.gamma(8.0, 0.25, (steps, places, 1)) * rng.normal(
            size=(steps, places, members + 1)
        )
        x = drawn[..., 1:]
        mean, (a, b, c) = x.mean(axis=-1), numbers
        y = a + b * mean + c * (drawn[..., 0] - mean)
        return read_pairs(x.reshape(-1, members), y.ravel(), np.repeat(np.arange(steps), places))

    return make
