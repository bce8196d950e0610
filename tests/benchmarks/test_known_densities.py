import math

import numpy as np
import pytest
from scipy import stats

from amortized_kde.density import KernelDensity
from contests.known_densities import expected_score, panel_rule, simple_bounded, true_score
from contests.marron_wand import marron_wand

DENSITIES = {known.name: known for known in marron_wand()}
FROZEN = {
    "uniform": stats.uniform(),
    "exponential": stats.expon(),
    "triangular": stats.triang(0.5),
    "beta(2, 2)": stats.beta(2.0, 2.0),
}


def midpoint_sum(log_density, known, count=2_000_000):
    """The slow obvious version."""
    low, high = known.ends[0], known.ends[-1]
    total = 0.0
    for part in np.array_split(np.arange(count), 20):
        x = low + (part + 0.5) * (high - low) / count
        total -= float(np.sum(np.exp(known.logpdf(x)) * log_density(x)))
    return total * (high - low) / count / math.log(2.0)


@pytest.mark.parametrize("name", ["gaussian", "outlier", "double claw"])
@pytest.mark.parametrize("h", [0.002, 0.02, 0.3])
def test_expected_score_is_exact_for_narrow_and_wide_kernels(name, h):
    known = DENSITIES[name]
    sample = np.sort(known.draw(1, 40, 3)[0])
    density = KernelDensity(sample, bandwidth=h, bounds=known.bounds)
    slow = midpoint_sum(density.logpdf, known)
    assert expected_score(density.logpdf, known) == pytest.approx(slow, abs=2e-5)


def test_true_score_is_the_entropy():
    x = np.linspace(-4.0, 4.0, 2_000_001)
    f = np.exp(-0.5 * x * x)
    f /= np.trapezoid(f, x)
    assert true_score(DENSITIES["gaussian"]) == pytest.approx(-np.trapezoid(f * np.log2(f), x), abs=1e-9)


def test_an_estimate_that_is_zero_somewhere_scores_infinity():
    score = expected_score(lambda x: np.where(x > 0.0, 0.0, -math.inf), DENSITIES["gaussian"])
    assert score == math.inf


def test_panel_rule_gives_expectations():
    rule = panel_rule(DENSITIES["separated bimodal"])
    # Symmetric, and both components are hardly cut.
    assert np.sum(rule.weights * rule.points) == pytest.approx(0.0, abs=1e-12)
    assert np.sum(rule.weights * rule.points**2) == pytest.approx(1.5**2 + 0.5**2, abs=1e-4)


@pytest.mark.parametrize("known", simple_bounded(), ids=lambda known: known.name)
def test_densities_samples_and_entropies(known):
    frozen = FROZEN[known.name]
    x = frozen.ppf(np.linspace(0.01, 0.99, 99))
    np.testing.assert_allclose(known.logpdf(x), frozen.logpdf(x), atol=1e-12)
    sample = known.draw(30, 100, 4)
    assert stats.kstest(sample.ravel(), frozen.cdf).pvalue > 1e-4
    assert true_score(known) == pytest.approx(frozen.entropy() / math.log(2.0), abs=1e-6)
    assert panel_rule(known).weights.sum() == pytest.approx(1.0, abs=1e-9)


def test_samples_repeat_by_seed():
    for known in simple_bounded():
        np.testing.assert_array_equal(known.draw(2, 3, 1), known.draw(2, 3, 1))
        assert (known.draw(2, 3, 1) != known.draw(2, 3, 2)).all()
