"""Ablations: the agreed table from tiny trainings, the same bits again, nothing done twice; and a remark that holds."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="training needs the train extra")
pytest.importorskip("matplotlib", reason="pictures need the plot extra")

from amortized_kde.density import KernelDensity
from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.store import model_names
from amortized_kde.research.reproduction import ablations, short_runs
from amortized_kde.research.reproduction.ablations import SHORT_SCALES, ShortScale, reproduce_ablations
from amortized_kde.research.reproduction.protocol import ORACLE
from amortized_kde.research.reproduction.short_runs import (
    COMPARISONS,
    SILVERMAN,
    TRAININGS,
    WORLDS,
    Variation,
    judge_world,
    train_short,
)
from amortized_kde.research.tasks import Construction, draw_tasks, make_pool
from amortized_kde.research.training import loop
from amortized_kde.score import expected_score_by_draws

COLUMNS = "group,variant,steps,world_judged,tasks,excess_bits,standard_error,mean_log2_bandwidth_ratio"
TINY = ShortScale(steps=1, draws=8, tasks=24)


@pytest.fixture(autouse=True)
def small_pools(monkeypatch):
    monkeypatch.setattr(short_runs, "_pool", lambda threshold: make_pool(40, threshold=threshold))


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(SHORT_SCALES, "quick", TINY)


@pytest.fixture
def trained(monkeypatch):
    """Names of the trainings that were really run."""
    names = []

    def train(recipe, out, **options):
        names.append(recipe.name)
        return real(recipe, out, **options)

    real = loop.train
    monkeypatch.setattr(loop, "train", train)
    return names


def read(folder):
    return (folder / "ablations.csv").read_text()


def test_the_table_is_as_agreed_and_nothing_is_trained_twice(tiny, trained, tmp_path):
    told = []
    text = reproduce_ablations(tmp_path, scale="quick", report=lambda *what: told.append(what))
    table = read(tmp_path)
    rows = list(csv.DictReader(table.splitlines()))
    assert table.splitlines()[0] == COLUMNS
    assert {row["group"] for row in rows} == {"mass threshold", "mixture construction", "bounds"}
    assert all(np.isfinite([float(row[name]) for name in COLUMNS.split(",")[4:]]).all() for row in rows)
    assert {int(row["steps"]) for row in rows if row["variant"] in (SILVERMAN, ORACLE)} == {0}
    assert {int(row["steps"]) for row in rows if row["variant"].startswith("c >=")} == {TINY.steps}
    assert all(f"{float(row['excess_bits']):.4f}" in text for row in rows)
    assert (tmp_path / "ablations.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "ablations.svg").read_text()
    assert sorted(trained) == sorted(TRAININGS)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == told[-1][2] == told[0][2]

    # A killed run: one training did not come to its end, so it and what it is judged by are made again.
    lost = "families-0.95"
    shutil.rmtree(tmp_path / ".chunks" / "ablations" / "quick" / lost)
    (tmp_path / "ablations.csv").unlink()
    trained.clear()
    assert reproduce_ablations(tmp_path, scale="quick") == text
    assert trained == [lost]
    assert read(tmp_path) == table


def test_no_task_beats_the_oracle(tmp_path):
    judged = judge_world("gmm32", WORLDS["gmm32"], {}, tmp_path, tasks=30)
    assert (judged.scores[ORACLE] <= judged.scores[SILVERMAN]).all()
    assert (judged.log2_ratios(ORACLE) == 0.0).all()


def test_scores_and_bandwidths_are_those_of_plain_densities(tmp_path):
    judged = judge_world("multifamily", WORLDS["multifamily"], {}, tmp_path, tasks=5)
    batch = draw_tasks(WORLDS["multifamily"].world(), 5, seed=short_runs._SEED)
    assert (judged.sizes == batch.sizes).all()
    for t in range(5):
        sample = batch.values[batch.offsets[t] : batch.offsets[t + 1]]
        density = KernelDensity(sample, judged.bandwidths[SILVERMAN][t], bounds=(-1, 1))
        expected = expected_score_by_draws(density, batch.draws[t]).value
        assert judged.scores[SILVERMAN][t] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(judged.excess(SILVERMAN), judged.scores[SILVERMAN] - batch.true_scores())


def test_a_kept_model_of_other_constants_is_made_anew(trained, tmp_path):
    for variation, steps in (
        (Variation(construction=Construction()), 1),
        (Variation(construction=Construction()), 1),
        (Variation(construction=Construction(dispersion=(0.0, 0.0))), 1),
        (Variation(construction=Construction(dispersion=(0.0, 0.0))), 2),
    ):
        model = train_short("one", variation, tmp_path, steps=steps, draws=4)
        assert model.card["kept_step"] == steps
    assert len(trained) == 3
    # Judged again with other weights: what was kept for the first does not answer for the second.
    first = judge_world("gmm32", WORLDS["gmm32"], {"one": model}, tmp_path, tasks=4)
    other = train_short("two", Variation(construction=Construction(), seed=5), tmp_path, steps=1, draws=4)
    second = judge_world("gmm32", WORLDS["gmm32"], {"one": other}, tmp_path, tasks=4)
    assert (first.bandwidths["one"] != second.bandwidths["one"]).all()


def test_families_learned_without_bounds_are_smoothed_more(tmp_path):
    names = ("families", "families-whole-line")
    models = {name: train_short(name, TRAININGS[name], tmp_path, steps=60, draws=64) for name in names}
    judged = judge_world("multifamily", WORLDS["multifamily"], models, tmp_path, tasks=200)
    wider = judged.log2_ratios(names[1]) - judged.log2_ratios(names[0])
    assert wider.mean() > 5.0 * wider.std() / np.sqrt(wider.size)


def test_every_name_in_a_comparison_exists_and_every_training_is_compared():
    named = {name for c in COMPARISONS for name in (*c.trainings.values(), *c.repeats.values())}
    assert set(TRAININGS) <= named <= set(TRAININGS) | set(model_names())
    assert {c.world for c in COMPARISONS} == set(WORLDS)


def test_unknown_scales_are_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="no scale 'huge'"):
        reproduce_ablations(Path(tmp_path), scale="huge")
    assert ablations.SHORT_SCALES.keys() == {"quick", "paper"}
