import csv
from collections import Counter

import numpy as np
import pytest

from contests.contest import ORACLE
from contests.contest_report import ContestResult, draw_contest, report_contest, write_contest
from contests.rival_store import CellScores

RNG = np.random.default_rng(3)
# On the first density the method is better than the rival by 0.5 bits, on the second worse by 0.2.
OURS = RNG.uniform(0.9, 1.1, (2, 40))
RIVAL = OURS + np.array([[0.5], [-0.2]]) + RNG.normal(0.0, 0.01, (2, 40))
RESULT = ContestResult(
    ("one", "two"),
    "ours",
    {
        10: {
            "ours": CellScores(OURS),
            "rival": CellScores(RIVAL, Counter({"no answer": 3})),
            ORACLE: CellScores(OURS / 2),
        },
        100: {"ours": CellScores(OURS), "rival": CellScores(OURS)},
    },
)


def test_the_table_has_means_differences_and_verdicts(tmp_path):
    write_contest(tmp_path / "table.csv", RESULT)
    with open(tmp_path / "table.csv", newline="") as file:
        rows = {(row["n"], row["density"], row["method"]): row for row in csv.DictReader(file)}
    assert len(rows) == 3 * 3 + 3 * 2
    assert float(rows["10", "all", "rival"]["difference_bits"]) == pytest.approx(-0.15, abs=0.01)
    assert float(rows["10", "one", "ours"]["excess_bits"]) == pytest.approx(OURS[0].mean())
    assert [rows["10", name, "rival"]["verdict"] for name in ("all", "one", "two")] == ["better", "better", "worse"]
    assert rows["100", "all", "rival"]["verdict"] == "no worse"
    assert rows["10", "all", ORACLE]["verdict"] == ""
    assert (rows["10", "all", "rival"]["failures"], rows["10", "all", "rival"]["replicates"]) == ("3", "80")


def test_the_report_shows_failures_and_losses():
    text = "\n".join(report_contest(RESULT))
    assert "failed 3 times: no answer" in text
    assert "ours is worse in 1 of 4 cells" in text
    loss = text.splitlines()[-1]
    assert float(loss.split()[0]) == pytest.approx(0.2, abs=0.01)
    assert "two" in loss


def test_a_picture_is_drawn(tmp_path):
    draw_contest(tmp_path / "picture.png", RESULT, title="title")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
