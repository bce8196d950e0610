"""Calibrated labelled ensembles: covariates come from coordinates, lazily or not; what is missing is one sentence."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import amortized_kde as akde
import amortized_kde.integrations.xarray as labelled
from amortized_kde import ensembles
from amortized_kde.ensembles import Calibration
from amortized_kde.errors import InvalidParameterError
from amortized_kde.integrations.xarray.archives import archive_of
from amortized_kde.integrations.xarray.covariates import day_of_year, member_names, place_keys

TIMES = np.array(["2024-02-28", "2024-02-29", "2024-12-31"], "datetime64[ns]")
PLACES = {"lat=44;lon=8": (1.0, 0.1), "lat=45.5;lon=8": (-1.0, 0.0)}
CHOSEN = Calibration(
    covariates={"height": (100.0, 50.0)},
    location={"1": 1.0, "mean": 0.9, "sin1": 2.0, "covariate height": 0.5},
    floor=1.0,
    slope=0.5,
    places=PLACES,
    share=0.5,
)


@pytest.fixture
def x():
    rng = np.random.default_rng(21)
    coords = {
        "time": TIMES,
        "lat": [44.0, 45.5],
        "lon": [8.0, 9.0],
        "height": (("lat", "lon"), rng.uniform(0, 300, (2, 2))),
    }
    return xr.DataArray(rng.normal(size=(3, 2, 2, 6)), dims=("time", "lat", "lon", "member"), coords=coords, name="t2m")


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "m"
    shutil.copytree(Path(akde.__file__).parent / "learned" / "adaptive" / "weights" / "adaptive", folder)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, "calibration": CHOSEN.as_card()}))
    return f"amortized:{folder}"


def by_hand(x):
    """The covariates as the functions of arrays take them."""
    shape = x.shape[:-1]
    return {
        "day_of_year": np.broadcast_to(np.array([59.0, 60.0, 366.0])[:, None, None], shape),
        "place": np.broadcast_to(place_keys(x, ("lat", "lon")).values.astype(str), shape),
        "height": np.broadcast_to(x.height.values, shape),
    }


@pytest.mark.parametrize("lazy", [False, True])
def test_labelled_results_are_those_of_arrays(x, model, lazy):
    given = x.chunk(time=2, lat=1) if lazy else x
    obs = x.mean("member")
    found = labelled.log_scores(given, obs, method=model)
    assert (found.chunks is not None) == lazy
    expected = ensembles.log_scores(x.values, obs.values, method=model, covariates=by_hand(x))
    np.testing.assert_allclose(found.transpose(*x.dims[:-1]), expected, rtol=1e-12)
    moved = labelled.calibrated(given, model)
    assert moved.dims == x.dims
    np.testing.assert_allclose(moved, ensembles.calibrated(x.values, CHOSEN, by_hand(x)), rtol=1e-12)
    xr.testing.assert_identical(given.akde.calibrated(model).compute(), moved.compute())
    ends = labelled.quantiles(given, [0.1, 0.9], method=model)
    np.testing.assert_allclose(
        ends.transpose(..., "quantile"),
        ensembles.quantiles(x.values, [0.1, 0.9], method=model, covariates=by_hand(x)),
        rtol=1e-9,
    )


def test_a_dataset_is_calibrated_by_variable(x):
    data = xr.Dataset({"a": x, "b": x + 1.0})
    plain = Calibration(location={"1": 3.0, "mean": 1.0})
    found = labelled.calibrated(data, {"a": plain})
    np.testing.assert_allclose(found.a.mean("member"), x.mean("member") + 3.0, rtol=1e-9)
    np.testing.assert_array_equal(found.b, data.b)


def test_what_is_missing_is_one_sentence(x, model):
    obs = x.mean("member")
    for name, message in {
        "time": "trained with the season, but the ensembles have no coordinate of dates",
        "height": "trained with the covariate 'height', which the ensembles lack; their coordinates are",
    }.items():
        with pytest.raises(InvalidParameterError, match=message):
            labelled.log_scores(x.drop_vars(name), obs.drop_vars(name), method=model)
    one = x.isel(lon=0, drop=True)
    with pytest.raises(InvalidParameterError, match=r"corrections for places along lat, lon, but .* have no 'lon'"):
        labelled.log_scores(one, one.mean("member"), method=model)
    again = labelled.log_scores(
        x.drop_vars("height"), obs.drop_vars("height"), method=model, covariates={"height": x.height}
    )
    np.testing.assert_allclose(again, labelled.log_scores(x, obs, method=model), rtol=1e-12)
    with pytest.raises(InvalidParameterError, match="calibrates forecasts"):
        labelled.bandwidth(x, method=model)


def test_one_time_as_a_scalar_coordinate_is_enough(x, model):
    tomorrow = x.isel(time=1)
    found = labelled.quantiles(tomorrow, 0.5, method=model)
    np.testing.assert_allclose(found, labelled.quantiles(x, 0.5, method=model).isel(time=1), rtol=1e-12)


def test_an_archive_has_days_dates_places_leads_and_names(x):
    steps = np.array([6, 12], "timedelta64[h]").astype("timedelta64[ns]")
    wide = xr.concat([x, x + 1.0], dim="step").assign_coords(step=steps, member=list("abcdef"))
    obs = wide.mean("member")
    found = archive_of(wide, obs, covariates={"height": x.height})
    assert found.names == tuple("abcdef") == member_names(wide, "member")
    np.testing.assert_array_equal(np.unique(found.days), [0, 1, 307])
    assert set(found.covariates) == {"day_of_year", "step", "height"}
    assert set(found.covariates["step"]) == {6.0, 12.0}
    assert set(found.places) == {"lat=44;lon=8", "lat=44;lon=9", "lat=45.5;lon=8", "lat=45.5;lon=9"}
    row = int(
        np.flatnonzero((found.places == "lat=45.5;lon=9") & (found.days == 1) & (found.covariates["step"] == 12.0))[0]
    )
    np.testing.assert_array_equal(found.members[row], wide.isel(time=1, step=1, lat=1, lon=1))
    assert found.covariates["height"][row] == x.height.values[1, 1]
    with pytest.raises(
        InvalidParameterError, match="'t' has the dimension 'member', but it must have one number per cell"
    ):
        archive_of(x, x.mean("member"), covariates={"t": x})


def test_other_calendars_have_days_too():
    times = xr.date_range("2000-02-29", periods=3, calendar="360_day", use_cftime=True)
    x = xr.DataArray(np.zeros((3, 2)), dims=("time", "member"), coords={"time": times})
    np.testing.assert_array_equal(day_of_year(x), [59.0, 60.0, 61.0])
    assert day_of_year(x.assign_coords(time=[1, 2, 3])) is None
