"""The training loop of the models in the sample's own frame: fresh tasks every step, slopes back, one step of Adam.

A recipe and a folder enter; a checkpoint, a log and a model leave. Step s sees tasks s B .. s B + B - 1 of the recipe's
seed and nothing random besides, so a resumed run ends with the same bits as one that was never stopped.
"""

import importlib.metadata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from amortized_kde.ladder import CONVENTIONS
from amortized_kde.ladder_network import Standards
from amortized_kde.training.checkpoint import (
    LogRow,
    Progress,
    read_checkpoint,
    write_arrays,
    write_checkpoint,
    write_log,
)
from amortized_kde.training.ladder.networks import FORWARD, START
from amortized_kde.training.ladder.objectives import OBJECTIVES
from amortized_kde.training.ladder.prepared import Inputs, Prepared, prepare_step, prepare_validation, standards
from amortized_kde.training.learner import State
from amortized_kde.training.loop import LOG_EVERY, Report
from amortized_kde.training.recipe import LadderRecipe

__all__ = ["train_ladder"]

Array = NDArray[np.float64]


class _Learner:
    """The compiled steps of one recipe."""

    def __init__(self, recipe: LadderRecipe) -> None:
        self.recipe = recipe
        forward, decay = FORWARD[recipe.network.output], recipe.optimiser.average
        rate = optax.cosine_decay_schedule(recipe.optimiser.learning_rate, recipe.steps, recipe.final_rate)
        self.optimiser = optax.chain(optax.clip_by_global_norm(recipe.optimiser.clip), optax.adam(rate))

        @jax.jit
        def update(state: State, inputs: Inputs, slopes: Any) -> State:
            # The loss is linear in the outputs with the slopes as constants: its gradient is the chain rule's sum.
            def loss(network: Any) -> Any:
                return sum(jnp.sum(out * slope) for out, slope in zip(forward(network, *inputs), slopes, strict=True))

            change, memory = self.optimiser.update(jax.grad(loss)(state.network), state.optimiser)
            network = optax.apply_updates(state.network, change)
            average = jax.tree.map(lambda old, new: decay * old + (1.0 - decay) * new, state.average, network)
            return State(network, memory, average)

        self._forward, self._update = jax.jit(forward), update

    def start(self) -> State:
        widths = self.recipe.network
        network = START[widths.output](jax.random.key(self.recipe.seed), widths.whole, widths.point)
        return State(network, self.optimiser.init(network), network)

    def answer(self, network: Any, prepared: Prepared) -> tuple[Array, ...]:
        outputs = (np.asarray(out, np.float64) for out in self._forward(network, *prepared.inputs))
        return tuple(out[: len(prepared.description.points)] if out.ndim == 2 else out for out in outputs)

    def update(self, state: State, prepared: Prepared, slopes: tuple[Array, ...]) -> State:
        filled = []
        each = np.repeat(prepared.weights, np.diff(prepared.description.offsets))
        for slope in slopes:
            rows = len(prepared.inputs.points) if slope.ndim == 2 else len(slope)
            filled.append(np.zeros((rows, *slope.shape[1:]), np.float32))
            filled[-1][: len(slope)] = slope * (each[:, None] if slope.ndim == 2 else prepared.weights)
        updated: State = self._update(state, prepared.inputs, tuple(filled))
        return updated


class _Run:
    """One run: the learner, its state, and where it stands."""

    def __init__(self, recipe: LadderRecipe, out: Path, *, resume: bool) -> None:
        self.recipe, self.out = recipe, out
        self.objective = OBJECTIVES[recipe.network.output]
        self.learner, self.standards = _Learner(recipe), standards(recipe)
        self.state, self.progress = self.learner.start(), Progress()
        self.best = _arrays(self.state.average)
        self.validation = prepare_validation(recipe, self.standards)
        self.sums: list[float] = []
        found = read_checkpoint(out, recipe.as_card()) if resume else None
        if found is not None:
            self.progress, arrays, self.best = found
            leaves = [jnp.asarray(array) for array in arrays]
            self.state = jax.tree.unflatten(jax.tree.structure(self.state), leaves)

    def step(self, prepared: Prepared) -> None:
        outputs = self.learner.answer(self.state.network, prepared)
        scores, slopes = self.objective(prepared, outputs, exact=False)
        self.state = self.learner.update(self.state, prepared, slopes)
        self.progress.step += 1
        self.sums.append(float(prepared.weights @ scores))

    def record(self) -> None:
        """After each `LOG_EVERY` steps and each validation: a row of the log; after each validation a checkpoint."""
        progress, step = self.progress, self.progress.step
        due = step % self.recipe.tasks.every == 0 or step == self.recipe.steps
        if step % LOG_EVERY and not due:
            return
        score = float(np.mean(self.sums))
        self.sums.clear()
        progress.log.append(LogRow(step, score, self.validate() if due else None))
        if due:
            write_checkpoint(self.out, self.recipe.as_card(), progress, _arrays(self.state), self.best)
            write_log(self.out, progress.log)

    def validate(self) -> float:
        outputs = self.learner.answer(self.state.average, self.validation)
        score = float(self.validation.weights @ self.objective(self.validation, outputs, exact=True)[0])
        # The last step is kept, whose rate is the smallest: a few tasks with a heavy tail decide which score is lowest.
        self.progress.best_score, self.progress.best_step = score, self.progress.step
        self.best = _arrays(self.state.average)
        return score

    def finish(self) -> None:
        tree = jax.tree.structure(self.state.average)
        network = jax.tree.unflatten(tree, self.best)
        arrays = {f"{layer}.{part}": value for layer, parts in network.items() for part, value in parts.items()}
        arrays |= {"standard.whole": self.standards.whole, "standard.point": self.standards.point}
        card = {
            "name": self.recipe.name,
            "recipe": self.recipe.as_card(),
            "seed": self.recipe.seed,
            "kept_step": self.progress.best_step,
            "last_step": self.progress.step,
            "validation_score_bits": self.progress.best_score,
            "conventions": CONVENTIONS,
            "package_version": importlib.metadata.version("amortized-kde"),
            "command": f"amortized-kde train {self.recipe.name}",
        }
        write_arrays(self.out, arrays, card)


def _arrays(tree: Any) -> list[NDArray[Any]]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def train_ladder(
    recipe: LadderRecipe,
    out: Path,
    *,
    resume: bool = False,
    report: Report | None = None,
    stop_at: int | None = None,
) -> Progress:
    """Train a recipe and write checkpoint, log and model to `out`; options as in `training.loop.train`."""
    out.mkdir(parents=True, exist_ok=True)
    run = _Run(recipe, out, resume=resume)
    last = min(recipe.steps, stop_at or recipe.steps)
    given: Standards = run.standards
    # The next step's tasks are made while this one's weights are updated.
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(prepare_step, recipe, run.progress.step, given)
        while run.progress.step < last:
            prepared = coming.result()
            coming = maker.submit(prepare_step, recipe, run.progress.step + 1, given)
            run.step(prepared)
            run.record()
            if report is not None:
                report(run.progress)
    if last == recipe.steps:
        run.finish()
    return run.progress
