"""The command line as people use it: what it prints, what it writes, and what it says when something is wrong."""

import csv
import gzip
import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import amortized_kde as akde
from amortized_kde.cli import app, main
from amortized_kde.integrations.tables import read_column

EXAMPLES = Path(__file__).parents[2] / "examples"
GEYSER, GALAXIES = str(EXAMPLES / "faithful.csv"), str(EXAMPLES / "galaxies.csv")
COMMAND = [sys.executable, "-m", "amortized_kde.cli"]


@pytest.fixture
def file(tmp_path):
    def write(text, name="x.txt"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.fixture
def waiting():
    return read_column(GEYSER, "waiting").values


def words(out):
    """The aligned lines of a summary, as a dictionary."""
    return {line[:26].split("  ")[0]: line.split("  ")[-1].strip() for line in out.splitlines() if "  " in line}


def test_the_examples_are_what_their_page_says():
    eruptions, velocity = read_column(GEYSER, "eruptions").values, read_column(GALAXIES).values
    assert (eruptions.size, eruptions.min(), eruptions.max()) == (272, 1.6, 5.1)
    assert (velocity.size, velocity.min(), velocity.max(), velocity[77]) == (82, 9172.0, 34279.0, 26960.0)


def test_fit_prints_what_the_library_computes(run, waiting):
    status, out, _ = run("fit", GEYSER, "--column", "waiting", "--bounds", 0, "none", "--method", "silverman")
    density, said = akde.fit(waiting, bounds=(0, None), method="silverman"), words(out)
    low, high = density.interval(0.9)
    assert status == 0
    assert said == {
        "file": GEYSER,
        "column": "waiting",
        "observations": "272",
        "missing omitted": "0",
        "method": "silverman",
        "bandwidth": f"{density.bandwidth:.6g}",
        "bounds": "0 to none",
        "working domain": f"0 to {density.domain[1]:.6g}",
        "mean": f"{density.mean():.6g}",
        "median": f"{density.ppf(0.5):.6g}",
        "90 % interval": f"{low:.6g} to {high:.6g}",
        "modes": ", ".join(f"{mode.place:.6g} ({mode.mass:.0%})" for mode in density.modes()),
    }


def test_fit_in_json_has_all_digits(run, waiting):
    status, out, _ = run("fit", GEYSER, "--column", "waiting", "--bounds", "-1.5", "none", "--method=scott", "--json")
    density, said = akde.fit(waiting, bounds=(-1.5, None), method="scott"), json.loads(out)
    assert status == 0
    assert said["bounds"] == [-1.5, None]
    assert said["bandwidth"] == density.bandwidth
    assert said["working_domain"] == list(density.domain)
    assert (said["mean"], said["median"]) == (density.mean(), density.ppf(0.5))
    assert said["interval_90"] == list(density.interval(0.9))
    assert said["modes"] == [mode._asdict() for mode in density.modes()]
    assert (said["observations"], said["missing_omitted"], said["files"]) == (272, 0, [])


def test_fit_writes_a_table_and_a_picture(run, tmp_path, waiting):
    out, plot = tmp_path / "density.csv", tmp_path / "density.png"
    options = ("--column", "waiting", "--bounds", 0, 100, "--method", "silverman", "--grid", 33)
    status, said, _ = run("fit", GEYSER, *options, "--out", out, "--plot", plot)
    density = akde.fit(waiting, bounds=(0, 100), method="silverman")
    assert status == 0
    assert words(said)["wrote"] == f"{out}, {plot}"
    with open(out, newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert [float(row["x"]) for row in rows] == density.grid(33).tolist()
    assert [float(row["density"]) for row in rows] == density.pdf(density.grid(33)).tolist()
    assert [float(row["cdf"]) for row in rows] == density.cdf(density.grid(33)).tolist()
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_smoother_density(run, tmp_path, waiting):
    out = tmp_path / "density.csv"
    status, printed, _ = run("fit", GEYSER, "--column", "waiting", "--smooth", 2, "--out", out)
    density = akde.fit(waiting).smoothed(2.0)
    assert (status, words(printed)["bandwidth"]) == (0, f"{density.bandwidth:.6g}")
    assert np.array_equal(read_column(str(out), "density").values, density.pdf(density.grid(512)))
    status, _, err = run("fit", GEYSER, "--column", "waiting", "--smooth", 0)
    assert (status, err.count("\n")) == (2, 1)


def test_a_bandwidth_of_ones_own(run, file):
    status, out, _ = run("fit", file("5\n"), "--bandwidth", 2, "--json")
    said = json.loads(out)
    assert (status, said["method"], said["bandwidth"], said["median"]) == (0, "given", 2.0, 5.0)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("-1", "1"), (-1.0, 1.0)),
        (("-1e3", ".5"), (-1000.0, 0.5)),
        (("none", "1"), (None, 1.0)),
        (("-", "1"), (None, 1.0)),
        (("-inf", "inf"), (None, None)),
        (("-1", "-"), (-1.0, None)),
        (("-1", "None"), (-1.0, None)),
    ],
)
def test_bounds_as_people_write_them(run, file, given, meant):
    status, out, _ = run("fit", "--bounds", *given, file("-0.5\n0\n0.25\n"), "--method", "silverman", "--json")
    assert (status, json.loads(out)["bounds"]) == (0, list(meant))


def test_missing_values_are_left_out_on_request(run, file):
    status, out, _ = run("fit", file("x\n1\nNA\n2\n4\n\n"), "--nan", "omit", "--method", "silverman")
    assert (status, words(out)["observations"], words(out)["missing omitted"]) == (0, "3", "1")


def test_compare_prints_the_rows_best_first(run, waiting):
    names = ["scott", "silverman", "lcv"]
    status, out, _ = run("compare", GEYSER, "--column", "waiting", "--bounds", 0, "none", "--methods", ",".join(names))
    rows = akde.compare(waiting, methods=names, bounds=(0, None)).rows
    lines = out.splitlines()
    start = lines.index("10-fold held-out logarithmic score in bits; lower is better") + 3
    assert status == 0
    assert [line.split()[:4] for line in lines[start:]] == [
        [row.method, f"{row.bandwidth:.6g}", f"{row.score.value:.4f}", f"{row.score.standard_error:.4f}"]
        for row in rows
    ]
    assert lines[start].split()[4:] == ["best", str(rows[0].modes)]
    worst = rows[-1].difference
    assert f"{worst.value:+.4f} ± {worst.standard_error:.4f}" in lines[start + 2]


def test_compare_in_json_and_in_one_picture(run, tmp_path, waiting):
    plot = tmp_path / "all.svg"
    options = ("--column", "waiting", "--methods", "silverman,lcv", "--folds", 5, "--json", "--plot", plot)
    status, out, _ = run("compare", GEYSER, *options)
    said, rows = json.loads(out), akde.compare(waiting, methods=["silverman", "lcv"], folds=5).rows
    assert (status, said["protocol"], said["files"]) == (0, "5-fold held-out", [str(plot)])
    assert [row["method"] for row in said["rows"]] == [row.method for row in rows]
    assert [row["score"] for row in said["rows"]] == [row.score.value for row in rows]
    assert [row["to_best"] for row in said["rows"]] == [row.difference.value for row in rows]
    assert "<svg" in plot.read_text()


def test_compare_takes_every_selector(run):
    status, out, _ = run("compare", GALAXIES, "--json")
    assert status == 0
    assert {row["method"] for row in json.loads(out)["rows"]} == set(akde.selectors()) - {"amortized"}


def test_compare_tells_what_failed_and_what_fell_back(run, file):
    status, out, err = run("compare", file("1\n" * 10 + "2\n5\n"), "--methods", "silverman,sheather-jones-r")
    assert (status, err) == (0, "")
    assert "silverman: the interquartile range is 0 (ties)" in out
    assert "sheather-jones-r: method 'sheather-jones-r' has no answer" in out
    assert out.count("interquartile") == 1


def test_score_scores_the_outcomes(run, file, waiting):
    train, test = file("\n".join(map(str, waiting[:200]))), waiting[200:]
    outcomes = file("\n".join(map(str, test)), "outcomes.txt")
    status, out, _ = run("score", train, "--outcomes", outcomes, "--method", "silverman", "--json")
    said = json.loads(out)
    scores = akde.log_score(akde.fit(waiting[:200], method="silverman"), test)
    assert (status, said["outcomes"], said["outside_the_bounds"]) == (0, 72, 0)
    assert said["scores"] == scores.tolist()
    assert said["mean_score"] == pytest.approx(scores.mean(), rel=1e-14)
    assert said["standard_error"] == pytest.approx(scores.std(ddof=1) / math.sqrt(72), rel=1e-12)
    _, out, _ = run("score", train, "--outcomes", outcomes, "--method", "silverman")
    assert words(out)["mean score"] == f"{said['mean_score']:.6g}"
    assert "lower is better" in out


def test_score_counts_outcomes_outside_the_bounds(run, file):
    options = ("--outcomes", file("-1\n0.5\n0.6\n", "o.txt"), "--bounds", 0, 1, "--method", "silverman")
    sample = file("0.2\n0.4\n0.9\n")
    status, out, _ = run("score", sample, *options, "--json")
    said = json.loads(out)
    assert (status, said["outside_the_bounds"], said["mean_score"], said["scores"][0]) == (0, 1, None, None)
    assert said["mean_score_inside"] == pytest.approx(np.mean(said["scores"][1:]), rel=1e-14)
    _, out, _ = run("score", sample, *options)
    assert (words(out)["outside the bounds"], words(out)["mean score"]) == ("1", "inf")


def test_score_takes_the_same_column_of_both_files(run):
    _, out, _ = run("score", GEYSER, "--column", "waiting", "--outcomes", GEYSER, "--method", "silverman", "--json")
    assert json.loads(out)["outcomes"] == 272
    _, other, _ = run(
        "score", GEYSER, "--column=waiting", "--outcomes", GEYSER, "--outcomes-column=1", "--bandwidth=5", "--json"
    )
    assert json.loads(out)["mean_score"] != json.loads(other)["mean_score"]


@pytest.fixture
def weighed(file):
    rng = np.random.default_rng(6)
    x, w = rng.gamma(2.0, 1.0, 40), rng.gamma(1.0, 1.0, 40)
    table = "\n".join(f"{a!r},{b!r}" for a, b in zip(x.tolist(), w.tolist(), strict=True))
    return file("x,w\n" + table, "weighed.csv"), x, w


def test_fit_takes_weights(run, weighed):
    name, x, w = weighed
    status, out, _ = run("fit", name, "--weights", "w", "--method", "silverman", "--json")
    said, density = json.loads(out), akde.fit(x, weights=w, method="silverman")
    assert (status, said["column"], said["weights"], said["observations"]) == (0, "x", "w", 40)
    assert said["effective_size"] == pytest.approx(w.sum() ** 2 / np.sum(w**2), rel=1e-12)
    assert (said["bandwidth"], said["mean"]) == (density.bandwidth, density.mean())
    _, out, _ = run("fit", name, "--column", 1, "--weights", 2, "--bandwidth", 0.5, "--json")
    assert json.loads(out)["mean"] == akde.KernelDensity(x, 0.5, weights=w).mean()


def test_compare_and_score_take_weights(run, weighed):
    name, x, w = weighed
    status, out, _ = run("compare", name, "--weights", "w", "--methods", "silverman,sheather-jones-r", "--json")
    rows = akde.compare(x, methods=["silverman", "sheather-jones-r"], weights=w).rows
    assert status == 0
    assert [row["score"] for row in json.loads(out)["rows"]] == [rows[0].score.value, None]
    _, out, _ = run("score", name, "--weights", "w", "--outcomes", name, "--method", "scott", "--json")
    assert json.loads(out)["scores"] == akde.log_score(akde.fit(x, weights=w, method="scott"), x).tolist()


FILES = {
    "weighed": b"x,w\n1,1\n2,-3\n4,1\n",
    "weightless": b"x,w\n1,0\n2,0\n4,0\n",
    "good": b"1\n2\n4\n7\n",
    "empty": b"",
    "gone": b"NA\nNA\n",
    "hole": b"1\n\n2\nNA\n",
    "text": b"x\n1\nabc\n",
    "infinite": b"1\ninf\n",
    "binary": b"\x89PNG\r\n\x1a\n\0\0",
    "one": b"5\n",
    "constant": b"5\n5\n5\n",
}
# What people may type, and what the one sentence on standard error must say.
WRONG = {
    "empty": ("fit empty", "empty is empty; at least one number is needed"),
    "all missing": ("fit gone --nan omit", "all 2 values .* are missing"),
    "missing": ("fit hole", "hole, line 4: .* is missing .*--nan omit"),
    "not numbers": ("fit text", "text, line 3: 'abc' in column 'x' is not a number"),
    "infinite": ("fit infinite", "infinite, line 2: inf"),
    "outside the bounds": ("fit good --bounds 0 5", "1 of 4 values lie outside the bounds"),
    "bounds in the wrong order": ("fit good --bounds 9 0", "lower bound 9 must be below"),
    "equal bounds": ("compare good --bounds 0 0", "must be below"),
    "bounds that are no numbers": ("fit good --bounds a b", "--bounds takes two numbers, not 'a'"),
    "bounds that are NaN": ("fit good --bounds nan 9", "cannot be a bound"),
    "upper bound at minus infinity": ("fit good --bounds 0 -inf", "must be below"),
    "negative bandwidth": ("fit good --bandwidth -1", "bandwidth must be .* positive"),
    "zero bandwidth": ("fit good --bandwidth 0", "bandwidth must be .* positive"),
    "infinite bandwidth": ("fit good --bandwidth inf", "bandwidth must be .* finite"),
    "NaN bandwidth": ("score good --outcomes good --bandwidth nan", "bandwidth must be .* finite"),
    "method and bandwidth": ("fit good --bandwidth 1 --method lcv", "not both"),
    "unknown method": ("fit good --method silvermann", "Did you mean 'silverman'"),
    "one unknown method": ("compare good --methods scott,lcvv", "Did you mean 'lcv'"),
    "no methods": ("compare good --methods ,", "methods is empty"),
    "no file": ("fit nothing", "there is no file 'nothing'"),
    "a directory": ("compare .", "is a directory"),
    "undecodable": ("fit binary", "binary is neither text, nor an Excel workbook"),
    "a sheet of a text": ("fit good --sheet a", "is not an Excel workbook"),
    "R's ucv": ("fit good --method ucv", "use 'lscv'"),
    "missing column": (f"fit {GEYSER} --column wating", "mean 'waiting'.*: eruptions, waiting"),
    "which column": (f"fit {GEYSER}", "2 columns of numbers: eruptions, waiting; choose"),
    "a negative weight": ("fit weighed --weights w", "line 3: the weight in column 'w' is -3"),
    "no weight at all": ("fit weightless --weights w", "all weights are zero"),
    "missing weights": ("compare weighed --weights v", "no column 'v'"),
    "weights for R": (f"fit {GEYSER} --weights waiting --method sheather-jones-r", "R's bw.SJ, which has no weights"),
    "one value": ("fit one", "a single value has no scale.*--bandwidth"),
    "one value compared": ("compare one", "no method has an answer"),
    "constant": ("fit constant", "all values are equal.*--bandwidth"),
    "constant compared": ("compare constant", "no method has an answer"),
    "no outcomes": ("score good --outcomes empty", "empty is empty"),
    "standard input twice": ("score - --outcomes -", "only once"),
    "table in no directory": ("fit good --out no/d.csv", "there is no directory 'no'"),
    "table in place of a directory": ("fit good --out .", "cannot be written"),
    "picture in no directory": ("fit good --plot no/d.png", "there is no directory 'no'"),
    "picture of no kind": ("compare good --methods scott --plot d.foo", "cannot be saved as 'foo'"),
}


@pytest.fixture
def in_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_bytes(content)


@pytest.mark.usefixtures("in_directory")
@pytest.mark.parametrize(("line", "sentence"), WRONG.values(), ids=WRONG)
def test_bad_input_gets_one_sentence(run, line, sentence):
    status, out, err = run(*line.split())
    assert (status, out) == (2, "")
    assert re.fullmatch(rf"error: [^\n]*{sentence}[^\n]*\n", err)


def test_workbooks_and_gzip_on_the_command_line(run, tmp_path, workbook):
    rows = [["x"], *([float(k**2)] for k in range(1, 20))]
    (tmp_path / "t.xlsx").write_bytes(workbook(a=[["y"], [0]], b=rows))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("\n".join(str(row[0]) for row in rows).encode()))
    (tmp_path / "t.csv").write_bytes("\n".join(str(row[0]) for row in rows).encode("utf-16"))
    answers = []
    for name, more in (("t.xlsx", ["--sheet", "b"]), ("t.csv.gz", []), ("t.csv", [])):
        status, out, err = run("fit", tmp_path / name, "--method", "nrd0", "--json", *more)
        assert (status, err) == (0, "")
        answers.append({key: value for key, value in json.loads(out).items() if key != "file"})
    assert answers[0] == answers[1] == answers[2]
    assert (answers[0]["column"], answers[0]["observations"], answers[0]["method"]) == ("x", 19, "silverman")


def test_the_default_is_named_by_what_it_stands_for(run):
    _, out, _ = run("fit", GEYSER, "--column", "eruptions", "--json")
    assert json.loads(out)["method"] == "amortized:adaptive"
    _, out, _ = run("compare", GEYSER, "--column", "eruptions", "--methods", "amortized,nrd", "--folds", "2", "--json")
    assert {row["method"] for row in json.loads(out)["rows"]} == {"amortized:adaptive", "scott"}


def test_python_runs_the_package():
    done = subprocess.run([sys.executable, "-m", "amortized_kde", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"amortized-kde {akde.__version__}\n")


USAGE = {
    "no command": "",
    "no such command": "fitt good",
    "no file": "fit",
    "no such option": "fit good --colum x",
    "half the bounds": "fit good --bounds 0",
    "no outcomes": "score good",
    "a grid of one": "fit good --grid 1",
    "no threads": "fit good --threads 0",
    "one fold": "compare good --folds 1",
    "text for a bandwidth": "fit good --bandwidth wide",
    "what to do with NaN": "fit good --nan drop",
}


@pytest.mark.usefixtures("in_directory")
@pytest.mark.parametrize("line", USAGE.values(), ids=USAGE)
def test_wrong_usage_exits_with_2(line):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_warnings_are_printed_once_and_plainly(run, file):
    status, out, err = run("fit", file("1\n" * 10 + "2\n5\n"), "--method", "silverman")
    assert status == 0
    assert err.startswith("warning: silverman: the interquartile range is 0")
    assert err.count("\n") == 1
    assert "observations" in out


def test_warnings_of_others_are_left_to_python(run, file, monkeypatch):
    import warnings

    monkeypatch.setattr(akde, "fit", lambda *_, **__: warnings.warn("not ours", UserWarning, stacklevel=1))
    with pytest.warns(UserWarning, match="not ours"), pytest.raises(AttributeError):
        main(["fit", file("1\n2\n")])


def test_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 2 4 7")))
    status, out, _ = run("fit", "-", "--method", "silverman")
    assert (status, words(out)["file"], words(out)["observations"]) == (0, "standard input", "4")


def test_a_picture_without_its_library(run, file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, _, err = run("fit", file("1\n2\n4\n"), "--method", "silverman", "--plot", tmp_path / "d.png")
    assert status == 2
    assert err == "error: plots need matplotlib; install it with: pip install 'amortized-kde[plot]'\n"


def test_a_name_with_dollars_and_brackets_is_only_a_name(run, file, tmp_path):
    table = file("$a_{$ [bold],b\n1,0\n2,0\n4,0\n")
    options = ("--column", 1, "--plot", tmp_path / "d.png")
    status, out, _ = run("fit", table, *options, "--method", "silverman")
    assert (status, words(out)["column"]) == (0, "$a_{$ [bold]")
    assert run("compare", table, *options, "--overwrite", "--methods", "silverman")[0] == 0


def test_a_picture_whose_name_has_no_ending_is_a_png(run, file, tmp_path):
    run("fit", file("1\n2\n4\n"), "--method", "silverman", "--plot", tmp_path / "picture")
    assert (tmp_path / "picture").read_bytes().startswith(b"\x89PNG")


def test_help_and_version(run):
    assert run("--version")[1] == f"amortized-kde {akde.__version__}\n"
    for command in ("fit", "compare", "score"):
        assert "FILE" in run(command, "--help")[1]


def subprocess_of(*arguments, **options):
    environment = {**os.environ, "COLUMNS": "30", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
        **options,
    )


def test_a_pipe_gets_plain_whole_lines():
    done = subprocess_of("compare", "-", "--methods", "silverman,scott", input="velocity\n1\n2\n2.5\n4\n7\n")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout
    header = next(line for line in done.stdout.splitlines() if line.startswith("method"))
    assert header.split() == ["method", "bandwidth", "score", "s.e.", "to", "best", "±", "s.e.", "modes"]
    assert not [line for line in done.stdout.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("arguments", [("fit", "nothing.csv"), ("fit", GALAXIES, "--method", "sliverman")])
def test_a_real_process_exits_with_2_and_no_traceback(arguments):
    done = subprocess_of(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_readers_that_leave_see_no_traceback():
    show = subprocess.Popen(
        [*COMMAND, "fit", GALAXIES, "--method", "silverman"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    show.stdout.close()
    assert show.wait(timeout=60) == 1
    assert b"Traceback" not in show.stderr.read()


def test_users_who_interrupt_see_no_traceback(run, monkeypatch):
    from amortized_kde.integrations import tables

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "read_column", interrupted)
    status, out, err = run("fit", "-")
    assert (status, out) == (130, "")
    assert "Traceback" not in err
