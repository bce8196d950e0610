"""Files of labelled arrays: NetCDF, Zarr and what else xarray opens come in lazily, results go out block by block."""

import shutil
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

from amortized_kde.errors import InvalidParameterError, MissingExtraError, UnreadableFileError
from amortized_kde.integrations.xarray.checks import listing
from amortized_kde.numerics.threads import available_threads

# Cells and values of a block at most: some seconds of work, and a few megabytes.
_CELLS, _VALUES = 4_000, 1_000_000
_NETCDF, _ZARR = (".nc", ".nc4", ".h5"), ".zarr"


def open_ensembles(path: str, name: str | None, dim: Hashable) -> xr.DataArray:
    """Open a variable with its members along `dim`, in blocks of cells; None for the only one that there is.

    Raises
    ------
    UnreadableFileError, InvalidParameterError
        If there is no such file, or no such variable in it.
    """
    with reading(path) as data:
        found = _choose(data, path, name, lambda x: dim in x.dims, f"the dimension {dim!r}")
        chunks = _blocks(data[found].sizes, dim)
    return _open(path, chunks)[found]


def open_observations(path: str, name: str | None, like: xr.DataArray) -> xr.DataArray:
    """Open a variable, by default that of the ensembles' name, or the only one; in blocks like those of the ensembles.

    Raises
    ------
    UnreadableFileError, InvalidParameterError
        If there is no such file, or no such variable in it.
    """
    with reading(path) as data:
        wanted = str(like.name) if name is None and like.name in data.data_vars else name
        found = _choose(data, path, wanted, lambda x: bool(set(x.dims) & set(like.dims)), "a dimension of the cells")
        chunks = {size: like.chunksizes[size][0] for size in data[found].dims if size in like.chunksizes}
    return _open(path, chunks)[found]


def check_target(path: str, *, overwrite: bool, sources: tuple[str, ...] = ()) -> None:
    """Raise `InvalidParameterError` or `UnreadableFileError` if results cannot or should not be written there."""
    target = Path(path)
    if target.suffix not in (*_NETCDF, _ZARR):
        raise InvalidParameterError(f"{path!r} should end in .nc (NetCDF) or .zarr (Zarr), which says what to write.")
    if any(target.resolve() == Path(source).resolve() for source in sources):
        raise InvalidParameterError(f"{path!r} is read and cannot be written too; give another --out.")
    if target.exists() and not overwrite:
        raise InvalidParameterError(f"{path!r} exists already; give another --out, or --overwrite to replace it.")
    if not target.parent.is_dir():
        raise UnreadableFileError(
            f"{path!r} cannot be written: there is no directory {str(target.parent)!r}; make it first."
        )


def write_results(
    results: xr.Dataset, path: str, *, report: Callable[[int, int], None], threads: int | None = None
) -> None:
    """Compute lazy results block by block, and write them as NetCDF or Zarr.

    They lie beside the file until all is done, so that what bears its name is whole. ``report(done, all)`` hears of
    every step.
    """
    import dask

    target, part = Path(path), Path(f"{path}.part")
    # Encodings tell how the source was stored, in other blocks.
    results = results.drop_encoding()
    try:
        with _quiet(), _follow(report), dask.config.set(scheduler="threads", num_workers=available_threads(threads)):
            store: Any = (
                results.to_zarr(part, mode="w", compute=False)
                if target.suffix == _ZARR
                else results.to_netcdf(part, engine="h5netcdf", compute=False)
            )
            store.compute()
        _remove(target)
        part.rename(target)
    except OSError as error:
        raise UnreadableFileError(f"{path!r} cannot be written ({_first_line(error)}).") from None
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _follow(report: Callable[[int, int], None]) -> Iterator[None]:
    """Tell how many of dask's tasks are done."""
    from dask.callbacks import Callback

    def after(key: Any, result: Any, tasks: Any, state: Mapping[str, Any], worker: Any) -> None:
        done = len(state["finished"])
        report(done, done + sum(len(state[kind]) for kind in ("ready", "waiting", "running")))

    with Callback(posttask=after):  # type: ignore[no-untyped-call]
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Without a host's words about stored chunks that we split, or about its own formats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _open(path: str, chunks: dict[Hashable, int] | None) -> xr.Dataset:
    if not Path(path).exists():
        raise UnreadableFileError(f"there is no file {path!r}.")
    _check_dask()
    try:
        with _quiet():
            return xr.open_dataset(path, engine="zarr" if Path(path).is_dir() else None, chunks=chunks)
    # Every format has its own way to fail.
    except Exception as error:
        # Where xarray knows no such format, it tells of what else could be installed.
        why = "" if "did not find a match" in str(error) else f" ({_first_line(error)})"
        raise UnreadableFileError(f"{path!r} cannot be read as NetCDF or Zarr{why}.") from None


def _check_dask() -> None:
    try:
        import dask.array  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "files of ensembles are read with dask; install it with: pip install 'amortized-kde[xarray]'"
        ) from None


@contextmanager
def reading(path: str, chunks: dict[Hashable, int] | None = None) -> Iterator[xr.Dataset]:
    """Open a file for a while; with `chunks`, ``{}`` for its own, lazily."""
    data = _open(path, chunks)
    try:
        yield data
    finally:
        data.close()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _choose(data: xr.Dataset, path: str, name: str | None, fits: Callable[[xr.DataArray], bool], need: str) -> Hashable:
    """The variable that is meant: the one named, or the only one that fits."""
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
    """How many of each dimension a block has: all members, and of the cells whole last dimensions first."""
    members = max(sizes.get(dim, 1), 1)
    left = max(min(_CELLS, _VALUES // members), 1)
    chunks: dict[Hashable, int] = {dim: members} if dim in sizes else {}
    for name in reversed([name for name in sizes if name != dim]):
        chunks[name] = max(min(sizes[name], left), 1)
        left = max(left // chunks[name], 1)
    return chunks
