"""The training loop: Adam on the tasks of each step, validation of the averaged weights, checkpoints.

The tasks of a step depend on its number alone, and nothing else is random, so a resumed run ends with the same bits as
an unbroken one.
"""

import importlib.metadata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from amortized_kde._files import locked
from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks import World
from amortized_kde.research.training.adaptive.problem import BroadProblem
from amortized_kde.research.training.checkpoint import (
    RUN_FILES,
    LogRow,
    Progress,
    check_arrays,
    read_checkpoint,
    write_checkpoint,
    write_log,
    write_model,
)
from amortized_kde.research.training.dimensions.problem import DimensionsProblem
from amortized_kde.research.training.paper import Domain, PaperProblem
from amortized_kde.research.training.problem import Batch, Forward, Outputs, Problem, Slopes
from amortized_kde.research.training.recipe import BroadRecipe, DimensionsRecipe, Optimiser, PaperRecipe

# Steps between two rows of the log.
LOG_EVERY = 50
# The folder of prepared tasks beside a model.
TASKS = "tasks"
Report = Callable[[Progress], None]


class State(NamedTuple):
    """What changes from step to step: the network, Adam's moments, and the moving average of the network."""

    network: Any
    optimiser: Any
    average: Any


class Adam(NamedTuple):
    """An optimiser with its compiled forward pass and update."""

    optimiser: Any
    forward: Any
    update: Any

    @classmethod
    def of(cls, problem: Problem) -> "Adam":
        """Compile the steps of a problem, or return those of an earlier one with the same options."""
        recipe, final = problem.recipe, problem.final_rate
        return _compile(problem.forward, recipe.optimiser, None if final is None else (recipe.steps, final))

    def start(self, network: Any) -> State:
        """Return the state before the first step."""
        return State(network, self.optimiser.init(network), network)

    def outputs(self, network: Any, batch: Batch) -> Outputs:
        """Return the outputs of a network for a batch, in float64."""
        return tuple(np.asarray(out, np.float64) for out in self.forward(network, *batch.inputs))


# Cached: compilation takes as long as fifty steps.
@cache
def _compile(forward: Forward, options: Optimiser, decay: tuple[int, float] | None) -> Adam:
    rate: Any = options.learning_rate
    if decay is not None:
        rate = optax.cosine_decay_schedule(options.learning_rate, *decay)
    optimiser = optax.chain(optax.clip_by_global_norm(options.clip), optax.adam(rate))
    kept = options.average

    @jax.jit
    def update(state: State, inputs: tuple[Any, ...], slopes: Slopes) -> State:
        # The loss is linear in the outputs with the slopes as constants, so its gradient is the chain rule's sum.
        def loss(network: Any) -> Any:
            return sum(jnp.sum(out * slope) for out, slope in zip(forward(network, *inputs), slopes, strict=True))

        change, memory = optimiser.update(jax.grad(loss)(state.network), state.optimiser)
        network = optax.apply_updates(state.network, change)
        average = jax.tree.map(lambda old, new: kept * old + (1.0 - kept) * new, state.average, network)
        return State(network, memory, average)

    return Adam(optimiser, jax.jit(forward), update)


class _Run:
    """A problem in training: its state, its progress, and the weights kept so far."""

    def __init__(self, problem: Problem, out: Path, *, resume: bool) -> None:
        self.problem, self.recipe, self.out = problem, problem.recipe, out
        self.adam, self.progress = Adam.of(problem), Progress()
        self.state = self.adam.start(problem.start())
        self.best = self.kept()
        self.scores: list[float] = []
        found = read_checkpoint(out, self.recipe.as_card()) if resume else None
        if found is not None:
            self.progress, arrays, self.best = found
            check_arrays(out, arrays, _leaves(self.state))
            check_arrays(out, self.best, self.kept())
            self.state = _unflatten(self.state, arrays)
        self.validation = problem.validation()

    def kept(self) -> list[NDArray[Any]]:
        """Return what a model is made of: the averaged network."""
        return _leaves(self.state.average)

    def step(self, batch: Batch) -> None:
        outputs = self.adam.outputs(self.state.network, batch)
        score, slopes = self.problem.score_and_slopes(batch, outputs)
        self.state = self.adam.update(self.state, batch.inputs, slopes)
        self.progress.step += 1
        self.scores.append(score)

    def record(self) -> None:
        """Log every `LOG_EVERY` steps and each validation, and write a checkpoint after the latter."""
        progress, step = self.progress, self.progress.step
        due = step % self.problem.every == 0 or step == self.recipe.steps
        if step % LOG_EVERY and not due:
            return
        score = float(np.mean(self.scores))
        self.scores.clear()
        progress.log.append(LogRow(step, score, self.validate() if due else None))
        if due:
            write_checkpoint(self.out, self.recipe.as_card(), progress, _leaves(self.state), self.best)
            write_log(self.out, progress.log)

    def validate(self) -> float:
        progress, early = self.progress, self.problem.early_stop
        score = self.problem.score(self.validation, self.adam.outputs(self.state.average, self.validation))
        if not self.problem.keeps_best or score < progress.best_score:
            progress.best_score, progress.best_step = score, progress.step
            self.best = self.kept()
        if early is not None:
            improved = score <= progress.reference - early.improvement
            progress.stale = 0 if improved else progress.stale + 1
            progress.reference = score if improved else progress.reference
            progress.stopped = progress.step >= early.start and progress.stale >= early.patience
        return score

    def finish(self) -> None:
        network = _unflatten(self.state.average, self.best)
        arrays = self.problem.arrays(network)
        card = {
            "name": self.recipe.name,
            "recipe": self.recipe.as_card(),
            "seed": self.recipe.seed,
            "kept_step": self.progress.best_step,
            "last_step": self.progress.step,
            "validation_score_bits": self.progress.best_score,
            "package_version": importlib.metadata.version("amortized-kde"),
            "command": self.recipe.command,
            **self.problem.card(arrays),
        }
        # After a kill behind the last checkpoint the log may lack its last rows.
        write_log(self.out, self.progress.log)
        write_model(self.out, arrays, card)


def _leaves(tree: Any) -> list[NDArray[Any]]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def _unflatten(like: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return the tree with these leaves."""
    return jax.tree.unflatten(jax.tree.structure(like), [jnp.asarray(array) for array in arrays])


def run(
    problem: Problem,
    out: Path,
    *,
    resume: bool = False,
    report: Report | None = None,
    stop_at: int | None = None,
) -> Progress:
    """Train a problem and write checkpoint, log and model to `out`; options as in `train`."""
    with locked(out, RUN_FILES):
        return _run(_Run(problem, out, resume=resume), report, stop_at)


def _run(training: _Run, report: Report | None, stop_at: int | None) -> Progress:
    problem = training.problem
    progress, last = training.progress, min(problem.recipe.steps, stop_at or problem.recipe.steps)
    # Tasks are prepared one step ahead, while the weights are updated.
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(problem.step, progress.step)
        while progress.step < last and not progress.stopped:
            batch = coming.result()
            coming = maker.submit(problem.step, progress.step + 1)
            training.step(batch)
            training.record()
            if report is not None:
                report(progress)
    if last == problem.recipe.steps or progress.stopped:
        training.finish()
    return progress


def train(
    recipe: PaperRecipe | BroadRecipe | DimensionsRecipe,
    out: Path,
    *,
    resume: bool = False,
    report: Report | None = None,
    stop_at: int | None = None,
    world: World | None = None,
    frame: Domain | None = None,
) -> Progress:
    """Train a recipe and write checkpoint, log and model to `out`.

    Parameters
    ----------
    recipe : PaperRecipe, BroadRecipe or DimensionsRecipe
        From `find_recipe`.
    out : Path
        A folder; created if missing.
    resume : bool
        Continue from the folder's checkpoint, if it has one.
    report : callable, optional
        Called with the progress after every step.
    stop_at : int, optional
        Stop after this step, without writing a model.
    world : World, optional
        Tasks instead of those that a recipe of the paper names.
    frame : (float, float), optional
        For recipes of the paper: the interval that is mapped to [-1, 1] for the features; default: the world's bounds.
        Tasks on the whole line need one.

    Returns
    -------
    Progress
        The last step, the kept step with its validation score in bits, and the log.

    Raises
    ------
    InvalidParameterError
        If the folder's checkpoint belongs to another recipe, or `world` and `frame` do not suit the recipe.
    UnreadableFileError
        If the checkpoint, or the file with the recipe's tasks, cannot be read.
    UnwritableFileError
        If a file cannot be written, or another process trains in this folder.
    """
    problem: Problem
    if isinstance(recipe, PaperRecipe):
        problem = PaperProblem(recipe, world=world, frame=frame)
    elif world is None and frame is None:
        problem = BroadProblem(recipe) if isinstance(recipe, BroadRecipe) else DimensionsProblem(recipe, out / TASKS)
    else:
        raise InvalidParameterError(f"recipe {recipe.name}: only recipes of the paper take a world or a frame.")
    return run(problem, out, resume=resume, report=report, stop_at=stop_at)
