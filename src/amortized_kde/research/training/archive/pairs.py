"""Pairs of an ensemble and its verifying observation, with what is known of both."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.rounding import find_rounding
from amortized_kde.data.support import Bounds
from amortized_kde.ensembles.options import Options
from amortized_kde.errors import InvalidParameterError, InvalidSampleError

# Fewer days than this of harmonics of the year are a trend, which fails when it is extrapolated.
SEASON_DAYS = 330


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ensembles with their observations.

    Attributes
    ----------
    members : array of shape (pairs, n)
        In the order of the file, NaN for missing members.
    observations : array of shape (pairs,)
        Inside the bounds.
    days : array of int, of shape (pairs,)
        Number of the day of each pair, ascending; all pairs of a day are in the same part of a split.
    limits : (float or None, float or None), optional
        The variable's bounds as given.
    atoms : tuple of float
        Values with positive probability.
    resolution : float
        Unit to which the observations are rounded; 0 if they are exact.
    covariates : dict of str to array
        ``day_of_year`` if dates are known, and covariates that were named.
    places : array of str, optional
        Place of each pair.
    names : tuple of str
        Names of the members, if they are not exchangeable.
    left_out : dict
        Number of excluded pairs by reason.
    """

    members: Array
    observations: Array
    days: Index
    limits: tuple[float | None, float | None] | None
    atoms: tuple[float, ...]
    resolution: float
    covariates: dict[str, Array]
    places: NDArray[np.str_] | None
    names: tuple[str, ...]
    left_out: dict[str, int]

    def __len__(self) -> int:
        return self.observations.size

    @property
    def bounds(self) -> Bounds:
        """The variable's bounds, infinite where open."""
        return read_bounds(self.limits)

    @property
    def at_atom(self) -> Index:
        """The number of the atom at each observation, -1 where there is none."""
        found = np.full(len(self), -1)
        for k, atom in enumerate(self.atoms):
            found[self.observations == atom] = k
        return found

    @property
    def has_season(self) -> bool:
        """Whether the days of the year are known, and nearly all occur."""
        return "day_of_year" in self.covariates and int(np.ptp(self.days)) + 1 >= SEASON_DAYS

    def where(self, wanted: Flags | Index) -> "Pairs":
        """Return a subset of the pairs."""
        return replace(
            self,
            members=self.members[wanted],
            observations=self.observations[wanted],
            days=self.days[wanted],
            covariates={name: values[wanted] for name, values in self.covariates.items()},
            places=None if self.places is None else self.places[wanted],
        )

    def inputs(self) -> dict[str, Any]:
        """Return the covariates and places as a calibration takes them."""
        return self.covariates | ({} if self.places is None else {"place": self.places})

    def fingerprint(self) -> str:
        """Return a checksum of all numbers, which identifies the archive."""
        digest = hashlib.sha256()
        for part in (self.members, self.observations, self.days, *self.covariates.values()):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]


def read_pairs(
    members: ArrayLike,
    observations: ArrayLike,
    days: ArrayLike,
    *,
    bounds: Sequence[float | None] | None = None,
    atoms: Sequence[float] | None = None,
    resolution: float | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    places: ArrayLike | None = None,
    names: Sequence[str] = (),
) -> Pairs:
    """Return the pairs that can be trained on, and count the others by reason.

    Excluded are pairs whose observation is missing or outside the bounds, with a member that is infinite or outside
    the bounds, without members, and with a missing covariate.

    Parameters
    ----------
    members : array_like of shape (pairs, n)
        Ensembles, NaN for missing members.
    observations : array_like of shape (pairs,)
        NaN where missing.
    days : array_like of int, shape (pairs,)
        Day of each pair.
    bounds : (float or None, float or None), optional
        Bounds of the variable.
    atoms : sequence of float, optional
        Values with positive probability, such as 0 for rain; default: those that `find_rounding` finds at a bound.
    resolution : float, optional
        Unit to which the observations are rounded, 0 for exact ones; default: what `find_rounding` finds.
    covariates : mapping of str to array_like of shape (pairs,)
        ``day_of_year``, and others.
    places : array_like of str, shape (pairs,), optional
        Places, if each may have a correction of its own.
    names : sequence of str
        Names of the members, if each has a bias and a weight of its own.

    Returns
    -------
    Pairs
        In the order of the days.

    Raises
    ------
    InvalidSampleError
        If shapes do not match, or no pair is left.
    InvalidBoundsError, InvalidParameterError
        If bounds, atoms or the resolution are invalid.

    Examples
    --------
    >>> pairs = read_pairs([[2.0, 1.0, np.nan], [3.0, 4.0, 5.0]], [1.5, np.nan], [0, 1])
    >>> pairs.members, pairs.left_out["observation missing"]
    (array([[ 2.,  1., nan]]), 1)
    """
    rows, y, when = np.array(members, np.float64), np.array(observations, np.float64), np.array(days, np.int64)
    if rows.ndim != 2 or y.shape != rows.shape[:1] or when.shape != y.shape:
        raise InvalidSampleError(
            f"members (pairs, n), observations and days (pairs,) do not fit: {rows.shape}, {y.shape}, {when.shape}."
        )
    found = find_rounding(y)
    limits = read_bounds(bounds)
    chosen = tuple(a for a in found.atoms if a in limits) if atoms is None else tuple(map(float, atoms))
    Options.read(bounds=bounds, atoms=chosen)
    unit = found.unit if resolution is None else float(resolution)
    if not 0.0 <= unit < np.inf:
        raise InvalidParameterError(f"the resolution must be a positive number, or 0 for exact values, not {unit}.")
    more = {name: np.array(values, np.float64) for name, values in (covariates or {}).items()}
    reasons = _reasons(rows, y, limits, more)
    counts, kept = _count(reasons)
    if not kept.any():
        why = ", ".join(f"{count} × {reason}" for reason, count in counts.items() if count) or "the archive is empty"
        raise InvalidSampleError(f"no pair of an ensemble and an observation is left to train on: {why}.")
    given: Any = None if bounds is None else tuple(bounds)
    where = None if places is None else np.asarray(places, np.str_)
    read = Pairs(rows, y, when, given, chosen, unit, more, where, tuple(map(str, names)), counts)
    order = np.argsort(when, kind="stable")
    return read.where(order[kept[order]])


def _reasons(rows: Array, y: Array, limits: Bounds, covariates: Mapping[str, Array]) -> dict[str, Flags]:
    """Return which pairs cannot be trained on, by reason."""
    with np.errstate(invalid="ignore"):
        outside = np.any((rows < limits.lower) | (rows > limits.upper) | np.isinf(rows), axis=1)
    unknown = np.zeros(y.size, bool)
    for values in covariates.values():
        unknown |= ~np.isfinite(values)
    return {
        "observation missing": ~np.isfinite(y),
        "observation outside bounds": np.asarray((y < limits.lower) | (y > limits.upper)),
        "a member outside bounds": np.asarray(outside),
        "all members missing": np.asarray(np.isnan(rows).all(axis=1)),
        "a covariate missing": unknown,
    }


def _count(reasons: dict[str, Flags]) -> tuple[dict[str, int], Flags]:
    """Return how many pairs each reason excludes after those before it, and which are left."""
    left = np.ones(next(iter(reasons.values())).shape, bool)
    counts = {}
    for reason, lost in reasons.items():
        counts[reason] = int(np.sum(left & lost))
        left &= ~lost
    return counts, left


def folds_of(days: Index, count: int) -> Index:
    """Return the fold of each pair: `count` runs of days of about equal length, in the order of time.

    Examples
    --------
    >>> folds_of(np.array([0, 0, 1, 2, 5, 6]), 3)
    array([0, 0, 0, 1, 1, 2])
    """
    different, which = np.unique(days, return_inverse=True)
    return np.asarray(which.reshape(days.shape) * count // different.size)
