"""The report: scores as they should be, and intervals that know that neighbouring times are alike."""

import csv

import numpy as np
import pytest
from scipy import stats

import amortized_kde as akde
from amortized_kde.learned.store import load_model
from amortized_kde.research.training.archive.pairs import HELD_OUT, read_pairs, split_time
from amortized_kde.research.training.archive.scores import (
    compare,
    gaussian_scores,
    model_scores,
    piece_bootstrap,
    silverman_scores,
    table_lines,
    write_report,
)


def pairs_between(bounds, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.beta(2.0, 3.0, (30, 8))
    x[3, 5:] = np.nan
    return read_pairs(x, rng.beta(2.0, 3.0, 30), np.arange(30), bounds=bounds)


@pytest.mark.parametrize("bounds", [None, (0, None), (None, 1), (0, 1), (-50, 50)])
def test_the_gaussian_is_a_truncated_normal(bounds):
    pairs = pairs_between(bounds)
    for members, y, score in zip(pairs.members, pairs.observations, gaussian_scores(pairs), strict=True):
        there = members[~np.isnan(members)]
        mean, sd = there.mean(), there.std(ddof=1)
        law = stats.truncnorm(*((end - mean) / sd for end in pairs.bounds), loc=mean, scale=sd)
        assert score == pytest.approx(-law.logpdf(y) / np.log(2.0), rel=1e-9)


def test_a_gaussian_far_outside_a_bound_keeps_its_digits():
    pairs = read_pairs([[1.0, 1.0001]] * 2, [1.00002, 5.0], [0, 1], bounds=(0.9, None))
    assert np.isfinite(gaussian_scores(pairs)).all()
    moved = pairs.dressed(np.array([0.0, 1.0, 1.0]))
    np.testing.assert_allclose(gaussian_scores(moved), gaussian_scores(pairs), rtol=1e-6)


@pytest.mark.parametrize("bounds", [None, (0, 1)])
@pytest.mark.parametrize("method", ["silverman", "amortized:single", "amortized:adaptive"])
def test_other_scores_are_those_of_each_density(bounds, method):
    pairs = pairs_between(bounds)
    scorer = silverman_scores if method == "silverman" else model_scores(load_model(method.split(":")[1]))
    for members, y, score in list(zip(pairs.members, pairs.observations, scorer(pairs), strict=True))[::9]:
        density = akde.fit(members[~np.isnan(members)], bounds=bounds, method=method)
        assert score == pytest.approx(akde.log_score(density, y), rel=1e-9)


def test_the_bootstrap_draws_whole_pieces():
    """Fifty values that are all alike in each of 25 pieces: the spread is that of 25 numbers, not of 1250."""
    rng = np.random.default_rng(7)
    values, pieces = np.repeat(rng.normal(size=25), 50), np.repeat(np.arange(25), 50)
    means = piece_bootstrap(values[:, None], pieces, seed=1)
    assert means.std() == pytest.approx(values.std() / 5.0, rel=0.1)
    assert (means == piece_bootstrap(values[:, None], pieces, seed=1)).all()


def test_rows_are_differences_to_the_last(made, tmp_path):
    pairs = made(8, numbers=(2.0, 1.0, 1.5), steps=60, places=5)
    split, single = split_time(pairs.steps), load_model("single")
    numbers = np.array([2.0, 1.0, 1.5])
    report = compare(pairs, split, untuned=single, tuned=single, numbers=numbers)
    names = [row.method for row in report.rows]
    assert names == [
        *("gaussian", "silverman", "untuned model"),
        *("gaussian, dressed", "silverman, dressed", "untuned model, dressed", "tuned model, dressed"),
    ]
    held_out = pairs.where(split.part_of(pairs.times) == HELD_OUT)
    assert report.pairs == len(held_out)
    last = report.rows[-1]
    assert last.score == pytest.approx(model_scores(single)(held_out.dressed(numbers)).mean())
    assert (last.difference, last.low, last.high) == (0.0, 0.0, 0.0)
    for row in report.rows[:-1]:
        assert row.difference == pytest.approx(row.score - last.score)
        assert row.low < row.difference < row.high
    assert report.rows[2].low > 0.0
    write_report(report, tmp_path / "report.csv")
    with open(tmp_path / "report.csv", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [row["method"] for row in read] == names
    assert float(read[0]["mean_log_score_bits"]) == report.rows[0].score
    assert len(table_lines(report)) == len(names) + 1
