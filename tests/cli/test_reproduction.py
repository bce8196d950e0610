"""The command that reproduces the paper: what runs, what is written, what is refused, and its exit status."""

import csv
import json
import sys
from types import ModuleType

import pytest
from typer.testing import CliRunner

from amortized_kde.cli import app, main
from amortized_kde.research.provenance import RECORD, read_origins
from amortized_kde.research.reproduction import protocol
from amortized_kde.research.reproduction.protocol import Scale

runner = CliRunner()
ROOM = "amortized_kde.research.reproduction"


@pytest.fixture
def called(monkeypatch):
    """A tiny scale, and simple makers of pictures, report and ablations that note their calls."""
    calls = []

    def module(name, function):
        made = ModuleType(f"{ROOM}.{name}")
        setattr(made, function.__name__, function)
        monkeypatch.setitem(sys.modules, f"{ROOM}.{name}", made)

    def draw_figures(folder):
        calls.append("figures")
        return [folder / "figure1_gaussian.png"]

    def write_report(folder):
        calls.append("report")
        return folder / "README.md"

    def reproduce_ablations(out, *, scale, report):
        report("training", 1, 2)
        calls.append(f"ablations {scale}")
        return "a table of ablations"

    for name, function in [("figures", draw_figures), ("report", write_report), ("ablations", reproduce_ablations)]:
        module(name, function)
    monkeypatch.setitem(protocol.SCALES, "quick", Scale("quick", 10, 10, 1, 1))
    return calls


def reproduce(*arguments):
    return runner.invoke(app, ["reproduce", *map(str, arguments)])


def fails(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *map(str, arguments)])
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_a_bed_gives_tables_figures_and_a_report_and_can_be_verified(called, tmp_path):
    done = reproduce("gaussian", "--out", tmp_path, "--threads", 1)
    assert done.exit_code == 0, done.output
    assert "10 tasks of each size" in done.stdout
    assert called == ["figures", "report"]
    written = {path.name for path in tmp_path.iterdir()}
    assert {"gaussian.csv", "chunks_gaussian.csv", "quadrature.csv", "penalties.csv", "run.json"} <= written
    origins = read_origins(tmp_path)
    assert set(origins) == written - {RECORD, ".chunks"}
    assert list(origins["gaussian.csv"].models) == list(origins["quadrature.csv"].models) == ["gaussian"]
    assert origins["penalties.csv"].models == {}
    part = json.loads((tmp_path / "run.json").read_text())["parts"]["gaussian"]
    assert part["tasks_per_size"] == 10
    assert part["seconds"] > 0.0
    # Again: nothing is computed, and the tables are the same.
    before = (tmp_path / "gaussian.csv").read_bytes()
    assert reproduce("gaussian", "--out", tmp_path).exit_code == 0
    assert (tmp_path / "gaussian.csv").read_bytes() == before

    verified = reproduce("--verify", "--out", tmp_path, "--seed", 3)
    assert verified.exit_code == 0, verified.output
    assert "--seed 3" in verified.stdout
    assert verified.stdout.count("largest difference 0.0e+00") == 3
    assert reproduce("--verify", "--out", tmp_path).stdout.startswith("chunks chosen by --seed")
    table = tmp_path / "chunks_gaussian.csv"
    lines = list(csv.reader(table.read_text().splitlines()))
    table.write_text("\n".join(",".join([*line[:5], "2.5" if line[4] == "lcv" else line[5]]) for line in lines[1:]))
    table.write_text(",".join(lines[0]) + "\n" + table.read_text())
    wrong = reproduce("--verify", "--out", tmp_path)
    assert wrong.exit_code == 1
    assert "not what this code computes" in wrong.stdout


def test_all_takes_every_step_in_order(called, tmp_path, monkeypatch):
    from amortized_kde.cli import reproduction

    steps = []

    def noted(step, run, progress):
        steps.append(step)
        return {}

    monkeypatch.setattr(reproduction, "_make_bed", noted)
    for step in ("worlds", "modes"):
        monkeypatch.setitem(reproduction._MAKERS, step, noted)
    done = reproduce("--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert steps == ["worlds", "modes", "gaussian", "multifamily", "gmm"]
    assert called == ["ablations quick"]
    assert "a table of ablations" in done.stdout
    parts = json.loads((tmp_path / "run.json").read_text())["parts"]
    assert list(parts) == ["worlds", "modes", "gaussian", "multifamily", "gmm", "ablations"]
    # The mixture-trained selectors on families are a view of the multi-family bed.
    steps.clear()
    assert reproduce("gmm-on-families", "--out", tmp_path).exit_code == 0
    assert steps == ["multifamily"]


def test_modes_need_no_figure(called, tmp_path):
    done = reproduce("modes", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "paper" in done.stdout
    assert (tmp_path / "table2_modes.csv").is_file()
    assert called == []


def test_methods_alone_are_scored_without_tables(called, tmp_path):
    done = reproduce("gaussian", "--methods", "truth, silverman", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert [path.name for path in tmp_path.iterdir()] == [".chunks"]
    assert called == []


def test_scales_do_not_mix(called, tmp_path, capsys):
    (tmp_path / "run.json").write_text('{"scale": "paper"}')
    said = fails(["gaussian", "--out", tmp_path], capsys)
    assert "holds results of --scale paper, which --scale quick would overwrite" in said
    assert called == []


def test_wrong_requests_get_one_sentence(called, tmp_path, capsys):
    assert "no method 'lsvc'; it has: truth, oracle" in fails(["gmm", "--methods", "lsvc", "--out", tmp_path], capsys)
    assert "it has: none" in fails(["modes", "--methods", "lscv", "--out", tmp_path], capsys)
    assert "no chunks_*.csv to verify" in fails(["--verify", "--out", tmp_path], capsys)
    assert "threads must be" in fails(["gaussian", "--threads", "0", "--out", tmp_path], capsys)
    assert reproduce("nothing").exit_code == 2


def test_without_matplotlib_it_stops_before_the_work(called, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'amortized-kde[plot]'" in fails(["gaussian", "--out", tmp_path / "new"], capsys)
    assert not (tmp_path / "new").exists()


def test_without_mpmath_it_says_what_is_missing(called, tmp_path, monkeypatch):
    from amortized_kde.research.reproduction import run

    monkeypatch.setattr(run, "write_penalties", lambda bed, scale, folder: False)
    done = reproduce("gaussian", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "needs mpmath" in done.stdout
