"""Tasks made ready for a step: described, standardised, with their background and sorted evaluation points."""

from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index, Single
from amortized_kde.data.sample import Samples
from amortized_kde.density.background import log_density
from amortized_kde.learned.adaptive.features import Description, describe
from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.research.tasks.broad.batch import broad_batch
from amortized_kde.research.training.recipe import LadderRecipe

# Rows are filled up to a multiple of this: the compiler makes code for every number of rows anew.
_ROWS = 8192
# Of so many ascending draws one is kept, at random: the mean over those kept is as unbiased as that over all, and
# nearly as free of noise, at an eighth of its cost.
EACH = 8
# A stream of its own, after those of the broad world.
_KEPT = 108


class Inputs(NamedTuple):
    """What the network sees: float32, points filled up with zeros that belong to sample 0."""

    wholes: Single
    sizes: Single
    points: Single
    own: NDArray[np.int32]

    def without_points(self) -> "Inputs":
        """Give what a network sees that asks for the sample alone."""
        return Inputs(self.wholes, self.sizes, self.points[:0], self.own[:0])


class Tasks(Protocol):
    """What is asked of a batch of tasks: ascending samples, and which bounds are known (`KNOWN_BOUNDS`)."""

    @property
    def values(self) -> Array:
        """All samples, one after the other."""
        ...

    @property
    def offsets(self) -> Index:
        """Where each sample begins, (tasks + 1,)."""
        ...

    @property
    def lower(self) -> Array:
        """Lower bounds (tasks,), infinite where open."""
        ...

    @property
    def upper(self) -> Array:
        """Upper bounds (tasks,), infinite where open."""
        ...

    @property
    def known_bounds(self) -> Index:
        """Which bounds are known, an index into `KNOWN_BOUNDS` (tasks,)."""
        ...

    @property
    def sizes(self) -> Index:
        """The n of each task."""
        ...

    @property
    def samples(self) -> Samples:
        """The samples as the rest of the package takes them."""
        ...

    def __len__(self) -> int: ...


class Prepared(NamedTuple):
    """Tasks, what is read off their samples, and where they are judged: ascending draws and the background there.

    `weights` sum to 1 and say how much each task counts.
    """

    tasks: Tasks
    description: Description
    inputs: Inputs
    at: Array
    background: Array
    weights: Array


def _describe(tasks: Tasks) -> Description:
    found = describe(tasks.samples, tasks.lower, tasks.upper)
    if not found.usable.all():
        raise ValueError("a task has no scale.")
    return found


def prepare_tasks(tasks: Tasks, at: Array, weights: Array, given: Standards) -> Prepared:
    """Describe tasks that are judged at the ascending rows of `at` (tasks, m) and count by `weights` (tasks,)."""
    found = _describe(tasks)
    placed = {"lower": tasks.lower, "upper": tasks.upper, "location": found.locations, "scale": found.scales}
    background = np.exp(log_density(at, **{name: value[:, None] for name, value in placed.items()}))
    return Prepared(tasks, found, _inputs(found, tasks, given), at, background, weights / weights.sum())


def _prepare(recipe: LadderRecipe, count: int, given: Standards, *, seed: int, first: int) -> Prepared:
    tasks = broad_batch(count, seed=seed, first=first, draws=EACH * recipe.draws, large=recipe.large)
    at = thinned_draws(tasks.draws, seed=seed, first=first)
    return prepare_tasks(tasks, at, np.asarray(tasks.sizes**recipe.size_power, np.float64), given)


def thinned_draws(draws: Array, *, seed: int, first: int) -> Array:
    """Give one of every `EACH` ascending draws (tasks, m), chosen by the task's number, the first of which is given."""
    count, kept = len(draws), draws.shape[1] // EACH
    at = np.sort(draws, axis=1).reshape(count, kept, EACH)
    chance = indexed_uniforms(stream_words(seed, _KEPT), first * kept, count * kept)
    chosen = (EACH * chance).astype(np.int64).reshape(count, kept, 1)
    return np.take_along_axis(at, chosen, axis=2)[:, :, 0]


def _inputs(found: Description, tasks: Tasks, given: Standards) -> Inputs:
    wholes, points = given.wholes(found.wholes), given.points(found.points)
    filled = np.zeros((-(-len(points) // _ROWS) * _ROWS, points.shape[1]), np.float32)
    filled[: len(points)] = points
    own = np.zeros(len(filled), np.int32)
    own[: len(points)] = np.repeat(np.arange(len(wholes)), np.diff(found.offsets))
    return Inputs(wholes.astype(np.float32), tasks.sizes.astype(np.float32), filled, own)


def prepare_step(recipe: LadderRecipe, step: int, given: Standards) -> Prepared:
    """Make the tasks of a step that are of the broad world."""
    count = recipe.batch - recipe.again.families - recipe.again.mixtures
    return _prepare(recipe, count, given, seed=recipe.seed, first=step * count)


def prepare_validation(recipe: LadderRecipe, given: Standards) -> Prepared:
    """Make the tasks on which the kept step is chosen."""
    return _prepare(recipe, recipe.tasks.validation_tasks, given, seed=recipe.tasks.validation_seed, first=0)


def standards(recipe: LadderRecipe) -> Standards:
    """Take location, spread and range of every feature from the recipe's tasks for that."""
    return _standards(recipe.tasks.standard_tasks, recipe.tasks.standard_seed)


@cache
def _standards(tasks: int, seed: int) -> Standards:
    found = _describe(broad_batch(tasks, seed=seed, draws=1))
    return Standards.of(found.wholes, found.points)
