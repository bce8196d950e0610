"""The worlds of the paper, by name: Gaussian, multi-family (a pool of settings), and mixtures with K components."""

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde._files import replacing
from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.research.tasks.batch import SETTING, World
from amortized_kde.research.tasks.densities import Densities, join, stack
from amortized_kde.research.tasks.families import FAMILIES, THRESHOLD, draw_settings
from amortized_kde.research.tasks.mixtures import PAPER, Construction, draw_mixtures

# Settings a family (paper, note to Table 1). The paper names no seed for them; this is its training seed
# (Appendix C.2).
POOL_SIZE = 10_000
POOL_SEED = 2026
# Changes when the arrays of a saved pool change their meaning.
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Pool:
    """Settings of several families, `size` for each, one family after the other in `densities`."""

    families: tuple[str, ...]
    size: int
    seed: int
    densities: Densities

    def family(self, name: str) -> Densities:
        """Return the densities of one family."""
        if name not in self.families:
            raise InvalidParameterError(f"this pool has no family {name!r}; it has {', '.join(self.families)}.")
        start = self.families.index(name) * self.size
        return self.densities[start : start + self.size]


def make_pool(
    size: int = POOL_SIZE,
    seed: int = POOL_SEED,
    *,
    families: tuple[str, ...] = tuple(FAMILIES),
    threshold: float = THRESHOLD,
) -> Pool:
    """Draw a pool of settings.

    Parameters
    ----------
    size : int
        Settings a family; the paper has 10,000.
    seed : int
        The settings of one family do not depend on which others are in the pool.
    families : tuple of str
        Names from `FAMILIES`.
    threshold : float
        The least mass of a setting in [-1, 1] before it is truncated.

    Raises
    ------
    InvalidParameterError
        If a family is unknown, there is none, `size` is not positive, or `threshold` is not in (0, 1).

    Examples
    --------
    >>> len(make_pool(5, families=("beta", "gamma")).densities)
    10
    """
    unknown = [name for name in families if name not in FAMILIES]
    if unknown or not families:
        raise InvalidParameterError(f"there is no family {unknown}; the families are {', '.join(FAMILIES)}.")
    if size < 1:
        raise InvalidParameterError(f"a pool needs at least one setting a family, not {size}.")
    if not 0.0 < threshold < 1.0:
        raise InvalidParameterError(f"the mass threshold must lie strictly between 0 and 1, not be {threshold}.")
    names = list(FAMILIES)
    stacks = []
    for name in families:
        rng = np.random.default_rng([seed, names.index(name)])
        stacks.append(draw_settings(FAMILIES[name], size, rng=rng, threshold=threshold))
    return Pool(families, size, seed, join(stacks))


def save_pool(pool: Pool, path: str | os.PathLike[str]) -> None:
    """Write a pool to a file of plain arrays (NumPy's npz; nothing in it is executed on loading)."""
    d = pool.densities
    with replacing(path) as file:
        np.savez_compressed(
            file,
            format=_FORMAT,
            families=np.array(pool.families),
            size=pool.size,
            seed=pool.seed,
            bounds=np.array(d.bounds),
            codes=d.codes,
            origins=d.origins,
            slopes=d.slopes,
            shapes=d.shapes,
            masses=d.masses,
        )


def load_pool(path: str | os.PathLike[str]) -> Pool:
    """Read a pool that `save_pool` wrote.

    Raises
    ------
    UnreadableFileError
        If there is no such file, or it does not hold a pool of this format.
    """
    try:
        with np.load(Path(path), allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        if int(stored["format"]) != _FORMAT:
            raise UnreadableFileError(
                f"{path} holds a pool of format {stored['format']}, not {_FORMAT}: make it again."
            )
        arrays = {name: stored[name] for name in ("codes", "origins", "slopes", "shapes", "masses")}
        densities = Densities(**arrays, bounds=(float(stored["bounds"][0]), float(stored["bounds"][1])))
        return Pool(tuple(map(str, stored["families"])), int(stored["size"]), int(stored["seed"]), densities)
    except (OSError, ValueError, KeyError, EOFError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        raise UnreadableFileError(f"{path} does not hold a pool of task settings ({error}).") from None


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
