"""Pairs of an ensemble and its verifying observation, and the split of their time into blocks.

Neighbouring days are alike, so a random split would train on what it is judged on. Time is cut into blocks of equal
length instead. Of five in a row three are for training, one is for validation and one is held out; their positions
shift from group to group, so that no season always falls into the same part.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import Bounds
from amortized_kde.ensembles.dressing import Dressing, dressed
from amortized_kde.ensembles.options import Options
from amortized_kde.errors import InvalidParameterError, InvalidSampleError

Members = NDArray[np.floating[Any]]

# If more than this fraction of the observations are one value, the density there can be made arbitrarily high.
_ATOM = 0.05
TRAINING, VALIDATION, HELD_OUT = range(3)
# Twelve groups of five blocks cover every season of one year or ten; blocks shorter than five steps would leak.
_GROUP, _MOST_GROUPS, _FEWEST_GROUPS, _SHORTEST = 5, 12, 2, 5
# A bootstrap of fewer pieces of time would underestimate the spread.
_PIECES = 20


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ensembles with their observations.

    Attributes
    ----------
    members : array of shape (pairs, n), float32 or float64
        Ascending, with NaN for missing members last; without members at atoms.
    observations : array of shape (pairs,)
        Inside the bounds, not at an atom.
    times : array of shape (pairs,), int64
        Time step of each pair, from 0.
    steps : int
        Number of time steps in the archive.
    limits : (float or None, float or None), optional
        The variable's bounds as given.
    atoms : tuple of float
        Values with positive probability.
    left_out : dict
        Number of excluded pairs by reason.
    """

    members: Members
    observations: Array
    times: Index
    steps: int
    limits: tuple[float | None, float | None] | None
    atoms: tuple[float, ...]
    left_out: dict[str, int]

    def __len__(self) -> int:
        return self.observations.size

    @property
    def bounds(self) -> Bounds:
        """The variable's bounds, infinite where open."""
        return read_bounds(self.limits)

    def where(self, wanted: Flags | Index) -> "Pairs":
        """Return a subset of the pairs."""
        return replace(
            self, members=self.members[wanted], observations=self.observations[wanted], times=self.times[wanted]
        )

    def dressed(self, numbers: Array | None) -> "Pairs":
        """Return the pairs with members dressed by (a, b, c); unchanged if `numbers` is None."""
        if numbers is None:
            return self
        a, b, c = map(float, numbers)
        # Members at atoms are already excluded, so the dressing needs no atoms.
        return replace(self, members=dressed(self.members, Dressing(a, b, c, self.limits)))

    def fingerprint(self) -> str:
        """Return a checksum of all numbers, which identifies the archive."""
        digest = hashlib.sha256()
        for part in (self.members, self.observations, self.times):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]


def read_pairs(
    members: ArrayLike,
    observations: ArrayLike,
    times: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    atoms: Sequence[float] = (),
) -> Pairs:
    """Return the pairs that can be trained on, and count the others by reason.

    Excluded are pairs whose observation is missing, outside the bounds or at an atom; with a member that is infinite or
    outside the bounds; and with fewer than two different members away from the atoms.

    Parameters
    ----------
    members : array_like of shape (pairs, n)
        Ensembles, NaN for missing members.
    observations : array_like of shape (pairs,)
        NaN where missing.
    times : array_like of int, shape (pairs,)
        Time step of each pair, from 0.
    bounds : (float or None, float or None), optional
        Bounds of the variable.
    atoms : sequence of float
        Values with positive probability, such as 0 for rain.

    Returns
    -------
    Pairs

    Raises
    ------
    InvalidSampleError
        If shapes do not match, or no pair is left.
    InvalidBoundsError, InvalidParameterError
        If bounds or atoms are invalid, or more than 5 % of the observations are one value that is not an atom.

    Examples
    --------
    >>> pairs = read_pairs([[2.0, 1.0, np.nan], [3.0, 4.0, 5.0]], [1.5, np.nan], [0, 1])
    >>> pairs.members, pairs.left_out["observation missing"]
    (array([[ 1.,  2., nan]]), 1)
    """
    Options.read(bounds=bounds, atoms=atoms)
    limits, given = read_bounds(bounds), np.asarray(members)
    kind = np.float32 if given.dtype == np.float32 else np.float64
    rows: Members = given.astype(kind)
    y, when = np.asarray(observations, np.float64), np.asarray(times, np.int64)
    if rows.ndim != 2 or y.shape != rows.shape[:1] or when.shape != y.shape:
        raise InvalidSampleError(
            f"members (pairs, n), observations and times (pairs,) do not fit: {rows.shape}, {y.shape}, {when.shape}."
        )
    with np.errstate(invalid="ignore"):
        outside = np.any((rows < limits.lower) | (rows > limits.upper) | np.isinf(rows), axis=1)
    rows[np.isin(rows, np.asarray(atoms).astype(kind))] = np.nan
    rows.sort(axis=1)
    reasons: dict[str, Flags] = {
        "observation missing": ~np.isfinite(y),
        "observation outside bounds": np.asarray((y < limits.lower) | (y > limits.upper)),
        "observation at an atom": np.isin(y, np.asarray(atoms)),
        "a member outside bounds": np.asarray(outside),
        "fewer than two different members": ~_differ(rows),
    }
    counts, kept = _count(reasons)
    if not kept.any():
        why = ", ".join(f"{count} × {reason}" for reason, count in counts.items() if count) or "the archive is empty"
        raise InvalidSampleError(f"no pair of an ensemble and an observation is left to train on: {why}.")
    _check_ties(y[kept])
    given_bounds: Any = None if bounds is None else tuple(bounds)
    steps = int(when.max()) + 1
    return Pairs(rows[kept], y[kept], when[kept], steps, given_bounds, tuple(map(float, atoms)), counts)


def _differ(rows: Members) -> Flags:
    """Return which ascending rows have two different members."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.diff(rows, axis=1) > 0.0).any(axis=1))


def _count(reasons: dict[str, Flags]) -> tuple[dict[str, int], Flags]:
    """Return how many pairs each reason excludes after those before it, and which are left."""
    left = np.ones(next(iter(reasons.values())).shape, bool)
    counts = {}
    for reason, lost in reasons.items():
        counts[reason] = int(np.sum(left & lost))
        left &= ~lost
    return counts, left


def _check_ties(y: Array) -> None:
    values, counts = np.unique(y, return_counts=True)
    most = int(np.argmax(counts))
    if y.size > 100 and counts[most] > _ATOM * y.size:
        raise InvalidParameterError(
            f"{100 * counts[most] / y.size:.0f} % of the observations are exactly {values[most]:g}, where a density "
            f"has no best height; give that value a probability of its own with --atoms {values[most]:g}."
        )


@dataclass(frozen=True, eq=False)
class Split:
    """The block (steps,) of each time step, and the part (blocks,) that each block belongs to."""

    blocks: Index
    parts: Index

    def part_of(self, times: Index) -> Index:
        """Return the part of each time step: `TRAINING`, `VALIDATION` or `HELD_OUT`."""
        return self.parts[self.blocks[times]]

    @property
    def length(self) -> int:
        """Time steps of the shortest block."""
        return int(np.bincount(self.blocks).min())

    @property
    def piece_length(self) -> int:
        """Time steps of the pieces that a bootstrap of the held-out blocks draws."""
        held_out = int(np.sum(self.parts == HELD_OUT))
        return max(1, self.length // -(-_PIECES // held_out))

    def pieces_of(self, times: Index) -> Index:
        """Return the piece of each time step, numbered from 0 in the order of time; no piece crosses a block."""
        first = np.searchsorted(self.blocks, self.blocks[times])
        within = np.minimum((times - first) // self.piece_length, self.length // self.piece_length - 1)
        return np.unique(self.blocks[times] * len(self.blocks) + within, return_inverse=True)[1].reshape(times.shape)


def split_time(steps: int) -> Split:
    """Cut time steps 0 .. steps - 1 into blocks for training, validation and the report.

    Raises
    ------
    InvalidSampleError
        If there are fewer than 50.

    Examples
    --------
    >>> split = split_time(1095)
    >>> split.parts[:10], split.length, split.piece_length
    (array([0, 1, 0, 2, 0, 2, 0, 0, 1, 0]), 18, 9)
    """
    groups = min(_MOST_GROUPS, steps // (_GROUP * _SHORTEST))
    if groups < _FEWEST_GROUPS:
        raise InvalidSampleError(
            f"the archive has {steps} time steps, too few to hold blocks of time out: at least "
            f"{_FEWEST_GROUPS * _GROUP * _SHORTEST} are needed."
        )
    number = groups * _GROUP
    parts = np.full(number, TRAINING)
    first = np.arange(groups)
    # Positions 1 and 3 of the first group, shifted by two from group to group; 2 and 5 are coprime.
    parts[_GROUP * first + (1 + 2 * first) % _GROUP] = VALIDATION
    parts[_GROUP * first + (3 + 2 * first) % _GROUP] = HELD_OUT
    return Split(np.arange(steps) * number // steps, parts)
