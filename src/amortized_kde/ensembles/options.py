"""Read members and the options of their densities; nothing is computed here.

A cell is one index of the axes other than the members': a place, a time, a lead time. Atoms are values that many
members share exactly, such as no rain: members at atoms are counted, and the density is that of the others.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags, Index
from amortized_kde.data.reading import read_bounds, read_numbers, read_rows, read_sample, read_samples
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds, check_inside
from amortized_kde.ensembles.calibration import Calibration, Corrected, calibration_of, read_covariates
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.estimate import DEFAULT_METHOD
from amortized_kde.selection import Selector, find_selector

# Members along the last axis; a list of unequal rows is one ensemble per row.
Members = ArrayLike | Sequence[ArrayLike]

# A density that stands in for many cells must be quick, so a larger climatology is thinned to this many values.
_LARGEST_CLIMATOLOGY = 1000
# Selects the bandwidth of a climatology where those of the ensembles are given.
_CLIMATOLOGY_METHOD = "amortized:single"


@dataclass(frozen=True, eq=False)
class Options:
    """How the densities of all cells are made. Plain data, so that dask can send it to workers."""

    bounds: Bounds
    method: str | None  # None if bandwidths are given.
    bandwidth: Array | None  # In data units, one for all cells or one each.
    atoms: Array  # Ascending.
    climatology: Array  # Ascending and away from the atoms; empty if not given.
    threads: int | None = None
    warn: bool = True  # Of cells without an answer; a warning on a worker would be lost.
    calibration: Calibration | None = None  # What the model was trained with.
    covariates: Mapping[str, Any] = field(default_factory=dict)  # As the calibration needs them.

    @classmethod
    def read(
        cls,
        bounds: Sequence[float | None] | None = None,
        method: str | None = None,
        bandwidth: ArrayLike | None = None,
        atoms: Sequence[float] = (),
        climatology: ArrayLike | None = None,
        threads: int | None = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> "Options":
        """Check options as given to `ensembles.log_scores`, which documents them and the errors raised."""
        if method is not None and bandwidth is not None:
            raise InvalidParameterError("give either method or bandwidth, not both.")
        if method is not None and not isinstance(method, str):
            raise InvalidParameterError(f"method must be a name such as 'silverman', not {method!r}; see bandwidth=.")
        if bandwidth is None:
            method = find_selector(DEFAULT_METHOD if method is None else method, "density").name
        calibration = None if method is None else find_calibration(method)
        if calibration is not None:
            bounds, atoms = _agreed(calibration, bounds, atoms)
        limits = read_bounds(bounds)
        points = _read_atoms(atoms, limits)
        past = np.empty(0) if climatology is None else _read_climatology(climatology, limits, points)
        given = None if bandwidth is None else read_numbers(bandwidth, "bandwidth", copy=False)
        return cls(limits, method, given, points, past, threads, True, calibration, dict(covariates or {}))

    @property
    def selector(self) -> Selector:
        """The selector of bandwidths; where these are given, that of the climatology's."""
        return find_selector(_CLIMATOLOGY_METHOD if self.method is None else self.method)


@dataclass(frozen=True, eq=False)
class Ensembles:
    """Checked members of all cells, with the options of their densities."""

    samples: Samples  # Members away from the atoms, one sample per cell.
    members: Index  # (cells,), numbers of all members.
    hits: Index  # (cells, atoms), numbers of members at each atom.
    outside: Flags  # (cells,), whether a member lies outside the bounds.
    selector: Selector
    bandwidths: Array | None  # (cells,), if given; otherwise the selector selects them.
    options: Options
    corrected: Corrected | None = None  # If the model was trained with a calibration.

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells' shape."""
        return self.samples.shape

    @property
    def kernels_alone(self) -> bool:
        """Whether the calibration leaves nothing to the density of the members."""
        return self.options.calibration is not None and self.options.calibration.share == 1.0

    @cached_property
    def invalid(self) -> Flags:
        """Cells without members, or with an infinite member or one outside the bounds: all their answers are NaN."""
        return np.asarray((self.members == 0) | self.outside)


def read_ensembles(x: Members, options: Options, *, ascending: bool | None = None) -> Ensembles:
    """Check members of shape (..., n); they are sorted if `ascending`, by default only where the selector needs it."""
    if options.calibration is not None:
        return _read_calibrated(x, options, options.calibration)
    selector = options.selector
    if ascending is None:
        ascending = options.bandwidth is None and selector.ascending
    everything = read_samples(x, axis=-1, ascending=ascending)
    samples, hits = _without_atoms(everything, options.atoms)
    bandwidths = None if options.bandwidth is None else one_each(options.bandwidth, "bandwidth", everything.shape)
    outside = everything.outside(options.bounds)
    return Ensembles(samples, everything.sizes, hits, outside, selector, bandwidths, options)


def _read_calibrated(x: Members, options: Options, calibration: Calibration) -> Ensembles:
    """Check members and calibrate them; the samples are the moved members, on the calibration's scale."""
    rows = read_rows(x)
    everything = read_samples(rows, axis=-1, ascending=False)
    flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    outside = everything.outside(options.bounds)
    # Infinite members and those outside the bounds have no power; their cells are invalid anyway.
    flat = np.where((outside | everything.unusable)[:, None], np.nan, flat)
    corrected = calibration.correct(flat, read_covariates(calibration, options.covariates, rows.shape[:-1]))
    samples = read_samples(corrected.members.reshape(rows.shape), axis=-1)
    hits = np.stack([(flat == atom).sum(axis=1) for atom in options.atoms], axis=1) if options.atoms.size else None
    none = np.zeros((len(samples), 0), np.int64)
    limits = replace(options, bounds=calibration.limits)
    return Ensembles(
        samples, everything.sizes, none if hits is None else hits, outside, options.selector, None, limits, corrected
    )


def find_calibration(method: str) -> Calibration | None:
    """Return the calibration that the model of this method was trained with, None if there is none."""
    load = getattr(find_selector(method).select, "load", None)
    return None if load is None else calibration_of(load().card, method)


def _agreed(
    calibration: Calibration, bounds: Sequence[float | None] | None, atoms: Sequence[float]
) -> tuple[Sequence[float | None] | None, Sequence[float]]:
    """Return the bounds and atoms of the calibration; raise if others are given."""
    if bounds is not None and read_bounds(bounds) != read_bounds(calibration.bounds):
        raise InvalidParameterError(
            f"the model was trained with the bounds {calibration.bounds}, not {tuple(bounds)}; leave bounds out."
        )
    if np.size(atoms) and sorted(np.ravel(atoms).tolist()) != sorted(calibration.atoms):
        raise InvalidParameterError(
            f"the model was trained with the atoms {calibration.atoms}, not {tuple(atoms)}; leave atoms out."
        )
    return calibration.bounds, calibration.atoms


def _read_atoms(atoms: Sequence[float], bounds: Bounds) -> Array:
    points = np.unique(read_numbers(np.atleast_1d(np.asarray(atoms)) if np.size(atoms) else np.empty(0), "atoms"))
    if points.size != np.size(atoms) or not np.all(np.isfinite(points)):
        raise InvalidParameterError(f"atoms must be different finite numbers, such as (0,), not {atoms!r}.")
    outside = points[(points < bounds.lower) | (points > bounds.upper)]
    if outside.size:
        raise InvalidParameterError(f"the atom {outside[0]:g} lies outside the bounds {tuple(bounds)}.")
    return points


def _read_climatology(climatology: ArrayLike, bounds: Bounds, atoms: Array) -> Array:
    """Return the values away from the atoms, ascending, and thinned if they are many."""
    values = read_sample(np.ravel(np.asarray(climatology)), nan="omit", what="climatology").values
    check_inside(values, bounds)
    values = values[~np.isin(values, atoms)]
    if values.size == 0 or values[0] == values[-1]:
        raise InvalidSampleError("climatology needs at least two different values away from the atoms.")
    if values.size > _LARGEST_CLIMATOLOGY:
        values = np.sort(np.random.default_rng(0).choice(values, _LARGEST_CLIMATOLOGY, replace=False))
    return values


def _without_atoms(samples: Samples, atoms: Array) -> tuple[Samples, Index]:
    """Return the samples without members at atoms, and the number of members of each cell at each atom."""
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


def one_each(values: Array, what: str, shape: tuple[int, ...]) -> Array:
    """Return one number per cell, (cells,); raise `InvalidSampleError` if the shapes do not match."""
    try:
        # A copy: an array that was only broadcast is read-only, which is another type to the compiler.
        return np.array(np.broadcast_to(values, shape)).reshape(-1)
    except ValueError:
        raise InvalidSampleError(
            f"{what} has shape {values.shape}, but the ensembles have shape {shape}: give one number for each."
        ) from None


def read_observations(obs: ArrayLike, ensembles: Ensembles) -> Array:
    """Return one observation per cell, (cells,); NaN is a missing one."""
    return one_each(read_numbers(obs, "obs", copy=False), "obs", ensembles.shape)


def read_arguments(at: ArrayLike, what: str, ensembles: Ensembles) -> tuple[Array, tuple[int, ...]]:
    """Return arguments of all densities as (cells, m), and the shape of the answer.

    They are given as one number or (m,) for all cells alike, or as (..., m).
    """
    values = read_numbers(at, what)
    shape = ensembles.shape + values.shape[-1:]
    rows = values[None] if values.ndim == 0 else values
    count = rows.shape[-1]
    try:
        spread = np.array(np.broadcast_to(rows, (*ensembles.shape, count)))
    except ValueError:
        raise InvalidSampleError(
            f"{what} has shape {values.shape}, but the ensembles have shape {ensembles.shape}: give one list for "
            "all of them, or one for each along the last axis."
        ) from None
    return spread.reshape(math.prod(ensembles.shape), count), shape


def check_probabilities(p: ArrayLike) -> None:
    """Raise `InvalidParameterError` if a probability is outside [0, 1] or NaN."""
    values = np.asarray(p)
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise InvalidParameterError("probabilities must lie in [0, 1].")
