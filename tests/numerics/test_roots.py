import math

import numba
import numpy as np
import pytest

from amortized_kde.numerics.roots import ROOT, SEARCH, advance

# Functions with their roots: smooth, flat, steep, with a jump, linear, with the root at an end.
FUNCTIONS = [
    (lambda x: x**3 - 2.0, 0.5, 3.0, 2.0 ** (1 / 3)),
    (lambda x: math.cos(x) - x, 0.1, 1.5, 0.7390851332151607),
    (lambda x: (x - 1.0) ** 9, 0.2, 3.0, 1.0),
    (lambda x: math.expm1(200.0 * (x - 0.9)), 0.1, 1.0, 0.9),
    (lambda x: -1.0 if x < 0.3 else 1.0, 0.1, 1.0, 0.3),
    (lambda x: 2.0 * x - 3.0, 1.0, 2.0, 1.5),
    (lambda x: x - 1.0, 1.0, 2.0, 1.0),
    (lambda x: x - 2.0, 1.0, 2.0, 2.0),
]


step = numba.njit(lambda search, value: advance(search, value))


def find(function, low, high, tolerance=1e-14, expansions=0):
    """Root and arguments tried, as a compiled caller would drive the search."""
    search = np.zeros(SEARCH)
    search[:4] = low, high, tolerance, expansions
    tried = []
    x = step(search, math.nan)
    while not math.isnan(x):
        tried.append(x)
        x = step(search, function(x))
        assert len(tried) < 300
    return search[ROOT], tried


@pytest.mark.parametrize(("function", "low", "high", "root"), FUNCTIONS)
def test_closes_in_on_the_root(function, low, high, root):
    found, tried = find(function, low, high)
    # (x - 1)^9 underflows to 0 well before the bracket closes; its root is as exact as its sign.
    assert function(found) == 0.0 or abs(found - root) <= 4e-14
    assert all(low <= x <= high for x in tried)
    assert len(tried) < 130


def test_a_smooth_function_takes_few_steps():
    assert len(find(lambda x: x**3 - 2.0, 0.5, 3.0)[1]) < 15


def test_the_tolerance_is_kept():
    found, _ = find(lambda x: math.cos(x) - x, 0.1, 1.5, tolerance=1e-3)
    assert 0.0 < abs(found - 0.7390851332151607) <= 2e-3


def test_the_bracket_grows_up_and_down_in_turn():
    found, tried = find(lambda x: x - 50.0, 0.1, 1.0, expansions=99)
    assert found == pytest.approx(50.0, rel=1e-13)
    np.testing.assert_allclose(tried[:6], [0.1, 1.0, 1.2, 0.1 / 1.2, 1.44, 0.1 / 1.44])
    found, _ = find(lambda x: x - 1e-3, 0.1, 1.0, expansions=99)
    assert found == pytest.approx(1e-3, rel=1e-10)


def test_no_bracket_is_no_root():
    assert math.isnan(find(lambda x: x + 1.0, 0.1, 1.0, expansions=99)[0])
    assert math.isnan(find(lambda x: x + 1.0, 0.1, 1.0)[0])
    assert math.isnan(find(lambda x: math.nan, 0.1, 1.0, expansions=99)[0])
