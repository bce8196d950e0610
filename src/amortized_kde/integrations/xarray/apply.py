"""Apply a function of arrays to labelled ensembles: aligned, lazy where the data are, with names, units and counts."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_samples
from amortized_kde.data.support import OPEN
from amortized_kde.ensembles.calibration import PLACE, Calibration, calibrated
from amortized_kde.ensembles.options import Options
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.estimate import refuse_calibrated, warn_of_rows
from amortized_kde.integrations.xarray.checks import (
    SINGLE,
    check_alike,
    check_bandwidth,
    check_members,
    find_member_dim,
    is_lazy,
    listing,
    of_variable,
)
from amortized_kde.integrations.xarray.covariates import needed

Labelled = xr.DataArray | xr.Dataset


class Keywords(TypedDict, total=False):
    """The options of most functions; for a Dataset they may be mappings by variable."""

    bounds: Sequence[float | None] | Mapping[Hashable, Sequence[float | None]] | None
    method: str | Mapping[Hashable, str] | None
    bandwidth: float | xr.DataArray | Mapping[Hashable, float | xr.DataArray] | None
    atoms: Sequence[float] | Mapping[Hashable, Sequence[float]]
    climatology: ArrayLike | Mapping[Hashable, ArrayLike] | None
    covariates: Mapping[str, Any] | None
    threads: int | None


# Long names and units of results after the CF conventions, by the end of the result's name; {} stands for those of the
# variable.
_KINDS = {
    "bandwidth": ("kernel bandwidth of {}", "{}"),
    "log_score": ("logarithmic score of {}", "bits"),
    "log_score_occurrence": ("logarithmic score of {}, whether an atom was hit", "bits"),
    "log_score_amount": ("logarithmic score of {}, where no atom was hit", "bits"),
    "crps": ("continuous ranked probability score of {}", "{}"),
    "threshold_weighted_crps": ("threshold-weighted continuous ranked probability score of {}", "{}"),
    "brier_score": ("Brier score of {} above the threshold", "1"),
    "pit": ("probability integral transform of {}", "1"),
    "rank": ("rank of the observation among the members of {}", "1"),
    "rank_histogram": ("number of observations of {} with each rank among the members", "1"),
    "reliability_forecast": ("mean forecast probability of {} above the threshold", "1"),
    "reliability_observed": ("relative frequency of {} above the threshold", "1"),
    "reliability_counts": ("number of forecast probabilities of {} above the threshold", "1"),
    "density": ("probability density of {}", "1/({})"),
    "probability_below": ("probability of {} up to the threshold", "1"),
    "probability_above": ("probability of {} above the threshold", "1"),
    "quantile": ("quantile of {}", "{}"),
    "atom_probability": ("probability that {} is exactly the atom", "1"),
}
# Attributes that describe the variable itself and would be wrong for a score of it.
_OF_VARIABLE = {"standard_name", "long_name", "units", "cell_methods", "valid_min", "valid_max", "valid_range"}
_OF_VARIABLE |= {"actual_range", "flag_values", "flag_meanings", "ancillary_variables"}


class LabelledEnsembles:
    """Ensembles `x` with members along the dimension `dim`, and the options of their densities; both checked."""

    def __init__(
        self,
        x: Any,
        dim: Hashable,
        *,
        bandwidth: float | xr.DataArray | None = None,
        covariates: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.x, self.dim = check_members(x, dim), dim
        # Arrays by cell that are options: bandwidths, or the covariates that the model's calibration needs.
        self._by_cell: dict[str, xr.DataArray] = {}
        if isinstance(bandwidth, xr.DataArray):
            self._by_cell = {"bandwidth": check_alike(self.x, bandwidth, "bandwidth", dim)}
            # Replaced in every block by the block's part of the array.
            bandwidth = math.nan
        elif bandwidth is not None:
            check_bandwidth(bandwidth)
        self._options = Options.read(bandwidth=bandwidth, **options)
        if self._options.calibration is not None:
            self._by_cell = dict(needed(self.x, self._options.calibration, covariates))

    def apply(
        self,
        function: Callable[..., Any],
        inputs: Sequence[xr.DataArray] = (),
        *,
        kinds: Sequence[str],
        core: Sequence[Hashable] = (),
        new: Mapping[Hashable, int] | None = None,
        **more: Any,
    ) -> list[xr.DataArray]:
        """Return what ``function(members, *inputs, options=..., **more)`` returns, as results of these kinds.

        `core` are dimensions of the first input that are passed whole and kept in the result; `new` are dimensions that
        the function adds, with their sizes.
        """
        arrays = [*inputs, *self._by_cell.values()]
        options = self._options
        if is_lazy(self.x, *arrays):
            # Dask computes several blocks side by side, so each gets one thread by default.
            options = replace(options, threads=options.threads or 1, warn=False)
        results = xr.apply_ufunc(
            partial(_on_block, function=function, options=options, by_cell=tuple(self._by_cell), **more),
            self.x,
            *arrays,
            input_core_dims=[[self.dim], *([list(core)] if inputs else []), *([[]] * (len(arrays) - bool(inputs)))],
            output_core_dims=[[*core, *(new or {})]] * len(kinds),
            dask="parallelized",
            dask_gufunc_kwargs={"output_sizes": dict(new)} if new else {},
            output_dtypes=[float] * len(kinds),
            join="exact",
            # Keeps the attributes of coordinates too.
            keep_attrs="override",
        )
        found = results if len(kinds) > 1 else (results,)
        single = [result.squeeze(SINGLE, drop=True) if SINGLE in result.dims else result for result in found]
        return [named(result, self.x, kind, self.about()) for result, kind in zip(single, kinds, strict=True)]

    def about(self) -> dict[str, Any]:
        """Return attributes that say how the densities were made, in types that every file format can keep."""
        options = self._options
        method: str | float | None = "bandwidths given by cell" if "bandwidth" in self._by_cell else options.method
        about: dict[str, Any] = {"akde_method": float(options.bandwidth) if method is None else method}  # type: ignore[arg-type]
        if options.bounds != OPEN:
            about["akde_bounds"] = " ".join("none" if math.isinf(end) else f"{end:g}" for end in options.bounds)
        if options.atoms.size:
            about["akde_atoms"] = " ".join(f"{atom:g}" for atom in options.atoms)
        return about


def _on_block(
    members: Array,
    *arrays: Array,
    function: Callable[..., Any],
    options: Options,
    by_cell: tuple[str, ...],
    **more: Any,
) -> Any:
    """Call the function on a block, whose last arrays are the options that are given by cell.

    A worker process reads the model's weights itself, once, from its installed package or from the folder that
    ``method="amortized:FOLDER"`` names; they are not part of the options.
    """
    if by_cell:
        given: dict[str, Any] = dict(zip(by_cell, arrays[len(arrays) - len(by_cell) :], strict=True))
        arrays = arrays[: len(arrays) - len(by_cell)]
        if options.calibration is None:
            options = replace(options, bandwidth=given["bandwidth"])
        else:
            options = replace(options, covariates=_covariates(options.calibration, given))
    return function(members, *arrays, options=options, **more)


def calibrated_block(members: Array, *arrays: Array, calibration: Calibration, by_cell: tuple[str, ...]) -> Array:
    """Return calibrated members."""
    return calibrated(members, calibration, _covariates(calibration, dict(zip(by_cell, arrays, strict=True))))


def _covariates(calibration: Calibration, given: dict[str, Any]) -> dict[str, Any]:
    """Return covariates with the names of places in the place of their positions."""
    if PLACE not in given:
        return given
    # The last name, of no place, is that of the position -1.
    names = np.array([*calibration.places, ""])
    return given | {PLACE: names[given[PLACE].astype(np.int64)]}


def bandwidth_block(members: Array, *, options: Options) -> Array:
    """Return one bandwidth per cell."""
    selector = options.selector
    refuse_calibrated(selector)
    samples = read_samples(members, axis=-1, ascending=selector.ascending)
    outside = samples.outside(options.bounds)
    selection = selector.select(samples, options.bounds, threads=options.threads)
    selection.bandwidths[outside] = np.nan
    if options.warn:
        warn_of_rows(samples, outside, selection, selector.name)
    return selection.bandwidths.reshape(samples.shape)


def named(result: xr.DataArray, x: xr.DataArray, kind: str, about: Mapping[str, Any]) -> xr.DataArray:
    """Return the result with its name and attributes: those of the variable that still hold, and its own."""
    title = x.attrs.get("long_name") or x.attrs.get("standard_name") or x.name or "the variable"
    attrs = {key: value for key, value in x.attrs.items() if key not in _OF_VARIABLE}
    if kind == "quantile" and "standard_name" in x.attrs:
        attrs["standard_name"] = x.attrs["standard_name"]
    long_name, units = _KINDS[kind]
    attrs["long_name"] = long_name.format(title)
    of_variable = x.attrs.get("units")
    if kind == "density" and str(of_variable) == "1":
        attrs["units"] = "1"
    elif "{}" not in units or of_variable is not None:
        attrs["units"] = units.format(of_variable)
    result = result.rename(kind if x.name is None else f"{x.name}_{kind}")
    result.attrs = {**attrs, **about}
    return result


def tally(result: xr.DataArray, obs: xr.DataArray | None = None) -> dict[str, int]:
    """Count the cells of a result without an answer; a lazy result is computed.

    Parameters
    ----------
    result : DataArray
        Scores, or another result with one number per cell.
    obs : DataArray, optional
        The observations that were given.

    Returns
    -------
    dict
        ``cells``; ``cells_without_answer``, which are NaN though their observation is not; ``observations_missing``, if
        `obs` is given; and ``infinite``, for scores those whose observation lies outside the bounds.

    Examples
    --------
    >>> tally(xr.DataArray([1.5, np.nan, np.inf]), xr.DataArray([0.0, 1.0, -2.0]))
    {'cells': 3, 'cells_without_answer': 1, 'observations_missing': 0, 'infinite': 1}
    """
    missing = result.isnull()
    parts: dict[str, xr.DataArray] = {"cells_without_answer": missing}
    if obs is not None:
        absent = obs.isnull().broadcast_like(missing)
        parts = {"cells_without_answer": missing & ~absent, "observations_missing": absent}
    parts["infinite"] = abs(result) == math.inf
    # One computation for all sums, so that a lazy result is computed once.
    counts = xr.Dataset({name: part.sum() for name, part in parts.items()}).compute()
    return {"cells": int(result.size), **{name: int(counts[name]) for name in parts}}


def counted(result: xr.DataArray, obs: xr.DataArray | None = None) -> xr.DataArray:
    """Return the result with counts among its attributes, if it is in memory."""
    if is_lazy(result):
        return result
    counts: dict[str, Any] = tally(result, obs)
    infinite = counts.pop("infinite")
    if obs is not None and str(result.name).endswith(("log_score", "log_score_amount")):
        counts["observations_outside_bounds"] = infinite
    return result.assign_attrs(counts)


def cell_numbers(x: xr.DataArray, dim: Hashable) -> xr.DataArray:
    """Number the cells in the order of the array's dimensions; lazily, if the array is."""
    sizes = {name: size for name, size in x.sizes.items() if name != dim}
    total, stride = xr.DataArray(np.int64(0)), 1
    for name in reversed(sizes):
        steps = xr.DataArray(np.arange(sizes[name], dtype=np.int64) * stride, dims=[name])
        total = (steps.chunk({name: x.chunksizes[name]}) if is_lazy(x) else steps) + total
        stride *= sizes[name]
    return total


def each_variable(
    function: Callable[..., Labelled],
    x: Labelled,
    others: Mapping[str, Any],
    dim: Hashable | None,
    options: Mapping[str, Any],
) -> Labelled:
    """Call ``function(array, others, dim, **options)``, for a Dataset on every variable with the members' dimension.

    `others`, such as observations, are then Datasets with the same names. `dim` is found if not given.
    """
    dim = find_member_dim(x, dim)
    if not isinstance(x, xr.Dataset):
        return function(x, others, dim, **options)
    names = [name for name, variable in x.data_vars.items() if dim in variable.dims]
    if not names:
        raise InvalidParameterError(
            f"no variable of the Dataset has the dimension {dim!r} for its members; its dimensions are: "
            f"{listing(x.dims)}. Pass dim=."
        )
    made = []
    for name in names:
        others_here = {what: _of_dataset(other, name, what) for what, other in others.items()}
        result = function(x[name], others_here, dim, **of_variable(options, name, names))
        made.append(result if isinstance(result, xr.Dataset) else result.to_dataset())
    # Only dimensions that a result adds, such as atoms, can differ.
    merged = xr.merge(made, combine_attrs="drop_conflicts", join="outer", compat="override")
    return merged.assign_attrs(x.attrs)


def _of_dataset(other: Any, name: Hashable, what: str) -> Any:
    if not isinstance(other, xr.Dataset):
        raise InvalidSampleError(f"{what} must be a Dataset with the same variables as the ensembles.")
    if name not in other:
        raise InvalidSampleError(f"{what} has no variable {name!r}; it has: {listing(other.data_vars)}.")
    return other[name]
