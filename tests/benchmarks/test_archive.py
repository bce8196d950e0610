"""The archives' benchmark: blocks that are scored, the table of the results, and parts put together."""

import csv
from pathlib import Path

import numpy as np

from amortized_kde.research.training.archive.predictive import Scores
from amortized_kde.research.training.archive.report import OURS
from archive import HEAD, held_out_block, make, pooled, to_markdown

ROOT = Path(__file__).parents[2]


def test_the_table_is_made_of_the_results():
    with open(ROOT / "results" / "archive.csv", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == HEAD
    assert (ROOT / "results" / "archive.md").read_text(encoding="utf-8") == to_markdown([tuple(row) for row in rows])


def test_one_of_five_blocks_is_scored_and_every_season():
    scored = held_out_block(np.arange(730))
    assert abs(scored.mean() - 0.2) < 0.01
    assert all(scored[start : start + 91].any() for start in range(0, 639, 91))


def test_parts_are_pooled_by_method():
    pairs = make(2, 1.0, 0.9, 0.5, 1)
    early, late = pairs.where(pairs.days < 300), pairs.where(pairs.days >= 300)

    def scores(part, bits):
        count = len(part)
        return Scores(np.zeros(count), np.full(count, bits), np.ones(count), np.full(count, 0.5))

    several = [
        ({"EMOS": scores(part, bits + 1.0), "only once": scores(part, 9.0), OURS: scores(part, bits)}, part)
        for part, bits in ((early, 2.0), (late, 3.0))
    ]
    del several[1][0]["only once"]
    report = pooled(several)
    assert [row.method for row in report.rows] == ["EMOS", OURS]
    assert report.pairs == len(pairs)
    assert report.rows[0].difference == 1.0
    np.testing.assert_allclose(report.rows[1].bits, (2.0 * len(early) + 3.0 * len(late)) / len(pairs))
