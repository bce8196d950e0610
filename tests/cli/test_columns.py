"""`fit` and `compare` with several columns."""

import json

import numpy as np
import pytest

import amortized_kde as akde


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 2))
    path = tmp_path / "table.csv"
    lines = [f"{a!r},{a + b!r},{1.0 + abs(b)!r}" for a, b in x.tolist()]
    path.write_text("\n".join(["x,y,w", *lines]) + "\n")
    return path, np.stack([x[:, 0], x.sum(axis=1)], axis=1)


def test_fit_prints_what_the_library_computes(run, table, tmp_path):
    path, x = table
    status, out, _ = run("fit", path, "--columns", "x,y", "--method", "scott", "--plot", tmp_path / "p.png", "--json")
    facts = json.loads(out)
    assert status == 0
    assert facts["columns"] == ["x", "y"]
    np.testing.assert_allclose(facts["mean"], akde.fit(x, method="scott").mean())
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    status, out, _ = run("fit", path, "--columns", "1, 2", "--method", "lcv")
    assert status == 0
    assert "method" in out


def test_compare_prints_a_table(run, table, tmp_path):
    path, _ = table
    picture = tmp_path / "p.svg"
    status, out, _ = run("compare", path, "--columns", "x,y", "--methods", "scott,lcv", "--plot", picture)
    assert status == 0
    assert "scott" in out
    assert picture.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "x"], "at least two different columns"),
        (["--columns", "x,z"], "no column 'z'"),
        (["--columns", "x,y", "--bounds", "0", "none"], "--bounds is for one column"),
        (["--columns", "x,y", "--column", "x"], "--column is for one column"),
    ],
)
def test_bad_options_get_one_sentence(run, table, options, message):
    status, _, error = run("fit", table[0], *options)
    assert status == 2
    assert message in error


def test_missing_rows_are_named_or_omitted(run, table):
    path, _ = table
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "1.0,,1.0", *lines[3:]]) + "\n")
    status, _, error = run("fit", path, "--columns", "x,y")
    assert (status, "line 4" in error) == (2, True)
    status, out, _ = run("fit", path, "--columns", "x,y", "--nan", "omit", "--method", "scott", "--json")
    assert json.loads(out)["missing_omitted"] == 1
