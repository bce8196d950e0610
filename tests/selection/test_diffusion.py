"""Improved Sheather-Jones: the paper's equations in NumPy judge the solution, and KDEpy's own, in right units."""

import math

import numpy as np
import pytest
from KDEpy.bw_selection import improved_sheather_jones

from amortized_kde import bandwidth
from amortized_kde.errors import FallbackWarning


def coefficients(x, w, count):
    """Squared cosine coefficients of data in the middle half of [0, 1]."""
    u = 0.25 + 0.5 * (x - x.min()) / np.ptp(x)
    return np.array([np.sum(w * np.cos(k * math.pi * u)) ** 2 for k in range(1, count + 1)])


def optimal_time(t, n, squares):
    """gamma(t) of Algorithm 1, as written there."""
    k = np.arange(1.0, squares.size + 1.0)

    def norm(s, t):
        return 2.0 * math.pi ** (2 * s) * np.sum(k ** (2 * s) * squares * np.exp(-((k * math.pi) ** 2) * t))

    f = norm(7, t)
    for s in range(6, 1, -1):
        odd = math.prod(range(1, 2 * s, 2)) / math.sqrt(2.0 * math.pi)
        t = (2.0 * (1.0 + 0.5 ** (s + 0.5)) / 3.0 * odd / (n * f)) ** (2.0 / (3.0 + 2.0 * s))
        f = norm(s, t)
    return (2.0 * n * math.sqrt(math.pi) * f) ** -0.4


def samples():
    rng = np.random.default_rng(41)
    for n in (20, 100, 1000):
        yield f"normal {n}", rng.standard_normal(n)
    yield "bimodal", np.concatenate([rng.normal(-3.0, 0.2, 70), rng.normal(2.0, 1.0, 50)])
    yield "spike", np.concatenate([rng.normal(0.0, 0.01, 100), rng.normal(0.0, 1.0, 100)])
    yield "skewed", rng.lognormal(0.0, 1.0, 250)
    yield "uniform", rng.uniform(0.0, 1.0, 300)
    yield "heavy", rng.standard_t(2.0, 400)
    yield "ties", np.round(rng.standard_normal(300), 1)
    yield "outlier", np.append(rng.standard_normal(99), 200.0)
    yield "offset", 1e6 + rng.standard_normal(100)
    yield "tiny", 1e-12 * rng.standard_normal(150)


SAMPLES = [pytest.param(x, id=name) for name, x in samples()]


@pytest.mark.parametrize("x", SAMPLES)
def test_the_bandwidth_solves_the_equation(x):
    h = bandwidth(x, method="isj")
    squares, n = coefficients(x, np.full(x.size, 1.0 / x.size), 6000), np.unique(x).size

    def excess(factor):
        t = (factor * h / (2.0 * np.ptp(x))) ** 2
        return math.sqrt(optimal_time(t, n, squares) / t) - 1.0

    assert abs(excess(1.0)) <= 1e-9
    # Below the solution the optimal bandwidth is the larger one, above the smaller one.
    assert excess(1.0 - 1e-6) > 0.0 > excess(1.0 + 1e-6)


@pytest.mark.parametrize("x", SAMPLES)
def test_kdepys_bandwidth_is_the_same_once_its_units_are_right(x):
    # KDEpy's mesh of 1024 nodes is twice as wide as data that span more than 12 units, and it returns the root times
    # the range of the data. Its bins widen the bandwidth where they are wide for it.
    scale = 1000.0 / np.ptp(x)
    theirs = improved_sheather_jones(scale * x[:, None]) / scale * 2.0 * 1024.0 / 1023.0
    h = bandwidth(x, method="isj")
    node = 2.0 * np.ptp(x) / 1023.0 / h
    assert theirs == pytest.approx(h, rel=1e-3 + 0.15 * node**2)


def test_kdepys_own_units_depend_on_the_scale_of_the_data():
    # Should this fail, KDEpy has been corrected, and the test above is wrong.
    x = np.random.default_rng(42).standard_normal((200, 1))
    assert improved_sheather_jones(x) < 0.7 * improved_sheather_jones(100.0 * x) / 100.0


def test_weights_enter_coefficients_and_size():
    rng = np.random.default_rng(43)
    x, w = rng.gamma(2.0, 1.0, 200), rng.exponential(1.0, 200)
    h, w = bandwidth(x, weights=w, method="isj"), w / w.sum()
    t = (h / (2.0 * np.ptp(x))) ** 2
    assert optimal_time(t, 1.0 / np.sum(w * w), coefficients(x, w, 3000)) == pytest.approx(t, rel=1e-9)


def test_repeated_values_count_once():
    # As in the authors' code: rounding would otherwise pass for detail.
    x = np.random.default_rng(44).standard_normal(50)
    assert bandwidth(np.repeat(x, 4), method="isj") == pytest.approx(bandwidth(x, method="isj"), rel=1e-12)


def test_bins_above_5000_values_change_little():
    rng = np.random.default_rng(45)
    x = np.concatenate([rng.normal(-2.0, 0.3, 2000), rng.standard_normal(3001)])
    squares = coefficients(x, np.full(x.size, 1.0 / x.size), 1500)
    h = bandwidth(x, method="isj")
    t = (h / (2.0 * np.ptp(x))) ** 2
    assert optimal_time(t, x.size, squares) == pytest.approx(t, rel=1e-4)


@pytest.mark.parametrize("x", [[1.0, 2.0], [0.0, 0.1, 5.0], np.append(np.arange(30.0), 1e9)])
def test_without_a_solution_silvermans_rule_answers(x):
    with pytest.warns(FallbackWarning, match="isj: .* no solution, so Silverman's rule"):
        h = bandwidth(x, method="isj")
    assert h == bandwidth(x, method="silverman")
