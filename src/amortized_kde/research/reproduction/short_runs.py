"""The short trainings of the ablations: what is varied, training, and scores on common tasks; all are kept on disk."""

import importlib.metadata
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from amortized_kde._files import replacing
from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from amortized_kde.errors import MissingExtraError, UnreadableFileError
from amortized_kde.learned.model import Model
from amortized_kde.learned.paper.features import CONVENTIONS
from amortized_kde.learned.store import read_model
from amortized_kde.research.reproduction.judge import judge_by_draws
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.research.reproduction.protocol import ORACLE
from amortized_kde.research.tasks import (
    Construction,
    MixtureWorld,
    MultifamilyWorld,
    Pool,
    TaskBatch,
    UntruncatedWorld,
    World,
    draw_tasks,
    make_pool,
)
from amortized_kde.research.tasks.families import THRESHOLD
from amortized_kde.selection import SELECTORS

if TYPE_CHECKING:
    from amortized_kde.research.training.recipe import PaperRecipe


# The working domain of every selector here, also of those that learn on the whole line (paper, section 2.3).
_FRAME = (-1.0, 1.0)
# Of the tasks that judge; used nowhere else.
_SEED = 4_205_000_000
# Tasks at a time: 20 MB of draws.
_CHUNK = 2_500
_COMPONENTS = 32
# Judged in every world, beside the oracle.
SILVERMAN = "silverman"


@dataclass(frozen=True)
class Variation:
    """Tasks to learn from: the families with another mass threshold, or mixtures of another construction.

    Truncated to [-1, 1] or on the whole line. `seed` is added to the recipe's.
    """

    threshold: float = THRESHOLD
    construction: Construction | None = None
    truncated: bool = True
    seed: int = 0

    @property
    def recipe(self) -> str:
        """Name of the paper's recipe that is shortened."""
        return "multifamily" if self.construction is None else f"gmm{_COMPONENTS}"

    def world(self) -> World:
        """Return the world of these tasks."""
        bounded: MixtureWorld | MultifamilyWorld
        if self.construction is None:
            bounded = MultifamilyWorld(_pool(self.threshold))
        else:
            bounded = MixtureWorld(_COMPONENTS, construction=self.construction)
        return bounded if self.truncated else UntruncatedWorld(bounded)


@cache
def _pool(threshold: float) -> Pool:
    """Return a pool, which takes a second to make and 10 MB to keep, so that trainings and judges share it."""
    return make_pool(threshold=threshold)


# Every training, by the name of its folder.
TRAININGS = {
    "families": Variation(),
    "families-another-seed": Variation(seed=1),
    "families-0.80": Variation(threshold=0.80),
    "families-0.95": Variation(threshold=0.95),
    "families-0.99": Variation(threshold=0.99),
    "families-whole-line": Variation(truncated=False),
    "mixtures": Variation(construction=Construction()),
    "mixtures-another-seed": Variation(construction=Construction(), seed=1),
    # A fifth to an eighth of the paper's concentration: few components carry weight, as under shrinkage priors.
    "mixtures-sparse": Variation(construction=Construction(concentration=(0.1, 0.5))),
    "mixtures-equal-weights": Variation(construction=Construction(concentration=(math.inf, math.inf))),
    "mixtures-one-scale": Variation(construction=Construction(dispersion=(0.0, 0.0))),
    # The scales reach twice as far at both ends.
    "mixtures-wide-scales": Variation(construction=Construction(reference=(0.0125, 0.44), scales=(0.0075, 0.9))),
    # Dirichlet(1, ..., 1) weights and normal locations, as in Richardson and Green (1997).
    "mixtures-bayesian": Variation(construction=Construction(concentration=(32.0, 32.0), location_sd=0.5)),
    "mixtures-whole-line": Variation(construction=Construction(), truncated=False),
}

# Every world that judges.
WORLDS = {
    "multifamily": TRAININGS["families"],
    "multifamily c >= 0.80": TRAININGS["families-0.80"],
    "multifamily c >= 0.95": TRAININGS["families-0.95"],
    "multifamily c >= 0.99": TRAININGS["families-0.99"],
    "gmm32": TRAININGS["mixtures"],
}


@dataclass(frozen=True)
class Comparison:
    """Models judged in one world, by what the tables call them: short trainings, of which the first is the paper's.

    `repeats` vary nothing: another seed, and the shipped model, whose training is the full one.
    """

    group: str
    world: str
    trainings: Mapping[str, str]
    repeats: Mapping[str, str] = field(default_factory=dict)


BOUNDS = "bounds"
_PAPER_THRESHOLD = {"c >= 0.90 (paper)": "families"}
_THRESHOLDS = {"c >= 0.80": "families-0.80", "c >= 0.95": "families-0.95", "c >= 0.99": "families-0.99"}
_CONSTRUCTIONS = {
    "paper": "mixtures",
    "sparser weights": "mixtures-sparse",
    "equal weights": "mixtures-equal-weights",
    "one scale a task": "mixtures-one-scale",
    "wider scales": "mixtures-wide-scales",
    "flat Dirichlet, normal locations": "mixtures-bayesian",
}
_SAME_FAMILIES = {"another seed": "families-another-seed", "full training": "multifamily"}
_SAME_MIXTURES = {"another seed": "mixtures-another-seed", "full training": "gmm32"}
COMPARISONS = (
    Comparison("mass threshold", "multifamily", {**_PAPER_THRESHOLD, **_THRESHOLDS}, _SAME_FAMILIES),
    *(
        Comparison("mass threshold", f"multifamily {other}", {**_PAPER_THRESHOLD, other: _THRESHOLDS[other]})
        for other in _THRESHOLDS
    ),
    Comparison("mixture construction", "gmm32", _CONSTRUCTIONS, _SAME_MIXTURES),
    Comparison("mixture construction", "multifamily", _CONSTRUCTIONS, _SAME_MIXTURES),
    Comparison(BOUNDS, "multifamily", {"families with bounds": "families", "families without": "families-whole-line"}),
    Comparison(BOUNDS, "gmm32", {"mixtures with bounds": "mixtures", "mixtures without": "mixtures-whole-line"}),
)


@dataclass(frozen=True)
class Judged:
    """Bandwidths and mean scores in bits of selectors, by name, on the tasks of one world, and the true densities'.

    `sizes` holds the n of each task; every array is (tasks,).
    """

    sizes: Array
    truth: Array
    bandwidths: Mapping[str, Array]
    scores: Mapping[str, Array]

    def excess(self, name: str) -> Array:
        """Return the score of each task above the true density's, in bits."""
        return np.asarray(self.scores[name] - self.truth)

    def log2_ratios(self, name: str) -> Array:
        """Return log2(h / best h) of each task."""
        return np.asarray(np.log2(self.bandwidths[name] / self.bandwidths[ORACLE]))


def _shortened(name: str, variation: Variation, steps: int, draws: int) -> "PaperRecipe":
    """Return the paper's recipe with fewer steps, averaged over the same fraction of them, and hardly validated.

    The notes make every varied constant part of the recipe, by which a kept model is recognised.
    """
    from amortized_kde.research.training.recipe import PaperRecipe, find_recipe

    recipe = find_recipe(variation.recipe)
    assert isinstance(recipe, PaperRecipe)
    average = recipe.optimiser.average ** (recipe.steps / steps)
    return replace(
        recipe,
        name=name,
        seed=recipe.seed + variation.seed,
        steps=steps,
        objective=replace(recipe.objective, points=draws),
        optimiser=replace(recipe.optimiser, average=average),
        # Validated once, so that the last step is kept.
        validation=replace(recipe.validation, sizes=[recipe.sizes[0]], tasks_per_size=1, every=steps),
        notes={"tasks": repr(variation)},
    )


def train_short(
    name: str, variation: Variation, kept: Path, *, steps: int, draws: int, report: Callable[[int], None] | None = None
) -> Model:
    """Train a recipe of the paper for a few steps on varied tasks, or read the model that an earlier call kept.

    Parameters
    ----------
    name : str
        Name of the model and of its folder.
    variation : Variation
        The tasks to learn from.
    kept : Path
        The folder of kept models; one made with other constants, features or another version is trained anew.
    steps, draws : int
        Training steps, and draws that score each task; the paper's recipes have 40,000 and 1024.
    report : callable, optional
        Called with the number of each step, and once with `steps` if the model was kept.

    Raises
    ------
    MissingExtraError
        If JAX and its companions are not installed.
    """
    try:
        from amortized_kde.research.training.loop import train
    except ImportError as error:
        raise MissingExtraError(
            f"short trainings need {error.name}; install it with: pip install 'amortized-kde[train]'"
        ) from None
    recipe, folder, report = _shortened(name, variation, steps, draws), kept / name, report or (lambda step: None)
    model = _finished(folder, recipe)
    if model is None:
        world = variation.world()
        train(recipe, folder, world=world, frame=_FRAME, report=lambda progress: report(progress.step))
        model = read_model(folder)
    report(steps)
    return model


def _finished(folder: Path, recipe: "PaperRecipe") -> Model | None:
    """Return the model that an earlier run kept, if it is complete and was made in the same way."""
    try:
        model = read_model(folder)
    except UnreadableFileError:
        return None
    made = {
        "recipe": recipe.as_card(),
        "conventions": {name: CONVENTIONS[name] for name in recipe.network.inputs},
        "package_version": importlib.metadata.version("amortized-kde"),
    }
    return model if {key: model.card[key] for key in made} == json.loads(json.dumps(made)) else None


def judge_world(name: str, variation: Variation, models: Mapping[str, Model], kept: Path, *, tasks: int) -> Judged:
    """Judge models, Silverman's rule and the best single bandwidth on the same fresh tasks, n ~ Unif{5..256}.

    Scores are float64 sums over 1024 draws. The arrays are kept in `kept`, and read if nothing has changed.
    """
    path = kept / (re.sub(r"[^a-z0-9]+", "-", name) + ".npz")
    key = json.dumps([repr(variation), tasks, {name: model.card["sha256"] for name, model in models.items()}])
    arrays = _read(path, key)
    if arrays is None:
        world, counts = variation.world(), [min(_CHUNK, tasks - first) for first in range(0, tasks, _CHUNK)]
        parts = [
            _judge_chunk(draw_tasks(world, count, seed=_SEED, first=i * _CHUNK), models)
            for i, count in enumerate(counts)
        ]
        arrays = {field: np.concatenate([part[field] for part in parts]) for field in parts[0]}
        _write(path, key, arrays)
    by_name = {
        what: {name: arrays[f"{what} {name}"] for name in (*models, SILVERMAN, ORACLE)} for what in ("h", "score")
    }
    return Judged(arrays["n"], arrays["truth"], by_name["h"], by_name["score"])


def _judge_chunk(batch: TaskBatch, models: Mapping[str, Model]) -> dict[str, Array]:
    frame, samples, judge = Bounds(*batch.bounds), batch.samples, judge_by_draws(batch)
    bandwidths = {name: model.architecture.select(model, samples, frame).bandwidths for name, model in models.items()}
    bandwidths[SILVERMAN] = SELECTORS[SILVERMAN].select(samples, frame).bandwidths
    bandwidths[ORACLE] = best_bandwidths(judge)
    arrays = {"n": batch.sizes.astype(np.float64), "truth": batch.true_scores()}
    for name, h in bandwidths.items():
        arrays |= {f"h {name}": h, f"score {name}": judge.scores(h)[0]}
    return arrays


def _read(path: Path, key: str) -> dict[str, Array] | None:
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files if name != "key"} if str(file["key"]) == key else None


def _write(path: Path, key: str, arrays: Mapping[str, Array]) -> None:
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, key=np.array(key), **arrays)
