"""What a file of forecasts holds that a user should know before its densities are trusted."""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.rounding import find_rounding
from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.xarray.units import in_units_of

# Enough values to show whether one of them has a probability of its own.
_LOOKED_AT = 200_000


class Survey(NamedTuple):
    """Counts of cells, sentences for the user, and the unit to which observations look rounded, 0 if to none."""

    counts: dict[str, int]
    notes: tuple[str, ...]
    resolution: float


def survey(
    x: xr.DataArray,
    obs: xr.DataArray | None,
    dim: Hashable,
    *,
    bounds: Sequence[float | None] | None = None,
    atoms: Sequence[float] = (),
) -> Survey:
    """Count cells with missing members and members outside the bounds; note atoms that were not given, and units.

    Raises
    ------
    InvalidSampleError
        If all members, or all observations, are missing.
    """
    limits, absent = read_bounds(bounds), x.isnull()
    empty, partly = absent.all([dim]), absent.any([dim])
    sums = {"cells_without_members": empty, "cells_with_missing_members": partly & ~empty}
    if bounds is not None:
        sums["cells_with_members_outside"] = ((x < limits.lower) | (x > limits.upper)).any([dim])
    if obs is not None:
        sums["observations"] = obs.notnull()
    # One computation for all sums, so that a file is read once.
    totals = xr.Dataset({name: part.sum() for name, part in sums.items()}).compute()
    found = {name: int(totals[name]) for name in sums}
    cells = math.prod(size for name, size in x.sizes.items() if name != dim)
    if found["cells_without_members"] == cells:
        raise InvalidSampleError(f"all members of variable {x.name!r} are missing (NaN); check it and its fill value.")
    if found.pop("observations", 1) == 0:
        raise InvalidSampleError("all observations are missing (NaN); check their variable and its fill value.")
    converted = None if obs is None else in_units_of(x, obs)
    notes = *_note_atoms(x, converted, atoms, limits), *_note_units(x, obs)
    return Survey({"cells": cells, **found}, notes, 0.0 if converted is None else _unit(converted))


def _note_atoms(
    x: xr.DataArray, obs: xr.DataArray | None, atoms: Sequence[float], limits: tuple[float, float]
) -> list[str]:
    """Return a sentence for each value with a probability of its own that was not given."""
    values = {"members": _some_values(x)} | ({} if obs is None else {"observations": _some_values(obs)})
    found = {atom for some in values.values() for atom in find_rounding(some).atoms}
    notes = []
    for atom in sorted(found - set(atoms)):
        shares = " and ".join(f"{np.mean(some == atom):.0%} of the {what}" for what, some in values.items())
        side = {limits[0]: ", the lower bound", limits[1]: ", the upper bound"}.get(atom, "")
        every = ",".join(f"{value:g}" for value in sorted({*atoms, atom}))
        notes.append(f"{shares} are exactly {atom:g}{side}; --atoms {every} gives it a probability of its own.")
    return notes


def _unit(obs: xr.DataArray) -> float:
    return find_rounding(_some_values(obs)).unit


def _some_values(x: xr.DataArray) -> Array:
    """Return values that are there, of all cells or of evenly spaced ones."""
    step = max(1, math.ceil(x.size / _LOOKED_AT))
    values = np.asarray(x.isel({name: slice(None, None, step) for name in x.dims[:1]}).values, np.float64)
    return np.asarray(values[~np.isnan(values)])


def _note_units(x: xr.DataArray, obs: xr.DataArray | None) -> list[str]:
    """Return a sentence if observations are converted."""
    if obs is None or in_units_of(x, obs) is obs:
        return []
    return [f"observations are converted from {obs.attrs['units']} to {x.attrs['units']}, the unit of the forecasts."]
