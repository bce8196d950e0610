"""Runs of the models in the sample's own frame: resumed bit for bit, and with true gradients."""

import csv
import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="training needs the train extra")

import jax

from amortized_kde.learned.adaptive.network import LadderNetwork
from amortized_kde.learned.store import ARCHITECTURES, read_model
from amortized_kde.research.training import loop
from amortized_kde.research.training.adaptive.objective import (
    adaptive_scores_and_slopes,
    spread_penalty,
)
from amortized_kde.research.training.adaptive.problem import OUTPUTS
from amortized_kde.research.training.adaptive.tasks import prepare_step, standards
from amortized_kde.research.training.loop import train
from amortized_kde.research.training.recipe import Reuse, find_recipe


def small(name):
    recipe = find_recipe(name)
    tasks = dataclasses.replace(recipe.tasks, validation_tasks=50, standard_tasks=300, every=5)
    again = Reuse(steps=4, families=6, mixtures=5, open=3) if recipe.again.steps else recipe.again
    # Penalties begin half-way.
    penalties = dataclasses.replace(recipe.penalties, first=5, full=9)
    penalties = penalties if recipe.penalties.roughness else recipe.penalties
    return dataclasses.replace(recipe, steps=10, batch=24, draws=32, tasks=tasks, again=again, penalties=penalties)


@pytest.fixture(scope="module", params=["adaptive", "single"])
def recipe(request):
    return small(request.param)


@pytest.fixture(scope="module")
def prepared(recipe):
    fresh = dataclasses.replace(recipe, again=Reuse(steps=0, families=0, mixtures=0, open=0))
    return prepare_step(fresh, 7, standards(recipe))


@pytest.fixture(scope="module")
def network(recipe):
    widths = recipe.network
    start = OUTPUTS[widths.output].start(jax.random.key(1), widths.whole, widths.point)
    return jax.tree.map(lambda leaf: leaf + 0.05 * jax.random.normal(jax.random.key(2), leaf.shape), start)


def outputs(recipe, network, prepared):
    found = OUTPUTS[recipe.network.output].forward(network, *prepared.inputs)
    count = len(prepared.description.of_points)
    return tuple(np.asarray(out, np.float64)[: count if out.ndim == 2 else None] for out in found)


def test_a_stopped_run_ends_with_the_bits_of_an_unbroken_one(recipe, tmp_path):
    whole = train(recipe, tmp_path / "whole")
    train(recipe, tmp_path / "broken", stop_at=7)
    resumed = train(recipe, tmp_path / "broken", resume=True)
    assert resumed == whole
    for name in ("weights.safetensors", "card.json", "log.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()
    model = read_model(tmp_path / "whole")
    assert model.architecture is ARCHITECTURES[recipe.network.output]
    assert "standard.whole" in model.arrays


def test_the_shipped_pass_is_the_trained_one(recipe, network, prepared):
    arrays = {f"{layer}.{part}": np.asarray(v, np.float64) for layer, p in network.items() for part, v in p.items()}
    given = standards(recipe)
    shipped = LadderNetwork.of({**arrays, "standard.whole": given.whole, "standard.point": given.point})
    found, sizes = prepared.description, prepared.tasks.sizes
    sample_of_row = np.repeat(np.arange(sizes.size), np.diff(found.offsets))
    expected = outputs(recipe, network, prepared)
    if recipe.network.output == "single":
        np.testing.assert_allclose(shipped.log_bandwidths(found.of_samples), expected[0], atol=1e-4)
        return
    shares, epsilons = shipped.shares_and_background(found.of_samples, sizes, [(0, found.of_points)], sample_of_row)
    np.testing.assert_allclose(shares, expected[0], atol=1e-4)
    np.testing.assert_allclose(epsilons, expected[1], rtol=1e-3)


def test_slopes_are_those_of_differences(recipe, network, prepared):
    objective, given = OUTPUTS[recipe.network.output].scores_and_slopes, outputs(recipe, network, prepared)
    if recipe.network.output == "adaptive":
        objective = partial(adaptive_scores_and_slopes, penalties=recipe.penalties)
    _, slopes = objective(prepared, given)
    # Along a random direction all outputs move at once; float32 sums leave four digits.
    rng, step = np.random.default_rng(3), 1e-3
    directions = [rng.normal(size=out.shape) * np.maximum(np.abs(out), 0.0 if out.ndim == 2 else 1e-3) for out in given]
    scores = []
    for sign in (1.0, -1.0):
        moved = tuple(out + sign * step * way for out, way in zip(given, directions, strict=True))
        scores.append(objective(prepared, moved)[0])
    if recipe.network.output == "single":
        # Steep slopes are clipped.
        free = np.abs(slopes[0]) < 0.5
        assert free.sum() > 10
        np.testing.assert_allclose(
            (scores[0] - scores[1])[free] / (2.0 * step), (slopes[0] * directions[0])[free], atol=0.02
        )
        return
    expected = sum(float(np.sum(slope * way)) for slope, way in zip(slopes, directions, strict=True))
    assert (scores[0] - scores[1]).sum() / (2.0 * step) == pytest.approx(expected, rel=0.02, abs=0.02)


def test_slopes_of_the_spread_are_those_of_differences(recipe, network, prepared):
    if recipe.network.output != "adaptive":
        pytest.skip("only adaptive estimates have penalties")
    (shares, epsilons), rng, step = outputs(recipe, network, prepared), np.random.default_rng(4), 1e-5
    value, by_share, by_epsilon = spread_penalty(prepared, (shares, epsilons), recipe.penalties)
    ways = rng.normal(size=shares.shape) * shares, rng.normal(size=epsilons.shape) * epsilons
    up, down = (
        spread_penalty(prepared, (shares + sign * step * ways[0], epsilons + sign * step * ways[1]), recipe.penalties)[
            0
        ]
        for sign in (1.0, -1.0)
    )
    task = np.repeat(np.arange(len(up)), np.diff(prepared.description.offsets))
    expected = np.bincount(task, np.sum(by_share * ways[0], axis=1)) + by_epsilon * ways[1]
    np.testing.assert_allclose((up - down) / (2.0 * step), expected, rtol=1e-6, atol=1e-9)
    assert np.all(value >= 0.0)
    assert np.any(value > 0.0)


@pytest.mark.xdist_group("standards")  # Both recipes have the same, which take a while.
def test_the_first_steps_replay_the_committed_log(recipe, tmp_path, monkeypatch):
    """The same tasks, standards, start and updates as when the shipped weights were trained.

    The log has the mean score of the first 50 steps, and the fixture the score of each; the first 8 are repeated. A
    processor with other SIMD lanes sums in another order, and steps of Adam magnify that: the mean over fifty was seen
    to differ by 0.6 %. Other tasks would change a step by some 30 %.
    """
    tests = Path(__file__).parents[3]
    with open(tests.parent / "results" / "training" / f"{recipe.name}.csv", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    with open(tests / "fixtures" / "first_steps.csv", encoding="utf-8") as file:
        steps = [float(row["score"]) for row in csv.DictReader(file) if row["recipe"] == recipe.name]
    assert len(steps) == int(first["step"]) == 50
    assert np.mean(steps) == pytest.approx(float(first["score"]), rel=1e-4)
    whole = find_recipe(recipe.name)
    tasks = dataclasses.replace(whole.tasks, validation_tasks=50)
    monkeypatch.setattr(loop, "LOG_EVERY", 1)
    progress = train(dataclasses.replace(whole, tasks=tasks), tmp_path, stop_at=8)
    np.testing.assert_allclose([row.score for row in progress.log], steps[:8], rtol=0.02)
