"""Check labelled arrays before anything is computed; every mistake is one sentence."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.integrations.xarray.times import calendar_of

# A temporary dimension of length one.
SINGLE = "_single"
# Names of the members' dimension in files of weather centres; the CF conventions have the standard name realization.
MEMBER_NAMES = ("member", "number", "realization", "ensemble", "mem", "ens")


def listing(names: Any) -> str:
    """Return names as they stand in a sentence."""
    return ", ".join(map(str, names)) or "none"


def is_lazy(*arrays: xr.DataArray) -> bool:
    """Return whether one of them is in chunks, not in memory."""
    return any(array.chunks is not None for array in arrays)


def find_member_dim(x: Any, dim: Hashable | None = None) -> Hashable:
    """Return `dim` if given, otherwise the dimension that has the members by its name or its standard name.

    Raises
    ------
    InvalidParameterError
        If no dimension, or more than one, looks like the members'.
    """
    if dim is not None or not isinstance(x, (xr.DataArray, xr.Dataset)):
        return MEMBER_NAMES[0] if dim is None else dim
    named = [c for c in x.coords.values() if c.ndim == 1 and c.attrs.get("standard_name") == "realization"]
    found: list[Hashable] = list(dict.fromkeys(c.dims[0] for c in named))
    found = found or [name for name in x.dims if str(name).lower() in MEMBER_NAMES]
    if len(found) != 1:
        raise InvalidParameterError(
            f"{'none' if not found else 'more than one'} of the dimensions {listing(x.dims)} looks like that of the "
            "members; name it with dim= (on the command line: --member-dim)."
        )
    return found[0]


def check_members(x: Any, dim: Hashable) -> xr.DataArray:
    """Return the ensembles; raise unless they are a DataArray of real numbers with members unchunked along `dim`."""
    if not isinstance(x, xr.DataArray):
        raise InvalidSampleError(f"the ensembles must be a DataArray or a Dataset, not a {type(x).__name__}.")
    if dim not in x.dims:
        raise InvalidParameterError(
            f"{_name(x)} has no dimension {dim!r} for its members; its dimensions are: {listing(x.dims)}. Pass dim=."
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
    """Return the other array, which has one number per cell of `x`, perhaps broadcast from fewer dimensions."""
    if not isinstance(other, xr.DataArray):
        raise InvalidSampleError(
            f"{what} must be a DataArray with the dimensions of the cells, not a {type(other).__name__}."
        )
    if dim in other.dims:
        raise InvalidSampleError(f"{what} has the members' dimension {dim!r}, but it must have one number per cell.")
    unknown = [name for name in other.dims if name not in x.dims]
    if unknown:
        raise InvalidSampleError(
            f"{what} has the dimension {unknown[0]!r}, which the ensembles lack; theirs are: {listing(x.dims)}."
        )
    _check_numbers(other)
    check_coordinates(x, other, what)
    return other


def check_coordinates(x: xr.DataArray, other: xr.DataArray, what: str) -> None:
    """Raise `InvalidSampleError` if the two differ in the length or the coordinates of a dimension that both have."""
    for name in (shared for shared in other.dims if shared in x.dims):
        ours, theirs = x.sizes[name], other.sizes[name]
        if ours != theirs:
            raise InvalidSampleError(f"{what} has {theirs} values along {name!r}, but the ensembles have {ours}.")
        if name not in x.indexes or name not in other.indexes:
            continue
        here, there = x.indexes[name], other.indexes[name]
        ours_in, theirs_in = calendar_of(x, name), calendar_of(other, name)
        if ours_in != theirs_in and None not in (ours_in, theirs_in):
            raise InvalidSampleError(
                f"{what} has dates of the calendar {theirs_in} along {name!r}, but the ensembles have {ours_in}; "
                "convert one of them first, with convert_calendar."
            )
        if not here.equals(there):
            at = int(np.flatnonzero(np.asarray(here != there))[0])
            raise InvalidSampleError(
                f"{what} and the ensembles have different coordinates along {name!r}, first at {at}: {there[at]} and "
                f"{here[at]}; align them first."
            )


def check_bandwidth(bandwidth: float) -> None:
    """Raise `InvalidSampleError` or `InvalidParameterError` unless it is one positive number."""
    if np.ndim(bandwidth):
        raise InvalidSampleError("bandwidth must be one number, or a DataArray with the dimensions of the cells.")
    if isinstance(bandwidth, str) or not 0.0 < float(bandwidth) < math.inf:
        raise InvalidParameterError(f"a bandwidth must be a positive number, not {bandwidth!r}.")


def read_argument(
    values: ArrayLike | xr.DataArray, x: xr.DataArray, dim: Hashable, what: str, new: str
) -> tuple[xr.DataArray, Hashable]:
    """Return arguments of the densities, and the dimension along which a cell has several of them.

    Numbers hold for all cells, and a list becomes the dimension `new`; a DataArray has the cells' dimensions and at
    most one more. Where a cell has a single argument, the dimension is `SINGLE`.
    """
    if isinstance(values, xr.DataArray):
        others = [name for name in values.dims if name not in x.dims]
        if len(others) > 1 or dim in values.dims:
            raise InvalidSampleError(
                f"{what} may have the dimensions of the cells and one more, not {listing(values.dims)}."
            )
        check_coordinates(x, values, what)
        if not others:
            return values.expand_dims(SINGLE), SINGLE
        # All arguments of a cell must be in one block.
        return values.chunk({others[0]: -1}) if is_lazy(values) else values, others[0]
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidSampleError(
            f"{what} must be a number, a list of numbers or a DataArray, not {values!r}."
        ) from None
    if numbers.ndim > 1:
        raise InvalidSampleError(f"{what} has {numbers.ndim} dimensions without names; pass a DataArray.")
    if new in x.dims:
        raise InvalidParameterError(f"the ensembles have a dimension {new!r} already; rename it first.")
    # Probabilities have no units; other arguments have the variable's.
    units = {key: x.attrs[key] for key in ("units",) if what != "p" and key in x.attrs}
    coordinate = xr.Variable(new if numbers.ndim else (), numbers, units)
    array = xr.DataArray(numbers, dims=[new] * numbers.ndim, coords={new: coordinate})
    return (array, new) if numbers.ndim else (array.expand_dims(SINGLE), SINGLE)


def of_variable(options: Mapping[str, Any], name: Hashable, names: Sequence[Hashable]) -> dict[str, Any]:
    """Return the options of one variable: of mappings by variable its entry, if there is one."""
    found = {}
    for key, option in options.items():
        if not isinstance(option, Mapping):
            found[key] = option
            continue
        unknown = [entry for entry in option if entry not in names]
        if unknown:
            raise InvalidParameterError(f"{key} names {unknown[0]!r}, but the variables are: {listing(names)}.")
        if name in option:
            found[key] = option[name]
    return found
