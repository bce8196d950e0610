"""Archives that the tests share, with every number known."""

import numpy as np
import pytest

from amortized_kde.research.training.archive.pairs import read_pairs


@pytest.fixture(scope="session")
def made():
    """Pairs with y = a + b m + sqrt(c^2 + d^2 s^2) z, z normal, m and s of the members."""

    def make(seed=1, *, numbers=(2.0, 0.8, 1.0, 0.7), days=400, places=1, members=10, season=0.0, **options):
        rng = np.random.default_rng(seed)
        a, b, c, d = numbers
        day = np.repeat(np.arange(days), places)
        angle = 2.0 * np.pi * day / 365.2425
        x = rng.normal(5.0, 4.0, (day.size, 1)) + rng.gamma(3.0, 0.7, (day.size, 1)) * rng.normal(
            size=(day.size, members)
        )
        m, s = x.mean(axis=1), x.std(axis=1, ddof=1)
        y = a + b * m + season * np.sin(angle) + np.sqrt(c**2 + d**2 * s**2) * rng.normal(size=day.size)
        return read_pairs(x, y, day, covariates={"day_of_year": 1.0 + day % 365}, **options)

    return make


@pytest.fixture(scope="session")
def wet():
    """Pairs of rain: dry in about 30 % of cases, members half of what they should be."""

    def make(seed=3, days=500, **options):
        rng = np.random.default_rng(seed)
        signal = rng.normal(size=(days, 1))
        chance = 1.0 / (1.0 + np.exp(-1.2 - 1.5 * signal))
        amount = rng.gamma(0.9, 4.0, (days, 9)) * np.exp(0.5 * signal)
        drawn = np.where(rng.random((days, 9)) < chance, amount, 0.0)
        return read_pairs(0.5 * drawn[:, 1:], drawn[:, 0], np.arange(days), bounds=(0, None), atoms=(0,), **options)

    return make
