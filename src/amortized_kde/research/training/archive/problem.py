"""Training on an archive as a problem of the training loop: its pairs are the tasks, and a dressing is fitted too."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.ensembles.dressing import Dressing
from amortized_kde.learned.adaptive.features import describe
from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import ARCHITECTURES
from amortized_kde.research.tasks.broad.kinds import BOTH, NONE
from amortized_kde.research.training.adaptive.problem import AdaptiveProblem
from amortized_kde.research.training.adaptive.tasks import BoundedTasks, Prepared, prepare_tasks
from amortized_kde.research.training.archive.pairs import TRAINING, VALIDATION, Pairs, Split
from amortized_kde.research.training.archive.recipe import ArchiveRecipe, find_start
from amortized_kde.research.training.archive.scores import fit_dressing, model_scores
from amortized_kde.research.training.problem import Arrays

# Most values in the pairs for validation, and in those that give the features' standards.
_VALIDATED, _STANDARD = 200_000, 200_000
# The dressing is fitted before the first step and again half-way.
_FITS = 2


class ArchiveProblem(AdaptiveProblem):
    """Training on the training pairs of an archive, shuffled in each pass through them, and on their dressing."""

    scores_start = True

    def __init__(self, recipe: ArchiveRecipe, pairs: Pairs, split: Split) -> None:
        part, model = split.part_of(pairs.times), find_start(recipe.start)
        self._training = pairs.where(part == TRAINING)
        self._validation = _some(pairs.where(part == VALIDATION), _VALIDATED, recipe.seed)
        super().__init__(
            recipe,
            every=recipe.every,
            standards=_standards(model, self._training, recipe.seed),
            weights=None if model is None else model.arrays,
        )
        self.recipe: ArchiveRecipe = recipe
        self._numbers: Array | None = None
        self._pass: tuple[int, Index] = (-1, np.empty(0, np.int64))

    def step(self, step: int) -> Prepared:
        """Return the next batch of training pairs."""
        batch = self.recipe.batch
        return self._prepare(self._training.where(self._order(step * batch, batch)))

    def validation(self) -> Prepared:
        """Return the validation pairs."""
        return self._prepare(self._validation)

    def fit(self, step: int, network: Any) -> bool:
        """Fit the dressing to the network, if it is due."""
        if not self.recipe.dress or step not in {fit * self.recipe.steps // _FITS for fit in range(_FITS)}:
            return False
        arrays = {name: value.astype(np.float64) for name, value in self.arrays(network).items()}
        model = Model(self.recipe.name, ARCHITECTURES[self.recipe.network.output], arrays, {})
        self._numbers = fit_dressing(self._training, model_scores(model), seed=self.recipe.seed)
        return True

    def fitted(self) -> Arrays:
        """Return (a, b, c), if a dressing is fitted."""
        if not self.recipe.dress:
            return ()
        return (np.array([0.0, 1.0, 1.0]) if self._numbers is None else self._numbers,)

    def restore(self, fitted: Arrays) -> None:
        """Continue from (a, b, c)."""
        self._numbers = fitted[0] if self.recipe.dress else None

    def card(self, arrays: dict[str, NDArray[Any]], fitted: Arrays) -> dict[str, Any]:
        """Return the features' conventions, and the dressing."""
        card, recipe = super().card(arrays, fitted), self.recipe
        if recipe.dress:
            shift, slope, spread = map(float, fitted[0])
            card["dressing"] = Dressing(shift, slope, spread, recipe.bounds, recipe.atoms).as_card()
        return card

    def _prepare(self, pairs: Pairs) -> Prepared:
        batch = tasks_of(pairs.dressed(self._numbers))
        return prepare_tasks(batch, pairs.observations[:, None], np.ones(len(pairs)), self.standards)

    def _order(self, first: int, count: int) -> Index:
        """Return pairs first .. first + count - 1 of an endless sequence of passes, each in random order."""
        taken = []
        while count:
            number, start = divmod(first, len(self._training))
            if self._pass[0] != number:
                rng = np.random.default_rng([self.recipe.seed, 2, number])
                self._pass = number, rng.permutation(len(self._training))
            taken.append(self._pass[1][start : start + count])
            first, count = first + taken[-1].size, count - taken[-1].size
        return np.concatenate(taken)


def tasks_of(pairs: Pairs) -> BoundedTasks:
    """Return the ensembles as samples; members ascend, dressed or not."""
    present = ~np.isnan(pairs.members)
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    known = BOTH if np.isfinite(pairs.bounds).all() else NONE
    lower, upper, known_bounds = (np.full(len(pairs), value) for value in (*pairs.bounds, known))
    return BoundedTasks(pairs.members[present].astype(np.float64), offsets, lower, upper, known_bounds)


def _standards(model: Model | None, training: Pairs, seed: int) -> Standards:
    """Return the standards of the model to start from; if there is none, those of the training pairs."""
    if model is not None:
        return Standards(model.arrays["standard.whole"], model.arrays["standard.point"])
    batch = tasks_of(_some(training, _STANDARD, seed))
    found = describe(batch.samples, batch.lower, batch.upper)
    return Standards.of(found.of_samples, found.of_points)


def _some(pairs: Pairs, values: int, seed: int) -> Pairs:
    """Return a random subset of pairs with at most `values` values."""
    most = max(values // pairs.members.shape[1], 100)
    if len(pairs) <= most:
        return pairs
    return pairs.where(np.sort(np.random.default_rng([seed, 0]).choice(len(pairs), most, replace=False)))
