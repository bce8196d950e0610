"""Tasks made ready for a step: standardised features, sorted evaluation points and the background there."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Flags, Index, Single
from amortized_kde.density.background import log_density
from amortized_kde.learned.adaptive.features import Description, describe
from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.research.tasks.batch import FlatSamples
from amortized_kde.research.tasks.broad.batch import BroadBatch, broad_batch
from amortized_kde.research.training.problem import Outputs, Slopes
from amortized_kde.research.training.recipe import BroadRecipe

# Point features are padded to a multiple of this many rows, because JAX compiles anew for every number of rows.
_ROWS = 8192
# Of this many ascending draws one is kept, at random: the mean over those kept is unbiased too, and nearly as free of
# noise, at an eighth of the cost.
EACH = 8
# Values at each end of a sample where its estimate's roughness is measured, besides the draws.
_OUTER = 16
# Highest natural log of a true density.
_HIGHEST = 500.0
# The random stream that chooses them, after those of the broad world.
_KEPT = 108


class Inputs(NamedTuple):
    """Features of samples, their sizes, and features of points with the sample of each, zero in padding rows."""

    sample_features: Single
    sizes: Single
    point_features: Single
    sample_of_row: NDArray[np.int32]

    def without_points(self) -> "Inputs":
        """Return the inputs of a network that reads the samples only."""
        return self._replace(point_features=self.point_features[:0], sample_of_row=self.sample_of_row[:0])


@dataclass(frozen=True, eq=False)
class BoundedTasks(FlatSamples):
    """Samples with their bounds (tasks,), infinite where open, and which are known, as in `broad_batch`."""

    lower: Array
    upper: Array
    known_bounds: Index


Tasks = BroadBatch | BoundedTasks


class Prepared(NamedTuple):
    """Tasks with features, ascending evaluation points `at` and the background there (tasks, m).

    `weights` (tasks,) sum to 1. Where the objective has penalties, `penalised` is the fraction of them that counts at
    this step, `truth` the true density at the evaluation points, and those where `judged` is false serve the roughness
    only.
    """

    tasks: Tasks
    description: Description
    inputs: Inputs
    at: Array
    background: Array
    weights: Array
    penalised: float = 0.0
    truth: Array | None = None
    judged: Flags | None = None

    def unpadded(self, outputs: Outputs) -> Outputs:
        """Return outputs without the padding rows of points."""
        return tuple(out[: len(self.description.of_points)] if out.ndim == 2 else out for out in outputs)

    def weighted(self, slopes: Outputs) -> Slopes:
        """Return slopes times the tasks' weights, in float32, with zeros in the padding rows of points."""
        of_points = np.repeat(self.weights, np.diff(self.description.offsets))[:, None]
        filled = []
        for slope in slopes:
            rows = len(self.inputs.point_features) if slope.ndim == 2 else len(slope)
            filled.append(np.zeros((rows, *slope.shape[1:]), np.float32))
            filled[-1][: len(slope)] = slope * (of_points if slope.ndim == 2 else self.weights)
        return tuple(filled)


def _describe(tasks: Tasks) -> Description:
    found = describe(tasks.samples, tasks.lower, tasks.upper)
    if not found.usable.all():
        raise ValueError("a task has no scale.")
    return found


def prepare_tasks(tasks: Tasks, at: Array, weights: Array, given: Standards) -> Prepared:
    """Prepare tasks with evaluation points `at` (tasks, m), ascending in each row, and `weights` (tasks,)."""
    found = _describe(tasks)
    placed = {"lower": tasks.lower, "upper": tasks.upper, "location": found.locations, "scale": found.scales}
    background = np.exp(log_density(at, **{name: value[:, None] for name, value in placed.items()}))
    return Prepared(tasks, found, _inputs(found, tasks, given), at, background, weights / weights.sum())


def _draw(recipe: BroadRecipe, count: int, *, seed: int, first: int) -> tuple[BroadBatch, Array, Array]:
    """Tasks, their evaluation points and their weights."""
    tasks = broad_batch(count, seed=seed, first=first, draws=EACH * recipe.draws, large=recipe.large)
    at = thinned_draws(tasks.draws, seed=seed, first=first)
    return tasks, at, np.asarray(tasks.sizes**recipe.size_power, np.float64)


def at_the_ends(tasks: Tasks) -> Array:
    """Return the outer values of every sample and the middles between them, (tasks, 4 * _OUTER): teeth stand there."""
    steps, last = np.arange(_OUTER), tasks.sizes[:, None] - 1
    low, high = np.minimum(steps, last), np.maximum(last - steps, 0)
    places = []
    for ranks, next_ranks in ((low, np.minimum(low + 1, last)), (high, np.maximum(high - 1, 0))):
        here, there = (tasks.values[tasks.offsets[:-1, None] + r] for r in (ranks, next_ranks))
        places += [here, 0.5 * (here + there)]
    return np.concatenate(places, axis=1)


def thinned_draws(draws: Array, *, seed: int, first: int) -> Array:
    """Return one of every `EACH` ascending draws of tasks first, first + 1, ..., chosen by the number of the task."""
    count, kept = len(draws), draws.shape[1] // EACH
    at = np.sort(draws, axis=1).reshape(count, kept, EACH)
    chance = indexed_uniforms(stream_words(seed, _KEPT), first * kept, count * kept)
    chosen = (EACH * chance).astype(np.int64).reshape(count, kept, 1)
    return np.take_along_axis(at, chosen, axis=2)[:, :, 0]


def _inputs(found: Description, tasks: Tasks, given: Standards) -> Inputs:
    of_samples, of_points = given.standardise_samples(found.of_samples), given.standardise_points(found.of_points)
    padded = np.zeros((-(-len(of_points) // _ROWS) * _ROWS, of_points.shape[1]), np.float32)
    padded[: len(of_points)] = of_points
    sample_of_row = np.zeros(len(padded), np.int32)
    sample_of_row[: len(of_points)] = np.repeat(np.arange(len(of_samples)), np.diff(found.offsets))
    return Inputs(of_samples.astype(np.float32), tasks.sizes.astype(np.float32), padded, sample_of_row)


def prepare_step(recipe: BroadRecipe, step: int, given: Standards) -> Prepared:
    """Make those tasks of a step that are of the broad world."""
    count = recipe.batch - recipe.again.added
    tasks, at, weights = _draw(recipe, count, seed=recipe.seed, first=step * count)
    penalised = recipe.penalties.at(step)
    if penalised == 0.0:
        return prepare_tasks(tasks, at, weights, given)
    every = np.concatenate([at, at_the_ends(tasks)], axis=1)
    order = np.argsort(every, axis=1, kind="stable")
    every = np.take_along_axis(every, order, axis=1)
    # Where a density is infinite, a large number serves.
    truth = np.exp(np.minimum(tasks.true_logpdf(every), _HIGHEST))
    prepared = prepare_tasks(tasks, every, weights, given)
    return prepared._replace(penalised=penalised, truth=truth, judged=order < at.shape[1])


def prepare_validation(recipe: BroadRecipe, given: Standards) -> Prepared:
    """Make the tasks of the validation seed."""
    drawn = _draw(recipe, recipe.tasks.validation_tasks, seed=recipe.tasks.validation_seed, first=0)
    return prepare_tasks(*drawn, given)


def standards(recipe: BroadRecipe) -> Standards:
    """Return location, spread and range of every feature over the recipe's tasks for standardisation."""
    return _standards(recipe.tasks.standard_tasks, recipe.tasks.standard_seed)


@cache
def _standards(tasks: int, seed: int) -> Standards:
    found = _describe(broad_batch(tasks, seed=seed, draws=1))
    return Standards.of(found.of_samples, found.of_points)
