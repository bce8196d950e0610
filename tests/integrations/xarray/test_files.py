"""Files of ensembles are opened in blocks; archives become rows."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.integrations.xarray import rows_of
from amortized_kde.integrations.xarray.archives import read_archive
from amortized_kde.integrations.xarray.files import open_ensembles, open_observations

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata")


def test_every_cell_is_a_row_with_its_time(archive):
    x, obs = archive
    rows = rows_of(x.t2m, obs.t2m)
    assert rows.members.shape == (5 * 2 * 4, 11)
    assert rows.members.dtype == np.float32
    np.testing.assert_array_equal(rows.times, np.repeat(np.arange(5), 8))
    row = 3 * 8 + 1 * 4 + 2
    np.testing.assert_array_equal(rows.members[row], x.t2m.isel(time=3, lead=1, lat=2))
    assert rows.observations[row] == obs.t2m.isel(time=3, lead=1, lat=2)


def test_observations_with_fewer_dimensions_are_spread(archive):
    x, obs = archive
    rows = rows_of(x.t2m, obs.t2m.isel(lead=0, drop=True))
    np.testing.assert_array_equal(rows.observations[:4], rows.observations[4:8])


def test_observations_are_converted(archive):
    x, obs = archive
    celsius = (obs.t2m - 273.15).assign_attrs(units="degC")
    np.testing.assert_allclose(rows_of(x.t2m, celsius).observations, rows_of(x.t2m, obs.t2m).observations, atol=1e-9)


def test_the_only_variable_of_the_cells_has_the_observations(archive, tmp_path):
    x, obs = archive
    x[["t2m"]].rename(member="number").assign(seen=obs.t2m).to_netcdf(tmp_path / "both.nc")
    opened = open_ensembles(str(tmp_path / "both.nc"), None)
    assert (opened.name, opened.dims) == ("t2m", ("time", "lead", "number", "lat"))
    assert open_observations(str(tmp_path / "both.nc"), None, opened).name == "seen"


WITHOUT_CFTIME = """
import sys
sys.modules["cftime"] = None
from amortized_kde.integrations.xarray.files import open_ensembles
print(open_ensembles("x.nc", None).time.values.tolist())
"""


@pytest.mark.parametrize("calendar", ["360_day", "noleap", "julian"])
def test_dates_of_every_calendar_are_read(archive, tmp_path, calendar):
    x, obs = archive
    times = xr.date_range("2000-02-28", periods=5, calendar=calendar, use_cftime=True)
    x[["t2m"]].assign(seen=obs.t2m).assign_coords(time=times).to_netcdf(tmp_path / "x.nc")
    rows = read_archive(str(tmp_path / "x.nc"), obs_var="seen")
    assert rows.covariates["day_of_year"][0] == (58 if calendar == "360_day" else 59)
    np.testing.assert_array_equal(rows.members, rows_of(x.t2m, obs.t2m).members)
    done = subprocess.run([sys.executable, "-c", WITHOUT_CFTIME], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "[0, 1, 2, 3, 4]", done.stderr


@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_files(archive, tmp_path, kind):
    x, obs = archive
    both = x[["t2m"]].assign(seen=obs.t2m)
    path = tmp_path / f"archive.{kind}"
    both.to_netcdf(path) if kind == "nc" else both.to_zarr(path)
    obs[["t2m"]].to_netcdf(tmp_path / "obs.nc")
    expected = rows_of(x.t2m, obs.t2m)
    here = read_archive(str(path), obs_var="seen")
    there = read_archive(str(path), var="t2m", obs_var="t2m", obs=str(tmp_path / "obs.nc"))
    for found in (here, there):
        np.testing.assert_array_equal(found.members, expected.members)
        np.testing.assert_array_equal(found.observations, expected.observations)


def test_mistakes_are_one_sentence(archive, tmp_path):
    x, obs = archive
    with pytest.raises(InvalidParameterError, match=r"no dimension 'number' for the members \(--member-dim\); theirs"):
        rows_of(x.t2m, obs.t2m, member_dim="number")
    with pytest.raises(InvalidParameterError, match=r"no dimension 'date' for the time \(--time-dim\)"):
        rows_of(x.t2m, obs.t2m, time_dim="date")
    with pytest.raises(InvalidSampleError, match="observations have no dimension 'time'"):
        rows_of(x.t2m, obs.t2m.isel(time=0, drop=True))
    with pytest.raises(InvalidSampleError, match="different coordinates along 'time', first at 0"):
        rows_of(x.t2m, obs.t2m.assign_coords(time=obs.time + np.timedelta64(1, "D")))
    with pytest.raises(InvalidSampleError, match="obs has 4 values along 'time', but the ensembles have 5"):
        rows_of(x.t2m, obs.t2m.isel(time=slice(4)))
    for values in (x.t2m * np.nan, obs.t2m), (x.t2m, obs.t2m * np.nan):
        with pytest.raises(InvalidSampleError, match=r"all (members|observations) are missing \(NaN\)"):
            rows_of(*values)
    with pytest.raises(InvalidSampleError, match="forecasts are in 'K' and the observations in 'mm'"):
        rows_of(x.t2m, obs.t2m.assign_attrs(units="mm"))
    x.to_netcdf(tmp_path / "x.nc")
    with pytest.raises(InvalidParameterError, match="has no variable 'seen'; it has: t2m, rain, mask"):
        read_archive(str(tmp_path / "x.nc"), var="t2m", obs_var="seen")
