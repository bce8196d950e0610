"""One function of NumPy blocks becomes one of labelled arrays: aligned, lazy where the data are, named, counted."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde.ensembles.reading import check_bounds_and_atoms, read_climatology
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.estimate import DEFAULT_METHOD
from amortized_kde.integrations.xarray.blocks import Options
from amortized_kde.integrations.xarray.checks import (
    check_alike,
    check_coordinates,
    check_members,
    is_lazy,
    listing,
    of_variable,
)
from amortized_kde.integrations.xarray.names import named
from amortized_kde.selection import find_selector

Labelled = xr.DataArray | xr.Dataset
# A dimension of length one for the time being.
ONE = "_one"


class Shared(TypedDict, total=False):
    """The options that most functions share; those of a Dataset may be mappings by variable."""

    bounds: Sequence[float | None] | Mapping[Hashable, Sequence[float | None]] | None
    method: str | float | xr.DataArray | Mapping[Hashable, Any]
    atoms: Sequence[float] | Mapping[Hashable, Sequence[float]]
    climatology: ArrayLike | Mapping[Hashable, ArrayLike] | None
    threads: int | None


class Request:
    """Ensembles along a dimension and options, checked; blocks are asked through it."""

    def __init__(
        self,
        x: Any,
        dim: Hashable,
        *,
        bounds: Sequence[float | None] | None = None,
        method: str | float | xr.DataArray = DEFAULT_METHOD,
        atoms: Sequence[float] = (),
        climatology: ArrayLike | None = None,
        threads: int | None = None,
    ) -> None:
        self.x, self.dim = check_members(x, dim), dim
        self._bandwidths: list[xr.DataArray] = []
        if isinstance(method, xr.DataArray):
            self._bandwidths = [check_alike(self.x, method, "method", dim)]
        elif isinstance(method, str):
            find_selector(method)
        elif np.ndim(method):
            raise InvalidSampleError("bandwidths given as method must be one number, or a DataArray of the cells.")
        elif not 0.0 < float(method) < math.inf:
            raise InvalidParameterError(f"a bandwidth must be a positive number, not {method!r}.")
        check_bounds_and_atoms(bounds, atoms)
        # At most a thousand numbers of the past go to the workers.
        past = None if climatology is None else read_climatology(climatology, bounds=bounds, atoms=atoms)
        given = None if isinstance(method, xr.DataArray) else method
        self._options = Options(bounds, given, tuple(atoms), past, threads)

    def ask(
        self,
        block: Callable[..., Any],
        inputs: Sequence[xr.DataArray] = (),
        *,
        kinds: Sequence[str],
        core: Sequence[Hashable] = (),
        new: Mapping[Hashable, int] | None = None,
        **more: Any,
    ) -> list[xr.DataArray]:
        """Apply a block's function, and name what comes out.

        `core` are dimensions of the first input that it takes whole and gives back; `new` are dimensions that it makes.
        """
        arrays = [*inputs, *self._bandwidths]
        lazy = is_lazy(self.x, *arrays)
        options = self._options
        if lazy:
            # Dask computes several blocks side by side, each of which gets one thread, unless told otherwise.
            options = replace(options, threads=options.threads or 1, aloud=False)
        cores = [[self.dim], *([list(core)] if inputs else []), *([[]] * (len(arrays) - bool(inputs)))]
        out = [*core, *(new or {})]
        results = xr.apply_ufunc(
            partial(block, options=options, **more),
            self.x,
            *arrays,
            input_core_dims=cores,
            output_core_dims=[out] * len(kinds),
            dask="parallelized",
            dask_gufunc_kwargs={"output_sizes": dict(new)} if new else {},
            output_dtypes=[float] * len(kinds),
            join="exact",
            # Those of the coordinates too.
            keep_attrs="override",
        )
        about = self._about()
        found = results if len(kinds) > 1 else (results,)
        single = [result.squeeze(ONE, drop=True) if ONE in result.dims else result for result in found]
        return [named(result, self.x, kind, about) for result, kind in zip(single, kinds, strict=True)]

    def _about(self) -> dict[str, Any]:
        """How the densities were made, in attributes that every file format can keep."""
        options = self._options
        method = "bandwidths given by cell" if options.method is None else options.method
        about: dict[str, Any] = {"akde_method": method if isinstance(method, str) else float(method)}
        if options.bounds is not None:
            about["akde_bounds"] = " ".join("none" if end is None else f"{end:g}" for end in options.bounds)
        if options.atoms:
            about["akde_atoms"] = " ".join(f"{atom:g}" for atom in options.atoms)
        return about


def read_argument(
    values: ArrayLike | xr.DataArray, request: Request, what: str, dim: str, *, units: bool
) -> tuple[xr.DataArray, Hashable]:
    """Read thresholds and the like, and say along which dimension a cell has its own.

    Numbers are for all cells alike and make a new dimension; a DataArray may have the cells' dimensions and one more.
    Where a cell has just one, the dimension is `ONE`.

    Raises
    ------
    InvalidSampleError, InvalidParameterError
        If they cannot be read, or do not fit the cells.
    """
    if isinstance(values, xr.DataArray):
        own = [name for name in values.dims if name not in request.x.dims]
        if len(own) > 1 or request.dim in values.dims:
            raise InvalidSampleError(
                f"{what} may have the dimensions of the cells and one more, not {listing(values.dims)}."
            )
        check_coordinates(request.x, values, what)
        # A cell needs all its own together.
        return (values.chunk({own[0]: -1}) if is_lazy(values) else values, own[0]) if own else _single(values)
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidSampleError(
            f"{what} must be a number, a list of numbers or a DataArray, not {values!r}."
        ) from None
    if numbers.ndim > 1:
        raise InvalidSampleError(f"{what} has {numbers.ndim} dimensions without names; pass a DataArray.")
    if dim in request.x.dims:
        raise InvalidParameterError(f"the ensembles have a dimension {dim!r} already; rename it first.")
    own_units = {key: request.x.attrs[key] for key in ("units",) if units and key in request.x.attrs}
    coordinate = xr.Variable(dim if numbers.ndim else (), numbers, own_units)
    array = xr.DataArray(numbers, dims=[dim] * numbers.ndim, coords={dim: coordinate})
    return (array, dim) if numbers.ndim else _single(array)


def _single(values: xr.DataArray) -> tuple[xr.DataArray, Hashable]:
    return values.expand_dims(ONE), ONE


def each_variable(
    function: Callable[..., Labelled],
    x: Labelled,
    others: Mapping[str, Any],
    dim: Hashable,
    options: Mapping[str, Any],
) -> Labelled:
    """Call ``function(array, others, **options)``; of a Dataset, on every variable that has the members' dimension.

    `others`, such as observations, are then Datasets with the same names.
    """
    if not isinstance(x, xr.Dataset):
        return function(x, others, **options)
    names = [name for name, variable in x.data_vars.items() if dim in variable.dims]
    if not names:
        raise InvalidParameterError(
            f"no variable of the Dataset has the dimension {dim!r} for its members; its dimensions are: "
            f"{listing(x.dims)}. Name it: dim."
        )
    made = []
    for name in names:
        theirs = {what: _of_dataset(other, name, what) for what, other in others.items()}
        result = function(x[name], theirs, **of_variable(options, name, names))
        made.append(result if isinstance(result, xr.Dataset) else result.to_dataset())
    # Only dimensions that a result has for itself, such as atoms, can differ.
    merged = xr.merge(made, combine_attrs="drop_conflicts", join="outer", compat="override")
    return merged.assign_attrs(x.attrs)


def _of_dataset(other: Any, name: Hashable, what: str) -> Any:
    if not isinstance(other, xr.Dataset):
        raise InvalidSampleError(f"{what} must be a Dataset with the same variables as the ensembles.")
    if name not in other:
        raise InvalidSampleError(f"{what} has no variable {name!r}; it has: {listing(other.data_vars)}.")
    return other[name]
