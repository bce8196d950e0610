"""Archives in files: forecasts and what came true become one row for each pair, with the number of its time step."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.integrations.xarray.checks import check_alike, listing
from amortized_kde.integrations.xarray.files import open_ensembles, reading


class ArchiveRows(NamedTuple):
    """Members (pairs, n), observations (pairs,) and the number of each pair's time step (pairs,)."""

    members: NDArray[np.floating[Any]]
    observations: NDArray[np.float64]
    times: NDArray[np.int64]


def read_archive(
    path: str,
    *,
    var: str | None,
    obs: str,
    obs_file: str | None = None,
    member_dim: Hashable = "member",
    time_dim: Hashable = "time",
) -> ArchiveRows:
    """Read forecasts, by default the only variable with members, and the observations `obs`, perhaps of another file.

    All is brought into memory.

    Raises
    ------
    UnreadableFileError, InvalidParameterError, InvalidSampleError
        If a file, a variable or a dimension is not there, or the two do not have the same coordinates.
    """
    x = open_ensembles(path, var, member_dim)
    where = path if obs_file is None else obs_file
    with reading(where) as data:
        if obs not in data.data_vars:
            raise InvalidParameterError(f"{where!r} has no variable {obs!r}; it has: {listing(data.data_vars)}.")
        return rows_of(x, data[obs], member_dim=member_dim, time_dim=time_dim)


def rows_of(
    x: xr.DataArray, obs: xr.DataArray, *, member_dim: Hashable = "member", time_dim: Hashable = "time"
) -> ArchiveRows:
    """Put labelled forecasts and observations into rows; time steps are numbered in the order of their coordinate.

    Raises
    ------
    InvalidParameterError, InvalidSampleError
        If a dimension is missing, or the two do not have the same coordinates.

    Examples
    --------
    >>> x = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), coords={"time": [2, 1]})
    >>> rows_of(x, xr.DataArray([1.5, 4.0], dims="time", coords={"time": [2, 1]})).members
    array([[2., 8.],
           [1., 3.]])
    """
    for name, what in ((member_dim, "members (--member-dim)"), (time_dim, "time (--time-dim)")):
        if name not in x.dims:
            raise InvalidParameterError(
                f"the forecasts have no dimension {name!r} for the {what}; theirs are: {listing(x.dims)}."
            )
    if time_dim not in obs.dims:
        raise InvalidSampleError(
            f"the observations have no dimension {time_dim!r} (--time-dim); theirs are: {listing(obs.dims)}."
        )
    check_alike(x, obs, "obs", member_dim)
    if time_dim in x.indexes:
        # The two agree in it by now.
        x, obs = x.sortby(time_dim), obs.sortby(time_dim)
    cells = [time_dim, *(name for name in x.dims if name not in (time_dim, member_dim))]
    members = x.transpose(*cells, member_dim).values
    sizes = members.shape[:-1]
    truth = obs.broadcast_like(x.isel({member_dim: 0}, drop=True)).transpose(*cells)
    times = np.repeat(np.arange(sizes[0]), int(np.prod(sizes[1:], dtype=np.int64)))
    kind = np.float32 if members.dtype == np.float32 else np.float64
    rows: NDArray[np.floating[Any]] = members.reshape(times.size, members.shape[-1]).astype(kind, copy=False)
    return ArchiveRows(rows, np.asarray(truth.values, np.float64).reshape(-1), times)
