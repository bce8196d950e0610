"""Tuning a network on calibrated members: the pairs of an archive are its tasks, and validation says when to stop."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.support import Bounds
from amortized_kde.learned.adaptive.features import describe
from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import ARCHITECTURES
from amortized_kde.research.tasks.broad.kinds import BOTH, NONE
from amortized_kde.research.training.adaptive.problem import AdaptiveProblem
from amortized_kde.research.training.adaptive.tasks import BoundedTasks, Prepared, prepare_tasks
from amortized_kde.research.training.archive.recipe import ArchiveRecipe, find_start
from amortized_kde.research.training.checkpoint import LogRow
from amortized_kde.research.training.loop import Adam

# Most values in the pairs for validation, and in those that give the features' standards.
_MOST_VALUES = 200_000
# Validations without an improvement after which tuning stops.
_PATIENCE = 3


class Moved(NamedTuple):
    """Members (pairs, n), NaN where missing, with outcomes (pairs,), on the scale on which densities are made."""

    members: Array
    outcomes: Array
    bounds: Bounds

    def where(self, wanted: Flags | Index) -> "Moved":
        """Return a subset of the pairs."""
        return Moved(self.members[wanted], self.outcomes[wanted], self.bounds)

    @property
    def usable(self) -> Flags:
        """Pairs with two different members, from which a density can be made, and an outcome."""
        with np.errstate(invalid="ignore"):
            ascending = np.sort(self.members, axis=1)
            return np.asarray((np.diff(ascending, axis=1) > 0.0).any(axis=1) & np.isfinite(self.outcomes))


class TuningProblem(AdaptiveProblem):
    """Training on moved members, shuffled in each pass through them."""

    def __init__(self, recipe: ArchiveRecipe, training: Moved, validation: Moved | None) -> None:
        model = find_start(recipe.start)
        self._training, self._validation = training, validation
        super().__init__(
            recipe,
            every=recipe.every,
            standards=_standards(model, training, recipe.seed),
            weights=None if model is None else model.arrays,
        )
        self.recipe: ArchiveRecipe = recipe
        self._pass: tuple[int, Index] = (-1, np.empty(0, np.int64))

    def step(self, step: int) -> Prepared:
        """Return the next batch of training pairs."""
        batch = self.recipe.batch
        return self._prepare(self._training.where(self._order(step * batch, batch)))

    def validation(self) -> Prepared:
        """Return the validation pairs."""
        assert self._validation is not None
        return self._prepare(_some(self._validation, self.recipe.seed))

    def model(self, network: Any) -> Model:
        """Return a model with the weights of a network."""
        arrays: dict[str, NDArray[Any]] = {
            name: value.astype(np.float64) for name, value in self.arrays(network).items()
        }
        return Model(self.recipe.name, ARCHITECTURES[self.recipe.network.output], arrays, {})

    def _prepare(self, moved: Moved) -> Prepared:
        count = len(moved.outcomes)
        return prepare_tasks(tasks_of(moved), moved.outcomes[:, None], np.ones(count), self.standards)

    def _order(self, first: int, count: int) -> Index:
        """Return pairs first .. first + count - 1 of an endless sequence of passes, each in random order."""
        taken, size = [], len(self._training.outcomes)
        while count:
            number, start = divmod(first, size)
            if self._pass[0] != number:
                rng = np.random.default_rng([self.recipe.seed, 2, number])
                self._pass = number, rng.permutation(size)
            taken.append(self._pass[1][start : start + count])
            first, count = first + taken[-1].size, count - taken[-1].size
        return np.concatenate(taken)


class Tuned(NamedTuple):
    """A tuned model, the steps it took, and the log."""

    model: Model
    steps: int
    log: list[LogRow]


def tune(
    recipe: ArchiveRecipe,
    training: Moved,
    validation: Moved | None = None,
    *,
    steps: int | None = None,
    report: Callable[[int], None] | None = None,
) -> Tuned:
    """Tune for `steps`; or, with validation pairs, for as many as suit them best, 0 among them."""
    problem = TuningProblem(recipe, training, validation)
    adam = Adam.of(problem)
    state = adam.start(problem.start())
    judged = None if validation is None else problem.validation()
    best, kept, log, scores = state.average, 0, [], []
    lowest = np.inf if judged is None else problem.score(judged, adam.outputs(state.average, judged))
    if judged is not None:
        log.append(LogRow(0, lowest, lowest))
    for step in range(recipe.steps if steps is None else steps):
        batch = problem.step(step)
        value, slopes = problem.score_and_slopes(batch, adam.outputs(state.network, batch))
        state = adam.update(state, batch.inputs, slopes)
        scores.append(value)
        if report is not None:
            report(step + 1)
        if judged is None or (step + 1) % recipe.every:
            continue
        found = problem.score(judged, adam.outputs(state.average, judged))
        log.append(LogRow(step + 1, float(np.mean(scores)), found))
        scores.clear()
        if found < lowest:
            best, kept, lowest = state.average, step + 1, found
        elif step + 1 >= kept + _PATIENCE * recipe.every:
            break
    if judged is None:
        best, kept = state.average, recipe.steps if steps is None else steps
    return Tuned(problem.model(best), kept, log)


def tasks_of(moved: Moved) -> BoundedTasks:
    """Return the ensembles as samples, ascending."""
    ascending = np.sort(moved.members, axis=1)
    present = ~np.isnan(ascending)
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    known = BOTH if np.isfinite(moved.bounds).all() else NONE
    lower, upper, known_bounds = (np.full(len(ascending), value) for value in (*moved.bounds, known))
    return BoundedTasks(ascending[present], offsets, lower, upper, known_bounds)


def _standards(model: Model | None, training: Moved, seed: int) -> Standards:
    """Return the standards of the model to start from; if there is none, those of the training pairs."""
    if model is not None:
        return Standards(model.arrays["standard.whole"], model.arrays["standard.point"])
    batch = tasks_of(_some(training, seed))
    found = describe(batch.samples, batch.lower, batch.upper)
    return Standards.of(found.of_samples, found.of_points)


def _some(moved: Moved, seed: int) -> Moved:
    """Return a random subset of pairs with a limited number of values."""
    most = max(_MOST_VALUES // moved.members.shape[1], 100)
    if len(moved.outcomes) <= most:
        return moved
    return moved.where(np.sort(np.random.default_rng([seed, 0]).choice(len(moved.outcomes), most, replace=False)))
