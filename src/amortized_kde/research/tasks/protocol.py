"""What a world of tasks is, and what an author writes who brings a world of their own.

No mathematics here, only the agreement between worlds, batches and training.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index, Words

# A task's density, its n, its sample and its evaluation draws come from four streams, so that none depends on
# the others: a task asked for with another n keeps its density and its draws.
SETTING, SIZE, SAMPLE, DRAWS = range(4)


class Truths(Protocol):
    """The true densities of a run of tasks; `Densities` is one."""

    def __len__(self) -> int: ...

    def logpdf(self, x: ArrayLike) -> Array:
        """Give natural log-densities (tasks, m) at x, (m,) for all or (tasks, m), one row for each."""
        ...

    def fill(self, out: Array, offsets: Index, *, words: Words, first: int, start: int, stop: int) -> None:
        """Write draws of tasks start .. stop - 1 to ``out[offsets[t]:offsets[t + 1]]``, from stream first + t."""
        ...


class World(Protocol):
    """A distribution over densities."""

    @property
    def name(self) -> str:
        """What the world is called in tables and cards."""
        ...

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval on which all its densities live; infinite for the whole line."""
        ...

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Truths:
        """Give the densities of tasks first .. first + count - 1; a density depends on the seed and its index only."""
        ...


class OwnTasks(Protocol):
    """What an author writes: the mathematics of one density at a time. `own_world` does the rest.

    A setting is whatever the author likes: a number, a tuple, an array.
    """

    name: str
    bounds: tuple[float, float]

    def draw_setting(self, *, rng: np.random.Generator) -> Any:
        """Draw the parameters of one density."""
        ...

    def logpdf(self, setting: Any, x: Array) -> Array:
        """Give the natural log-density at x, of the shape of x; it must integrate to 1 over the bounds."""
        ...

    def sample(self, setting: Any, count: int, *, rng: np.random.Generator) -> Array:
        """Draw `count` independent values, all of them inside the bounds."""
        ...
