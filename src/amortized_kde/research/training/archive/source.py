"""An archive as a source of tasks: batches of its training pairs, its validation pairs, and the dressing of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.ensembles.dressing import Dressing
from amortized_kde.learned.adaptive.features import describe
from amortized_kde.learned.adaptive.network import Standards
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import ARCHITECTURES
from amortized_kde.research.tasks.batch import FlatSamples
from amortized_kde.research.tasks.broad.kinds import BOTH, NONE
from amortized_kde.research.training.archive.dressing import fit_dressing
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.archive.recipe import ArchiveRecipe, find_start
from amortized_kde.research.training.archive.scores import model_scores
from amortized_kde.research.training.archive.split import TRAINING, VALIDATION, Split
from amortized_kde.research.training.ladder.prepared import Prepared, prepare_tasks

Arrays = Sequence[NDArray[Any]]

# Values of the pairs on which the kept step is chosen, and of those that give features their standards.
_VALIDATED, _STANDARD = 200_000, 200_000
# The dressing is fitted before the first step, and once more half-way, to the network as it is then.
_FITS = 2


@dataclass(frozen=True, eq=False)
class PairBatch(FlatSamples):
    """Pairs as tasks: ascending samples, one after the other, and the bounds of all."""

    lower: Array
    upper: Array
    known_bounds: Index

    @classmethod
    def of(cls, pairs: Pairs) -> "PairBatch":
        """Put pairs into that form; members ascend, and stay so when they are dressed."""
        there = ~np.isnan(pairs.members)
        offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        lower, upper = (np.full(len(pairs), end) for end in pairs.bounds)
        known_bounds = np.full(len(pairs), BOTH if np.isfinite(pairs.bounds).all() else NONE)
        return cls(pairs.members[there].astype(np.float64), offsets, lower, upper, known_bounds)


class ArchiveSource:
    """Training pairs in an order of their own in each pass through them, and what is learned of their dressing."""

    keeps_best = True

    def __init__(self, recipe: ArchiveRecipe, pairs: Pairs, split: Split) -> None:
        part = split.part_of(pairs.times)
        self._recipe, self._model = recipe, find_start(recipe.start)
        self._training = pairs.where(part == TRAINING)
        self._validation = _some(pairs.where(part == VALIDATION), _VALIDATED, recipe.seed)
        self._numbers: Array | None = None
        self._pass: tuple[int, Index] = (-1, np.empty(0, np.int64))

    @cached_property
    def standards(self) -> Standards:
        """Those of the model that it starts from; of a start from scratch those of training pairs."""
        if self._model is not None:
            return Standards(self._model.arrays["standard.whole"], self._model.arrays["standard.point"])
        batch = PairBatch.of(_some(self._training, _STANDARD, self._recipe.seed))
        found = describe(batch.samples, batch.lower, batch.upper)
        return Standards.of(found.wholes, found.points)

    @property
    def start(self) -> Mapping[str, Array]:
        """The weights of the model that it starts from."""
        return {} if self._model is None else self._model.arrays

    def step(self, step: int) -> Prepared:
        """Take the next batch of training pairs."""
        batch = self._recipe.batch
        return self._prepare(self._training.where(self._order(step * batch, batch)))

    def validation(self) -> Prepared:
        """Take the validation pairs."""
        return self._prepare(self._validation)

    def settle(self, step: int, weights: Mapping[str, NDArray[Any]]) -> bool:
        """Fit the dressing to the network as it is, if that is due."""
        if not self._recipe.dress or step not in self._due():
            return False
        scorer = model_scores(self._as_model(weights))
        self._numbers = fit_dressing(self._training, scorer, seed=self._recipe.seed)
        return True

    def learned(self) -> Arrays:
        """Give (a, b, c), if a dressing is learned."""
        if not self._recipe.dress:
            return ()
        return (np.array([0.0, 1.0, 1.0]) if self._numbers is None else self._numbers,)

    def restore(self, learned: Arrays) -> None:
        """Take up (a, b, c) again."""
        self._numbers = learned[0] if self._recipe.dress else None

    def card(self, learned: Arrays) -> dict[str, Any]:
        """Tell the dressing."""
        if not self._recipe.dress:
            return {}
        recipe, (shift, slope, spread) = self._recipe, map(float, learned[0])
        return {"dressing": Dressing(shift, slope, spread, recipe.bounds, recipe.atoms).as_card()}

    def _due(self) -> set[int]:
        return {fit * self._recipe.steps // _FITS for fit in range(_FITS)}

    def _prepare(self, pairs: Pairs) -> Prepared:
        batch = PairBatch.of(pairs.dressed(self._numbers))
        return prepare_tasks(batch, pairs.observations[:, None], np.ones(len(pairs)), self.standards)

    def _order(self, first: int, count: int) -> Index:
        """Pairs number first .. first + count - 1 of an endless sequence of passes, each in an order of its own."""
        taken = []
        while count:
            number, start = divmod(first, len(self._training))
            if self._pass[0] != number:
                rng = np.random.default_rng([self._recipe.seed, 2, number])
                self._pass = number, rng.permutation(len(self._training))
            taken.append(self._pass[1][start : start + count])
            first, count = first + taken[-1].size, count - taken[-1].size
        return np.concatenate(taken)

    def _as_model(self, weights: Mapping[str, NDArray[Any]]) -> Model:
        given = self.standards
        arrays = {name: value.astype(np.float64) for name, value in weights.items()}
        arrays |= {"standard.whole": given.whole, "standard.point": given.point}
        return Model(self._recipe.name, ARCHITECTURES[self._recipe.network.output], arrays, {})


def _some(pairs: Pairs, values: int, seed: int) -> Pairs:
    """At most so many values, of pairs that are drawn by the seed."""
    most = max(values // pairs.members.shape[1], 100)
    if len(pairs) <= most:
        return pairs
    return pairs.where(np.sort(np.random.default_rng([seed, 0]).choice(len(pairs), most, replace=False)))
