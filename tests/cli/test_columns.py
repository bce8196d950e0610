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
    d = akde.fit(x, method="scott")
    np.testing.assert_allclose(facts["mean"], d.mean())
    np.testing.assert_allclose(facts["covariance"], d.cov())
    np.testing.assert_allclose(facts["interval_90"][1], d.marginal(1).interval(0.9))
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    status, out, _ = run("fit", path, "--columns", "1, 2", "--method", "lcv")
    assert status == 0
    assert "90 % interval" in out


@pytest.mark.parametrize("columns", ["x,w", "1,3"])
def test_columns_have_bounds_by_their_names(run, table, columns):
    path, x = table
    name = columns.split(",")[1]
    status, out, _ = run(
        "fit", path, "--columns", columns, "--column-bounds", f"{name}=1:", "--method", "scott", "--json"
    )
    facts = json.loads(out)
    assert status == 0
    assert facts["bounds"] == [[None, None], [1.0, None]]
    w = 1.0 + np.abs(x[:, 1] - x[:, 0])
    expected = akde.fit({"x": x[:, 0], "w": w}, bounds={"w": (1, None)}, method="scott")
    np.testing.assert_allclose(facts["mean"], expected.mean())
    options = ("--columns", columns, "--column-bounds", f" {name} = 1 : none ", "--methods", "scott,silverman")
    status, out, _ = run("compare", path, *options, "--json")
    assert json.loads(out)["bounds"] == [[None, None], [1.0, None]]
    np.testing.assert_allclose(
        {row["method"]: row["score"] for row in json.loads(out)["rows"]}["scott"],
        akde.compare(np.stack([x[:, 0], w], axis=1), methods=["scott"], bounds=[None, (1, None)]).rows[0].score.value,
    )


def test_compare_prints_a_table(run, table, tmp_path):
    path, _ = table
    picture = tmp_path / "p.svg"
    status, out, _ = run("compare", path, "--columns", "x,y", "--methods", "scott,lcv", "--plot", picture)
    assert status == 0
    assert "scott" in out
    assert "bandwidth" not in out
    assert picture.exists()
    status, _, error = run("compare", path, "--columns", "x,y,w", "--plot", tmp_path / "three.png")
    assert (status, "for two columns" in error) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "x"], "at least two different columns"),
        (["--columns", "x,z"], "no column 'z'"),
        (["--columns", "x,y", "--bounds", "0", "none"], "--bounds is for one column; give --column-bounds"),
        (["--columns", "x,y", "--column-bounds", "x"], "takes NAME=A:B"),
        (["--columns", "x,y", "--column-bounds", "x=0"], "takes NAME=A:B"),
        (["--columns", "x,y", "--column-bounds", "x=a:b"], "two numbers, not 'a'"),
        (["--columns", "x,y", "--column-bounds", "z=0:1"], "no variable 'z'"),
        (["--columns", "x,y", "--column-bounds", "x=1:0"], "column 'x': the lower bound 1 must be below"),
        (["--columns", "x,y", "--column-bounds", "x=0:none"], "values of column 'x' lie outside"),
        (["--column", "x", "--column-bounds", "x=0:none"], "--column-bounds is for --columns"),
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
