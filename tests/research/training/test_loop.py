"""Runs: a killed and resumed one ends as one that was never stopped; the NumPy pass is the JAX pass; logs replay."""

import dataclasses
import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

pytest.importorskip("jax", reason="training needs the train extra")

from amortized_kde.data.sample import moments
from amortized_kde.density import KernelDensity
from amortized_kde.errors import InvalidParameterError, UnreadableFileError, UnwritableFileError
from amortized_kde.learned.paper.features import network_inputs
from amortized_kde.learned.paper.prediction import forward
from amortized_kde.learned.store import model_names, read_model
from amortized_kde.numerics.layers import Stack
from amortized_kde.research.tasks import MixtureWorld, UntruncatedWorld
from amortized_kde.research.training.checkpoint import read_log, write_model
from amortized_kde.research.training.loop import LOG_EVERY, Adam, train
from amortized_kde.research.training.paper import PaperProblem, layers_of, scores_and_slopes
from amortized_kde.research.training.recipe import find_recipe, recipe_names
from amortized_kde.score import expected_score_by_draws

PAPER = ("gaussian", "gmm16", "gmm32", "gmm8", "multifamily")
LOGS = Path(__file__).parents[3] / "results" / "training"


@pytest.fixture(scope="module")
def small():
    recipe = find_recipe("gmm8")
    return dataclasses.replace(
        recipe,
        steps=60,
        batch=32,
        objective=dataclasses.replace(recipe.objective, points=64),
        validation=dataclasses.replace(recipe.validation, tasks_per_size=1, every=20),
    )


def test_a_stopped_run_ends_with_the_bits_of_an_unbroken_one(small, tmp_path):
    whole = train(small, tmp_path / "whole")
    train(small, tmp_path / "broken", stop_at=33)
    resumed = train(small, tmp_path / "broken", resume=True)
    assert resumed == whole
    for name in ("weights.safetensors", "card.json", "log.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()


def test_a_run_that_was_killed_behind_its_last_checkpoint_is_finished(small, tmp_path):
    whole = train(small, tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("weights.safetensors", "card.json"):
        (tmp_path / name).unlink()
    lines = written["log.csv"].splitlines(keepends=True)
    (tmp_path / "log.csv").write_bytes(b"".join(lines[:-1]))
    (tmp_path / "card.json.0123abcd.part").write_text("half")
    assert train(small, tmp_path, resume=True) == whole
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == written


def test_two_runs_in_one_folder_are_refused(small, tmp_path):
    def begin_another(progress):
        if progress.step == 3:
            with pytest.raises(UnwritableFileError, match="another process is writing to"):
                train(small, tmp_path)
            refused.append(progress.step)

    refused = []
    train(small, tmp_path, report=begin_another)
    assert refused == [3]
    assert not (tmp_path / ".lock").exists()


def spoil(path, **entries):
    """Write a checkpoint anew with other entries in its description."""
    with safe_open(path, framework="numpy") as file:
        arrays, meta = {name: file.get_tensor(name) for name in sorted(file.keys())}, file.metadata()
    about = json.loads(meta["run"])
    about |= {key: value for key, value in entries.items() if key in about}
    arrays |= {key: value for key, value in entries.items() if key not in about}
    save_file(arrays, path, metadata={"run": json.dumps(about)})


DAMAGES = {
    "no description": lambda path: save_file({"state000": np.zeros(3)}, path),
    "no table": lambda path: spoil(path, progress=[1, 2]),
    "no steps": lambda path: spoil(path, progress={"step": "many", "log": []}),
    "another log": lambda path: spoil(
        path, progress={"step": 20, "log": [{"step": 1, "score": None, "validation": 3}]}
    ),
    "unknown entry": lambda path: spoil(path, progress={"weather": 1, "log": []}),
    "another shape": lambda path: spoil(path, state001=np.zeros((2, 2), np.float32)),
    "another type": lambda path: spoil(path, best000=np.zeros(3, np.int8)),
    "one array more": lambda path: spoil(path, state999=np.zeros(3, np.float32)),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_gets_a_sentence(small, tmp_path, damage):
    train(small, tmp_path, stop_at=20)
    damage(tmp_path / "checkpoint.safetensors")
    with pytest.raises(UnreadableFileError, match=r"checkpoint .* is damaged .*; start again"):
        train(small, tmp_path, resume=True)


def test_a_full_disk_keeps_the_checkpoint_before(small, tmp_path, monkeypatch):
    whole = train(small, tmp_path / "whole")
    sync = os.fsync
    turns = iter(range(100))

    def full(descriptor):
        # The third file is the second checkpoint.
        if next(turns) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableFileError, match=r"checkpoint.*No space left on device"):
        train(small, tmp_path / "broken")
    assert sorted(path.name for path in (tmp_path / "broken").iterdir()) == ["checkpoint.safetensors", "log.csv"]
    assert train(small, tmp_path / "broken", resume=True) == whole
    for name in ("weights.safetensors", "card.json", "log.csv", "checkpoint.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()


def test_a_model_is_replaced_only_when_both_its_files_are_on_disk(tmp_path, monkeypatch):
    write_model(tmp_path, {"a": np.zeros(3)}, {"name": "old"})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    sync = os.fsync
    for broken in (0, 1):
        turns = iter(range(100))

        def full(descriptor, broken=broken, turns=turns):
            if next(turns) == broken:
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(UnwritableFileError, match="No space left"):
            write_model(tmp_path, {"a": np.ones(3)}, {"name": "new"})
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_training_lowers_the_validation_score(small, tmp_path):
    longer = dataclasses.replace(small, steps=400, optimiser=dataclasses.replace(small.optimiser, average=0.9))
    progress = train(longer, tmp_path)
    scores = [row.validation for row in progress.log if row.validation is not None]
    assert progress.best_score < scores[0] - 0.3
    assert progress.best_score == min(scores)


def test_early_stop_waits_for_its_step_and_its_patience(small, tmp_path):
    hopeless = dataclasses.replace(small.early_stop, start=30, patience=2, improvement=100.0)
    progress = train(dataclasses.replace(small, early_stop=hopeless, steps=200), tmp_path)
    # Step 20 sets the reference, 40 and 60 do not better it by a hundred bits.
    assert (progress.step, progress.stopped) == (60, True)


def test_a_checkpoint_of_another_recipe_is_refused(small, tmp_path):
    train(small, tmp_path, stop_at=20)
    with pytest.raises(InvalidParameterError, match="another recipe"):
        train(dataclasses.replace(small, seed=1), tmp_path, resume=True)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"half a file")
    with pytest.raises(UnreadableFileError, match="checkpoint"):
        train(small, tmp_path, resume=True)


def test_numpy_forward_pass_is_the_learners(small, tmp_path):
    train(small, tmp_path)
    model = read_model(tmp_path)
    problem = PaperProblem(small)
    batch, network = problem.step(3), problem.start()
    found = forward(Stack.of(layers_of(problem.arrays(network))), batch.scaled)
    np.testing.assert_allclose(found, Adam.of(problem).outputs(network, batch)[0], rtol=1e-6)
    assert forward(model.network, batch.scaled).min() > 0.0


def test_tasks_on_another_interval_train_the_same_map(small):
    """Moved to [3, 7], tasks give the network the same inputs and twice the bandwidth (Proposition 1)."""
    here = PaperProblem(small).step(0)
    moved = dataclasses.replace(here.tasks, values=5.0 + 2.0 * here.tasks.values, bounds=(3.0, 7.0))
    there = PaperProblem(small, frame=(3.0, 7.0)).prepare(moved)
    np.testing.assert_allclose(there.scaled, here.scaled, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(there.unit, 2.0 * here.unit)


def test_a_bandwidth_in_the_domain_needs_finite_bounds(small, tmp_path):
    with pytest.raises(InvalidParameterError, match="finite bounds"):
        train(dataclasses.replace(small, world="gaussian"), tmp_path)


def test_only_recipes_of_the_paper_take_a_frame(tmp_path):
    with pytest.raises(InvalidParameterError, match="only recipes of the paper"):
        train(find_recipe("single"), tmp_path, frame=(-1.0, 1.0))


def test_a_frame_gives_tasks_on_the_whole_line_their_features(small, tmp_path):
    whole = UntruncatedWorld(MixtureWorld(8))
    with pytest.raises(InvalidParameterError, match="finite bounds"):
        train(small, tmp_path, world=whole)
    batch = PaperProblem(small, world=whole, frame=(-1.0, 1.0)).step(0)
    assert np.array_equal(batch.features, moments(batch.tasks.samples)[:, :5])
    assert (batch.unit == 1.0).all()
    assert np.abs(batch.tasks.draws).max() > 1.0
    train(dataclasses.replace(small, steps=2), tmp_path, world=whole, frame=(-1.0, 1.0))
    assert read_model(tmp_path).card["last_step"] == 2


def test_the_bounds_are_the_frame_of_bounded_tasks(small):
    plain = PaperProblem(small).step(1)
    framed = PaperProblem(small, frame=(-1.0, 1.0)).step(1)
    assert np.array_equal(plain.scaled, framed.scaled)
    wider = PaperProblem(small, frame=(-2.0, 2.0)).step(1)
    np.testing.assert_allclose(wider.features[:, 2], 0.5 * plain.features[:, 2])
    assert (wider.unit == 2.0).all()


def test_objective_is_the_mean_score_of_the_density_and_its_slope(small):
    tasks = PaperProblem(small).step(0).tasks
    h = np.full(32, 0.2)
    scores, slopes = scores_and_slopes(tasks, h, small.objective, single=False)
    density = KernelDensity(tasks.values[: tasks.offsets[1]], 0.2, bounds=(-1, 1))
    assert scores[0] == pytest.approx(expected_score_by_draws(density, tasks.draws[0]).value, rel=1e-12)
    up, _ = scores_and_slopes(tasks, h + 1e-6, small.objective, single=False)
    down, _ = scores_and_slopes(tasks, h - 1e-6, small.objective, single=False)
    np.testing.assert_allclose(slopes, (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


def test_learner_moves_along_the_chain_rule(small):
    """One step of plain gradient flow agrees with finite differences of the loss in the weights."""
    import jax
    import jax.numpy as jnp

    problem = PaperProblem(small)
    batch, adam, network = problem.step(0), Adam.of(problem), problem.start()

    def loss(net):
        return problem.score(batch, adam.outputs(net, batch))

    h = adam.outputs(network, batch)[0]
    slopes = scores_and_slopes(batch.tasks, h, small.objective, single=False)[1] / len(h)
    bias = lambda net, b: __import__("equinox").tree_at(lambda n: n.layers[-1].bias, net, b)  # noqa: E731
    b0 = network.layers[-1].bias
    up, down = loss(bias(network, b0 + 1e-2)), loss(bias(network, b0 - 1e-2))
    z = jax.vmap(network)(jnp.asarray(batch.scaled, jnp.float32))[:, 0]
    analytic = float(np.sum(slopes * np.asarray(jax.nn.sigmoid(z), np.float64)))
    assert (up - down) / 2e-2 == pytest.approx(analytic, rel=1e-3)


@pytest.mark.parametrize("name", PAPER)
def test_the_first_steps_replay_the_committed_log(name, tmp_path):
    committed = [row.score for row in read_log(LOGS / f"{name}.csv") if row.step <= 100]
    progress = train(find_recipe(name), tmp_path, stop_at=100)
    # Bits of the machine's exponential and matrix products may differ, a training curve may not.
    np.testing.assert_allclose([row.score for row in progress.log], committed, atol=2e-4)
    assert len(committed) == 100 // LOG_EVERY


def test_every_recipe_has_its_shipped_model():
    assert set(model_names()) == set(recipe_names())


@pytest.mark.parametrize("name", recipe_names())
def test_shipped_cards_tell_how_the_model_was_made(name):
    from amortized_kde.learned.store import load_model

    card, recipe = load_model(name).card, find_recipe(name)
    assert card["recipe"] == recipe.as_card()
    assert card["kept_step"] <= recipe.steps
    scored = {row.step: row.validation for row in read_log(LOGS / f"{name}.csv") if row.validation is not None}
    assert scored[card["kept_step"]] == card["validation_score_bits"]
    # The paper keeps the step with the best score, the models in the sample's own frame their last.
    paper = hasattr(recipe, "early_stop")
    assert card["kept_step"] == (min(scored, key=scored.__getitem__) if paper else recipe.steps)


def test_shipped_selector_is_the_formula():
    """Features of T(S), the network, times the half-width: for one sample, by hand."""
    import amortized_kde as akde
    from amortized_kde.data.reading import read_samples
    from amortized_kde.learned.store import load_model

    x = np.random.default_rng(0).uniform(2.0, 5.0, size=40)
    unit = (x - 4.0) / 2.0
    inputs = network_inputs(moments(read_samples([unit], axis=-1)))
    expected = 2.0 * forward(load_model("gmm32").network, inputs)[0]
    assert akde.bandwidth(x, bounds=(2, 6), method="amortized:gmm32") == pytest.approx(expected, rel=1e-12)
