"""The training loop: fresh tasks every step, one number back for each, one step of Adam; validation keeps the best.

A recipe and a folder enter; a checkpoint, a log and a model leave. Step s sees tasks s B .. s B + B - 1 of the recipe's
seed and nothing random besides, so a resumed run ends with the same bits as one that was never stopped.
"""

import importlib.metadata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.sample import moments
from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.paper.features import CONVENTIONS, moments_in_domain, network_inputs
from amortized_kde.learned.paper.prediction import forward
from amortized_kde.numerics.layers import Layer, Stack
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.research.tasks import TaskBatch, World, draw_tasks
from amortized_kde.research.tasks.batch import SIZE
from amortized_kde.research.training.checkpoint import (
    LogRow,
    Progress,
    read_checkpoint,
    write_checkpoint,
    write_log,
    write_model,
)
from amortized_kde.research.training.learner import Learner, State
from amortized_kde.research.training.objective import scores_and_slopes
from amortized_kde.research.training.recipe import Recipe, find_world

# Steps a row of the log.
LOG_EVERY = 50
Report = Callable[[Progress], None]
Frame = tuple[float, float]


class Prepared(NamedTuple):
    """Tasks with their features, the network's inputs and the unit of its output."""

    tasks: TaskBatch
    features: Array
    inputs: Array
    unit: Array


def _inputs(recipe: Recipe, features: Array) -> Array:
    return network_inputs(features, limits=recipe.network.limits)[:, : len(recipe.network.inputs)]


def _prepare(recipe: Recipe, tasks: TaskBatch, frame: Frame | None = None) -> Prepared:
    raw = moments(tasks.samples)
    if recipe.network.output == "ratio":
        return Prepared(tasks, raw, _inputs(recipe, raw), raw[:, 2])
    lower, upper = frame or tasks.bounds
    features = raw[:, :5]
    # On [-1, 1] itself the map would only round.
    if (lower, upper) != (-1.0, 1.0):
        features = moments_in_domain(raw, np.full(len(tasks), lower), np.full(len(tasks), upper))
    return Prepared(tasks, features, _inputs(recipe, features), np.full(len(tasks), 0.5 * (upper - lower)))


def prepare_step(recipe: Recipe, world: World, step: int, *, frame: Frame | None = None) -> Prepared:
    """Make the tasks of a step, with their inputs, taken in `frame` or else in the world's bounds."""
    low, high = recipe.sizes
    sizes: Any = range(low, high + 1)
    if recipe.one_size_a_step:
        u = indexed_uniforms(stream_words(recipe.seed, SIZE), step, 1)[0]
        sizes = int(low + np.floor(u * (high - low + 1)))
    draws = recipe.objective.points if recipe.objective.kind == "draws" else 0
    first = step * recipe.batch
    tasks = draw_tasks(world, recipe.batch, seed=recipe.seed, first=first, sizes=sizes, draws=draws)
    return _prepare(recipe, tasks, frame)


def _validation_tasks(recipe: Recipe, world: World, frame: Frame | None) -> Prepared:
    sizes = recipe.validation.sizes or range(recipe.sizes[0], recipe.sizes[1] + 1)
    each = np.repeat(np.array(sizes), recipe.validation.tasks_per_size)
    draws = recipe.objective.points if recipe.objective.kind == "draws" else 0
    tasks = draw_tasks(world, each.size, seed=recipe.validation.seed, sizes=each, draws=draws)
    return _prepare(recipe, tasks, frame)


class _Run:
    """One run: the learner, its state, and where it stands."""

    def __init__(self, recipe: Recipe, out: Path, *, resume: bool, world: World | None, frame: Frame | None) -> None:
        self.recipe, self.out = recipe, out
        self.world = world or find_world(recipe)
        if recipe.network.output == "bandwidth" and not np.all(np.isfinite(frame or self.world.bounds)):
            raise InvalidParameterError(
                f"recipe {recipe.name}: a bandwidth in the domain needs tasks with two finite bounds, "
                f"not {self.world.bounds}; for the whole line take output = 'ratio'."
            )
        self.learner = Learner(recipe)
        self.state: State = self.learner.start()
        self.progress = Progress()
        self.best = self.learner.arrays(self.state.average)
        self.validation = _validation_tasks(recipe, self.world, frame)
        self.sums: list[float] = []
        found = read_checkpoint(out, recipe.as_card()) if resume else None
        if found is not None:
            self.progress, arrays, self.best = found
            self.state = self.learner.restore(arrays)

    def step(self, prepared: Prepared) -> None:
        h = self.learner.bandwidths(self.state.network, prepared.inputs, prepared.unit)
        scores, slopes = scores_and_slopes(prepared.tasks, h, self.recipe.objective, single=True)
        self.state = self.learner.update(self.state, prepared.inputs, prepared.unit, slopes / len(scores))
        self.progress.step += 1
        self.sums.append(float(np.mean(scores)))

    def validate(self) -> float:
        h = self.learner.bandwidths(self.state.average, self.validation.inputs, self.validation.unit)
        scores, _ = scores_and_slopes(self.validation.tasks, h, self.recipe.objective, single=False)
        score, progress, early = float(np.mean(scores)), self.progress, self.recipe.early_stop
        if score < progress.best_score:
            progress.best_score, progress.best_step = score, progress.step
            self.best = self.learner.arrays(self.state.average)
        improved = score <= progress.reference - early.improvement
        progress.stale = 0 if improved else progress.stale + 1
        progress.reference = score if improved else progress.reference
        progress.stopped = progress.step >= early.start and progress.stale >= early.patience
        return score

    def record(self) -> None:
        """After each `LOG_EVERY` steps and each validation: a row of the log; after each validation a checkpoint."""
        step, every = self.progress.step, self.recipe.validation.every
        last = step == self.recipe.steps
        due = step % every == 0 or last
        if step % LOG_EVERY and not due:
            return
        score = float(np.mean(self.sums))
        self.sums.clear()
        self.progress.log.append(LogRow(step, score, self.validate() if due else None))
        if due:
            state = self.learner.arrays(self.state)
            write_checkpoint(self.out, self.recipe.as_card(), self.progress, state, self.best)
            write_log(self.out, self.progress.log)

    def asymmetry(self, layers: list[Layer]) -> float:
        """Mean |log2| of the ratio between the bandwidths of a validation sample and of its mirror image."""
        mirrored = self.validation.features[:, :5] * [1.0, -1.0, 1.0, -1.0, 1.0]
        network = Stack.of(layers)
        ratio = forward(network, self.validation.inputs) / forward(network, _inputs(self.recipe, mirrored))
        return float(np.mean(np.abs(np.log2(ratio))))

    def finish(self) -> None:
        layers = self.learner.layers(self.best)
        card = {
            "name": self.recipe.name,
            "recipe": self.recipe.as_card(),
            "seed": self.recipe.seed,
            "kept_step": self.progress.best_step,
            "paper_kept_step": self.recipe.notes.get("paper_kept_step"),
            "last_step": self.progress.step,
            "validation_score_bits": self.progress.best_score,
            "reflection_mean_abs_log2_ratio": self.asymmetry(layers),
            "conventions": {name: CONVENTIONS[name] for name in self.recipe.network.inputs},
            "package_version": importlib.metadata.version("amortized-kde"),
            "command": f"amortized-kde train {self.recipe.name}",
        }
        write_model(self.out, layers, card)


def train(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    report: Report | None = None,
    stop_at: int | None = None,
    world: World | None = None,
    frame: Frame | None = None,
) -> Progress:
    """Train a recipe and write checkpoint, log and model to `out`.

    Parameters
    ----------
    recipe : Recipe
    out : Path
        A folder, made if it is not there.
    resume : bool
        Go on from the folder's checkpoint, if it has one.
    report : callable, optional
        Told of the progress after every step.
    stop_at : int, optional
        Leave off after this step, without a model.
    world : World, optional
        Tasks other than those that the recipe names.
    frame : (float, float), optional
        The interval that is mapped to [-1, 1] for the features, if it is not the world's bounds; tasks on the whole
        line need one.
    """
    out.mkdir(parents=True, exist_ok=True)
    run = _Run(recipe, out, resume=resume, world=world, frame=frame)
    last = min(recipe.steps, stop_at or recipe.steps)
    # The next step's tasks are made while this one's weights are updated.
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(prepare_step, recipe, run.world, run.progress.step, frame=frame)
        while run.progress.step < last and not run.progress.stopped:
            prepared = coming.result()
            coming = maker.submit(prepare_step, recipe, run.world, run.progress.step + 1, frame=frame)
            run.step(prepared)
            run.record()
            if report is not None:
                report(run.progress)
    if last == recipe.steps or run.progress.stopped:
        run.finish()
    return run.progress
