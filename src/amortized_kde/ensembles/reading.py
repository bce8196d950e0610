"""Arrays of members, bounds, atoms and options as people write them become `Ensembles`, checked. Nothing is computed.

A cell is what the axes other than the members' count: a place, a time, a lead. Atoms are values that many members share
exactly, such as no rain; members there are counted, and the density is made from the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.reading import read_bounds, read_numbers, read_sample, read_samples
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds, check_inside
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.selection import Selector, find_selector

# Of more values from the past so many are taken: a density that stands in for many cells must be quick.
_REMEMBERED = 1000


@dataclass(frozen=True, eq=False)
class Ensembles:
    """Checked ensembles and how their densities are to be made.

    `samples` are the members away from the atoms, one sample a cell; `members` (cells,) counts those anywhere, `hits`
    (cells, atoms) those at each atom. Cells in `outside` have a member beyond the bounds. `selector` chooses
    bandwidths, unless `given` (cells,) has them. `past` is an ascending sample, perhaps empty, for cells whose members
    give no density.
    """

    samples: Samples
    members: Index
    hits: Index
    outside: Flags
    bounds: Bounds
    atoms: Array
    selector: Selector
    given: Array | None
    past: Array
    threads: int | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells' shape."""
        return self.samples.shape

    @cached_property
    def lost(self) -> Flags:
        """Cells that have no answer to anything: no members, an infinite one, or one beyond the bounds."""
        return np.asarray((self.members == 0) | self.outside)


def read_ensembles(
    x: ArrayLike | Sequence[ArrayLike],
    *,
    bounds: Sequence[float | None] | None,
    method: str | ArrayLike,
    atoms: Sequence[float],
    climatology: ArrayLike | None,
    threads: int | None,
    ascending: bool = False,
) -> Ensembles:
    """Check members of shape (..., n) and the options; see `verification.log_scores` for what they mean.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        For input that cannot be used; the sentence says why.
    """
    limits = read_bounds(bounds)
    named = isinstance(method, str)
    # The bandwidth of values from the past must be chosen, even if those of the cells are given.
    selector = find_selector(method if isinstance(method, str) else "amortized:single")
    points = _read_atoms(atoms, limits)
    everything = read_samples(x, axis=-1, ascending=ascending or (named and selector.ascending))
    samples, hits = _apart(everything, points)
    return Ensembles(
        samples,
        everything.sizes,
        hits,
        everything.outside(limits),
        limits,
        points,
        selector,
        None if named else _read_bandwidths(method, samples.shape),
        np.empty(0) if climatology is None else read_climatology(climatology, bounds=bounds, atoms=atoms),
        threads,
    )


def check_bounds_and_atoms(bounds: Sequence[float | None] | None, atoms: Sequence[float]) -> None:
    """Raise `InvalidBoundsError` or `InvalidParameterError` for those that cannot be used, before anything is read."""
    _read_atoms(atoms, read_bounds(bounds))


def _read_atoms(atoms: Sequence[float], bounds: Bounds) -> Array:
    points = np.unique(read_numbers(np.atleast_1d(np.asarray(atoms)) if np.size(atoms) else np.empty(0), "atoms"))
    if points.size != np.size(atoms) or not np.all(np.isfinite(points)):
        raise InvalidParameterError(f"atoms must be different finite numbers, such as (0,), not {atoms!r}.")
    beyond = points[(points < bounds.lower) | (points > bounds.upper)]
    if beyond.size:
        raise InvalidParameterError(f"the atom {beyond[0]:g} lies outside the bounds {tuple(bounds)}.")
    return points


def _apart(samples: Samples, atoms: Array) -> tuple[Samples, Index]:
    """The samples without members at atoms, and how many members each cell has at each atom."""
    hits = np.zeros((len(samples), atoms.size), np.int64)
    if not atoms.size or not samples.values.size:
        return samples, hits
    kept = np.ones(samples.values.size, bool)
    for k, atom in enumerate(atoms):
        here = samples.values == atom
        hits[:, k] = np.diff(np.concatenate([[0], np.cumsum(here)])[samples.offsets])
        kept &= ~here
    offsets = np.concatenate([[0], np.cumsum(samples.sizes - hits.sum(axis=1))])
    return Samples(samples.values[kept], offsets, samples.shape, samples.unusable), hits


def _read_bandwidths(method: Any, shape: tuple[int, ...]) -> Array:
    given = read_numbers(method, "the bandwidths given as method")
    try:
        return np.array(np.broadcast_to(given, shape)).reshape(-1)
    except ValueError:
        raise InvalidSampleError(
            f"the bandwidths given as method have shape {given.shape}, but there are ensembles of shape {shape}."
        ) from None


def read_climatology(climatology: ArrayLike, *, bounds: Sequence[float | None] | None, atoms: Sequence[float]) -> Array:
    """Read values from the past in any shape: those away from the atoms, ascending, and not more than a thousand.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        If fewer than two different ones are left, or one lies outside the bounds.
    """
    limits = read_bounds(bounds)
    values = read_sample(np.ravel(np.asarray(climatology)), nan="omit", what="climatology").values
    check_inside(values, limits)
    values = values[~np.isin(values, _read_atoms(atoms, limits))]
    if values.size == 0 or values[0] == values[-1]:
        raise InvalidSampleError("climatology needs at least two different values away from the atoms.")
    if values.size > _REMEMBERED:
        values = np.sort(np.random.default_rng(0).choice(values, _REMEMBERED, replace=False))
    return values


def read_observations(obs: ArrayLike, ensembles: Ensembles) -> Array:
    """Read one observation a cell, (cells,); NaN is a missing one.

    Raises
    ------
    InvalidSampleError
        If they are not numbers, or their shape does not fit.
    """
    values = read_numbers(obs, "obs", copy=False)
    try:
        # A copy, for arrays that are only spread are read-only, another type to the compiler.
        return np.array(np.broadcast_to(values, ensembles.shape)).reshape(-1)
    except ValueError:
        raise InvalidSampleError(
            f"obs has shape {values.shape}, but there are ensembles of shape {ensembles.shape}: one observation each."
        ) from None


def read_arguments(at: ArrayLike, what: str, ensembles: Ensembles) -> tuple[Array, tuple[int, ...]]:
    """Read arguments of all densities: a number, (m,) for all cells alike, or (..., m); give (cells, m) and the
    answer's shape.

    Raises
    ------
    InvalidSampleError
        If they are not numbers, or their shape does not fit.
    """
    values = read_numbers(at, what)
    shape = ensembles.shape + values.shape[-1:]
    rows = values[None] if values.ndim == 0 else values
    count = rows.shape[-1]
    try:
        spread = np.array(np.broadcast_to(rows, (*ensembles.shape, count)))
    except ValueError:
        raise InvalidSampleError(
            f"{what} has shape {values.shape}, but there are ensembles of shape {ensembles.shape}: give one list for "
            "all of them, or one each along the last axis."
        ) from None
    return spread.reshape(math.prod(ensembles.shape), count), shape


def read_probabilities(p: ArrayLike, ensembles: Ensembles) -> tuple[Array, tuple[int, ...]]:
    """Read probabilities in [0, 1] as `read_arguments` does.

    Raises
    ------
    InvalidParameterError
        If one is outside.
    """
    values, shape = read_arguments(p, "p", ensembles)
    check_probabilities(values)
    return values, shape


def check_probabilities(p: ArrayLike) -> None:
    """Raise `InvalidParameterError` if a probability is outside [0, 1] or NaN."""
    values = np.asarray(p)
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise InvalidParameterError("probabilities must lie in [0, 1].")
