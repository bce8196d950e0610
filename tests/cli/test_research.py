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

from amortized_kde.cli import app
from amortized_kde.ensembles import read_dressing
from amortized_kde.integrations.xarray import dressed, log_scores

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
    example = (Path(__file__).parents[2] / "examples" / "own_task.py").read_text()
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
    data.isel(time=slice(40)).to_netcdf(path / "short.nc")
    data.assign(seen=data.seen * np.nan).to_netcdf(path / "unseen.nc")
    data[["seen"]].assign_coords(time=data.time + 1).to_netcdf(path / "later.nc")
    return path


@needs_jax
@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
def test_from_a_file_to_a_model_and_scores(run, folder, tmp_path):
    out = tmp_path / "run"
    asked = ["train", "--archive", folder / "a.nc", "--obs", "seen", "--dress", "--steps", 6, "--start", "single"]
    asked += ["--seed", 3, "--out", out]
    status, said, err = run(*asked)
    assert status == 0, err
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert {"pairs 399", "left out observation missing 1", "last step 6"} <= lines
    assert f"wrote {out / 'report.csv'}" in said
    names = {path.name for path in out.iterdir()}
    assert {"log.csv", "log.png", "card.json", "weights.safetensors", "report.csv"} <= names
    with open(out / "report.csv", encoding="utf-8") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert float(rows["untuned model"]["low_95"]) > 0.2
    # The same command continues at the end.
    assert run(*asked, "--resume")[0] == 0
    with xr.open_dataset(folder / "a.nc") as data:
        data[["seen"]].rename(seen="t2m").to_netcdf(tmp_path / "obs.nc")
        status, said, err = run(
            *("ensemble", folder / "a.nc", "--var", "t2m", "--obs", tmp_path / "obs.nc", "--out", tmp_path / "o.nc"),
            *("--method", f"amortized:{out}", "--dress", out),
        )
        assert status == 0, err
        expected = log_scores(dressed(data.t2m, read_dressing(out)), data.seen, method=f"amortized:{out}")
        with xr.open_dataset(tmp_path / "o.nc") as written:
            np.testing.assert_allclose(written.t2m_log_score, expected, rtol=1e-12)


MISTAKES = {
    "both": (["gmm32", "--archive", "a.nc"], "RECIPE and --archive exclude each other"),
    "neither": ([], "give a RECIPE, or --archive FILE"),
    "option alone": (["gmm32", "--dress"], "--dress is for training on an archive; give --archive FILE too"),
    "no obs": (["--archive", "a.nc"], "--archive needs --obs VARIABLE"),
    "no file": (["--archive", "b.nc", "--obs", "seen"], "there is no file 'b.nc'"),
    "obs' name": (["--archive", "a.nc", "--obs", "see"], "'a.nc' has no variable 'see'; it has: t2m, seen"),
    "var's name": (["--archive", "a.nc", "--obs", "seen", "--var", "t"], "'a.nc' has no variable 't'"),
    "members": (["--archive", "a.nc", "--obs", "seen", "--member-dim", "number"], "the dimension 'number'"),
    "time": (["--archive", "a.nc", "--obs", "seen", "--time-dim", "date"], "no dimension 'date' for the time"),
    "coordinates": (["--archive", "a.nc", "--obs", "seen", "--obs-file", "later.nc"], "coordinates along 'time'"),
    "short": (["--archive", "short.nc", "--obs", "seen"], "the archive has 40 time steps, too few"),
    "unseen": (["--archive", "unseen.nc", "--obs", "seen"], "no pair of an ensemble and an observation is left"),
    "start": (["--archive", "a.nc", "--obs", "seen", "--start", "gmm8"], "'gmm8' cannot be trained on an archive"),
    "outside": (["--archive", "a.nc", "--obs", "seen", "--bounds", "0", "1"], "399 × observation outside bounds"),
    "atoms": (["--archive", "a.nc", "--obs", "seen", "--atoms", "x"], "--atoms takes numbers with commas between"),
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
        "main(['train', '--archive', 'a.nc', '--obs', 'seen'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"pip install 'amortized-kde[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
