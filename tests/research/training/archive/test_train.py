"""Training on archives: parts pay for themselves, the last days are never seen, the model is the reported one."""

import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("jax", reason="training needs the train extra")

from amortized_kde.ensembles import log_scores, read_calibration
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.learned.store import load_model, read_model
from amortized_kde.research.training.archive.decide import Decisions, decide, fit
from amortized_kde.research.training.archive.pairs import read_pairs
from amortized_kde.research.training.archive.predictive import score
from amortized_kde.research.training.archive.problem import Moved, TuningProblem, tasks_of, tune
from amortized_kde.research.training.archive.recipe import archive_recipe, find_start
from amortized_kde.research.training.archive.report import OURS
from amortized_kde.research.training.archive.train import FILES, held_out, train_archive
from amortized_kde.research.training.checkpoint import check_folder

pytestmark = pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")


def brief(pairs, **options):
    """A recipe of few and small steps."""
    return dataclasses.replace(archive_recipe(pairs, **{"steps": 12, **options}), batch=32, every=4)


@pytest.fixture(scope="module")
def two_modes():
    """Biased forecasts whose errors have two modes, so that the network's shape pays."""
    rng = np.random.default_rng(16)
    centre = rng.normal(0.0, 3.0, (600, 1))
    drawn = centre + np.where(rng.random((600, 16)) < 0.5, 3.0, -3.0) + 0.3 * rng.normal(size=(600, 16))
    return read_pairs(drawn[:, 1:] + 2.0, drawn[:, 0], np.repeat(np.arange(100), 6))


def test_the_network_is_used_where_its_shape_pays(two_modes, made):
    decided = decide(two_modes, brief(two_modes, tuning=False))
    assert decided.share <= 0.5
    assert decide(made(), brief(made(), tuning=False)).share >= 0.75


def test_the_stored_model_gives_the_scores_of_the_fit(two_modes, tmp_path):
    outcome = train_archive(brief(two_modes, tuning=False), two_modes, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"card.json", "weights.safetensors", "report.csv", "report.png", "log.csv"} <= names
    found = log_scores(two_modes.members, two_modes.observations, method=f"amortized:{tmp_path}")
    again = score(outcome.fitted.predictive(two_modes), two_modes)
    np.testing.assert_allclose(found, again.total, rtol=1e-9)
    rows = {row.method: row for row in outcome.report.rows}
    assert rows["EMOS, maximum likelihood"].low > 0.0
    assert rows["raw ensemble, as shipped"].difference > 0.1
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["report"]["verdict"] == outcome.report.verdict
    assert read_calibration(tmp_path) == outcome.fitted.calibration
    # The network was not tuned, so its weights are the shipped ones.
    np.testing.assert_allclose(
        read_model(tmp_path).arrays["standard.whole"], load_model("adaptive").arrays["standard.whole"]
    )


def test_the_last_days_are_never_seen(two_modes, tmp_path):
    """Other observations there change the report, but nothing that was decided."""
    late = held_out(two_modes)
    assert two_modes.days[late].min() == two_modes.days[~late].max() + 1
    other = read_pairs(
        two_modes.members, np.where(late, -two_modes.observations, two_modes.observations), two_modes.days
    )
    first, second = (
        train_archive(brief(pairs), pairs, tmp_path / str(k)) for k, pairs in enumerate((two_modes, other))
    )
    assert first.decisions == second.decisions
    assert first.report.rows[-1].bits != second.report.rows[-1].bits


def test_rain_gets_a_calibrated_chance(wet, tmp_path):
    outcome = train_archive(brief(wet()), wet(), tmp_path)
    rows = {row.method: row for row in outcome.report.rows}
    assert rows["raw ensemble, as shipped"].occurrence > rows[OURS].occurrence
    assert rows["raw ensemble, as shipped"].low > 0.0
    assert rows[OURS].bits == pytest.approx(rows[OURS].occurrence + rows[OURS].amount)


def test_parts_can_be_left_out(two_modes, tmp_path):
    decided = decide(two_modes, brief(two_modes, calibration=False, tuning=False))
    assert decided == Decisions(None)
    train_archive(brief(two_modes, calibration=False, tuning=False), two_modes, tmp_path)
    assert "calibration" not in read_model(tmp_path).card
    assert np.isfinite(log_scores(two_modes.members[:3], [0.0] * 3, method=f"amortized:{tmp_path}")).all()


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_tuning_keeps_step_0_if_nothing_is_better(two_modes):
    moved = Moved(two_modes.members, two_modes.observations + 2.0, two_modes.bounds)
    recipe = brief(two_modes, start="single")
    wild = dataclasses.replace(recipe, optimiser=dataclasses.replace(recipe.optimiser, learning_rate=10.0))
    found = tune(wild, moved.where(two_modes.days < 80), moved.where(two_modes.days >= 80))
    assert found.steps == 0
    np.testing.assert_allclose(found.model.arrays["standard.whole"], load_model("single").arrays["standard.whole"])
    assert found.log[0].step == 0


def test_tuning_is_repeated_for_the_steps_that_were_decided(two_modes):
    moved = Moved(two_modes.members, two_modes.observations + 2.0, two_modes.bounds)
    recipe = brief(two_modes, seed=4)
    first, second = (tune(recipe, moved, steps=5) for _ in range(2))
    for name, array in first.model.arrays.items():
        np.testing.assert_array_equal(array, second.model.arrays[name])
    other = tune(recipe, moved, steps=6)
    assert any(not np.array_equal(array, other.model.arrays[name]) for name, array in first.model.arrays.items())
    assert fit(two_modes, recipe, Decisions(None, steps=3)).model.arrays.keys() == first.model.arrays.keys()


def test_a_pass_shows_each_pair_once(two_modes):
    moved = Moved(two_modes.members, two_modes.observations, two_modes.bounds)
    recipe = dataclasses.replace(brief(two_modes), batch=60)
    problem = TuningProblem(recipe, moved, None)
    seen = np.concatenate([problem.step(step).at[:, 0] for step in range(10)])
    np.testing.assert_array_equal(np.sort(seen), np.sort(two_modes.observations))


def test_missing_members_are_no_values():
    moved = Moved(
        np.array([[3.0, np.nan, 1.0], [2.0, 2.0, np.nan]]), np.zeros(2), read_pairs([[1.0]], [1.0], [0]).bounds
    )
    np.testing.assert_array_equal(tasks_of(moved).values, [1.0, 3.0, 2.0, 2.0])
    np.testing.assert_array_equal(moved.usable, [True, False])


def test_too_few_days_or_pairs():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    with pytest.raises(InvalidSampleError, match=r"the archive has 4 days .* at least 10 are needed"):
        held_out(read_pairs(x, y, np.repeat(np.arange(4), 100)))
    with pytest.raises(InvalidSampleError, match="the earlier days of the archive hold 16 pairs"):
        held_out(read_pairs(x[:20], y[:20], np.arange(20)))


def test_recipes_are_checked(two_modes):
    with pytest.raises(InvalidParameterError, match="window of 99 days does not fit the archive of 100 days"):
        archive_recipe(two_modes, window=99)
    with pytest.raises(InvalidParameterError, match="from scratch must be tuned"):
        archive_recipe(two_modes, start="scratch", tuning=False)
    with pytest.raises(InvalidParameterError, match="steps must be at least 1"):
        archive_recipe(two_modes, steps=0)
    with pytest.raises(InvalidParameterError, match="there is no model 'other' to start from"):
        find_start("other")
    assert find_start("scratch") is None


def test_nothing_is_overwritten_unasked(tmp_path):
    check_folder(tmp_path / "new", FILES, overwrite=False)
    (tmp_path / "report.csv").write_text("mine")
    with pytest.raises(InvalidParameterError, match=r"has report\.csv already"):
        check_folder(tmp_path, FILES, overwrite=False)
    check_folder(tmp_path, FILES, overwrite=True)
    with pytest.raises(InvalidParameterError, match="is a file"):
        check_folder(tmp_path / "report.csv", FILES, overwrite=True)
