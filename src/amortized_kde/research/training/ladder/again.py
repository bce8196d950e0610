"""Steps of a recipe whose tasks are used again: of the broad world and of the paper's two, with their curves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.research.tasks import TaskBatch, draw_tasks, world
from amortized_kde.research.tasks.broad.batch import broad_batch
from amortized_kde.research.tasks.broad.kinds import BOTH
from amortized_kde.research.training.ladder.curves import Curves, join
from amortized_kde.research.training.ladder.objectives import curves_of
from amortized_kde.research.training.ladder.prepared import EACH, Tasks, prepare_step, prepare_tasks, thinned_draws
from amortized_kde.research.training.recipe import LadderRecipe

# The sizes of the paper's tasks.
_SIZES = range(5, 257)


@dataclass(frozen=True)
class _Mixtures(TaskBatch):
    """Tasks of one world, as the adaptive models are told them: with the bounds of each."""

    @property
    def lower(self) -> Array:
        return np.full(len(self), self.bounds[0])

    @property
    def upper(self) -> Array:
        return np.full(len(self), self.bounds[1])

    @property
    def known_bounds(self) -> NDArray[np.int64]:
        return np.full(len(self), BOTH)


def curves_of_step(recipe: LadderRecipe, step: int, given: Standards) -> Curves:
    """Make the tasks of a step, of the three kinds in turn, and score them along the ladder."""
    again, draws, seed = recipe.again, EACH * recipe.draws, recipe.seed + 1
    parts = [curves_of(prepare_step(recipe, step, given))]
    if again.families:
        count, first = again.families, step * again.families
        tasks = broad_batch(
            count, seed=seed, first=first, draws=draws, sizes=_SIZES, kinds=["family"], known_bounds=[BOTH]
        )
        parts.append(_curves(recipe, tasks, thinned_draws(tasks.draws, seed=seed, first=first), given))
    if again.mixtures:
        count, first = again.mixtures, step * again.mixtures
        drawn = draw_tasks(world("gmm32"), count, seed=seed, first=first, draws=draws, sizes=_SIZES)
        mixtures = _Mixtures(drawn.values, drawn.offsets, drawn.draws, drawn.truths, drawn.bounds)
        parts.append(_curves(recipe, mixtures, thinned_draws(drawn.draws, seed=seed, first=first), given))
    return join(parts)


def _curves(recipe: LadderRecipe, tasks: Tasks, at: Array, given: Standards) -> Curves:
    return curves_of(prepare_tasks(tasks, at, np.asarray(tasks.sizes**recipe.size_power, np.float64), given))
