"""Write results as NetCDF or Zarr, block by block, and whole or not at all."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

from amortized_kde._files import check_target, temporary_name
from amortized_kde.errors import AmortizedKdeError, InvalidParameterError, UnwritableFileError
from amortized_kde.integrations.xarray.files import first_line, quiet
from amortized_kde.numerics.threads import available_threads

_NETCDF, _ZARR = (".nc", ".nc4", ".h5"), ".zarr"
# Bytes of a NetCDF file for each variable besides its values.
_OVERHEAD = 16_384
# A folder of Zarr has one of these, of its formats 3 and 2.
_ZARR_MARKS = ("zarr.json", ".zgroup", ".zarray")


def check_results(path: str, *, overwrite: bool, sources: tuple[str, ...] = ()) -> None:
    """Raise `InvalidParameterError` or `UnwritableFileError` if results cannot or must not be written to `path`."""
    target = Path(path)
    if target.suffix not in (*_NETCDF, _ZARR):
        raise InvalidParameterError(f"{path!r} must end in .nc (NetCDF) or .zarr (Zarr).")
    check_target(path, overwrite=overwrite, sources=sources, folder=target.suffix == _ZARR)
    if target.is_dir() and not any((target / name).is_file() for name in _ZARR_MARKS):
        raise InvalidParameterError(f"{path!r} is a directory, but not a Zarr store; give another --out.")


def write_results(
    results: xr.Dataset, path: str, *, report: Callable[[int, int], None], threads: int | None = None
) -> None:
    """Compute lazy results block by block, and write them as NetCDF or Zarr.

    They are written beside the file and moved to it at the end, so that a file of this name is complete.
    ``report(done, all)`` is called after every step.

    Raises
    ------
    UnwritableFileError
        If the file cannot be written; what was there before is unchanged.
    """
    import dask

    target = os.path.realpath(path)
    part = temporary_name(target)
    if Path(path).suffix != _ZARR:
        _check_space(path, results)
    # Encodings describe the blocks of the source.
    results = results.drop_encoding()
    try:
        # A pool of our own, whose end waits for the blocks under way, so that nobody writes when `part` is removed.
        with (
            quiet(),
            _follow(report),
            ThreadPoolExecutor(available_threads(threads)) as pool,
            dask.config.set(scheduler="threads", pool=pool),
        ):
            store: Any = (
                results.to_zarr(part, mode="w", compute=False)
                if Path(path).suffix == _ZARR
                else results.to_netcdf(part, engine="h5netcdf", compute=False)
            )
            store.compute()
        _move(part, target)
    except AmortizedKdeError:
        raise
    except (OSError, RuntimeError) as error:
        # HDF5 raises both for a full disk.
        raise UnwritableFileError(f"{path!r} cannot be written ({first_line(error)}).") from None
    finally:
        _remove(part)


def _check_space(path: str, results: xr.Dataset) -> None:
    """Raise `UnwritableFileError` if a NetCDF file will not fit: HDF5 crashes the process on a full disk."""
    needed = results.nbytes + _OVERHEAD * len(results.variables)
    free = shutil.disk_usage(Path(path).resolve().parent).free
    if needed > free:
        raise UnwritableFileError(
            f"{path!r} cannot be written (it needs {needed / 1e6:.3g} MB, and {free / 1e6:.3g} MB are free)."
        )


def _move(part: str, target: str) -> None:
    """Move results to their name; a directory cannot be replaced in one move, so that there it first moves aside."""
    if not os.path.isdir(target):
        if os.path.isfile(part):
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(part, target)
        return
    aside = temporary_name(target)
    os.rename(target, aside)
    try:
        os.rename(part, target)
    except BaseException:
        os.rename(aside, target)
        raise
    _remove(aside)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


@contextmanager
def _follow(report: Callable[[int, int], None]) -> Iterator[None]:
    """Report the number of dask's tasks that are done."""
    from dask.callbacks import Callback

    def after(key: Any, result: Any, tasks: Any, state: Mapping[str, Any], worker: Any) -> None:
        done = len(state["finished"])
        report(done, done + sum(len(state[kind]) for kind in ("ready", "waiting", "running")))

    with Callback(posttask=after):  # type: ignore[no-untyped-call]
        yield
