import csv
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from amortized_kde.estimate import fit
from contests import contest as module
from contests.contest import (
    ORACLE,
    ZERO,
    Contest,
    ContestResult,
    draw_contest,
    excess_of,
    report_contest,
    write_contest,
)
from contests.known_densities import KnownDensity, expected_score, true_score
from contests.marron_wand import marron_wand
from contests.rivals import FALL_BACK, RIVALS, SCIPY, has_r
from contests.scores import CellScores

DENSITIES = (marron_wand()[0], marron_wand()[6])


@pytest.fixture
def contest(tmp_path):
    return Contest("test", DENSITIES, 12, 3, 5, tmp_path)


def test_excess_is_the_expected_score_above_the_entropy(contest):
    found = excess_of(contest, "silverman")
    assert found.scores.shape == (2, 3)
    sample, known = contest.samples()[1][2], DENSITIES[1]
    density = fit(sample, bounds=known.bounds, method="silverman")
    assert found.scores[1, 2] == pytest.approx(expected_score(density.logpdf, known) - true_score(known), abs=1e-5)
    assert (found.scores > 0.0).all()


def test_rivals_are_computed_once_and_fresh_ones_anew(contest, monkeypatch):
    first = excess_of(contest, "scott")
    monkeypatch.setattr(module, "fit_or_fall_back", lambda *_: pytest.fail("it was on disk"))
    np.testing.assert_array_equal(excess_of(contest, "scott").scores, first.scores)
    with pytest.raises(BaseException, match="it was on disk"):
        excess_of(contest, "scott", fresh=True)


def test_another_seed_or_size_is_another_file(contest, tmp_path):
    first = excess_of(contest, "scott").scores
    for other in (Contest("test", DENSITIES, 13, 3, 5, tmp_path), Contest("test", DENSITIES, 12, 3, 6, tmp_path)):
        assert (excess_of(other, "scott").scores != first).all()


def test_a_broken_file_counts_as_none(contest):
    first = excess_of(contest, "scott").scores
    (path,) = contest.folder.glob("*.npz")
    path.write_bytes(b"broken")
    np.testing.assert_array_equal(excess_of(contest, "scott").scores, first)


def test_the_best_single_bandwidth_is_best(contest):
    best = excess_of(contest, ORACLE).scores
    for method in ("silverman", "sheather-jones", "lcv", "amortized:gmm32"):
        assert (best <= excess_of(contest, method).scores + 1e-5).all()


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.FallbackWarning")
def test_a_method_without_answer_falls_back_and_is_counted(tmp_path):
    # R's Sheather-Jones stops at samples like this one.
    sparse = np.concatenate([np.zeros(12), [1e-9, 3.0]])
    known = KnownDensity("sparse", (-4.0, 4.0), DENSITIES[0].logpdf, lambda *_: sparse[None], DENSITIES[0].ends)
    contest = Contest("sparse", (known,), 14, 1, 0, tmp_path)
    failed, plain = excess_of(contest, "sheather-jones-r"), excess_of(contest, FALL_BACK)
    assert sum(failed.failures.values()) == 1
    np.testing.assert_array_equal(failed.scores, plain.scores)
    again = excess_of(contest, "sheather-jones-r")
    assert again.failures == failed.failures


def test_a_density_that_is_zero_gets_a_finite_score_and_is_counted(tmp_path, monkeypatch):
    # Uniform between the 2.3 % points: beyond, 40 bits count.
    monkeypatch.setitem(RIVALS, SCIPY, lambda *_: lambda y: np.where(np.abs(y) <= 2.0, -np.log(4.0), -np.inf))
    contest = Contest("test", DENSITIES[:1], 12, 3, 5, tmp_path)
    found = excess_of(contest, SCIPY)
    assert found.failures == {ZERO: 3}
    outside = 2.0 * (stats.norm.cdf(4.0) - stats.norm.cdf(2.0)) / (2.0 * stats.norm.cdf(4.0) - 1.0)
    expected = outside * 40.0 + (1.0 - outside) * 2.0 - true_score(DENSITIES[0])
    assert found.scores[0] == pytest.approx([expected] * 3, abs=1e-5)


@pytest.mark.skipif(not has_r(), reason="R with logspline and gss is not here")
def test_rivals_in_r_are_scored_and_fall_back_too(tmp_path):
    contest = Contest("test", DENSITIES, 12, 2, 5, tmp_path)
    found = excess_of(contest, "logspline")
    assert ((found.scores > 0.0) & (found.scores < 5.0)).all()
    few = Contest("test", DENSITIES, 3, 2, 5, tmp_path)
    assert sum(excess_of(few, "logspline").failures.values()) == 4
    np.testing.assert_array_equal(excess_of(few, "logspline").scores, excess_of(few, FALL_BACK).scores)


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
    assert float(rows["10", "one", "ours"]["median_excess_bits"]) == pytest.approx(np.median(OURS[0]))
    assert float(rows["10", "all", "rival"]["median_excess_bits"]) == pytest.approx(np.median(RIVAL))
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
