import csv
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.data.support import Bounds
from amortized_kde.estimate import fit
from contests import real_data
from contests.real_columns import RealColumn
from contests.real_data import (
    CAP,
    CAPPED,
    MOST_SCORED,
    ZERO,
    RealResult,
    cells_of,
    dequantise,
    make_splits,
    report_real,
    rounding_unit,
    score_real,
    write_real,
)
from contests.rivals import has_r
from contests.scores import CellScores

COLUMN = RealColumn("set", "column", (0.0, None), 200)
VALUES = np.random.default_rng(1).exponential(3.0, 200)


@pytest.fixture
def cells(monkeypatch):
    monkeypatch.setattr(real_data, "smooth_column", lambda column: VALUES)
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


@given(
    unit=st.floats(1e-6, 1e6),
    offset=st.floats(-1e3, 1e3),
    seed=st.integers(0, 1000),
)
def test_the_unit_of_rounded_normal_values_is_found(unit, offset, seed):
    # A hundred values within some twenty units of each other.
    steps = np.round(np.random.default_rng(seed).normal(size=100) * 5)
    assert rounding_unit((offset + steps) * unit) == pytest.approx(unit, rel=1e-6)


def test_values_without_ties_have_no_unit_and_stay():
    values = np.random.default_rng(1).normal(size=50)
    assert rounding_unit(values) == 0.0
    np.testing.assert_array_equal(dequantise(values, Bounds(), rng=np.random.default_rng(2)), values)


def test_sums_of_decimals_are_equal_where_they_should_be():
    values = np.array([0.1 + 0.2, 0.3, 0.3, 0.4, 0.1 + 0.3, 0.5])
    assert rounding_unit(values) == pytest.approx(0.1)


def test_one_finely_recorded_value_does_not_change_the_unit():
    values = np.concatenate([np.repeat(np.arange(20.0), 3), [4.001]])
    assert rounding_unit(values) == 1.0


def test_temperatures_that_were_converted_keep_their_steps():
    # Whole degrees Celsius, written in Fahrenheit.
    celsius = np.round(np.random.default_rng(3).normal(10.0, 8.0, 2000))
    assert rounding_unit(celsius * 1.8 + 32.0) == pytest.approx(1.8)


@given(seed=st.integers(0, 1000))
def test_dequantised_values_round_back_and_respect_the_bounds(seed):
    values = np.clip(np.round(np.random.default_rng(seed).normal(1.0, 2.0, 200)), 0.0, 4.0)
    spread = dequantise(values, Bounds(0.0, 4.0), rng=np.random.default_rng(seed))
    assert np.abs(spread - values).max() <= 0.5
    assert spread.min() >= 0.0
    assert spread.max() <= 4.0
    assert np.unique(spread).size == 200


def test_dequantised_uniform_values_are_uniform():
    values = np.repeat(np.arange(1.0, 9.0), 1000)
    spread = dequantise(values, Bounds(), rng=np.random.default_rng(4))
    counts, _ = np.histogram(spread, bins=16, range=(0.5, 8.5))
    assert np.abs(counts - 500).max() < 100


def test_splits_part_the_values_and_repeat():
    values = np.random.default_rng(5).normal(size=400)
    first = make_splits(COLUMN, values, 30, 3, seed=1)
    assert len(first) == 3
    for split, again in zip(first, make_splits(COLUMN, values, 30, 5, seed=1), strict=False):
        assert (split.sample.size, split.outcomes.size) == (30, 370)
        np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.sort(values))
        np.testing.assert_array_equal(split.sample, again.sample)
    assert (first[0].sample != first[1].sample).any()
    assert (first[0].sample != make_splits(COLUMN, values, 30, 1, seed=2)[0].sample).any()


def test_no_more_outcomes_than_needed():
    (split,) = make_splits(COLUMN, np.arange(10_000.0), 256, 1, seed=1)
    assert split.outcomes.size == MOST_SCORED
