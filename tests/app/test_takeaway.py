"""What is taken away gives the same density elsewhere."""

import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import amortized_kde as akde
from amortized_kde.app.curves import compute_drawing
from amortized_kde.app.takeaway import NUMBERS_FILE, command_line, numbers_csv, picture, python_lines, rows_csv
from amortized_kde.cli import app
from amortized_kde.integrations.tables import density_csv, read_column

X = np.random.default_rng(1).gamma(2.0, 1.0, 60)
CASES = [
    ((None, None), "amortized", 1.0),
    ((0.0, None), "amortized", 0.5),
    ((-1.5, 30.25), "silverman", 1.0),
    ((None, 1e3), "amortized:gmm32", 1.189),
]


@pytest.mark.parametrize(("bounds", "method", "factor"), CASES)
@pytest.mark.parametrize("size", [10, 60])
def test_python_lines_give_the_density_shown(bounds, method, factor, size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NUMBERS_FILE).write_text(numbers_csv(X[:size]), encoding="utf-8")
    made = {}
    exec(python_lines(X[:size], bounds=bounds, method=method, factor=factor), made)
    shown = akde.fit(X[:size], bounds=bounds, method=method)
    shown = shown.smoothed(factor) if factor != 1.0 else shown
    assert np.array_equal(made["density"], shown.pdf(shown.grid(512)))


@pytest.mark.parametrize(("bounds", "method", "factor"), CASES)
def test_the_command_line_gives_the_density_shown(bounds, method, factor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NUMBERS_FILE).write_text(numbers_csv(X), encoding="utf-8")
    words = shlex.split(command_line(bounds=bounds, method=method, factor=factor))
    assert words[0] == "amortized-kde"
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output
    shown = akde.fit(X, bounds=bounds, method=method)
    shown = shown.smoothed(factor) if factor != 1.0 else shown
    assert (tmp_path / "density.csv").read_text(encoding="utf-8") == density_csv(shown, shown.grid(512))
    assert (tmp_path / "density.png").read_bytes().startswith(b"\x89PNG")


def test_numbers_keep_their_order_and_digits(tmp_path):
    path = tmp_path / NUMBERS_FILE
    path.write_text(numbers_csv(X), encoding="utf-8")
    assert np.array_equal(read_column(str(path)).values, X)


@pytest.mark.parametrize("log", [False, True])
def test_pictures(log):
    densities = {name: akde.fit(X, bounds=(0, None), method=name) for name in ("silverman", "scott")}
    drawing = compute_drawing(densities, np.sort(X), (0.0, None), name="cost in $ and $")
    assert picture(drawing, "png", log=log).startswith(b"\x89PNG")
    svg = picture(drawing, "svg", log=log)
    assert b"<svg" in svg
    assert svg == picture(drawing, "svg", log=log)


def test_rows():
    text = rows_csv({"row": np.array([1, 2]), "score": np.array([0.1, np.nan])})
    assert text == "row,score\n1,0.1\n2,\n"
