"""The worlds of the paper, by name: Gaussian, multi-family, and Gaussian mixtures with K components."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.research.tasks.batch import SETTING, World
from amortized_kde.research.tasks.densities import Densities, stack
from amortized_kde.research.tasks.mixtures import PAPER, Construction, draw_mixtures
from amortized_kde.research.tasks.pool import Pool, make_pool


@dataclass(frozen=True)
class GaussianWorld:
    """Standard normal tasks on the whole line (paper, section 3.1): every task has the same density."""

    name: str = "gaussian"
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Densities:
        """Return `count` standard normal densities."""
        shapes = np.tile([1.0, 0.0, 1.0], (count, 1))
        return stack("mixture", shapes, origins=np.zeros(count), slopes=np.ones(count), bounds=self.bounds)


@dataclass(frozen=True)
class MultifamilyWorld:
    """Tasks from a pool of settings, every family with the same probability (paper, section 3.2).

    With a pool of one family it is the world of that family alone.
    """

    pool: Pool
    name: str = "multifamily"

    @property
    def bounds(self) -> tuple[float, float]:
        """The reference interval [-1, 1]."""
        return self.pool.densities.bounds

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Densities:
        """Return the densities of tasks first .. first + count - 1; one draw chooses family and setting."""
        u = indexed_uniforms(stream_words(seed, SETTING), first, count)
        return self.pool.densities[(u * len(self.pool.densities)).astype(np.int64)]


@dataclass(frozen=True)
class MixtureWorld:
    """A fresh random Gaussian mixture for every task (paper, section 3.3)."""

    components: int
    bounds: tuple[float, float] = (-1.0, 1.0)
    construction: Construction = PAPER

    @property
    def name(self) -> str:
        """``gmm`` and the number of components, followed by "varied" if the construction is not the paper's."""
        return f"gmm{self.components}" + ("" if self.construction == PAPER else " varied")

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Densities:
        """Return the densities of tasks first .. first + count - 1."""
        words, construction = stream_words(seed, SETTING), self.construction
        return draw_mixtures(
            self.components, count, words=words, first=first, construction=construction, threads=threads
        )


@dataclass(frozen=True)
class UntruncatedWorld:
    """The densities of a bounded world on the whole line, with the tails that truncation removes."""

    bounded: MixtureWorld | MultifamilyWorld
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def name(self) -> str:
        """The bounded world's name, followed by "untruncated"."""
        return f"{self.bounded.name} untruncated"

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Densities:
        """Return the densities of tasks first .. first + count - 1 of the bounded world before truncation."""
        return self.bounded.truths(count, seed=seed, first=first, threads=threads).untruncated()


# Each call makes a new world; the multi-family one makes its pool of 100,000 settings, which takes about a second.
WORLDS: dict[str, Callable[[], World]] = {
    "gaussian": GaussianWorld,
    "multifamily": lambda: MultifamilyWorld(make_pool()),
    "gmm8": lambda: MixtureWorld(8),
    "gmm16": lambda: MixtureWorld(16),
    "gmm32": lambda: MixtureWorld(32),
}


def world(name: str) -> World:
    """Return a world by name.

    Parameters
    ----------
    name : str
        ``gaussian``, ``multifamily``, or ``gmm`` with any number of components: ``gmm8``, ``gmm16``,
        ``gmm32``.

    Raises
    ------
    InvalidParameterError
        If there is no such world.

    Examples
    --------
    >>> world("gmm32").bounds
    (-1.0, 1.0)
    """
    if name in WORLDS:
        return WORLDS[name]()
    if re.fullmatch(r"gmm[1-9][0-9]*", name):
        return MixtureWorld(int(name.removeprefix("gmm")))
    raise InvalidParameterError(f"there is no world {name!r}; take one of {', '.join(WORLDS)}, or gmm with another K.")
