"""Labelled arrays as people hand them over, checked before anything is computed: one sentence for each mistake."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from amortized_kde.errors import InvalidParameterError, InvalidSampleError


def listing(names: Any) -> str:
    """Names in a sentence."""
    return ", ".join(map(str, names)) or "none"


def is_lazy(*arrays: xr.DataArray) -> bool:
    """Say whether one of them is not in memory but in chunks."""
    return any(array.chunks is not None for array in arrays)


def check_members(x: Any, dim: Hashable) -> xr.DataArray:
    """Give the array, if it is one of numbers with its members together along `dim`.

    Raises
    ------
    InvalidSampleError, InvalidParameterError
        If not.
    """
    if not isinstance(x, xr.DataArray):
        raise InvalidSampleError(f"the ensembles must be a DataArray or a Dataset, not a {type(x).__name__}.")
    if dim not in x.dims:
        raise InvalidParameterError(
            f"{_name(x)} has no dimension {dim!r} for its members; its dimensions are: {listing(x.dims)}. Name it: dim."
        )
    _check_numbers(x)
    chunks = x.chunksizes.get(dim, ())
    if len(chunks) > 1:
        raise InvalidSampleError(
            f"{_name(x)} has its members in {len(chunks)} chunks along {dim!r}, but a density needs all members of a "
            f"cell together: rechunk first, x.chunk({{{dim!r}: -1}})."
        )
    return x


def _name(x: xr.DataArray) -> str:
    return "the array of ensembles" if x.name is None else f"variable {x.name!r}"


def _check_numbers(x: xr.DataArray) -> None:
    if x.dtype.kind not in "iuf":
        raise InvalidSampleError(f"{_name(x)} must hold real numbers, not values of type {x.dtype}.")


def check_alike(x: xr.DataArray, other: Any, what: str, dim: Hashable) -> xr.DataArray:
    """Give the other array, if it has one number for each cell of `x`, perhaps fewer dimensions, and its coordinates.

    Raises
    ------
    InvalidSampleError
        If not.
    """
    if not isinstance(other, xr.DataArray):
        raise InvalidSampleError(
            f"{what} must be a DataArray with the dimensions of the cells, not a {type(other).__name__}."
        )
    if dim in other.dims:
        raise InvalidSampleError(f"{what} has the members' dimension {dim!r}, but there is one number a cell.")
    strange = [name for name in other.dims if name not in x.dims]
    if strange:
        raise InvalidSampleError(
            f"{what} has the dimension {strange[0]!r}, which the ensembles lack; theirs are: {listing(x.dims)}."
        )
    _check_numbers(other)
    check_coordinates(x, other, what)
    return other


def check_coordinates(x: xr.DataArray, other: xr.DataArray, what: str) -> None:
    """Raise `InvalidSampleError` where the two share a dimension, but not its length or its coordinates."""
    for name in (shared for shared in other.dims if shared in x.dims):
        ours, theirs = x.sizes[name], other.sizes[name]
        if ours != theirs:
            raise InvalidSampleError(f"{what} has {theirs} values along {name!r}, but the ensembles have {ours}.")
        if name not in x.indexes or name not in other.indexes:
            continue
        here, there = x.indexes[name], other.indexes[name]
        if not here.equals(there):
            at = int(np.flatnonzero(np.asarray(here != there))[0])
            raise InvalidSampleError(
                f"{what} and the ensembles have different coordinates along {name!r}, first at {at}: {there[at]} and "
                f"{here[at]}; align them first."
            )


def of_variable(options: Mapping[str, Any], name: Hashable, names: Sequence[Hashable]) -> dict[str, Any]:
    """Give the options of one variable: of a mapping by variable its entry, or if it has none, nothing.

    Raises
    ------
    InvalidParameterError
        If a mapping names a variable that is not there.
    """
    mine = {}
    for key, option in options.items():
        if not isinstance(option, Mapping):
            mine[key] = option
            continue
        strange = [entry for entry in option if entry not in names]
        if strange:
            raise InvalidParameterError(f"{key} names {strange[0]!r}, but the variables are: {listing(names)}.")
        if name in option:
            mine[key] = option[name]
    return mine
