import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.numerics.sort import PARALLEL_FROM, ascending, first_at_least

RNG = np.random.default_rng(1)
N = 100_000
SAMPLES = {
    "normal": RNG.standard_normal(N),
    "heavy tails": RNG.standard_cauchy(N),
    "skewed": np.exp(5.0 * RNG.standard_normal(N)),
    "rounded": RNG.standard_normal(N).round(1),
    "many zeros": RNG.standard_normal(N) * (RNG.random(N) > 0.6),
    # Narrower than the mesh resolves.
    "clusters": RNG.choice([0.0, 1e-6, 1.0], N) + 1e-9 * RNG.standard_normal(N),
    "all decades": RNG.choice([-1e300, 1e-300, 5.0, 1e300], N) * RNG.random(N),
    "periodic": np.tile(np.arange(N / 100), 100),
    "descending": np.arange(N, 0.0, -1.0),
    "constant": np.full(N, 0.7),
    "one that differs": np.append(np.zeros(N - 1), -1.0),
    "far from zero": 1e9 + RNG.standard_normal(N),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_what_numpy_gives(name):
    given, before = SAMPLES[name], SAMPLES[name].copy()
    found = ascending(given)
    assert np.array_equal(found, np.sort(given))
    assert np.array_equal(given, before)
    assert not np.shares_memory(found, given)


@given(
    n=st.integers(PARALLEL_FROM - 2, PARALLEL_FROM + 5000), seed=st.integers(0, 2**32 - 1), power=st.floats(0.1, 8.0)
)
def test_any_size_on_any_number_of_threads(n, seed, power):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n) * rng.random(n) ** power
    found = ascending(x, threads=1)
    assert np.array_equal(found, np.sort(x))
    assert np.array_equal(found, ascending(x, threads=3))


def test_every_other_value():
    x = RNG.standard_normal(2 * N)
    assert np.array_equal(ascending(x[::2]), np.sort(x[::2]))


@numba.njit
def search(ascending, x):
    return first_at_least(ascending, x)


def test_search_is_that_of_numpy():
    ascending = np.array([-2.0, 0.0, 0.0, 1.0, 5.0])
    for x in [-3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 5.0, 6.0, math.inf, -math.inf]:
        assert search(ascending, x) == np.searchsorted(ascending, x)
    assert search(ascending[:0], 1.0) == 0
