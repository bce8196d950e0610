"""Reliability and ranks of labelled arrays, in memory and in chunks: those of the arrays and of other libraries."""

import numpy as np
import pytest
import xarray as xr
import xskillscore

import amortized_kde.integrations.xarray as labelled
from amortized_kde import ensembles
from amortized_kde.errors import InvalidParameterError, InvalidSampleError

pytestmark = pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
RAIN = {"bounds": (0, None), "atoms": (0,), "method": "silverman", "climatology": [0.3, 1.0, 2.0, 5.0]}
CELLS = ("time", "lead", "lat")


def plain(x, y):
    return x.transpose(*CELLS, "member").values, y.transpose(*CELLS).values


@pytest.mark.parametrize("chunks", [None, {"time": 2, "lead": 1, "lat": 3}])
def test_ranks_are_those_of_the_arrays(archive, chunks):
    x, y = (data.rain for data in archive)
    given = x if chunks is None else x.chunk(chunks)
    found = labelled.ranks(given, y, seed=4)
    assert (found.chunks is None) == (chunks is None)
    np.testing.assert_array_equal(found, ensembles.ranks(*plain(x, y), seed=4))
    counts = labelled.rank_histogram(given, y, seed=4)
    assert (counts.dims, counts.name) == (("rank",), "rain_rank_histogram")
    assert counts.coords["rank"].values.tolist() == list(range(1, 13))
    np.testing.assert_array_equal(counts, ensembles.rank_histogram(*plain(x, y), seed=4))
    by_place = labelled.rank_histogram(given, y, over=["time", "lead"], seed=4)
    assert by_place.sizes == {"lat": 4, "rank": 12}
    np.testing.assert_array_equal(by_place.sum("lat"), counts)


def test_the_histogram_is_that_of_another_library(archive):
    x, y = archive[0].t2m.astype(float).fillna(3.0), archive[1].t2m.fillna(5.0)
    theirs = xskillscore.rank_histogram(y.transpose(*CELLS), x, member_dim="member")
    np.testing.assert_array_equal(labelled.rank_histogram(x, y), theirs)


@pytest.mark.parametrize("chunks", [None, {"time": 2, "lead": 1, "lat": 3}])
def test_reliability_is_that_of_the_arrays(archive, chunks):
    x, y = (data.rain for data in archive)
    given = x if chunks is None else x.chunk(chunks)
    found = labelled.reliability(given, y, [0.0, 2.0], bins=4, **RAIN)
    expected = ensembles.reliability(*plain(x, y), [0.0, 2.0], bins=4, **RAIN)
    assert found.rain_reliability_observed.dims == ("threshold", "forecast_probability")
    assert found.rain_reliability_observed.attrs["akde_atoms"] == "0"
    assert (found.rain_reliability_counts.chunks is None) == (chunks is None)
    np.testing.assert_allclose(found.rain_reliability_forecast, expected.forecast, rtol=1e-12)
    np.testing.assert_allclose(found.rain_reliability_observed, expected.observed, rtol=1e-12)
    np.testing.assert_array_equal(found.rain_reliability_counts, expected.counts)
    single = labelled.reliability(given, y, 2.0, bins=4, over="time", **RAIN)
    assert single.rain_reliability_counts.dims == ("lead", "lat", "forecast_probability")
    np.testing.assert_array_equal(single.rain_reliability_counts.sum(("lead", "lat")), expected.counts[1])


def test_reliability_at_thresholds_of_each_place(archive):
    x, y = (data.rain for data in archive)
    climate = xr.DataArray([0.5, 1.0, 2.0, 3.0], dims="lat", coords={"lat": x.lat})
    found = labelled.reliability(x, y, climate, bins=2, over=["time", "lead"], **RAIN)
    one = labelled.reliability(x.isel(lat=2), y.isel(lat=2), 2.0, bins=2, **RAIN)
    np.testing.assert_allclose(found.rain_reliability_observed.isel(lat=2), one.rain_reliability_observed, rtol=1e-12)


def test_reliability_of_probabilities_is_that_of_another_library(archive):
    x, y = (data.rain for data in archive)
    p, hit = (x > 1.0).mean("member"), y > 1.0
    found = labelled.reliability_of(p, hit, bins=5, over="time")
    theirs = xskillscore.reliability(hit.transpose(*p.dims), p, dim="time")
    np.testing.assert_allclose(found.observed, theirs.transpose(*found.observed.dims), rtol=1e-12)
    np.testing.assert_array_equal(found.counts, theirs.samples.transpose(*found.counts.dims))
    xr.testing.assert_allclose(found.forecast_probability, theirs.forecast_probability)
    missing = labelled.reliability_of(p, hit.where(y.lat > 50.0), bins=5)
    assert int(missing.counts.sum()) == 30


def test_datasets_and_the_accessor(archive):
    x, y = archive
    found = x.akde.reliability(y, 5.0, bins=2, bandwidth=1.0)
    assert set(found.data_vars) == {
        f"{name}_reliability_{part}" for name in ("t2m", "rain") for part in ("forecast", "observed", "counts")
    }
    xr.testing.assert_identical(found, labelled.reliability(x, y, 5.0, bins=2, bandwidth=1.0))
    xr.testing.assert_identical(x.rain.akde.ranks(y.rain, seed=2), labelled.ranks(x.rain, y.rain, seed=2))
    counts = x.akde.rank_histogram(y, over="time")
    xr.testing.assert_identical(counts, labelled.rank_histogram(x, y, over="time"))
    assert set(counts.data_vars) == {"t2m_rank_histogram", "rain_rank_histogram"}


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda x, y: x.akde.ranks(y, seed=-1), InvalidParameterError, "seed must be a whole number"),
        (lambda x, y: x.rain.akde.rank_histogram(y.rain, over="depth"), InvalidSampleError, "over names 'depth'"),
        (lambda x, y: x.rain.akde.rank_histogram(y.rain.isel(lat=[0])), InvalidSampleError, "obs has 1 values"),
        (lambda x, y: x.rain.chunk().akde.reliability(y.rain, 1.0, bins=0), InvalidParameterError, "bins must be"),
        (lambda x, y: labelled.reliability_of(y.rain.values, y.rain), InvalidSampleError, "must be DataArrays"),
    ],
)
def test_bad_input_is_one_sentence(archive, ask, error, message):
    with pytest.raises(error, match=message):
        ask(*archive)
