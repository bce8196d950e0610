"""The models in the sample's own frame as problems of the training loop."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.learned.adaptive.features import CONVENTIONS
from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.research.tasks.broad.batch import broad_batch
from amortized_kde.research.tasks.broad.kinds import BOTH, NONE
from amortized_kde.research.training.adaptive import network, objective
from amortized_kde.research.training.adaptive.objective import Curves, curves_of, join
from amortized_kde.research.training.adaptive.tasks import (
    EACH,
    BoundedTasks,
    Prepared,
    Tasks,
    prepare_step,
    prepare_tasks,
    prepare_validation,
    standards,
    thinned_draws,
)
from amortized_kde.research.training.problem import Forward, Outputs, Problem, Slopes
from amortized_kde.research.training.recipe import AdaptiveRecipe, BroadRecipe

# n of the paper's tasks, which are mixed in where tasks are reused; n of tasks without known bounds, and the random
# stream that chooses it, after those of `tasks`.
_PAPER_SIZES, _OPEN_SIZES, _OPEN = range(5, 257), (30, 4096), 109


class Output(NamedTuple):
    """A network at its start, its forward pass, and the scores (tasks,) of its outputs, without and with slopes."""

    start: Callable[[Any, int, int], dict[str, Any]]
    forward: Forward
    scores: Callable[[Any, Outputs], Array]
    scores_and_slopes: Callable[[Any, Outputs], tuple[Array, Outputs]]


OUTPUTS = {
    "adaptive": Output(
        network.start_adaptive,
        network.shares_and_background,
        objective.adaptive_scores,
        objective.adaptive_scores_and_slopes,
    ),
    "single": Output(
        network.start_single, network.log_bandwidths, objective.single_scores, objective.single_scores_and_slopes
    ),
}


class AdaptiveProblem(Problem):
    """Training of a network with one of the outputs; subclasses bring the tasks.

    Parameters
    ----------
    recipe : AdaptiveRecipe
    every : int
        Steps from one validation to the next.
    standards : Standards
        Location, spread and range of the features.
    weights : mapping, optional
        Arrays to start from, by ``layer.part``; default: random ones, from the recipe's seed.
    """

    def __init__(
        self, recipe: AdaptiveRecipe, *, every: int, standards: Standards, weights: Mapping[str, Array] | None = None
    ) -> None:
        self.recipe: AdaptiveRecipe = recipe
        self.every, self.final_rate, self.standards, self._weights = every, recipe.final_rate, standards, weights
        self.output = OUTPUTS[recipe.network.output]
        self.forward = self.output.forward

    def start(self) -> dict[str, Any]:
        """Return the given weights, or random ones."""
        widths, weights = self.recipe.network, self._weights
        made = self.output.start(jax.random.key(self.recipe.seed), widths.whole, widths.point)
        if weights is None:
            return made
        return {
            layer: {part: jnp.asarray(weights[f"{layer}.{part}"], jnp.float32) for part in parts}
            for layer, parts in made.items()
        }

    def score(self, batch: Prepared, outputs: Outputs) -> float:
        """Return the weighted mean score."""
        return float(batch.weights @ self.output.scores(batch, batch.unpadded(outputs)))

    def score_and_slopes(self, batch: Prepared | Curves, outputs: Outputs) -> tuple[float, Slopes]:
        """Return the weighted mean score and its derivatives, zero for padding."""
        scores, slopes = self.output.scores_and_slopes(batch, batch.unpadded(outputs))
        return float(batch.weights @ scores), batch.weighted(slopes)

    def arrays(self, network: dict[str, dict[str, Any]]) -> dict[str, NDArray[Any]]:
        """Return the network's arrays by ``layer.part``, and the standards."""
        parts = {f"{layer}.{part}": np.asarray(v) for layer, found in network.items() for part, v in found.items()}
        return parts | {"standard.whole": self.standards.whole, "standard.point": self.standards.point}

    def card(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Return the features' conventions."""
        return {"conventions": CONVENTIONS}


class BroadProblem(AdaptiveProblem):
    """Training on the broad world: tasks are fresh in every step, or reused as curves of their scores."""

    # A few heavy-tailed tasks decide which validation score is lowest; the last steps have the smallest rates.
    keeps_best = False

    def __init__(self, recipe: BroadRecipe) -> None:
        super().__init__(recipe, every=recipe.tasks.every, standards=standards(recipe))
        self.recipe: BroadRecipe = recipe
        self._curves: dict[int, Curves] = {}

    def step(self, step: int) -> Prepared | Curves:
        """Make tasks step B .. step B + B - 1, or return the curves of an earlier step."""
        reuse = self.recipe.again
        if reuse.steps == 0:
            return prepare_step(self.recipe, step, self.standards)
        number = step % reuse.steps
        if number not in self._curves:
            self._curves[number] = curves_of_step(self.recipe, number, self.standards)
        return self._curves[number]

    def score_and_slopes(self, batch: Prepared | Curves, outputs: Outputs) -> tuple[float, Slopes]:
        """Return the weighted mean score, with penalties if the recipe has them, and its derivatives."""
        if isinstance(batch, Curves) or self.recipe.network.output != "adaptive":
            return super().score_and_slopes(batch, outputs)
        penalised = objective.adaptive_scores_and_slopes(batch, batch.unpadded(outputs), self.recipe.penalties)
        return float(batch.weights @ penalised[0]), batch.weighted(penalised[1])

    def validation(self) -> Prepared:
        """Make the tasks of the validation seed."""
        return prepare_validation(self.recipe, self.standards)


def curves_of_step(recipe: BroadRecipe, step: int, given: Standards) -> Curves:
    """Make the tasks of a step (broad world, and those that `Reuse` adds) and score them along the ladder."""
    reuse, draws, seed = recipe.again, EACH * recipe.draws, recipe.seed + 1
    parts = [curves_of(prepare_step(recipe, step, given))]

    def add(tasks: Tasks, drawn: Array, first: int) -> None:
        at = thinned_draws(drawn, seed=seed, first=first)
        weights = np.asarray(tasks.sizes**recipe.size_power, np.float64)
        parts.append(curves_of(prepare_tasks(tasks, at, weights, given)))

    if reuse.open:
        first = step * reuse.open
        options: dict[str, Any] = {"kinds": ["mixture", "family"], "known_bounds": [NONE]}
        sizes = _open_sizes(reuse.open, seed=seed, first=first)
        open_tasks = broad_batch(reuse.open, seed=seed + 1, first=first, draws=draws, sizes=sizes, **options)
        add(open_tasks, open_tasks.draws, first)
    if reuse.families:
        options = {"sizes": _PAPER_SIZES, "kinds": ["family"], "known_bounds": [BOTH]}
        first = step * reuse.families
        families = broad_batch(reuse.families, seed=seed, first=first, draws=draws, **options)
        add(families, families.draws, first)
    if reuse.mixtures:
        first = step * reuse.mixtures
        found = draw_tasks(world("gmm32"), reuse.mixtures, seed=seed, first=first, draws=draws, sizes=_PAPER_SIZES)
        lower, upper, known = (np.full(reuse.mixtures, value) for value in (*found.bounds, BOTH))
        add(BoundedTasks(found.values, found.offsets, lower, upper, known), found.draws, first)
    return join(parts)


def _open_sizes(count: int, *, seed: int, first: int) -> Index:
    low, high = np.log(_OPEN_SIZES)
    return np.exp(low + (high - low) * indexed_uniforms(stream_words(seed, _OPEN), first, count)).astype(np.int64)
