"""The ensemble command as people use it: what it writes, what it counts, and what it says when something is wrong."""

import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import amortized_kde.integrations.xarray as labelled
from amortized_kde.integrations.xarray import files
from amortized_kde.integrations.xarray.writing import write_results

pytestmark = [
    pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning"),
    # Zarr calls its own way of keeping metadata together unsettled.
    pytest.mark.filterwarnings("ignore:Consolidated metadata"),
]
BOUNDS = (-30.0, 60.0)


@pytest.fixture(scope="module")
def forecasts():
    """Temperature with a cell of no members, rain with dry cells, and observations, of which one is far too low."""
    rng = np.random.default_rng(21)
    coords = {"time": np.datetime64("2026-03-01", "ns") + np.arange(6) * np.timedelta64(1, "D"), "lat": [50.0, 51.0]}
    t2m = rng.normal(10.0, 3.0, (6, 2, 15)).astype(np.float32)
    t2m[rng.random(t2m.shape) < 0.1] = np.nan
    t2m[2, 1] = np.nan
    rain = np.where(rng.random(t2m.shape) < 0.4, 0.0, rng.gamma(1.0, 2.0, t2m.shape))
    rain[1, 0] = 0.0
    dims = ("time", "lat", "number")
    x = xr.Dataset({"t2m": (dims, t2m, {"units": "K"}), "rain": (dims, rain), "mask": ("lat", [1.0, 1.0])}, coords)
    seen = rng.normal(10.0, 3.0, (6, 2))
    seen[0, 0], seen[5, 1] = -50.0, np.nan
    wet = np.where(rng.random((6, 2)) < 0.4, 0.0, 1.5)
    wet[1, 0] = 2.0
    return x, xr.Dataset({"t2m": (dims[:2], seen), "rain": (dims[:2], wet)}, coords)


@pytest.fixture
def stored(tmp_path, forecasts):
    """Where the two files lie, and where results may."""
    paths = [tmp_path / name for name in ("x.nc", "obs.nc", "out.nc")]
    for data, path in zip(forecasts, paths, strict=False):
        data.to_netcdf(path)
    return paths


def test_scores_are_those_of_the_functions(run, stored, forecasts, monkeypatch):
    # Blocks of three cells, of which none is all there is.
    monkeypatch.setattr(files, "_BLOCK_CELLS", 3)
    path, obs, out = stored
    status, said, _ = run(
        *("ensemble", path, "--var", "t2m", "--obs", obs, "--bounds", *BOUNDS, "--above", "8,12"),
        *("--method", "silverman", "--out", out, "--json"),
    )
    x, y = (part.t2m for part in forecasts)
    options = {"dim": "number", "bounds": BOUNDS, "method": "silverman"}
    scores = labelled.log_scores(x, y, **options)
    brier = labelled.brier_scores(x, y, [8.0, 12.0], **options)
    assert status == 0
    with xr.open_dataset(out) as written:
        np.testing.assert_allclose(written.t2m_log_score, scores, rtol=1e-12)
        np.testing.assert_allclose(written.t2m_crps, labelled.crps(x, y, **options), rtol=1e-12)
        np.testing.assert_allclose(written.t2m_pit, labelled.pit(x, y, **options), rtol=1e-12)
        np.testing.assert_allclose(written.t2m_bandwidth, labelled.bandwidth(x, **options), rtol=1e-12)
        above = labelled.probabilities(x, [8.0, 12.0], above=True, **options)
        np.testing.assert_allclose(written.t2m_probability_above, above, rtol=1e-12)
        np.testing.assert_allclose(written.t2m_brier_score, brier, rtol=1e-12)
        np.testing.assert_array_equal(written.t2m_rank_histogram, labelled.rank_histogram(x, y))
        diagram = labelled.reliability(x, y, [8.0, 12.0], **options)
        xr.testing.assert_allclose(written[list(diagram.data_vars)].drop_attrs(), diagram.drop_attrs())
        assert written.t2m_log_score.attrs["units"] == "bits"
        assert written.t2m_crps.attrs["units"] == "K"
        xr.testing.assert_equal(written.time, x.time)
    facts = json.loads(said)
    inside = scores.values[np.isfinite(scores)]
    assert facts.pop("mean_crps") == pytest.approx(float(labelled.crps(x, y, **options).mean()))
    assert facts == {
        "file": str(path),
        "variable": "t2m",
        "members": 15,
        "method": "silverman",
        "bounds": list(BOUNDS),
        "resolution": "exact",
        "cells": 12,
        "cells_without_members": 1,
        "cells_with_missing_members": int((x.isnull().any("number") & x.notnull().any("number")).sum()),
        "cells_with_members_outside": 0,
        "cells_without_answer": 1,
        "observations_missing": 1,
        "observations_outside_bounds": 1,
        "mean_log_score": None,
        "mean_log_score_inside": pytest.approx(inside.mean()),
        "mean_brier_scores": pytest.approx(brier.mean(("time", "lat")).values),
        "files": [str(out)],
        "notes": [],
    }
    assert inside.size == 9


@pytest.mark.parametrize(("given", "unit"), [((), 0.5), (("--resolution", "0"), 0.0), (("--resolution", "2"), 2.0)])
def test_rounded_observations(run, forecasts, tmp_path, given, unit):
    rng = np.random.default_rng(5)
    members = xr.DataArray(rng.normal(0.0, 3.0, (200, 8)), dims=("time", "member"), name="t")
    obs = xr.DataArray(np.rint(2.0 * rng.normal(0.0, 3.0, 200)) / 2.0, dims="time", name="t")
    path, seen, out = (tmp_path / name for name in ("x.nc", "obs.nc", "out.nc"))
    members.to_netcdf(path)
    obs.to_netcdf(seen)
    status, said, _ = run("ensemble", path, "--obs", seen, "--out", out, "--json", *given)
    found = json.loads(said)
    assert status == 0
    assert found["resolution"] == (unit or "exact")
    assert any("look rounded to 0.5" in note for note in found["notes"]) == (not given)
    expected = labelled.log_scores(members, obs, resolution=unit)
    with xr.open_dataset(out) as written:
        np.testing.assert_allclose(written.t_log_score, expected)


def test_counts_in_words_and_progress(run, stored):
    path, obs, out = stored
    status, said, bar = run(
        *("ensemble", path, "--var", "t2m", "--member-dim", "number", "--obs", obs, "--bounds", *BOUNDS),
        *("--bandwidth", 2, "--out", out),
    )
    assert status == 0
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert {"cells without members 1", "observations outside bounds 1", "mean log score inf", f"wrote {out}"} <= lines
    assert "100 %" in bar


def test_members_outside_the_bounds_are_counted(run, stored, forecasts):
    path, _, out = stored
    x, limit = forecasts[0].t2m, float(forecasts[0].t2m.max()) - 1e-9
    asked = (path, "--var", "t2m", "--member-dim", "number", "--bounds", "none", limit, "--bandwidth", 2)
    status, said, _ = run("ensemble", *asked, "--out", out, "--json")
    facts = json.loads(said)
    assert (status, facts["cells_with_members_outside"]) == (0, int((x > limit).any("number").sum()))
    assert facts["cells_without_answer"] == facts["cells_without_members"] + 1


def test_rain_with_atoms_and_past_values(run, stored, forecasts, tmp_path):
    path, obs, out = stored
    past = xr.Dataset({"rain": ("time", [0.0, 0.5, 1.0, 2.0, 7.0])})
    past.to_netcdf(tmp_path / "past.nc")
    asked = (
        path,
        "--var",
        "rain",
        "--resolution",
        0,
        "--member-dim",
        "number",
        "--obs",
        obs,
        "--bounds",
        0,
        "none",
        "--atoms",
        0,
        "--seed",
        3,
    )
    asked += ("--method", "silverman")
    x, y = (part.rain for part in forecasts)
    options = {"dim": "number", "bounds": (0, None), "atoms": (0,), "method": "silverman"}
    assert "cells without answer         1" in run("ensemble", *asked, "--out", out)[1]
    status, said, _ = run("ensemble", *asked, "--out", out, "--overwrite", "--climatology", tmp_path / "past.nc")
    assert status == 0
    assert "cells without answer         0" in said
    options["climatology"] = past.rain.values
    with xr.open_dataset(out) as written:
        np.testing.assert_allclose(written.rain_log_score, labelled.log_scores(x, y, **options), rtol=1e-12)
        parts = written.rain_log_score_occurrence + written.rain_log_score_amount
        np.testing.assert_allclose(parts, written.rain_log_score, rtol=1e-12)
        np.testing.assert_allclose(written.rain_pit, labelled.pit(x, y, seed=3, **options), rtol=1e-12)
        shares = labelled.atom_probabilities(x, (0,), "number")
        np.testing.assert_allclose(written.rain_atom_probability, shares, rtol=1e-12)


def test_observations_in_the_same_file_and_a_distribution_function(run, forecasts, tmp_path):
    x, y = forecasts
    celsius = (y.t2m - 273.15).assign_attrs(units="degC")
    x[["t2m"]].assign(seen=celsius).to_netcdf(tmp_path / "both.nc")
    asked = (tmp_path / "both.nc", "--obs-var", "seen", "--bandwidth", 2, "--below", "8,9,10")
    status, said, err = run("ensemble", *asked, "--out", tmp_path / "out.nc")
    assert status == 0, err
    assert said.splitlines()[-1] == "note: observations are converted from degC to K, the unit of the forecasts."
    with xr.open_dataset(tmp_path / "out.nc") as written:
        np.testing.assert_allclose(written.t2m_log_score, labelled.log_scores(x.t2m, y.t2m, bandwidth=2.0), rtol=1e-9)
        expected = labelled.probabilities(x.t2m, [8.0, 9.0, 10.0], bandwidth=2.0)
        np.testing.assert_allclose(written.t2m_probability_below, expected, rtol=1e-12)
        assert written.threshold.values.tolist() == [8.0, 9.0, 10.0]


def test_dry_members_are_pointed_out(run, stored):
    path, _, out = stored
    asked = ("ensemble", path, "--var", "rain", "--bounds", 0, "none", "--bandwidth", 1, "--overwrite", "--out", out)
    status, said, _ = run(*asked)
    assert status == 0
    assert "of the members are exactly 0, the lower bound; --atoms 0 gives it a" in said.splitlines()[-1]
    assert "note:" not in run(*asked, "--atoms", 0)[1]


def test_other_calendars_are_read_and_written(run, forecasts, tmp_path):
    x, y = (data.t2m.convert_calendar("360_day", align_on="date") for data in forecasts)
    x.to_netcdf(tmp_path / "x.nc")
    y.to_netcdf(tmp_path / "obs.nc")
    asked = (tmp_path / "x.nc", "--obs", tmp_path / "obs.nc", "--bandwidth", 2, "--out", tmp_path / "out.nc")
    status, _, err = run("ensemble", *asked)
    assert status == 0, err
    with xr.open_dataset(tmp_path / "out.nc") as written:
        xr.testing.assert_equal(written.time, x.time)
        np.testing.assert_allclose(written.t2m_crps, labelled.crps(x, y, bandwidth=2.0), rtol=1e-12)


def test_zarr_and_the_only_variable(run, forecasts, tmp_path):
    x = forecasts[0].t2m
    # Stored in other chunks than ours, members apart.
    x.to_dataset().chunk(time=4, number=2).to_zarr(tmp_path / "x.zarr")
    out = tmp_path / "out.zarr"
    status, said, _ = run("ensemble", tmp_path / "x.zarr", "--member-dim", "number", "--method", "scott", "--out", out)
    assert status == 0
    assert "cells without members 1" in {" ".join(line.split()) for line in said.splitlines()}
    with xr.open_zarr(out) as written:
        expected = labelled.quantiles(x, [0.1, 0.5, 0.9], "number", method="scott")
        np.testing.assert_allclose(written.t2m_quantile, expected, rtol=1e-12)
        assert set(written.data_vars) == {"t2m_quantile", "t2m_bandwidth"}
    assert not list(tmp_path.glob("*.part"))


MISTAKES = {
    "no file": (["nowhere.nc", "--out", "o.nc"], "there is no file 'nowhere.nc'"),
    "unreadable": (["text.nc", "--out", "o.nc"], "'text.nc' cannot be read as NetCDF or Zarr"),
    "no dimension": (
        ["x.nc", "--var", "t2m", "--member-dim", "member", "--out", "o.nc"],
        "variable 't2m' has no dimension 'member' for its",
    ),
    "no members": (
        ["obs.nc", "--out", "o.nc"],
        "none of the dimensions time, lat looks like that of the members",
    ),
    "no variable": (["x.nc", "--var", "wind", "--out", "o.nc"], "'x.nc' has no variable 'wind'; it has: t2m, rain"),
    "none fits": (["x.nc", "--member-dim", "run", "--out", "o.nc"], "'x.nc' has no variables with the dimension 'run'"),
    "several fit": (["x.nc", "--out", "o.nc"], "'x.nc' has 2 variables with the dimension 'number'"),
    "obs' name": (["ok.nc", "--obs", "obs.nc", "--obs-var", "t", "--out", "o.nc"], "'obs.nc' has no variable 't'"),
    "obs' place": (["ok.nc", "--obs", "moved.nc", "--out", "o.nc"], "different coordinates along 'lat', first at 1"),
    "obs' length": (["ok.nc", "--obs", "short.nc", "--out", "o.nc"], "obs has 3 values along 'time', but the ens"),
    "obs' members": (["ok.nc", "--obs-var", "t2m", "--out", "o.nc"], "obs has the members' dimension 'member'"),
    "obs' units": (
        ["ok.nc", "--obs", "metres.nc", "--out", "o.nc"],
        "are in 'K' and the observations in 'm'",
    ),
    "obs missing": (["ok.nc", "--obs", "unseen.nc", "--out", "o.nc"], "all observations are missing (NaN)"),
    "members missing": (["empty.nc", "--out", "o.nc"], "all members of variable 't2m' are missing (NaN)"),
    "calendar": (["ok.nc", "--obs", "noleap.nc", "--out", "o.nc"], "dates of the calendar noleap along 'time'"),
    "thresholds": (["ok.nc", "--above", "1", "--below", "2", "--out", "o.nc"], "--above and --below share a dimension"),
    "exists": (["ok.nc", "--out", "obs.nc"], "'obs.nc' exists already; give another --out, or --overwrite"),
    "itself": (["ok.nc", "--out", "ok.nc", "--overwrite"], "'ok.nc' is also an input"),
    "kind": (["ok.nc", "--out", "o.csv"], "'o.csv' must end in .nc (NetCDF) or .zarr (Zarr)"),
    "folder": (["ok.nc", "--out", "no/o.nc"], "there is no directory 'no'; create it first"),
    "bounds": (["ok.nc", "--bounds", "0", "x", "--out", "o.nc"], "--bounds takes two numbers, not 'x'"),
    "swapped": (["ok.nc", "--bounds", "2", "1", "--out", "o.nc"], "lower bound 2"),
    "method": (["ok.nc", "--method", "silvermann", "--out", "o.nc"], "Did you mean"),
    "both": (["ok.nc", "--method", "scott", "--bandwidth", "1", "--out", "o.nc"], "not both"),
    "numbers": (["ok.nc", "--above", "1;2", "--out", "o.nc"], "--above takes numbers with commas between them"),
    "quantiles": (["ok.nc", "--quantiles", "90", "--out", "o.nc"], "probabilities must lie in [0, 1]"),
    "bandwidth": (["ok.nc", "--bandwidth", "-1", "--out", "o.nc"], "a bandwidth must be a positive number, not -1"),
    "atoms": (["ok.nc", "--bounds", "0", "1", "--atoms", "2", "--out", "o.nc"], "the atom 2 lies outside the bounds"),
}


@pytest.fixture(scope="module")
def folder(forecasts, tmp_path_factory):
    path = tmp_path_factory.mktemp("mistakes")
    x, y = forecasts
    x.to_netcdf(path / "x.nc")
    x[["t2m"]].rename(number="member").to_netcdf(path / "ok.nc")
    y.to_netcdf(path / "obs.nc")
    y.assign_coords(lat=[50.0, 52.0]).to_netcdf(path / "moved.nc")
    y.isel(time=slice(3)).to_netcdf(path / "short.nc")
    y.t2m.assign_attrs(units="m").to_netcdf(path / "metres.nc")
    (y.t2m * np.nan).to_netcdf(path / "unseen.nc")
    (x.t2m * np.nan).to_netcdf(path / "empty.nc")
    y.convert_calendar("noleap").to_netcdf(path / "noleap.nc")
    (path / "text.nc").write_text("time,t2m\n")
    return path


@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_input_is_one_sentence(run, folder, monkeypatch, mistake):
    monkeypatch.chdir(folder)
    arguments, message = MISTAKES[mistake]
    status, out, err = run("ensemble", *arguments)
    assert status == 2
    assert out == ""
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert message in line
    assert len(err.splitlines()) == 1
    assert not list(folder.glob("o.*"))


def test_without_the_extra(folder):
    code = (
        "import sys; sys.modules[{!r}] = None; from amortized_kde.cli import main; "
        "main(['ensemble', 'ok.nc', '--out', 'o.nc'])"
    )
    for library in ("xarray", "dask.array"):
        done = subprocess.run([sys.executable, "-c", code.format(library)], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert "pip install 'amortized-kde[xarray]'" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_failure_in_the_middle_leaves_nothing_behind(forecasts, tmp_path):
    x = forecasts[0].t2m.chunk(time=2)

    def fail(block):
        raise OSError("the disk is full")

    broken = x.copy(data=x.data.map_blocks(fail, dtype=x.dtype, meta=np.empty((0, 0, 0), x.dtype)))
    target = tmp_path / "out.nc"
    target.write_text("the old one")
    with pytest.raises(OSError, match=r"cannot be written \(the disk is full\)"):
        write_results(broken.to_dataset(), str(target), report=lambda done, total: None)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the old one"]
