"""One estimator by kind of data: every family, mixtures of few and many components, every kind of the broad world.

The classical selectors of `REFERENCES` are scored on the same tasks.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.research.tasks import (
    FAMILIES,
    MixtureWorld,
    MultifamilyWorld,
    Pool,
    TaskBatch,
    World,
    draw_tasks,
    make_pool,
)
from amortized_kde.research.tasks.broad.batch import BroadBatch, broad_batch
from amortized_kde.research.tasks.broad.kinds import KINDS, KNOWN_BOUNDS, KNOWN_BOUNDS_PROBABILITIES
from amortized_kde.score import LN2, Mean
from contests.rivals import fit_or_fall_back
from contests.scores import mean_of_cells
from contests.task_scores import scores_of_method

REFERENCES = ("sheather-jones", "lcv")
SIZES = (5, 10, 30, 100, 256)
COMPONENTS = (1, 2, 4, 8, 16, 32)
# Used nowhere else: neither in training nor in validation nor for another table.
_SEED = 8_140_000_000
_DRAWS = 256


@dataclass(frozen=True)
class Setting:
    """What is drawn (`family`, `components` or `kind`, and which), which bounds are known, and n."""

    group: str
    which: str
    bounds: str
    n: int


def all_settings(sizes: Sequence[int] = SIZES) -> Iterator[Setting]:
    """Return every setting, with known and unknown bounds; in the broad world, with all that it has.

    Examples
    --------
    >>> next(all_settings())
    Setting(group='family', which='gaussian', bounds='known', n=5)
    """
    for n in sizes:
        for bounds in ("known", "unknown"):
            yield from (Setting("family", family, bounds, n) for family in FAMILIES)
            yield from (Setting("components", str(k), bounds, n) for k in COMPONENTS)
        for kind, probabilities in zip(KINDS, KNOWN_BOUNDS_PROBABILITIES, strict=True):
            pairs = zip(KNOWN_BOUNDS, probabilities, strict=True)
            yield from (Setting("kind", kind, known, n) for known, probability in pairs if probability > 0.0)


def draw_setting(setting: Setting, count: int) -> TaskBatch | BroadBatch:
    """Draw the tasks of a setting."""
    if setting.group == "kind":
        known = [KNOWN_BOUNDS.index(setting.bounds)]
        return broad_batch(count, seed=_SEED, sizes=setting.n, kinds=[setting.which], known_bounds=known, draws=_DRAWS)
    return draw_tasks(_world(setting), count, seed=_SEED, sizes=setting.n, draws=_DRAWS)


def _world(setting: Setting) -> World:
    if setting.group == "components":
        return MixtureWorld(int(setting.which))
    return MultifamilyWorld(_pool(setting.which))


@cache
def _pool(family: str) -> Pool:
    """Make the pool of a family, which takes a while, once for all sizes."""
    return make_pool(families=(family,))


class Difference(NamedTuple):
    """Mean and median of a method's scores minus a reference's; negative is better."""

    mean: Mean
    median: float


def setting_differences(setting: Setting, method: str, count: int) -> dict[str, Difference]:
    """Compare a method with each reference on the tasks of a setting.

    Samples of equal values, which rounding produces in the broad world, are left out: no reference has an answer.
    """
    batch = draw_setting(setting, count)
    limits = _limits(setting, batch)
    varied = batch.values[batch.offsets[:-1]] < batch.values[batch.offsets[1:] - 1]
    ours, *others = (_scores(m, batch, limits)[varied] for m in (method, *REFERENCES))
    return {
        name: Difference(mean_of_cells([ours - other]), float(np.median(ours - other)))
        for name, other in zip(REFERENCES, others, strict=True)
    }


def _limits(setting: Setting, batch: TaskBatch | BroadBatch) -> list[Bounds]:
    """The known bounds of every task."""
    if isinstance(batch, BroadBatch):
        return [Bounds(*map(float, pair)) for pair in zip(batch.lower, batch.upper, strict=True)]
    return [Bounds(*batch.bounds) if setting.bounds == "known" else OPEN] * len(batch)


def _scores(method: str, batch: TaskBatch | BroadBatch, limits: list[Bounds]) -> Array:
    """Mean scores (tasks,); NaN for samples of equal values."""
    if isinstance(batch, TaskBatch):
        return np.asarray(scores_of_method(method, batch, limits[0]).scores[0])
    samples, failures = np.split(batch.values, batch.offsets[1:-1]), Counter[str]()
    out = np.full(len(batch), np.nan)
    for t, (x, bounds, y) in enumerate(zip(samples, limits, batch.draws, strict=True)):
        if x[0] < x[-1]:
            out[t] = np.mean(fit_or_fall_back(method, x, bounds, failures)(y)) / -LN2
    return out
