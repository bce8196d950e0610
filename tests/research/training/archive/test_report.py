"""The report: verdicts in the first line, intervals by blocks of time, windows, files and pictures."""

import csv
import math

import numpy as np
import pytest

from amortized_kde.research.training.archive.pairs import read_pairs
from amortized_kde.research.training.archive.predictive import Scores
from amortized_kde.research.training.archive.report import (
    OURS,
    blocks,
    draw_report,
    join,
    piece_bootstrap,
    pieces_of,
    table_lines,
    tabulate,
    write_report,
)

DAYS = np.repeat(np.arange(100), 3)


def scored(seed=1):
    rng = np.random.default_rng(seed)
    return read_pairs(rng.normal(size=(300, 4)), rng.normal(size=300), DAYS)


def scores(bits, seed=2, noise=0.1):
    rng = np.random.default_rng(seed)
    return Scores(np.zeros(300), bits + noise * rng.normal(size=300), np.ones(300), rng.random(300))


def test_a_rival_that_wins_is_named_first(tmp_path):
    report = tabulate({"EMOS": scores(2.0, 3), "raw": scores(5.0, 4), OURS: scores(2.5, 5)}, scored())
    assert report.verdict.startswith("A rival wins: EMOS is better than the trained model by 0.4910 bits")
    assert table_lines(report)[0] == report.verdict
    write_report(report, tmp_path / "report.csv")
    first, *rest = (tmp_path / "report.csv").read_text().splitlines()
    assert first == f"# {report.verdict}"
    rows = {row["method"]: row for row in csv.DictReader(rest)}
    assert float(rows["EMOS"]["high_95"]) < 0.0 < float(rows["raw"]["low_95"])
    draw_report(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000


def test_a_difference_within_its_interval_is_said_to_be_chance():
    close = tabulate({"EMOS": scores(2.499, 3, 1.0), OURS: scores(2.5, 5, 1.0)}, scored())
    assert ("may be chance" in close.verdict) or close.verdict.startswith("The trained model is better")
    ahead = tabulate({"EMOS": scores(3.0, 3), OURS: scores(2.5, 5)}, scored())
    assert ahead.verdict.startswith("The trained model is better than all 1 rivals; next is EMOS, behind by 0.509")


def test_intervals_hold_the_error_of_dependent_days():
    """Scores that are alike for a block of days have an interval as wide as that of the blocks' means."""
    rng = np.random.default_rng(6)
    pieces = pieces_of(DAYS)
    assert pieces.max() + 1 == 10
    blocky = rng.normal(size=10)[pieces]
    drawn = piece_bootstrap(blocky[:, None], pieces, seed=0)
    expected = np.std([blocky[pieces == k].mean() for k in range(10)]) / math.sqrt(10)
    assert drawn.std() == pytest.approx(expected, rel=0.1)


def test_places_of_one_day_are_in_one_piece():
    pieces = pieces_of(DAYS)
    assert all(np.unique(pieces[day == DAYS]).size == 1 for day in range(100))


def test_a_window_is_fitted_just_before_what_it_scores():
    pairs = scored()
    early, late = pairs.where(pairs.days < 80), pairs.where(pairs.days >= 80)
    parts = list(blocks(early, late, 25))
    assert len(parts) == 4
    assert sum(len(part) for _, part in parts) == len(late)
    for fitted, part in parts:
        assert fitted.days.max() == part.days.min() - 1
        assert fitted.days.min() == part.days.min() - 25
    assert [(len(a), len(b)) for a, b in blocks(early, late, None)] == [(240, 60)]


def test_joined_pairs_are_all_of_them():
    pairs = scored()
    again = join(pairs.where(pairs.days < 40), pairs.where(pairs.days >= 40))
    np.testing.assert_array_equal(again.members, pairs.members)
    assert again.fingerprint() == pairs.fingerprint()
