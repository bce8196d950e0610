"""The training loop of the models in the sample's own frame: tasks every step, slopes back, one step of Adam.

A recipe, a source of tasks and a folder enter; a checkpoint, a log and a model leave. A step's tasks hang on its number
and on what the source had learned by then, so a resumed run ends with the same bits as one that was never stopped.
"""

import importlib.metadata
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.learned.adaptive.features import CONVENTIONS
from amortized_kde.research.training.checkpoint import (
    LogRow,
    Progress,
    read_checkpoint,
    write_arrays,
    write_checkpoint,
    write_log,
)
from amortized_kde.research.training.ladder.curves import Curves
from amortized_kde.research.training.ladder.networks import FORWARD, START
from amortized_kde.research.training.ladder.objectives import OBJECTIVES
from amortized_kde.research.training.ladder.prepared import Inputs, Prepared
from amortized_kde.research.training.ladder.sources import BroadSource, RunRecipe, Source
from amortized_kde.research.training.learner import State
from amortized_kde.research.training.loop import LOG_EVERY, Report
from amortized_kde.research.training.recipe import LadderRecipe, Optimiser


class _Steps(NamedTuple):
    """An optimiser and its compiled steps."""

    optimiser: Any
    forward: Any
    update: Any


@cache
def _compile(output: str, options: Optimiser, steps: int, final_rate: float) -> _Steps:
    """Learners with the same options share these: to compile them takes as long as fifty steps."""
    forward, decay = FORWARD[output], options.average
    rate = optax.cosine_decay_schedule(options.learning_rate, steps, final_rate)
    optimiser = optax.chain(optax.clip_by_global_norm(options.clip), optax.adam(rate))

    @jax.jit
    def update(state: State, inputs: Inputs, slopes: Any) -> State:
        # The loss is linear in the outputs with the slopes as constants: its gradient is the chain rule's sum.
        def loss(network: Any) -> Any:
            return sum(jnp.sum(out * slope) for out, slope in zip(forward(network, *inputs), slopes, strict=True))

        change, memory = optimiser.update(jax.grad(loss)(state.network), state.optimiser)
        network = optax.apply_updates(state.network, change)
        average = jax.tree.map(lambda old, new: decay * old + (1.0 - decay) * new, state.average, network)
        return State(network, memory, average)

    return _Steps(optimiser, jax.jit(forward), update)


class _Learner:
    """The compiled steps of one recipe."""

    def __init__(self, recipe: RunRecipe) -> None:
        self.recipe = recipe
        self._steps = _compile(recipe.network.output, recipe.optimiser, recipe.steps, recipe.final_rate)

    def start(self, given: Mapping[str, Array]) -> State:
        """The state before the first step: from the recipe's seed, or from weights that are given."""
        widths = self.recipe.network
        network = START[widths.output](jax.random.key(self.recipe.seed), widths.whole, widths.point)
        if given:
            network = {
                layer: {part: jnp.asarray(given[f"{layer}.{part}"], jnp.float32) for part in parts}
                for layer, parts in network.items()
            }
        return State(network, self._steps.optimiser.init(network), network)

    def answer(self, network: Any, prepared: Prepared | Curves) -> tuple[Array, ...]:
        outputs = (np.asarray(out, np.float64) for out in self._steps.forward(network, *prepared.inputs))
        if isinstance(prepared, Curves):
            return tuple(outputs)
        return tuple(out[: len(prepared.description.points)] if out.ndim == 2 else out for out in outputs)

    def update(self, state: State, prepared: Prepared | Curves, slopes: tuple[Array, ...]) -> State:
        filled = []
        for slope in slopes:
            rows, weights = len(slope), prepared.weights
            if slope.ndim == 2 and isinstance(prepared, Prepared):
                rows = len(prepared.inputs.points)
                weights = np.repeat(weights, np.diff(prepared.description.offsets))[:, None]
            filled.append(np.zeros((rows, *slope.shape[1:]), np.float32))
            filled[-1][: len(slope)] = slope * weights
        updated: State = self._steps.update(state, prepared.inputs, tuple(filled))
        return updated


class _Run:
    """One run: the learner, its state, and where it stands."""

    def __init__(self, recipe: RunRecipe, source: Source, out: Path, *, resume: bool) -> None:
        self.recipe, self.source, self.out = recipe, source, out
        self.objective = OBJECTIVES[recipe.network.output]
        self.learner, self.progress = _Learner(recipe), Progress()
        self.state = self.learner.start(source.start)
        self.best = self.kept()
        self.sums: list[float] = []
        found = read_checkpoint(out, recipe.as_card()) if resume else None
        if found is not None:
            self.progress, arrays, self.best = found
            tree: Any = jax.tree.structure(self.state)
            self.state = jax.tree.unflatten(tree, [jnp.asarray(array) for array in arrays[: tree.num_leaves]])
            source.restore(arrays[tree.num_leaves :])
        self.validation = source.validation()

    def kept(self) -> list[NDArray[Any]]:
        """What a model is made of: the averaged network, and what the source has learned."""
        return [*_arrays(self.state.average), *self.source.learned()]

    def begin(self) -> None:
        """Before the first step of this call: learn what is due, and see how good the start is."""
        self.settle()
        if self.source.keeps_best and self.progress.step == 0:
            self.validate()

    def settle(self) -> bool:
        """Let the source learn what is due; say whether tasks that were made before have to be made again."""
        changed = self.source.settle(self.progress.step, _named(self.state.average))
        if changed:
            self.validation = self.source.validation()
        return changed

    def step(self, prepared: Prepared | Curves) -> None:
        outputs = self.learner.answer(self.state.network, prepared)
        scores, slopes = self.objective(prepared, outputs, exact=False)
        self.state = self.learner.update(self.state, prepared, slopes)
        self.progress.step += 1
        self.sums.append(float(prepared.weights @ scores))

    def record(self) -> None:
        """After each `LOG_EVERY` steps and each validation: a row of the log; after each validation a checkpoint."""
        progress, step = self.progress, self.progress.step
        due = step % self.recipe.every == 0 or step == self.recipe.steps
        if step % LOG_EVERY and not due:
            return
        score = float(np.mean(self.sums))
        self.sums.clear()
        progress.log.append(LogRow(step, score, self.validate() if due else None))
        if due:
            state = [*_arrays(self.state), *self.source.learned()]
            write_checkpoint(self.out, self.recipe.as_card(), progress, state, self.best)
            write_log(self.out, progress.log)

    def validate(self) -> float:
        outputs = self.learner.answer(self.state.average, self.validation)
        score = float(self.validation.weights @ self.objective(self.validation, outputs, exact=True)[0])
        if not self.source.keeps_best or score < self.progress.best_score:
            self.progress.best_score, self.progress.best_step = score, self.progress.step
            self.best = self.kept()
        return score

    def finish(self) -> None:
        tree: Any = jax.tree.structure(self.state.average)
        arrays = _named(jax.tree.unflatten(tree, self.best[: tree.num_leaves]))
        given = self.source.standards
        arrays |= {"standard.whole": given.whole, "standard.point": given.point}
        card = {
            "name": self.recipe.name,
            "recipe": self.recipe.as_card(),
            "seed": self.recipe.seed,
            "kept_step": self.progress.best_step,
            "last_step": self.progress.step,
            "validation_score_bits": self.progress.best_score,
            "conventions": CONVENTIONS,
            "package_version": importlib.metadata.version("amortized-kde"),
            "command": self.recipe.command,
            **self.source.card(self.best[tree.num_leaves :]),
        }
        write_arrays(self.out, arrays, card)


def _named(network: Any) -> dict[str, NDArray[Any]]:
    return {f"{layer}.{part}": np.asarray(value) for layer, parts in network.items() for part, value in parts.items()}


def _arrays(tree: Any) -> list[NDArray[Any]]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def train_ladder(
    recipe: RunRecipe,
    out: Path,
    *,
    source: Source | None = None,
    resume: bool = False,
    report: Report | None = None,
    stop_at: int | None = None,
) -> Progress:
    """Train a recipe and write checkpoint, log and model to `out`; options as in `training.loop.train`.

    Without a `source`, tasks are those of the broad world.
    """
    if source is None:
        if not isinstance(recipe, LadderRecipe):
            raise TypeError("a recipe that is not of the broad world needs a source of tasks.")
        source = BroadSource(recipe)
    out.mkdir(parents=True, exist_ok=True)
    run = _Run(recipe, source, out, resume=resume)
    last = min(recipe.steps, stop_at or recipe.steps)
    run.begin()
    # The next step's tasks are made while this one's weights are updated.
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(source.step, run.progress.step)
        while run.progress.step < last:
            prepared = coming.result()
            coming = maker.submit(source.step, run.progress.step + 1)
            run.step(prepared)
            run.record()
            if run.progress.step < last and run.settle():
                coming = maker.submit(source.step, run.progress.step)
            if report is not None:
                report(run.progress)
    if last == recipe.steps:
        run.finish()
    return run.progress
