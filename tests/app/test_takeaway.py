"""What is taken away gives the same density elsewhere."""

import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import amortized_kde as akde
from amortized_kde.app.ensembles import one_density, verify
from amortized_kde.app.takeaway import (
    COLUMNS_FILE,
    MEMBERS_FILE,
    NUMBERS_FILE,
    command_line,
    ensemble_lines,
    numbers_csv,
    pair_lines,
    python_lines,
    rows_csv,
)
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


W = np.random.default_rng(2).exponential(size=60)


@pytest.mark.parametrize("size", [10, 60])
def test_lines_and_command_with_weights(size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NUMBERS_FILE).write_text(numbers_csv(X[:size], W[:size]), encoding="utf-8")
    options = {"bounds": (0.0, None), "method": "scott", "factor": 2.0, "weights": W[:size]}
    made = {}
    exec(python_lines(X[:size], **options), made)
    shown = akde.fit(X[:size], bounds=(0, None), method="scott", weights=W[:size]).smoothed(2.0)
    assert np.array_equal(made["density"], shown.pdf(shown.grid(512)))
    done = CliRunner().invoke(app, shlex.split(command_line(**options))[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "density.csv").read_text(encoding="utf-8") == density_csv(shown, shown.grid(512))


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize(("bounds", "method"), [((None, None), "amortized"), ((0.0, None), "silverman")])
def test_ensemble_lines_give_what_is_shown(observed, bounds, method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    members, seen = np.random.default_rng(1).gamma(2.0, size=(4, 7)), np.array([1.0, 2.0, np.nan, 1.5])
    members[1, 5:] = np.nan
    columns = {f"m{k}": column for k, column in enumerate(members.T)} | ({"obs": seen} if observed else {})
    (tmp_path / MEMBERS_FILE).write_text(rows_csv(columns), encoding="utf-8")
    made = {}
    exec(ensemble_lines(2, bounds=bounds, method=method, observed=observed), made)
    found = verify(members, seen if observed else None, method=method, bounds=bounds)
    assert np.array_equal(made["h"], found.bandwidths)
    _, density = one_density(members[1], found.bandwidths[1], bounds)
    assert np.array_equal(made["density"], density.pdf(density.grid(512)))
    if observed:
        assert np.array_equal(made["scores"], found.scores, equal_nan=True)
        assert np.array_equal(made["pit"], found.pit, equal_nan=True)


def test_numbers_keep_their_order_and_digits(tmp_path):
    path = tmp_path / NUMBERS_FILE
    path.write_text(numbers_csv(X), encoding="utf-8")
    assert np.array_equal(read_column(str(path)).values, X)


def test_rows():
    text = rows_csv({"row": np.array([1, 2]), "score": np.array([0.1, np.nan])})
    assert text == "row,score\n1,0.1\n2,\n"


@pytest.mark.parametrize("names", [("a", "b"), ('a "quoted", name', "b's")])
@pytest.mark.parametrize(
    ("bounds", "method"), [(((None, None), (None, None)), "amortized"), (((0.0, None), (None, 50.0)), "scott")]
)
def test_pair_lines_give_the_density_shown(names, bounds, method, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    columns = dict(zip(names, (X, np.sqrt(X) + W), strict=True))
    (tmp_path / COLUMNS_FILE).write_text(rows_csv(columns), encoding="utf-8")
    made = {}
    exec(pair_lines(names, bounds=bounds, method=method), made)
    pyplot.close("all")
    shown = akde.fit(columns, bounds=list(bounds), method=method)
    assert made["d"].names == names
    at = np.column_stack(list(columns.values()))
    assert np.array_equal(made["d"].pdf(at), shown.pdf(at))
    assert np.array_equal(made["y_alone"].pdf(at[:, 1]), shown.marginal(1).pdf(at[:, 1]))
