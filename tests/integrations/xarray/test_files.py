"""Archives in files become rows; dressed labelled arrays equal the arrays' results, lazy or not."""

import numpy as np
import pytest
import xarray as xr

import amortized_kde.integrations.xarray as labelled
from amortized_kde import ensembles
from amortized_kde.ensembles import Dressing
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.integrations.xarray import rows_of
from amortized_kde.integrations.xarray.files import read_archive

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata")


def test_every_cell_is_a_row_with_its_time(archive):
    x, obs = archive
    # Time runs backwards in the file.
    rows = rows_of(x.t2m.isel(time=slice(None, None, -1)), obs.t2m.isel(time=slice(None, None, -1)))
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


@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_files(archive, tmp_path, kind):
    x, obs = archive
    both = x[["t2m"]].assign(seen=obs.t2m)
    path = tmp_path / f"archive.{kind}"
    both.to_netcdf(path) if kind == "nc" else both.to_zarr(path)
    obs[["t2m"]].to_netcdf(tmp_path / "obs.nc")
    expected = rows_of(x.t2m, obs.t2m)
    here = read_archive(str(path), var=None, obs="seen")
    there = read_archive(str(path), var="t2m", obs="t2m", obs_file=str(tmp_path / "obs.nc"))
    for found in (here, there):
        for part, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part, wanted)


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
    x.to_netcdf(tmp_path / "x.nc")
    with pytest.raises(InvalidParameterError, match="has no variable 'seen'; it has: t2m, rain, mask"):
        read_archive(str(tmp_path / "x.nc"), var="t2m", obs="seen")


@pytest.mark.parametrize("lazy", [False, True])
def test_dressed_arrays_keep_labels_chunks_and_numbers(archive, lazy):
    x = archive[0].t2m.chunk(time=2) if lazy else archive[0].t2m
    dressing = Dressing(1.0, 0.9, 2.0, (0, None))
    found = labelled.dressed(x, dressing)
    assert found.dims == x.dims
    assert found.attrs == x.attrs
    assert (found.chunks is not None) == lazy
    expected = ensembles.dressed(archive[0].t2m.transpose(..., "member").values, dressing)
    np.testing.assert_allclose(found.transpose(..., "member"), expected, rtol=1e-12)
    xr.testing.assert_identical(x.akde.dressed(dressing).compute(), found.compute())


def test_a_dataset_is_dressed_by_variable(archive):
    x = archive[0]
    found = labelled.dressed(x, {"t2m": Dressing(1.0, 1.0, 2.0)})
    assert set(found.data_vars) == {"t2m", "rain"}
    np.testing.assert_array_equal(found.rain, x.rain)
    np.testing.assert_allclose(found.t2m.mean("member"), x.t2m.mean("member") + 1.0, rtol=1e-5)
