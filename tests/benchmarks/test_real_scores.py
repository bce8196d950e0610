import csv
import math

import numpy as np
import pytest

from amortized_kde.estimate import fit
from contests import real_scores
from contests.r_rivals import has_r
from contests.real_columns import RealColumn
from contests.real_report import RealResult, report_real, write_real
from contests.real_scores import CAP, CAPPED, ZERO, cells_of, score_real
from contests.rival_store import CellScores

COLUMN = RealColumn("set", "column", (0.0, None), 200)
VALUES = np.random.default_rng(1).exponential(3.0, 200)


@pytest.fixture
def cells(monkeypatch):
    monkeypatch.setattr(real_scores, "smooth_column", lambda column: VALUES)
    return cells_of([COLUMN], 3, seed=7)


def test_cells_are_the_sizes_that_a_column_serves(cells):
    assert [cell.n for cell in cells] == [30, 100]
    assert [split.sample.size for cell in cells for split in cell.splits] == [30] * 3 + [100] * 3


def test_scores_are_those_of_the_density_in_units_of_the_interquartile_range(cells):
    found = score_real("silverman", cells)
    assert found.scores.shape == (2, 3)
    low, high = np.quantile(VALUES, [0.25, 0.75])
    sample, outcomes = cells[1].splits[2]
    density = fit(sample / (high - low), bounds=(0, None), method="silverman")
    expected = np.minimum(-density.logpdf(outcomes / (high - low)) / math.log(2.0), CAP).mean()
    assert found.scores[1, 2] == pytest.approx(expected, abs=1e-9)


def test_zero_densities_are_cut_and_counted(cells):
    pytest.importorskip("arviz_stats")
    found = score_real("arviz-stats kde", cells)
    outside = sum(np.sum(split.outcomes > split.sample.max()) for cell in cells for split in cell.splits)
    assert found.failures[ZERO] >= outside > 0
    assert found.failures[CAPPED] >= found.failures[ZERO]
    assert np.isfinite(found.scores).all()


@pytest.mark.skipif(not has_r(), reason="R with logspline and gss is not here")
def test_rivals_in_r_see_the_same_splits(cells):
    found = score_real("logspline", cells)
    assert found.scores.shape == (2, 3)
    # As good a density as any for exponential data.
    assert (np.abs(found.scores - score_real("silverman", cells).scores) < 1.0).all()


def result_of(cells):
    ours = np.array([[1.0, 1.1, 0.9], [2.0, 2.1, 1.9]])
    rival = ours + np.array([[0.3], [-0.2]])
    scores = {"ours": CellScores(ours), "rival": CellScores(rival)}
    scores["rival"].failures[ZERO] += 5
    return RealResult(cells, "ours", scores)


def test_the_report_counts_wins_and_lists_losses(cells):
    text = "\n".join(report_real(result_of(cells)))
    assert "wins   1 =  50%   below three quarters" in text
    assert "loses more than 0.1 bits in 1 of 2 cells and rivals" in text
    assert "set: column, n = 100: 0.20 to rival" in text
    assert f"5  {ZERO}" in text


def test_the_table_has_a_line_for_every_cell_and_method(cells, tmp_path):
    write_real(tmp_path / "table.csv", result_of(cells))
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert (rows[1]["method"], rows[1]["lower"], rows[1]["upper"], rows[1]["splits"]) == ("rival", "0", "", "3")
    assert float(rows[1]["difference_bits"]) == pytest.approx(-0.3)
