"""The commands for trained models: models and train, from a recipe or from a file of forecasts."""

import csv
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from amortized_kde import ensembles
from amortized_kde.cli import app
from amortized_kde.ensembles import read_calibration
from amortized_kde.integrations.xarray import calibrated, log_scores
from amortized_kde.integrations.xarray.covariates import place_keys

runner = CliRunner()
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="training needs the train extra")


def test_models_are_listed_and_shown():
    listed = runner.invoke(app, ["models"])
    assert listed.exit_code == 0
    assert {line.split()[0] for line in listed.stdout.splitlines()} == {
        "adaptive",
        "gaussian",
        "gmm16",
        "gmm32",
        "gmm8",
        "multifamily",
        "multivariate",
        "single",
    }
    card = json.loads(runner.invoke(app, ["models", "gmm32", "--json"]).stdout)
    assert card["recipe"]["seed"] == 2026
    assert "sha256" in runner.invoke(app, ["models", "gmm32"]).stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("models", "gmm33"), "gmm32"), (("train", "gmm33"), "gmm32"), (("train", "nowhere.toml"), "nowhere.toml")],
)
def test_wrong_names_get_one_sentence(run, arguments, named):
    status, _, err = run(*arguments)
    assert status == 2
    assert named in err


SMALL = """
name = "small"
world = "own_task.py:Kumaraswamy"
seed = 1
steps = 60
batch = 16
sizes = [5, 30]
one_size_a_step = false
[network]
inputs = ["n", "mean", "sd", "skewness", "kurtosis"]
hidden = [8, 8]
output = "bandwidth"
[objective]
kind = "draws"
points = 32
[optimiser]
learning_rate = 1e-3
clip = 1.0
average = 0.9
[validation]
seed = 2
sizes = [5, 10, 20]
tasks_per_size = 5
every = 30
[early_stop]
start = 1000
patience = 5
improvement = 1e-5
"""


@needs_jax
def test_own_recipe_and_own_tasks_become_a_method(tmp_path):
    example = (Path(__file__).parents[2] / "examples" / "research" / "own_task.py").read_text()
    (tmp_path / "own_task.py").write_text(example)
    (tmp_path / "small.toml").write_text(SMALL)
    out = tmp_path / "run"
    done = runner.invoke(app, ["train", str(tmp_path / "small.toml"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert {"log.csv", "log.png", "card.json", "weights.safetensors"} <= {path.name for path in out.iterdir()}
    sample = tmp_path / "x.txt"
    sample.write_text("0.1\n0.3\n0.35\n0.8\n")
    fitted = runner.invoke(app, ["fit", str(sample), "--bounds", "0", "1", "--method", f"amortized:{out}", "--json"])
    assert json.loads(fitted.stdout)["bandwidth"] > 0.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A biased, under-dispersed archive, and spoilt copies of it."""
    path, rng = tmp_path_factory.mktemp("archive"), np.random.default_rng(31)
    truth = rng.normal(280.0, 3.0, (100, 4))
    x = truth[..., None] + 2.0 + rng.normal(0.0, 1.0, (100, 4, 1)) + rng.normal(0.0, 0.5, (100, 4, 10))
    coords = {"time": np.arange(100), "place": np.arange(4)}
    truth[5, 1] = np.nan
    data = xr.Dataset({"t2m": (("time", "place", "member"), x), "seen": (("time", "place"), truth)}, coords)
    data.to_netcdf(path / "a.nc")
    data.isel(time=slice(6)).to_netcdf(path / "short.nc")
    data.isel(time=slice(None, None, -1)).to_netcdf(path / "backwards.nc")
    data.drop_vars("time").to_netcdf(path / "timeless.nc")
    data.assign(seen=data.seen * np.nan).to_netcdf(path / "unseen.nc")
    data.assign(seen=data.seen.assign_attrs(units="mm"), t2m=data.t2m.assign_attrs(units="K")).to_netcdf(path / "mm.nc")
    data[["seen"]].assign_coords(time=data.time + 1).to_netcdf(path / "later.nc")
    (path / "full").mkdir()
    (path / "full" / "card.json").write_text("{}")
    return path


@needs_jax
@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
def test_from_a_file_to_a_model_and_scores(run, folder, tmp_path):
    out = tmp_path / "run"
    status, said, err = run("train", "--archive", folder / "a.nc", "--steps", 6, "--seed", 3, "--out", out)
    assert status == 0, err
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert {"pairs 399", "left out observation missing 1", "days 100", "places 4"} <= lines
    assert f"wrote {out / 'report.csv'}" in said
    names = {path.name for path in out.iterdir()}
    assert {"log.csv", "card.json", "weights.safetensors", "report.csv", "report.png"} <= names
    with open(out / "report.csv", encoding="utf-8") as file:
        verdict, *rest = file
        rows = {row["method"]: row for row in csv.DictReader(rest)}
    assert verdict.strip().removeprefix("# ") in said
    assert float(rows["raw ensemble, as shipped"]["low_95"]) > 0.2
    status, _, err = run("train", "--archive", folder / "a.nc", "--out", out)
    assert status == 2
    assert "give another --out, or --overwrite" in err
    with xr.open_dataset(folder / "a.nc") as data:
        status, said, err = run(
            *("ensemble", folder / "a.nc", "--obs-var", "seen", "--out", tmp_path / "o.nc"),
            *("--method", f"amortized:{out}"),
        )
        assert status == 0, err
        expected = log_scores(data.t2m, data.seen, method=f"amortized:{out}")
        with xr.open_dataset(tmp_path / "o.nc") as written:
            np.testing.assert_allclose(written.t2m_log_score, expected, rtol=1e-12)
        calibration = read_calibration(out)
        moved = ensembles.calibrated(data.t2m.values, calibration, {"place": place_keys(data.t2m, ("place",)).values})
        np.testing.assert_allclose(calibrated(data.t2m, out), moved, rtol=1e-12)


def dates(count):
    return (np.datetime64("2023-01-01") + np.arange(count)).astype("datetime64[ns]")


def small_archives():
    """The four kinds of archive that must train by the documented commands, small."""
    rng = np.random.default_rng(32)
    signal = rng.normal(0.0, 4.0, 200)
    names = ["gfs", "ecmwf", "icon"]
    biases = np.array([3.0, -2.0, 0.0])
    weather = rng.normal(0.0, 3.0, (25, 1)) + rng.normal(size=(25, 40))
    wet = np.where(rng.random((300, 8)) < 0.7, rng.gamma(0.8, 4.0, (300, 8)), 0.0)
    one, many = ("time", "member"), ("time", "station", "member")
    yield "rounded", one, signal[:, None] + rng.normal(size=(200, 8)), np.round(signal + rng.normal(size=200)), {}, ()
    x = weather[..., None] + rng.normal(size=(25, 40, 6))
    yield "places", many, x, weather + rng.normal(0.0, 2.0, 40), {"station": np.arange(40)}, ()
    x = signal[:, None] + biases + rng.normal(size=(200, 3))
    yield "named", one, x, signal + 0.5 * rng.normal(size=200), {"member": names}, ()
    support = ("--bounds", 0, "none", "--atoms", 0)
    yield "dry", one, wet[:, 1:], wet[:, 0].round(1), {}, support


EXPECTED = {
    "rounded": ["observations look rounded to 1; scoring the rounded cells"],
    "places": ["places      40", "places, shrunk by"],
    "named": ["members     gfs, ecmwf, icon"],
    "dry": ["atoms       0", "censored logistic", "P(atom)"],
}


@needs_jax
@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
@pytest.mark.parametrize("kind", list(small_archives()), ids=lambda kind: kind[0])
def test_archives_of_all_kinds_train_without_further_options(run, tmp_path, kind):
    name, dims, x, y, coords, support = kind
    data = xr.Dataset({"t": (dims, x), "seen": (dims[:-1], y)}, {"time": dates(len(x)), **coords})
    data.to_netcdf(tmp_path / "archive.nc")
    status, said, err = run(
        "train", "--archive", tmp_path / "archive.nc", *support, "--out", tmp_path / "m", "--steps", 6
    )
    assert status == 0, err
    for text in EXPECTED[name]:
        assert text in said
    status, said, err = run(
        *("ensemble", tmp_path / "archive.nc", "--method", f"amortized:{tmp_path / 'm'}", "--obs-var", "seen"),
        *("--out", tmp_path / "o.nc"),
    )
    assert status == 0, err
    with xr.open_dataset(tmp_path / "o.nc") as written:
        assert np.isfinite(written.t_log_score).all()


MISTAKES = {
    "both": (["gmm32", "--archive", "a.nc"], "give either RECIPE or --archive, not both"),
    "neither": ([], "give a RECIPE, or --archive FILE"),
    "option alone": (["gmm32", "--no-season"], "--no-season is for training on an archive; give --archive FILE too"),
    "resume": (["--archive", "a.nc", "--resume"], "--resume is for recipes"),
    "no file": (["--archive", "b.nc"], "there is no file 'b.nc'"),
    "obs' name": (["--archive", "a.nc", "--obs-var", "see"], "'a.nc' has no variable 'see'; it has: t2m, seen"),
    "var's name": (["--archive", "a.nc", "--var", "t"], "'a.nc' has no variable 't'"),
    "members": (["--archive", "a.nc", "--member-dim", "number"], "'number'"),
    "time": (["--archive", "a.nc", "--time-dim", "date"], "no dimension 'date' for the time"),
    "timeless": (["--archive", "timeless.nc"], "no coordinate 'time', so that the order of their times is unknown"),
    "backwards": (["--archive", "backwards.nc"], "the times along 'time' are not in order"),
    "units": (["--archive", "mm.nc"], "forecasts are in 'K' and the observations in 'mm'"),
    "coordinates": (["--archive", "a.nc", "--obs", "later.nc"], "coordinates along 'time'"),
    "short": (["--archive", "short.nc"], "the archive has 6 days"),
    "unseen": (["--archive", "unseen.nc"], "all observations are missing"),
    "start": (["--archive", "a.nc", "--start", "gmm8"], "'gmm8' cannot be trained on an archive"),
    "outside": (["--archive", "a.nc", "--bounds", "0", "1"], "399 × observation outside bounds"),
    "atoms": (["--archive", "a.nc", "--atoms", "x"], "--atoms takes numbers with commas between"),
    "window": (["--archive", "a.nc", "--window", "200"], "a window of 200 days does not fit the archive of 100 days"),
    "covariate": (["--archive", "a.nc", "--covariates", "height"], "has no variable 'height' for --covariates"),
    "full": (["--archive", "a.nc", "--out", "full"], "'full' has card.json already"),
}


@needs_jax
@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_input_is_one_sentence(run, folder, monkeypatch, mistake):
    monkeypatch.chdir(folder)
    arguments, message = MISTAKES[mistake]
    status, out, err = run("train", *arguments)
    assert status == 2
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not (folder / "training").exists()


@needs_jax
@pytest.mark.parametrize(("library", "extra"), [("xarray", "xarray"), ("jax", "train")])
def test_without_the_extra(folder, library, extra):
    code = (
        f"import sys; sys.modules[{library!r}] = None; from amortized_kde.cli import main; "
        "main(['train', '--archive', 'a.nc'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"pip install 'amortized-kde[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
