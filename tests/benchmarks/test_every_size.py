import csv
import math

import numpy as np
import pytest

from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.research.reproduction.protocol import TRUTH
from amortized_kde.research.tasks import MixtureWorld
from contests import every_size
from contests.every_size import SIZES, TASKS, WORLDS, SizeCell, report_sizes, score_cell, write_sizes
from contests.rivals import SCIPY, fit_density
from contests.task_scores import scores_of_method

CELL = SizeCell("mixtures", 10, True, 7)
WORLD = MixtureWorld(32)


def test_the_plan_reaches_from_two_to_a_million():
    assert (min(SIZES), max(SIZES)) == (2, 1_000_000)
    assert min(TASKS[n] for n in SIZES if n <= 256) >= 50_000
    assert set(WORLDS) == {"families", "mixtures", "Marron-Wand"}


@pytest.mark.parametrize("n", [2, 256, 1_000_000])
def test_chunks_cover_all_tasks_once(n):
    cell = SizeCell("mixtures", n, True, TASKS[n])
    tasks = [task for first, count in cell.chunks() for task in range(first, first + count)]
    assert tasks == list(range(TASKS[n]))


@pytest.mark.parametrize("bounds", [Bounds(-1.0, 1.0), OPEN])
@pytest.mark.parametrize("method", ["silverman", "amortized:gmm32", SCIPY])
def test_scores_are_means_at_the_draws(method, bounds):
    batch = CELL.draw(WORLD, 0, 3)
    found = scores_of_method(method, batch, bounds).scores
    sample = batch.values[batch.offsets[1] : batch.offsets[2]]
    slow = -fit_density(method, sample, bounds)(batch.draws[1]).mean() / math.log(2.0)
    assert found.shape == (1, 3)
    assert found[0, 1] == pytest.approx(slow, abs=1e-9)


def test_a_cell_is_computed_once_and_the_same_in_any_chunks(tmp_path, monkeypatch):
    whole = score_cell(CELL, ("silverman", TRUTH), WORLD, tmp_path)
    assert whole["silverman"].scores.shape == (1, 7)
    np.testing.assert_allclose(whole[TRUTH].scores[0], CELL.draw(WORLD, 0, 7).true_scores())
    monkeypatch.setattr(every_size, "_CHUNK_TASKS", 3)
    done = []
    parts = score_cell(CELL, ("silverman",), WORLD, tmp_path / "other", report=done.append)
    np.testing.assert_array_equal(parts["silverman"].scores, whole["silverman"].scores)
    assert done == [3, 3, 1]
    monkeypatch.setattr(every_size, "scores_of_method", lambda *_: pytest.fail("it was on disk"))
    score_cell(CELL, ("silverman",), WORLD, tmp_path / "other")


def test_other_weights_are_another_column(tmp_path, monkeypatch):
    score_cell(CELL, ("amortized:gmm32", "silverman"), WORLD, tmp_path)
    monkeypatch.setattr(every_size, "weights_of", lambda method: "other" if method == "amortized:gmm32" else "0")
    calls = []
    original = scores_of_method

    def counted(method, *rest):
        calls.append(method)
        return original(method, *rest)

    monkeypatch.setattr(every_size, "scores_of_method", counted)
    score_cell(CELL, ("amortized:gmm32", "silverman"), WORLD, tmp_path)
    assert calls == ["amortized:gmm32"]


def test_known_bounds_matter_and_samples_do_not_change(tmp_path):
    unknown = SizeCell("mixtures", 10, False, 7)
    np.testing.assert_array_equal(CELL.draw(WORLD, 0, 2).values, unknown.draw(WORLD, 0, 2).values)
    scores = [score_cell(cell, ("silverman",), WORLD, tmp_path)["silverman"].scores for cell in (CELL, unknown)]
    # The part of the mass that leaks out is lost at every draw.
    assert (scores[0] <= scores[1]).all()
    assert (scores[0] < scores[1]).any()


def test_methods_that_take_too_long_are_left_out_and_said_so(tmp_path):
    cell = SizeCell("mixtures", 100_000, True, 1)
    columns = {
        method: scores_of_method(method, CELL.draw(WORLD, 0, 5), OPEN) for method in (TRUTH, "scott", "silverman")
    }
    assert not every_size.has_column("sheather-jones-r", 100_000)
    lines = report_sizes({cell: columns}, under_test="silverman", methods=(*columns, "sheather-jones-r"))
    assert any("sheather-jones-r" in line and "left out" in line for line in lines)
    write_sizes(tmp_path / "table.csv", {cell: columns}, under_test="silverman")
    with open(tmp_path / "table.csv", newline="") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert float(rows["silverman"]["difference_bits"]) == 0.0
    expected = (columns["silverman"].scores - columns["scott"].scores).mean()
    assert float(rows["scott"]["difference_bits"]) == pytest.approx(expected, abs=1e-12)
    assert rows["scott"]["verdict"] in ("better", "no worse", "worse")
    assert rows[TRUTH]["verdict"] == ""


def test_samples_without_an_answer_are_counted():
    batch = SizeCell("mixtures", 2, True, 4).draw(WORLD, 0, 4)
    batch.values[:2] = 0.25
    # Silverman's rule has none either, so that the score is none.
    with np.errstate(invalid="ignore"):
        found = scores_of_method("scott", batch, Bounds(-1.0, 1.0))
    assert sum(found.failures.values()) == 1
    assert np.isnan(found.scores[0]).tolist() == [True, False, False, False]
