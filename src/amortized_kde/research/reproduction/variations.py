"""What the ablations vary: every short training, every world that judges, and which are compared."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from amortized_kde.research.tasks import (
    Construction,
    MixtureWorld,
    MultifamilyWorld,
    Pool,
    UntruncatedWorld,
    World,
    make_pool,
)
from amortized_kde.research.tasks.families import THRESHOLD

_COMPONENTS = 32


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
