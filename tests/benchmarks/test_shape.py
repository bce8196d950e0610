"""What is measured of a curve: modes on a grid with the data in it, peak, moments, intervals."""

import numpy as np
import pytest
from scipy import stats

import amortized_kde as akde
from contests.rivals import DIRICHLET
from contests.shape import (
    MEASURES,
    PROBABILITIES,
    Curve,
    count_modes,
    curves,
    evaluation_grid,
    marron_wand_densities,
    measures,
    smooth_densities,
)

TRUTHS = {truth.name: truth for truth in (*smooth_densities(), *marron_wand_densities())}


def as_dict(values):
    return dict(zip(MEASURES, values, strict=True))


@pytest.mark.parametrize("name", TRUTHS)
def test_densities_are_densities_with_samples_of_their_own(name):
    truth = TRUTHS[name]
    pdf, cdf = truth.pdf(truth.grid), truth.cdf(truth.grid)
    assert np.trapezoid(pdf, truth.grid) == pytest.approx(1.0, abs=2e-3)
    assert np.all(np.diff(cdf) >= 0.0)
    sample = truth.draw(np.random.default_rng(1), 4000)
    assert stats.kstest(sample, truth.cdf).pvalue > 1e-3


def test_known_numbers_of_modes():
    expected = {"normal": 1, "uniform": 1, "two modes": 2, "gaussian": 1, "bimodal": 2, "trimodal": 3, "claw": 5}
    assert {name: TRUTHS[name].modes(0.02) for name in expected} == expected


def test_a_needle_on_a_data_point_is_counted():
    sample = np.array([165.0, 168.0, 170.0, 172.0, 175.0, 180.0])
    grid = evaluation_grid(sample)
    broad, needle = stats.norm(171.0, 6.0).pdf(grid), stats.norm(180.0, 1e-6).pdf(grid)
    assert count_modes(broad, 0.02) == 1
    assert count_modes(broad + 1e-7 * needle, 0.02) == 2


def test_the_truth_itself_is_measured_as_perfect():
    truth, law = TRUTHS["normal"], stats.norm()
    sample = law.ppf((np.arange(200) + 0.5) / 200)
    found = as_dict(measures(truth, sample, Curve(law.logpdf, 0.0, 1.0, law.ppf(PROBABILITIES))))
    assert found["found modes 2 %"] == 1
    assert found["spurious modes 2 %"] == found["missed modes 10 %"] == 0
    assert found["peak / true peak"] == pytest.approx(1.0, abs=1e-6)
    assert found["sd / sample sd"] == pytest.approx(1.0, abs=0.02)
    assert (found["coverage 50 %"], found["coverage 90 %"]) == (pytest.approx(0.5), pytest.approx(0.9))
    assert found["squared error"] == pytest.approx(0.0, abs=1e-12)
    assert found["excess bits"] == pytest.approx(0.0, abs=1e-9)


def test_curves_of_the_package_and_of_a_mixture():
    sample = np.sort(np.random.default_rng(2).normal(size=60))
    truth = TRUTHS["normal"]
    (ours,) = curves("silverman", truth, [sample])
    assert ours.mean == pytest.approx(sample.mean())
    np.testing.assert_array_equal(ours.quantiles, akde.fit(sample, method="silverman").ppf(np.array(PROBABILITIES)))
    pytest.importorskip("sklearn")
    (mixture,) = curves(DIRICHLET, truth, [sample])
    assert mixture.mean == pytest.approx(sample.mean(), abs=0.1)
    assert mixture.sd == pytest.approx(sample.std(), rel=0.15)
    grid = np.linspace(-30.0, 30.0, 60_001)
    assert np.trapezoid(np.exp(mixture.log_density(grid)), grid) == pytest.approx(1.0, abs=1e-9)
