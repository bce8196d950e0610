"""The commands for researchers: models and train."""

import json

import pytest
from typer.testing import CliRunner

from amortized_kde.cli import app, main

runner = CliRunner()


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


def fails(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_wrong_names_get_one_sentence(capsys):
    assert "gmm32" in fails(["models", "gmm33"], capsys)
    assert "gmm32" in fails(["train", "gmm33"], capsys)
    assert "nowhere.toml" in fails(["train", "nowhere.toml"], capsys)


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


def test_own_recipe_and_own_tasks_become_a_method(tmp_path):
    pytest.importorskip("jax", reason="training needs the train extra")
    from pathlib import Path

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
