"""Read archives of forecasts and observations into rows, one for each pair, with what a calibration may use."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.errors import InvalidParameterError
from amortized_kde.integrations.xarray.checks import find_member_dim, listing
from amortized_kde.integrations.xarray.covariates import (
    DAY_OF_YEAR,
    day_of_year,
    lead_dimension,
    member_names,
    numbers_of,
    place_keys,
)
from amortized_kde.integrations.xarray.files import open_ensembles, open_observations, reading, rows_of


class Archive(NamedTuple):
    """Pairs of forecast and observation.

    Attributes
    ----------
    members : array of shape (pairs, n)
    observations : array of shape (pairs,)
    days : array of int, of shape (pairs,)
        Days from the first; time steps if the times are not dates.
    covariates : dict of str to array of shape (pairs,)
    places : array of str, of shape (pairs,), or None
        None if there is one place.
    names : tuple of str
        Names of the members, () if they are exchangeable.
    """

    members: NDArray[np.floating[Any]]
    observations: Array
    days: Index
    covariates: dict[str, Array]
    places: NDArray[np.str_] | None
    names: tuple[str, ...]


def read_archive(
    path: str,
    *,
    var: str | None = None,
    obs: str | None = None,
    obs_var: str | None = None,
    member_dim: Hashable | None = None,
    time_dim: Hashable = "time",
    covariates: Sequence[str] = (),
) -> Archive:
    """Read forecasts `var` of a file, observations `obs_var` of it or of the file `obs`, and covariates."""
    x = open_ensembles(path, var, member_dim)
    truth = open_observations(path if obs is None else obs, obs_var, x, member_dim)
    with reading(path) as data:
        more = {}
        for name in covariates:
            if name not in data.variables:
                raise InvalidParameterError(
                    f"{path!r} has no variable {name!r} for --covariates; it has: {listing(data.variables)}."
                )
            more[name] = data[name].load()
        return archive_of(x, truth, member_dim=member_dim, time_dim=time_dim, covariates=more)


def archive_of(
    x: xr.DataArray,
    obs: xr.DataArray,
    *,
    member_dim: Hashable | None = None,
    time_dim: Hashable = "time",
    covariates: dict[str, xr.DataArray] | None = None,
) -> Archive:
    """Put labelled forecasts and observations into rows, with the season, lead times, places and covariates.

    Parameters
    ----------
    x, obs, member_dim, time_dim
        As in `rows_of`.
    covariates : dict of str to DataArray, optional
        Numbers with dimensions of the cells.

    Returns
    -------
    Archive
        Its fields are arguments of `read_pairs`.

    Raises
    ------
    InvalidParameterError, InvalidSampleError
        As in `rows_of`, and if a covariate does not hold numbers or has other dimensions than the cells.

    Examples
    --------
    >>> times = np.array(["2024-02-01", "2024-02-03"], "datetime64[ns]")
    >>> x = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), coords={"time": times})
    >>> found = archive_of(x, xr.DataArray([1.5, 4.0], dims="time", coords={"time": times}))
    >>> found.days, found.covariates["day_of_year"]
    (array([0, 2]), array([32., 34.]))
    """
    dim = find_member_dim(x, member_dim)
    rows = rows_of(x, obs, member_dim=dim, time_dim=time_dim)
    cells = [time_dim, *(name for name in x.dims if name not in (time_dim, dim))]
    like = x.isel({dim: 0}, drop=True).transpose(*cells)
    found = {}
    season = day_of_year(x, time_dim)
    if season is not None:
        found[DAY_OF_YEAR] = season
    lead = lead_dimension(x)
    if lead is not None:
        found[str(lead)] = numbers_of(x.coords[lead], lead)
    for name, array in (covariates or {}).items():
        found[name] = numbers_of(array, name)
        unknown = [size for size in found[name].dims if size not in cells]
        if unknown:
            raise InvalidParameterError(
                f"the covariate {name!r} has the dimension {unknown[0]!r}, but it must have one number per cell."
            )
    spatial = [name for name in cells if name not in (time_dim, lead)]
    columns = {name: _rows(array, like, cells) for name, array in found.items()}
    places = _rows(place_keys(x, spatial), like, cells) if spatial else None
    if places is not None:
        places = places.astype(np.str_)
    days = _days(x.coords[time_dim])[rows.times]
    return Archive(rows.members, rows.observations, days, columns, places, member_names(x, dim))


def _rows(array: xr.DataArray, like: xr.DataArray, cells: Sequence[Hashable]) -> NDArray[Any]:
    """Return one value for each pair."""
    sizes = {name: like.sizes[name] for name in cells}
    spread = array.expand_dims({name: size for name, size in sizes.items() if name not in array.dims})
    return np.asarray(spread.transpose(*cells).values).reshape(-1)


def _days(times: xr.DataArray) -> Index:
    """Return the number of each time's day from the first; of each time step if the times are not dates."""
    index = times.to_index()
    if isinstance(index, xr.CFTimeIndex):
        return np.array([(time - index[0]).days for time in index], np.int64)
    if times.dtype.kind != "M":
        return np.arange(times.size)
    days = times.values.astype("datetime64[D]")
    return np.asarray((days - days[0]) / np.timedelta64(1, "D"), np.int64)
