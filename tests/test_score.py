import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from amortized_kde import KernelDensity, log_score
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.score import (
    expected_score_by_draws,
    expected_score_under_normal,
    gauss_hermite,
    paired_difference,
)


class Polynomial:
    """A log-density that is a power of the argument: its expected score is a moment."""

    def __init__(self, power):
        self.power = power

    def logpdf(self, y):
        return -math.log(2.0) * y**self.power


class Cosine:
    def logpdf(self, y):
        return -math.log(2.0) * np.cos(y)


@pytest.fixture
def density():
    return KernelDensity([0.1, 0.4, 0.45, 0.9], bandwidth=0.2, bounds=(0, 1))


def test_bits_at_outcomes_in_their_shape(density):
    outcomes = np.array([[0.2, 0.5, math.nan], [-1.0, 0.0, 1.0]])
    scores = log_score(density, outcomes)
    assert scores.shape == (2, 3)
    assert math.isnan(scores[0, 2])
    assert scores[1, 0] == math.inf
    np.testing.assert_allclose(scores[0, :2], -np.log2(density.pdf(outcomes[0, :2])), rtol=1e-14)
    assert isinstance(log_score(density, 0.2), float)
    # Twice the density is one bit less.
    assert log_score(KernelDensity([0.0], bandwidth=1.0), 0.0) == pytest.approx(
        log_score(KernelDensity([0.0], bandwidth=0.5), 0.0) + 1.0, abs=1e-15
    )


def test_the_density_comes_first(density):
    with pytest.raises(InvalidParameterError, match="first argument must be a density, not of type ndarray"):
        log_score(np.ones(3), density)


def test_outcomes_that_are_not_numbers(density):
    with pytest.raises(InvalidSampleError, match="outcomes must hold real numbers"):
        log_score(density, ["high"])


def hermite_nodes(order, count):
    """The largest nodes for the weight phi, by Newton's method on He_n in 60 digits, and their weights."""

    def hermite(x):
        previous, current = mpmath.mpf(1), x
        for k in range(1, order):
            previous, current = current, x * current - k * previous
        return current, previous

    nodes = []
    for start in gauss_hermite(order)[0][-count:]:
        x = mpmath.mpf(float(start))
        for _ in range(4):
            value, lower = hermite(x)
            x -= value / (order * lower)
        lower = hermite(x)[1]
        nodes.append((x, mpmath.factorial(order - 1) / (order * lower**2)))
    return nodes


def test_nodes_against_mpmath():
    t, weights = gauss_hermite(256)
    assert t.size == 256
    np.testing.assert_allclose(t, -t[::-1], atol=1e-13)
    # The upper half has all of it, by symmetry; every eighth node suffices.
    with mpmath.workdps(60):
        exact = hermite_nodes(256, 128)[::8]
        for (node, weight), found, rounded in zip(exact, t[128::8], weights[128::8], strict=True):
            assert abs(node - found) < 1e-13
            assert abs(weight - rounded) <= 1e-12 * max(rounded, 1e-16)
    assert math.fsum(weights) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(("power", "moment"), [(0, 1), (1, 0), (2, 1), (4, 3), (6, 15), (8, 105), (20, 654729075)])
def test_moments_of_the_normal(power, moment):
    assert expected_score_under_normal(Polynomial(power)) == pytest.approx(moment, rel=1e-12, abs=1e-13)


def test_known_integrals():
    assert expected_score_under_normal(Cosine()) == pytest.approx(math.exp(-0.5), rel=1e-13)
    assert expected_score_under_normal(Polynomial(2), mean=3.0, sd=2.0) == pytest.approx(13.0, rel=1e-13)
    # Cross-entropy of two normal densities, in bits.
    d = KernelDensity([0.5], bandwidth=2.0)
    exact = 0.5 * math.log2(2.0 * math.pi * 4.0) + (1.0 + 0.25) / 8.0 / math.log(2.0)
    assert expected_score_under_normal(d) == pytest.approx(exact, rel=1e-13)


def test_quadrature_against_integration_of_a_kernel_estimate():
    d = KernelDensity(np.random.default_rng(1).standard_normal(30), bandwidth=0.5)
    x = np.linspace(-12.0, 12.0, 200001)
    direct = np.trapezoid(stats.norm.pdf(x) * log_score(d, x), x)
    assert expected_score_under_normal(d) == pytest.approx(direct, rel=1e-6)


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 3.0), (-5.0, 1e-6), (1e3, 1e4)])
def test_an_affine_map_shifts_the_score_by_log2_of_its_factor(shift, factor):
    # Paper, Appendix B: L(ch; shift + cS, f_c) = L(h; S, f) + log2 c.
    x = np.random.default_rng(2).standard_normal(25)
    score = expected_score_under_normal(KernelDensity(x, bandwidth=0.4))
    mapped = KernelDensity(shift + factor * x, bandwidth=0.4 * factor)
    moved = expected_score_under_normal(mapped, mean=shift, sd=factor)
    tolerance = 1e-12 + 1e-15 * abs(shift) / factor
    assert moved == pytest.approx(score + math.log2(factor), abs=tolerance * 10)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (-4.0, 12.0), (0.0, 1e-5), (100.0, 3e4)])
@pytest.mark.parametrize("h", [0.01, 0.2, 5.0])
def test_proposition_1(a, b, h):
    # L_[A,B](a h; S, f) = L_[-1,1](h; T(S), f~) + log2 a, with the truth known by the same draws.
    rng = np.random.default_rng(3)
    sample, draws = rng.beta(2.0, 3.0, 40) * 2.0 - 1.0, rng.beta(2.0, 3.0, 2000) * 2.0 - 1.0
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    unit = expected_score_by_draws(KernelDensity(sample, bandwidth=h, bounds=(-1, 1)), draws)
    there = np.clip(middle + half * sample, a, b)
    moved = KernelDensity(there, bandwidth=half * h, bounds=(a, b))
    # The map's own rounding is no part of the proposition: the reference takes the mapped numbers back.
    back = KernelDensity(np.clip((there - middle) / half, -1, 1), bandwidth=h, bounds=(-1, 1))
    outcomes = np.clip(middle + half * draws, a, b)
    score = expected_score_by_draws(moved, outcomes)
    assert score.value == pytest.approx(unit.value + math.log2(half), abs=1e-10 if h < 0.1 else 1e-12)
    reference = expected_score_by_draws(back, np.clip((outcomes - middle) / half, -1, 1))
    assert score.value == pytest.approx(reference.value + math.log2(half), abs=1e-12)
    assert score.count == 2000


def test_expected_score_by_draws(density):
    draws = np.array([0.1, 0.5, 0.7, 0.2])
    found = expected_score_by_draws(density, draws)
    scores = log_score(density, draws)
    assert found.value == pytest.approx(scores.mean(), rel=1e-15)
    assert found.standard_error == pytest.approx(stats.sem(scores), rel=1e-13)
    assert math.isnan(expected_score_by_draws(density, [0.5]).standard_error)
    for bad in ([], [0.5, math.nan]):
        with pytest.raises(InvalidSampleError, match="needs at least one draw"):
            expected_score_by_draws(density, bad)


def test_draws_agree_with_quadrature():
    d = KernelDensity(np.random.default_rng(4).standard_normal(30), bandwidth=0.5)
    by_draws = expected_score_by_draws(d, np.random.default_rng(5).standard_normal(100_000))
    assert abs(by_draws.value - expected_score_under_normal(d)) < 4.0 * by_draws.standard_error


def test_paired_differences():
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((2, 50))
    found = paired_difference(a, b)
    assert found.value == pytest.approx(np.mean(a) - np.mean(b), abs=1e-14)
    assert found.standard_error == pytest.approx(stats.sem(a - b), rel=1e-13)
    assert paired_difference(b, a).value == -found.value
    assert paired_difference([[1.0], [2.0]], [[0.0], [1.0]]).count == 2
    for bad in [([1.0], [1.0, 2.0]), ([], [])]:
        with pytest.raises(InvalidSampleError, match="paired scores need one shape"):
            paired_difference(*bad)


def test_weighted_paired_differences():
    rng = np.random.default_rng(7)
    a, b, w = *rng.standard_normal((2, 50)), rng.gamma(1.0, 1.0, 50)
    found, v = paired_difference(a, b, weights=w), w / w.sum()
    mean, n = np.sum(v * (a - b)), 1.0 / np.sum(v**2)
    assert found.value == pytest.approx(mean, rel=1e-12)
    assert found.standard_error == pytest.approx(
        math.sqrt(np.sum(v**2 * (a - b - mean) ** 2) * n / (n - 1.0)), rel=1e-12
    )
    equal, none = paired_difference(a, b, weights=np.full(50, 3.0)), paired_difference(a, b)
    assert equal.value == pytest.approx(none.value, rel=1e-12)
    assert equal.standard_error == pytest.approx(none.standard_error, rel=1e-12)
    with pytest.raises(InvalidSampleError, match="weights have shape"):
        paired_difference(a, b, weights=[1.0])
