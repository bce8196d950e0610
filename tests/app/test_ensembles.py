"""Many forecasts: what the page tells of them is what single densities say."""

import numpy as np
import pytest
from scipy.stats import kstest

import amortized_kde as akde
from amortized_kde.app.ensembles import judge_pit, verify
from amortized_kde.app.examples import example_ensembles

RNG = np.random.default_rng(1)
MEMBERS = RNG.gamma(2.0, 1.0, (20, 11))
OBSERVED = RNG.gamma(2.0, 1.0, 20)


@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (0.0, 40.0)])
@pytest.mark.parametrize("method", ["amortized", "silverman"])
def test_each_ensemble_is_a_density(bounds, method):
    found = verify(MEMBERS, OBSERVED, method=method, bounds=bounds)
    for row, observed, h, score, pit in zip(MEMBERS, OBSERVED, found.bandwidths, found.scores, found.pit, strict=True):
        assert h == pytest.approx(akde.bandwidth(row, method=method, bounds=bounds), rel=1e-9)
        density = akde.KernelDensity(row, h, bounds=bounds)
        assert score == pytest.approx(akde.log_score(density, observed), rel=1e-9)
        assert pit == pytest.approx(density.cdf(observed), rel=1e-9)
    assert found.mean_score == pytest.approx(found.scores.mean())


def test_missing_members_missing_observations_and_rows_without_an_answer():
    members, observed = MEMBERS[:4].copy(), OBSERVED[:4].copy()
    members[0, 3:] = np.nan
    members[1] = 2.0
    members[2, 1:] = np.nan
    observed[3] = np.nan
    found = verify(members, observed, method="silverman", bounds=(0.0, None))
    assert found.members.tolist() == [3, 11, 1, 11]
    assert np.isnan(found.bandwidths).tolist() == [False, True, True, False]
    assert np.isnan(found.scores).tolist() == np.isnan(found.pit).tolist() == [False, True, True, True]
    assert found.scores[0] == pytest.approx(
        akde.log_score(akde.KernelDensity(members[0, :3], found.bandwidths[0], bounds=(0, None)), observed[0])
    )


def test_observations_outside_the_bounds_have_an_infinite_score_and_an_end_as_pit():
    found = verify(MEMBERS[:2], np.array([-1.0, 1.0]), method="silverman", bounds=(0.0, None))
    assert found.scores[0] == np.inf
    assert found.pit[0] == 0.0
    assert found.mean_score == found.scores[1]


def test_without_observations():
    found = verify(MEMBERS, None, method="silverman", bounds=(None, None))
    assert np.isfinite(found.bandwidths).all()
    assert np.isnan(found.scores).all()
    assert np.isnan(found.mean_score)


def test_judging_a_histogram():
    flat = judge_pit(np.linspace(0.005, 0.995, 200))
    assert flat.counts.tolist() == [20] * 10
    assert flat.band[0] < 20 < flat.band[1]
    assert "reliable" in flat.sentence
    uniform = np.linspace(0.0025, 0.9975, 200)
    assert "too narrow" in judge_pit(np.where(uniform < 0.5, uniform**2, 1.0 - (1.0 - uniform) ** 2)).sentence
    assert "too wide" in judge_pit(0.5 + 0.5 * (uniform - 0.5)).sentence
    assert "upper half" in judge_pit(np.sqrt(uniform)).sentence
    assert "lower half" in judge_pit(uniform**2).sentence
    assert "too few" in judge_pit(np.array([0.5, np.nan])).sentence


def test_the_example_is_too_narrow():
    members, observed = example_ensembles()
    found = verify(members, observed, method="amortized", bounds=(None, None))
    assert kstest(found.pit, "uniform").pvalue < 0.01
    assert "too narrow" in judge_pit(found.pit).sentence
