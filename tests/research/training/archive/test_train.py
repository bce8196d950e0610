"""Training on archives: bias and spread are mended, what was good stays so, and a resumed run has the same bits."""

import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("jax", reason="training needs the train extra")

from amortized_kde.ensembles import dressed, log_score_parts, log_scores, read_dressing
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.learned.store import ARCHITECTURES, load_model, read_model
from amortized_kde.research.training.archive.pairs import HELD_OUT, TRAINING, VALIDATION, read_pairs, split_time
from amortized_kde.research.training.archive.problem import ArchiveProblem, tasks_of
from amortized_kde.research.training.archive.recipe import archive_recipe, find_start
from amortized_kde.research.training.archive.train import train_archive

NUMBERS = (6.0, 0.8, 1.7)


def brief(pairs, **options):
    """A recipe of few and small steps; `every` puts a checkpoint where the dressing is fitted again."""
    recipe = archive_recipe(pairs, **{"steps": 12, **options})
    return dataclasses.replace(recipe, batch=32, every=3)


@pytest.fixture(scope="module")
def wrong(made):
    """An archive with a bias and too little spread."""
    return made(11, numbers=NUMBERS, steps=100, places=6, members=10)


@pytest.mark.parametrize(("start", "dress"), [("single", True), ("scratch", False)])
def test_a_stopped_run_ends_with_the_bits_of_an_unbroken_one(wrong, tmp_path, start, dress):
    recipe = brief(wrong, start=start, dress=dress, seed=5)
    whole = train_archive(recipe, wrong, tmp_path / "whole")
    # Half-way the dressing is due: once a run ends there, once between checkpoints.
    for stop in (6, 8):
        left = train_archive(recipe, wrong, tmp_path / "broken", stop_at=stop, resume=stop == 8)
        assert left.report is None
    resumed = train_archive(recipe, wrong, tmp_path / "broken", resume=True)
    assert resumed.progress == whole.progress
    for name in ("weights.safetensors", "card.json", "log.csv", "report.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()
    model = read_model(tmp_path / "whole")
    output = "single" if start == "single" else "adaptive"
    assert model.architecture is ARCHITECTURES[output]
    same = np.array_equal(model.arrays["standard.whole"], load_model(output).arrays["standard.whole"])
    assert same == (start != "scratch")


def test_another_archive_or_seed_is_not_resumed(wrong, made, tmp_path):
    train_archive(brief(wrong, start="single"), wrong, tmp_path, stop_at=3)
    other = made(12, numbers=NUMBERS, steps=100, places=6)
    for recipe, pairs in ((brief(other, start="single"), other), (brief(wrong, start="single", seed=1), wrong)):
        with pytest.raises(InvalidParameterError, match="another recipe"):
            train_archive(recipe, pairs, tmp_path, resume=True)


def test_bias_and_spread_are_mended(wrong, tmp_path):
    """The tuned and dressed model is ahead of the untuned by more than the interval; the dressing can be applied."""
    outcome = train_archive(brief(wrong, dress=True), wrong, tmp_path)
    rows = {row.method: row for row in outcome.report.rows}
    assert rows["untuned model"].low > 0.2
    assert rows["silverman"].low > rows["untuned model"].low
    assert outcome.report.rows[-1].method == "tuned model, dressed"
    held_out = wrong.where(outcome.split.part_of(wrong.times) == HELD_OUT)
    x = dressed(held_out.members, tmp_path)
    scores = log_scores(x, held_out.observations, method=f"amortized:{tmp_path}")
    assert scores.mean() == pytest.approx(rows["tuned model, dressed"].score, rel=1e-9)
    found = read_dressing(f"amortized:{tmp_path}")
    assert found.spread == pytest.approx(NUMBERS[2], rel=0.15)
    assert json.loads((tmp_path / "card.json").read_text())["recipe"]["world"] == "archive"


def test_rain_is_learned_away_from_its_atom(tmp_path):
    """Members at 0 stay there, those that the dressing would move below are kept off, and scores agree."""
    rng = np.random.default_rng(17)
    size = rng.gamma(4.0, 0.5, (600, 1))
    drawn = np.where(rng.random((600, 13)) < 0.4, 0.0, size * rng.gamma(1.5, 1.0, (600, 13)))
    x, y = 0.5 * drawn[:, 1:], drawn[:, 0]
    pairs = read_pairs(x, y, np.repeat(np.arange(100), 6), bounds=(0, None), atoms=(0,))
    outcome = train_archive(brief(pairs, start="single", dress=True), pairs, tmp_path)
    rows = {row.method: row for row in outcome.report.rows}
    assert rows["untuned model"].difference > 0.0
    held_out = (outcome.split.part_of(np.repeat(np.arange(100), 6)) == HELD_OUT) & (y > 0.0)
    held_out &= [np.unique(row[row > 0.0]).size > 1 for row in x]
    after = dressed(x[held_out], tmp_path)
    assert ((after == 0.0) == (x[held_out] == 0.0)).all()
    options = {"bounds": (0, None), "atoms": (0,), "method": f"amortized:{tmp_path}"}
    amount = log_score_parts(after, y[held_out], **options).amount
    assert amount.mean() == pytest.approx(rows["tuned model, dressed"].score, rel=1e-9)


def test_a_model_that_was_right_does_not_get_worse(made, tmp_path):
    """Members and observation are draws from one normal density, as many tasks of the shipped world are."""
    pairs = made(13, steps=100, places=30)
    recipe = dataclasses.replace(archive_recipe(pairs, steps=40), every=20)
    rows = {row.method: row for row in train_archive(recipe, pairs, tmp_path).report.rows}
    assert rows["untuned model"].difference > -0.01


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_the_start_is_kept_if_nothing_is_better(wrong, tmp_path):
    """Steps so large that they only do harm."""
    recipe = brief(wrong, start="single")
    wild = dataclasses.replace(recipe, optimiser=dataclasses.replace(recipe.optimiser, learning_rate=10.0))
    outcome = train_archive(wild, wrong, tmp_path)
    assert outcome.progress.best_step == 0
    assert outcome.report.rows[2].difference == pytest.approx(0.0, abs=1e-4)


def test_steps_see_training_blocks_alone_and_each_pair_once_a_pass(wrong):
    recipe, split = brief(wrong), split_time(wrong.steps)
    problem = ArchiveProblem(recipe, wrong, split)
    part = split.part_of(wrong.times)
    training = set(wrong.observations[part == TRAINING])
    passes = sum(part == TRAINING) // recipe.batch
    seen = np.concatenate([problem.step(step).at[:, 0] for step in range(passes)])
    assert len(set(seen)) == seen.size
    assert set(seen) <= training
    assert set(problem.validation().at[:, 0]) == set(wrong.observations[part == VALIDATION])


def test_batches_are_ragged_ascending_and_bounded():
    rng = np.random.default_rng(1)
    x = rng.random((60, 5))
    x[::2, 1] = np.nan
    pairs = read_pairs(x, rng.random(60), np.arange(60), bounds=(0, 1))
    batch = tasks_of(pairs)
    np.testing.assert_array_equal(batch.sizes, np.where(np.arange(60) % 2, 5, 4))
    np.testing.assert_array_equal(batch.values[:4], np.sort(x[0][~np.isnan(x[0])]))
    assert (batch.lower == 0.0).all()
    assert (batch.upper == 1.0).all()


def test_what_cannot_be_trained_is_one_sentence(wrong, made, tmp_path):
    with pytest.raises(InvalidParameterError, match=r"no model 'adaptiv' to start from; take adaptive or single"):
        find_start("adaptiv")
    with pytest.raises(InvalidParameterError, match="'gmm32' cannot be trained on an archive"):
        find_start("gmm32")
    with pytest.raises(InvalidParameterError, match="steps must be at least 1"):
        archive_recipe(wrong, steps=0)
    few = made(14, steps=60, places=1)
    with pytest.raises(InvalidSampleError, match="for validation hold 12 pairs, but at least 20"):
        train_archive(brief(few), few, tmp_path)
