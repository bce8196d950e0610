"""Where a run takes its tasks from: the broad world, or whatever else keeps the promises of a `Source`.

A source may learn something of its own beside the network, which is kept in checkpoints with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.research.training.ladder.again import curves_of_step
from amortized_kde.research.training.ladder.curves import Curves
from amortized_kde.research.training.ladder.prepared import Prepared, prepare_step, prepare_validation, standards
from amortized_kde.research.training.recipe import LadderNetwork, LadderRecipe, Optimiser

Arrays = Sequence[NDArray[Any]]


class RunRecipe(Protocol):
    """What the loop itself needs to know of a recipe."""

    @property
    def name(self) -> str:
        """How the model is called."""
        ...

    @property
    def seed(self) -> int:
        """Of the network's first weights, and of the tasks."""
        ...

    @property
    def steps(self) -> int:
        """Steps of Adam."""
        ...

    @property
    def every(self) -> int:
        """Steps from one validation to the next."""
        ...

    @property
    def final_rate(self) -> float:
        """Adam's last rate, as a share of the first."""
        ...

    @property
    def network(self) -> LadderNetwork:
        """Output and widths."""
        ...

    @property
    def optimiser(self) -> Optimiser:
        """Adam's options."""
        ...

    @property
    def command(self) -> str:
        """What to type for the same model."""
        ...

    def as_card(self) -> dict[str, Any]:
        """Give the recipe as plain data."""
        ...


class Source(Protocol):
    """Tasks of a run. What `step` gives may hang on the step, on what was learned, and on nothing else."""

    @property
    def keeps_best(self) -> bool:
        """Whether the step with the lowest validation score is kept, the start included; otherwise the last is."""
        ...

    @property
    def standards(self) -> Standards:
        """Location, spread and range of the features."""
        ...

    @property
    def start(self) -> Mapping[str, NDArray[np.float64]]:
        """Weights to start from, by ``layer.part``; none for random ones."""
        ...

    def step(self, step: int) -> Prepared | Curves:
        """Make the tasks of a step."""
        ...

    def validation(self) -> Prepared:
        """Make the tasks on which the kept step is chosen."""
        ...

    def settle(self, step: int, weights: Mapping[str, NDArray[Any]]) -> bool:
        """Before a step: learn what is due, given the network as it is; say whether anything changed."""
        ...

    def learned(self) -> Arrays:
        """Give what was learned beside the network."""
        ...

    def restore(self, learned: Arrays) -> None:
        """Take up again what `learned` gave."""
        ...

    def card(self, learned: Arrays) -> dict[str, Any]:
        """What the model's card should say beside the usual."""
        ...


class BroadSource:
    """The broad world: every step sees new tasks, or those of a former step; nothing is learned but the network."""

    # A few tasks with a heavy tail decide which validation is lowest; the last step's rate is the smallest.
    keeps_best = False

    def __init__(self, recipe: LadderRecipe) -> None:
        self._recipe, self.standards = recipe, standards(recipe)
        self.start: Mapping[str, NDArray[np.float64]] = {}
        self._kept: dict[int, Curves] = {}

    def step(self, step: int) -> Prepared | Curves:
        """Make tasks step B .. step B + B - 1; if tasks are used again, give what is kept of them."""
        recipe = self._recipe
        if recipe.again.steps == 0:
            return prepare_step(recipe, step, self.standards)
        number = step % recipe.again.steps
        if number not in self._kept:
            self._kept[number] = curves_of_step(recipe, number, self.standards)
        return self._kept[number]

    def validation(self) -> Prepared:
        """Make the tasks of the recipe's validation seed."""
        return prepare_validation(self._recipe, self.standards)

    def settle(self, step: int, weights: Mapping[str, NDArray[Any]]) -> bool:
        """Learn nothing."""
        return False

    def learned(self) -> Arrays:
        """Give nothing."""
        return ()

    def restore(self, learned: Arrays) -> None:
        """Take up nothing."""

    def card(self, learned: Arrays) -> dict[str, Any]:
        """Add nothing."""
        return {}
