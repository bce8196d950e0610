"""Tasks of the broad world made ready for a step: described, standardised, with their background and sorted draws."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde.background import log_density
from amortized_kde.ladder import Description, describe
from amortized_kde.ladder_network import Standards
from amortized_kde.tasks.broad import BroadBatch, broad_batch
from amortized_kde.training.recipe import LadderRecipe

__all__ = ["Inputs", "Prepared", "prepare", "prepare_step", "standards"]

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Rows are filled up to a multiple of this: the compiler makes code for every number of rows anew.
_ROWS = 8192


class Inputs(NamedTuple):
    """What the network sees: float32, points filled up with zeros that belong to sample 0."""

    wholes: Single
    sizes: Single
    points: Single
    own: NDArray[np.int32]


class Prepared(NamedTuple):
    """Tasks, what is read off their samples, and where they are judged: ascending draws and the background there."""

    tasks: BroadBatch
    description: Description
    inputs: Inputs
    at: Array
    background: Array


def prepare(tasks: BroadBatch, given: Standards | None) -> Prepared:
    """Describe and standardise tasks; without standards the inputs are left empty."""
    found = describe(tasks.samples, tasks.lower, tasks.upper)
    if not found.usable.all():
        raise ValueError("a task of the broad world has no scale.")
    at = np.sort(tasks.draws, axis=1)
    placed = {"lower": tasks.lower, "upper": tasks.upper, "location": found.locations, "scale": found.scales}
    background = np.exp(log_density(at, **{name: value[:, None] for name, value in placed.items()}))
    inputs = _inputs(found, tasks, given) if given else Inputs(*(np.empty(0, np.float32),) * 3, np.empty(0, np.int32))
    return Prepared(tasks, found, inputs, at, background)


def _inputs(found: Description, tasks: BroadBatch, given: Standards) -> Inputs:
    wholes, points = given.wholes(found.wholes), given.points(found.points)
    filled = np.zeros((-(-len(points) // _ROWS) * _ROWS, points.shape[1]), np.float32)
    filled[: len(points)] = points
    own = np.zeros(len(filled), np.int32)
    own[: len(points)] = np.repeat(np.arange(len(wholes)), np.diff(found.offsets))
    return Inputs(wholes.astype(np.float32), tasks.sizes.astype(np.float32), filled, own)


def prepare_step(recipe: LadderRecipe, step: int, given: Standards) -> Prepared:
    """Make the tasks of a step."""
    first = step * recipe.batch
    return prepare(broad_batch(recipe.batch, seed=recipe.seed, first=first, draws=recipe.draws), given)


def standards(recipe: LadderRecipe) -> Standards:
    """Take location, spread and range of every feature from the recipe's tasks for that."""
    chosen = recipe.tasks
    found = prepare(broad_batch(chosen.standard_tasks, seed=chosen.standard_seed, draws=1), None).description
    return Standards.of(found.wholes, found.points)
