"""Pairs of an ensemble and its verifying observation, checked, and what was left out and why. JAX is not known here."""

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

# If one value is a larger share of all observations, a density there can be made as high as one likes.
_ATOM = 0.05


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ensembles with what came true.

    Attributes
    ----------
    members : array of shape (pairs, n), float32 or float64
        Ascending, with NaN for missing members last; without members at atoms.
    observations : array of shape (pairs,)
        Inside the bounds, not at an atom.
    times : array of shape (pairs,), int64
        The number of each pair's time step.
    steps : int
        How many time steps the archive has.
    limits : (float or None, float or None), optional
        The variable's bounds as they were given.
    atoms : tuple of float
        Values with a probability of their own.
    left_out : dict
        How many pairs were left out, by reason.
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
        """Give some of the pairs."""
        return replace(
            self, members=self.members[wanted], observations=self.observations[wanted], times=self.times[wanted]
        )

    def dressed(self, numbers: Array | None) -> "Pairs":
        """The same with members dressed by (a, b, c), or as they are."""
        if numbers is None:
            return self
        a, b, c = map(float, numbers)
        # There are no members at atoms here, and none are to be kept off them.
        return replace(self, members=dressed(self.members, Dressing(a, b, c, self.limits)))

    def fingerprint(self) -> str:
        """Give a checksum of all numbers, by which an archive is known again."""
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
    """Check members (pairs, n), observations (pairs,) and the numbers of their time steps; leave out what is no pair.

    Left out and counted are pairs without an observation, with one outside the bounds or at an atom, with a member
    outside the bounds or infinite, and with fewer than two different members away from the atoms.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        If shapes do not fit, nothing is left, or many observations are one and the same number that is no atom.

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
        beyond = np.any((rows < limits.lower) | (rows > limits.upper) | np.isinf(rows), axis=1)
    rows[np.isin(rows, np.asarray(atoms).astype(kind))] = np.nan
    rows.sort(axis=1)
    reasons: dict[str, Flags] = {
        "observation missing": ~np.isfinite(y),
        "observation outside bounds": np.asarray((y < limits.lower) | (y > limits.upper)),
        "observation at an atom": np.isin(y, np.asarray(atoms)),
        "a member outside bounds": np.asarray(beyond),
        "fewer than two different members": ~_differ(rows),
    }
    counts, kept = _count(reasons)
    if not kept.any():
        told = ", ".join(f"{count} × {reason}" for reason, count in counts.items() if count) or "the archive is empty"
        raise InvalidSampleError(f"no pair of an ensemble and an observation is left to learn from: {told}.")
    _check_ties(y[kept])
    whole: Any = None if bounds is None else tuple(bounds)
    steps = int(when.max()) + 1
    return Pairs(rows[kept], y[kept], when[kept], steps, whole, tuple(map(float, atoms)), counts)


def _differ(rows: Members) -> Flags:
    """Which ascending rows have two different members."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.diff(rows, axis=1) > 0.0).any(axis=1))


def _count(reasons: dict[str, Flags]) -> tuple[dict[str, int], Flags]:
    """How many pairs each reason takes away after those before it, and which are left."""
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
