"""Diagrams of calibration of labelled ensembles: reliability of probabilities, and ranks of observations."""

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any, Unpack

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.ensembles.answers import check_seed
from amortized_kde.ensembles.diagrams import draw_ranks, read_bins
from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.xarray.apply import Keywords, Labelled, cell_numbers, each_variable, named
from amortized_kde.integrations.xarray.checks import check_coordinates, check_members
from amortized_kde.integrations.xarray.functions import probabilities
from amortized_kde.integrations.xarray.verification import check_observations

# The dimension of the bins, as in xskillscore.
_BIN = "forecast_probability"


def ranks(x: Labelled, obs: Labelled, dim: Hashable | None = None, *, seed: int = 0) -> Labelled:
    """Return ranks of observations among the members, from 1: `ensembles.ranks`.

    `x`, `obs` and `dim` as in `log_scores`. The draw at ties depends on `seed` and the cell's position in the array,
    not on the chunks.
    """
    check_seed(seed)

    def one(x: Any, others: dict[str, Any], dim: Hashable) -> Labelled:
        return _ranks(x, others["obs"], dim, seed)

    return each_variable(one, x, {"obs": obs}, dim, {})


def _ranks(x: Any, obs: Any, dim: Hashable, seed: int) -> xr.DataArray:
    members = check_members(x, dim)
    found: xr.DataArray = xr.apply_ufunc(
        partial(draw_ranks, seed=seed),
        members if members.dtype.kind == "f" else members.astype(float),
        check_observations(members, obs, dim),
        cell_numbers(members, dim),
        input_core_dims=[[dim], [], []],
        dask="parallelized",
        output_dtypes=[float],
        join="exact",
        keep_attrs="override",
    )
    return named(found, members, "rank", {})


def rank_histogram(
    x: Labelled,
    obs: Labelled,
    dim: Hashable | None = None,
    *,
    over: Hashable | Iterable[Hashable] | None = None,
    seed: int = 0,
) -> Labelled:
    """Return how many observations have each rank, along a new dimension ``rank``: `ensembles.rank_histogram`.

    Other parameters as in `ranks`.

    Parameters
    ----------
    over : hashable or iterable of hashable, optional
        Dimensions whose cells are counted together; default: all.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 2.0], [3.0, 5.0], [2.0, 7.0]], dims=("time", "member"), name="wind")
    >>> rank_histogram(members, xr.DataArray([1.5, 4.0, 9.0], dims="time")).values
    array([0, 2, 1])
    """
    check_seed(seed)

    def one(x: Any, others: dict[str, Any], dim: Hashable) -> Labelled:
        found = _ranks(x, others["obs"], dim, seed)
        numbers = np.arange(1, x.sizes[dim] + 2)
        hits = found == xr.DataArray(numbers, dims="rank", coords={"rank": numbers})
        return named(hits.sum(_pooled(found, over)), x, "rank_histogram", {})

    return each_variable(one, x, {"obs": obs}, dim, {})


def reliability(
    x: Labelled,
    obs: Labelled,
    thresholds: ArrayLike | xr.DataArray,
    dim: Hashable | None = None,
    *,
    bins: int | ArrayLike = 10,
    over: Hashable | Iterable[Hashable] | None = None,
    **options: Unpack[Keywords],
) -> xr.Dataset:
    """Return the data of reliability diagrams of exceeding thresholds: `ensembles.reliability`.

    `thresholds` as in `probabilities`, other parameters as in `log_scores`.

    Parameters
    ----------
    bins : int or array_like
        Number of equal bins of the forecast probability, or their edges from 0 to 1.
    over : hashable or iterable of hashable, optional
        Dimensions whose cells are pooled; default: all dimensions of the cells.

    Returns
    -------
    Dataset
        ``wind_reliability_forecast``, ``wind_reliability_observed`` and ``wind_reliability_counts`` for a variable
        ``wind``, along the dimension ``forecast_probability``, whose coordinate has the bins' centres.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), name="wind")
    >>> seen = xr.DataArray([2.5, 1.0], dims="time")
    >>> reliability(members, seen, 2.0, bins=2, bandwidth=1.0).wind_reliability_observed.values
    array([nan, 0.5])
    """
    read_bins(bins)

    def one(x: Any, others: dict[str, Any], dim: Hashable, **keywords: Any) -> Labelled:
        p = probabilities(check_members(x, dim), thresholds, dim, above=True, **keywords)
        assert isinstance(p, xr.DataArray)
        observed = check_observations(x, others["obs"], dim)
        levels = thresholds if isinstance(thresholds, xr.DataArray) else p.coords["threshold"]
        hit = (observed > levels).where(observed.notnull())
        cells = [name for name in p.dims if name in x.dims] if over is None else over
        parts = reliability_of(p, hit, bins=bins, over=cells)
        about = {key: value for key, value in p.attrs.items() if str(key).startswith("akde_")}
        return xr.merge([named(parts[key], x, f"reliability_{key}", about).to_dataset() for key in parts.data_vars])

    made = each_variable(one, x, {"obs": obs}, dim, options)
    assert isinstance(made, xr.Dataset)
    return made


def reliability_of(
    probabilities: xr.DataArray,
    outcomes: xr.DataArray,
    *,
    bins: int | ArrayLike = 10,
    over: Hashable | Iterable[Hashable] | None = None,
) -> xr.Dataset:
    """Return the data of a reliability diagram of any forecast probabilities: `ensembles.reliability_of`.

    Parameters
    ----------
    probabilities : DataArray
        Forecast probabilities; NaN is a missing forecast.
    outcomes : DataArray
        Whether the event occurred: true or false, or 1 and 0; NaN is a missing observation.
    bins, over
        As in `reliability`, but all dimensions are pooled by default.

    Returns
    -------
    Dataset
        ``forecast``, ``observed`` and ``counts`` along the dimension ``forecast_probability``.
    """
    if not isinstance(probabilities, xr.DataArray) or not isinstance(outcomes, xr.DataArray):
        raise InvalidSampleError("probabilities and outcomes must be DataArrays.")
    check_coordinates(probabilities, outcomes, "outcomes")
    edges = read_bins(bins)
    p, hit = xr.broadcast(probabilities, outcomes.astype(float))
    known = p.notnull() & hit.notnull()
    place = xr.apply_ufunc(_bin_of, p, kwargs={"edges": edges}, dask="parallelized", output_dtypes=[np.int64])
    centres = 0.5 * (edges[1:] + edges[:-1])
    here = (place == xr.DataArray(np.arange(centres.size), dims=_BIN, coords={_BIN: centres})) & known
    pooled = _pooled(p, over)
    counts = here.sum(pooled)
    divisor = counts.where(counts > 0)
    means = {key: part.where(here).sum(pooled) / divisor for key, part in (("forecast", p), ("observed", hit))}
    return xr.Dataset({**means, "counts": counts}).drop_attrs()


def _bin_of(p: Array, edges: Array) -> Array:
    return np.minimum(np.searchsorted(edges, p, side="right") - 1, edges.size - 2)


def _pooled(x: xr.DataArray, over: Hashable | Iterable[Hashable] | None) -> list[Hashable]:
    """Return the dimensions to sum over; raise `InvalidSampleError` if the array lacks one."""
    if over is None:
        return list(x.dims)
    names: list[Hashable] = [over] if isinstance(over, str) or not isinstance(over, Iterable) else list(over)
    unknown = [name for name in names if name not in x.dims]
    if unknown:
        raise InvalidSampleError(f"over names {unknown[0]!r}, but the cells have the dimensions {list(x.dims)}.")
    return names
