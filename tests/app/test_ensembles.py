"""Many forecasts: what the page tells of them is what single densities say."""

import numpy as np
import pytest
from scipy.stats import kstest

import amortized_kde as akde
from amortized_kde.app.ensembles import guess_members, judge_ranks, one_density, relative_ranks, verify
from amortized_kde.app.examples import example_ensembles
from amortized_kde.ensembles import ranks

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


def archive(rng, spread, rows=400, size=10):
    """Forecasts whose members have `spread` times the spread of the observations, each row at a place of its own."""
    centre = rng.normal(0.0, 5.0, rows)
    return centre[:, None] + spread * rng.normal(size=(rows, size)), centre + rng.normal(size=rows)


def exchangeable(rng, rows, size):
    """Forecasts that are reliable by construction, skew and on a grid with many ties."""
    drawn = rng.gamma(0.5, rng.gamma(2.0, 2.0, (rows, 1)), (rows, size + 1)).round(1)
    return drawn[:, 1:], drawn[:, 0]


@pytest.mark.parametrize("size", [2, 5, 10, 51])
def test_reliable_ensembles_are_rarely_called_unreliable(size):
    rng = np.random.default_rng(size)
    archives = [archive(rng, 1.0, size=size) for _ in range(50)] + [exchangeable(rng, 400, size) for _ in range(50)]
    alarms = sum("are reliable" not in judge_ranks(*one).sentence for one in archives)
    # Two tests at three standard errors: 0.5 of 100 are expected.
    assert alarms <= 4


@pytest.mark.parametrize("size", [5, 10, 51])
def test_ensembles_of_the_wrong_spread_are_called_so(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        assert "the forecasts are too narrow" in judge_ranks(*archive(rng, 0.5, size=size)).sentence
        assert "the forecasts are too wide" in judge_ranks(*archive(rng, 2.0, size=size)).sentence


def test_biased_ensembles_are_called_so():
    members, observed = archive(np.random.default_rng(1), 1.0)
    assert "upper half" in judge_ranks(members, observed + 1.0).sentence
    assert "lower half" in judge_ranks(members, observed - 1.0).sentence


def test_few_observations_say_nothing():
    members, observed = archive(np.random.default_rng(1), 1.0, rows=30)
    observed[5:] = np.nan
    assert judge_ranks(members, observed).sentence == (
        "5 observations are too few to say whether the forecasts are reliable."
    )


def test_the_histogram_counts_ranks():
    found = judge_ranks(np.tile(np.arange(9.0), (100, 1)), np.repeat(np.arange(10.0) - 0.5, 10))
    assert found.counts.tolist() == [10] * 10
    assert found.band[0] < found.expected == 10.0 < found.band[1]


def test_ranks_are_those_of_the_library_where_no_member_is_missing():
    rng = np.random.default_rng(1)
    members = rng.normal(size=(200, 7))
    observed = rng.normal(size=200)
    assert np.array_equal(np.floor(8.0 * relative_ranks(members, observed)) + 1.0, ranks(members, observed))


def test_ranks_with_missing_members_and_ties():
    members = np.array([[1.0, 2.0, np.nan], [1.0, np.nan, np.nan], [2.0, 2.0, 2.0], [1.0, 2.0, 3.0]])
    found = relative_ranks(members, np.array([1.5, 1.5, 2.0, np.nan]))
    assert 1 / 3 <= found[0] < 2 / 3
    assert 0.0 <= found[2] < 1.0
    assert np.isnan(found).tolist() == [False, True, False, True]
    tied = relative_ranks(np.full((2000, 3), 2.0), np.full(2000, 2.0))
    assert kstest(tied, "uniform").pvalue > 0.01


def test_the_example_is_too_narrow():
    assert judge_ranks(*example_ensembles()).sentence == "The histogram is not flat: the forecasts are too narrow."


@pytest.mark.parametrize(
    ("names", "members", "observed"),
    [
        (("station", "lead", "m1", "m2", "m3", "obs"), [2, 3, 4], 5),
        (("Station ID", "lead_time", "member_01", "member_02", "Observed"), [2, 3], 4),
        (("lat", "lon", "ENS.1", "ENS.2", "truth", "m1"), [2, 3], 4),
        (("date", "warm", "cold", "y"), [1, 2], 3),
        (("a", "b", "c"), [0, 1, 2], None),
        (("1", "2", "3"), [0, 1, 2], None),
        ((), [], None),
    ],
)
def test_members_are_guessed_by_their_names(names, members, observed):
    assert guess_members(names) == (members, observed)


def test_one_ensemble():
    found = verify(MEMBERS, None, method="silverman", bounds=(0.0, None))
    sample, density = one_density(np.append(MEMBERS[3], np.nan), found.bandwidths[3], (0.0, None))
    assert np.array_equal(sample.values, np.sort(MEMBERS[3]))
    assert density.bandwidth == found.bandwidths[3]
    assert one_density(MEMBERS[3], float("nan"), (None, None)) is None
