"""Read files of labelled arrays (NetCDF, Zarr) block by block; put forecast archives into rows."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, MissingExtraError, UnreadableFileError
from amortized_kde.integrations.xarray.checks import check_alike, find_member_dim, listing
from amortized_kde.integrations.xarray.times import check_times
from amortized_kde.integrations.xarray.units import in_units_of

# Largest numbers of cells and values in a block: some seconds of work, and a few megabytes.
_BLOCK_CELLS, _BLOCK_VALUES = 4_000, 1_000_000


class ArchiveRows(NamedTuple):
    """Pairs of forecast and observation: members (pairs, n), observations (pairs,) and time steps (pairs,)."""

    members: NDArray[np.floating[Any]]
    observations: Array
    times: Index


def open_ensembles(path: str, name: str | None, dim: Hashable | None = None) -> xr.DataArray:
    """Open a variable, by default the only one with members, in blocks of cells; `dim` is found if not given."""
    with reading(path) as data:
        named = data if name is None or name not in data.data_vars else data[name]
        along = find_member_dim(named, dim)
        found = _choose(data, path, name, lambda x: along in x.dims, f"the dimension {along!r}")
        chunks = _blocks(data[found].sizes, along)
    return _open(path, chunks)[found]


def open_observations(path: str, name: str | None, like: xr.DataArray, dim: Hashable | None = None) -> xr.DataArray:
    """Open a variable, by default the one named as the ensembles or the only one, in the blocks of the ensembles.

    It may be in the file of the ensembles; a variable with their members is not taken for the observations.
    """
    members = find_member_dim(like, dim)
    with reading(path) as data:
        without = [key for key, x in data.data_vars.items() if members not in x.dims and set(x.dims) & set(like.dims)]
        wanted = str(like.name) if name is None and like.name in without else name
        found = _choose(data, path, wanted, lambda x: x.name in without, "dimensions of the cells")
        chunks = {size: like.chunksizes[size][0] for size in data[found].dims if size in like.chunksizes}
    return _open(path, chunks)[found]


def read_covariates(path: str, names: Sequence[str], x: xr.DataArray) -> dict[str, xr.DataArray]:
    """Read those variables of a file that are wanted and are not coordinates of the ensembles."""
    with reading(path) as data:
        return {name: data[name].load() for name in names if name in data.data_vars and name not in x.coords}


def rows_of(
    x: xr.DataArray, obs: xr.DataArray, *, member_dim: Hashable | None = None, time_dim: Hashable = "time"
) -> ArchiveRows:
    """Put labelled forecasts and observations into rows, one for each pair.

    Parameters
    ----------
    x : DataArray
        Forecasts.
    obs : DataArray
        Observations, with the dimensions of `x` without the members', or fewer, and the same coordinates. If its
        ``units`` differ, common ones are converted to those of `x`.
    member_dim : hashable, optional
        The dimension of the members; default: as in `log_scores`.
    time_dim : hashable
        The dimension of time, with a coordinate that increases.

    Returns
    -------
    ArchiveRows
        ``members`` of shape (pairs, n), ``observations`` and ``times`` of shape (pairs,). Times are numbers of time
        steps.

    Raises
    ------
    InvalidParameterError, InvalidSampleError
        If a dimension is missing; times are missing, repeated or not in order; all members or all observations are
        missing; or coordinates or units differ.

    Examples
    --------
    >>> x = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), coords={"time": [1, 2]})
    >>> rows_of(x, xr.DataArray([1.5, 4.0], dims="time", coords={"time": [1, 2]})).members
    array([[1., 3.],
           [2., 8.]])
    """
    member_dim = find_member_dim(x, member_dim)
    for name, what in ((member_dim, "members (--member-dim)"), (time_dim, "time (--time-dim)")):
        if name not in x.dims:
            raise InvalidParameterError(
                f"the forecasts have no dimension {name!r} for the {what}; theirs are: {listing(x.dims)}."
            )
    if time_dim not in obs.dims:
        raise InvalidSampleError(
            f"the observations have no dimension {time_dim!r} (--time-dim); theirs are: {listing(obs.dims)}."
        )
    obs = in_units_of(x, check_alike(x, obs, "obs", member_dim))
    check_times(x, time_dim)
    cells = [time_dim, *(name for name in x.dims if name not in (time_dim, member_dim))]
    members = x.transpose(*cells, member_dim).values
    for what, values in (("members", members), ("observations", obs.values)):
        if np.isnan(values).all():
            raise InvalidSampleError(f"all {what} are missing (NaN); check the variable and its fill value.")
    sizes = members.shape[:-1]
    observed = obs.broadcast_like(x.isel({member_dim: 0}, drop=True)).transpose(*cells)
    times = np.repeat(np.arange(sizes[0]), int(np.prod(sizes[1:], dtype=np.int64)))
    kind = np.float32 if members.dtype == np.float32 else np.float64
    rows: NDArray[np.floating[Any]] = members.reshape(times.size, members.shape[-1]).astype(kind, copy=False)
    return ArchiveRows(rows, np.asarray(observed.values, np.float64).reshape(-1), times)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings of xarray and Zarr about stored chunks that are split, and about formats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _open(path: str, chunks: dict[Hashable, int] | None) -> xr.Dataset:
    if not Path(path).exists():
        raise UnreadableFileError(f"there is no file {path!r}.")
    try:
        import dask.array  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "files of ensembles are read with dask; install it with: pip install 'amortized-kde[xarray]'"
        ) from None
    engine = "zarr" if Path(path).is_dir() else None
    try:
        with quiet():
            try:
                return xr.open_dataset(path, engine=engine, chunks=chunks)
            except (ImportError, ValueError) as error:
                if "cftime" not in f"{error}{error.__cause__}":
                    raise
                # Dates of other calendars need cftime; without it they stay numbers, in the same order.
                return xr.open_dataset(path, engine=engine, chunks=chunks, decode_times=False)
    # Every format raises exceptions of its own.
    except Exception as error:
        # For an unknown format, xarray only lists what could be installed.
        why = "" if "did not find a match" in str(error) else f" ({first_line(error)})"
        raise UnreadableFileError(f"{path!r} cannot be read as NetCDF or Zarr{why}.") from None


@contextmanager
def reading(path: str, chunks: dict[Hashable, int] | None = None) -> Iterator[xr.Dataset]:
    """Open a file, and close it at the end; lazily with `chunks`, in its own chunks with ``{}``."""
    data = _open(path, chunks)
    try:
        yield data
    finally:
        data.close()


def first_line(error: Exception) -> str:
    """Return the first line of a message, without the point at its end."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _choose(data: xr.Dataset, path: str, name: str | None, fits: Callable[[xr.DataArray], bool], need: str) -> Hashable:
    """Return the name of the variable: the one given, or the only one that fits."""
    if name is not None:
        if name not in data.data_vars:
            raise InvalidParameterError(f"{path!r} has no variable {name!r}; it has: {listing(data.data_vars)}.")
        return name
    fitting = [key for key, variable in data.data_vars.items() if fits(variable)]
    if len(fitting) != 1:
        raise InvalidParameterError(
            f"{path!r} has {len(fitting) or 'no'} variables with {need} ({listing(data.data_vars)}, dimensions "
            f"{listing(data.dims)}); name one."
        )
    return fitting[0]


def _blocks(sizes: Mapping[Hashable, int], dim: Hashable) -> dict[Hashable, int]:
    """Return the sizes of a block: all members, and cells, filling the last dimensions first."""
    members = max(sizes.get(dim, 1), 1)
    left = max(min(_BLOCK_CELLS, _BLOCK_VALUES // members), 1)
    chunks: dict[Hashable, int] = {dim: members} if dim in sizes else {}
    for name in reversed([name for name in sizes if name != dim]):
        chunks[name] = max(min(sizes[name], left), 1)
        left = max(left // chunks[name], 1)
    return chunks
