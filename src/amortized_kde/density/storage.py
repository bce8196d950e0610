"""Write a density to a file and read it back (NumPy's npz format, uncompressed and without pickle).

A file may come from anywhere. It must have exactly the arrays of `TYPES`, and each entry of the archive exactly the
bytes that its shape needs, so that no more memory is taken than the file is long; then the parts are checked as if a
caller had given them.
"""

import io
import math
import os
import stat
from collections.abc import Callable
from dataclasses import astuple
from typing import IO, Any, Literal, TypeVar
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from amortized_kde._files import replacing
from amortized_kde.data.support import Bounds
from amortized_kde.density.background import Background
from amortized_kde.density.parts import Parts, check_parts
from amortized_kde.errors import AmortizedKdeError, InvalidParameterError, UnreadableFileError

T = TypeVar("T")

FORMAT = 5
# Kind of each array's entries. What a density has not (shares, background, domain, anchors) is an empty array.
TYPES = {
    "format": "i",
    "points": "f",
    "weights": "f",
    "bandwidths": "f",
    "shares": "f",
    "epsilon": "f",
    "background": "f",
    "bounds": "f",
    "domain": "f",
    "method": "U",
    "anchors": "i",
    "name": "U",
}
_NUMPY_TYPES = {"i": np.dtype("<i8"), "f": np.dtype("<f8")}
_LONGEST_TEXT = 10_000


def save_parts(parts: Parts, path: str | os.PathLike[str]) -> None:
    """Write the parts to a file, in one move: a full disk leaves what was there before."""
    with replacing(file_name(path)) as file:
        np.savez(file, **parts_to_arrays(parts))


def parts_to_arrays(parts: Parts) -> dict[str, Any]:
    """Return the arrays that describe the parts, by name."""
    background = () if parts.background is None else astuple(parts.background)
    return {
        "format": np.array(FORMAT, "<i8"),
        "points": parts.points,
        "weights": parts.weights,
        "bandwidths": parts.bandwidths,
        "shares": np.empty((0, 0)) if parts.shares is None else parts.shares,
        "epsilon": np.array(parts.epsilon),
        "background": np.array(background, float),
        "bounds": np.array(parts.bounds),
        "domain": np.array(() if parts.domain is None else parts.domain, float),
        "method": np.array(parts.method),
        "anchors": np.empty(0, np.int64) if parts.anchors is None else parts.anchors,
        "name": np.array(parts.name),
    }


def file_name(path: str | os.PathLike[str]) -> str:
    """Return a path as text, or raise `InvalidParameterError`."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise InvalidParameterError(f"expected the name of a file, not a {type(path).__name__}.") from None


def load_parts(path: str | os.PathLike[str]) -> Parts:
    """Read the parts that `save_parts` wrote, or raise an `UnreadableFileError`."""
    return read_density(path, _read)


def read_density(path: str | os.PathLike[str], read: Callable[[IO[bytes]], T]) -> T:
    """Return what `read` finds in a file, or raise an `UnreadableFileError` whatever is wrong with it."""
    name = file_name(path)
    try:
        # Opening a pipe would wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UnreadableFileError("it is not a regular file")
        with open(path, "rb") as file:
            return read(file)
    except AmortizedKdeError as error:
        raise UnreadableFileError(f"{name} does not contain a valid density: {str(error).rstrip('.')}.") from None
    except Exception as error:
        # Damaged bytes make zipfile and NumPy raise nearly anything, even MemoryError and NotImplementedError.
        reason = f"{type(error).__name__}: {error}"[:200]
        raise UnreadableFileError(f"{name} cannot be read as a saved density ({reason}).") from None


def _read(file: IO[bytes]) -> Parts:
    with ZipFile(file) as archive:
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        if "format" not in entries or "points" not in entries:
            raise UnreadableFileError("it was not written by KernelDensity.save")
        check_entries(entries, len(archive.infolist()), os.fstat(file.fileno()).st_size, TYPES, FORMAT)
        return parts_of_arrays({name: read_array(archive, entries[name], kind) for name, kind in TYPES.items()})


def check_entries(entries: dict[str, ZipInfo], count: int, file_size: int, types: dict[str, str], version: int) -> None:
    """Raise `UnreadableFileError` unless an archive has exactly the entries of `types`, uncompressed."""
    if entries.keys() != types.keys() or count != len(types):
        raise UnreadableFileError(f"it is not in format {version}, which this version writes; save the density again")
    if any(entry.compress_type != ZIP_STORED or entry.flag_bits & 1 for entry in entries.values()):
        raise UnreadableFileError("its entries are compressed or encrypted, unlike those of a saved density")
    if sum(entry.file_size for entry in entries.values()) > file_size:
        raise UnreadableFileError("its entries claim more bytes than the file has")


def read_array(archive: ZipFile, entry: ZipInfo, kind: str) -> NDArray[Any]:
    """Return an array of the kind i, f or U, whose shape the entry's bytes fill, or raise `UnreadableFileError`."""
    data = archive.read(entry)
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise UnreadableFileError(f"the array {entry.filename} has an unsupported version of NumPy's format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    wanted = dtype.kind == "U" if kind == "U" else dtype == _NUMPY_TYPES[kind]
    if not wanted or any(side < 0 for side in shape):
        raise UnreadableFileError(f"the array {entry.filename} has entries of type {dtype}")
    if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise UnreadableFileError(f"the array {entry.filename} does not have the bytes of its shape {shape}")
    order: Literal["F", "C"] = "F" if fortran else "C"
    return np.asarray(np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape, order=order), order="C")


def parts_of_arrays(stored: dict[str, NDArray[Any]]) -> Parts:
    """Return the parts that arrays by the names of `TYPES` describe, checked."""
    for name in ("format", "epsilon", "method", "name"):
        if stored[name].shape != ():
            raise UnreadableFileError(f"{name} must be a single entry")
    if stored["format"] != FORMAT:
        raise UnreadableFileError(f"it has format {stored['format']}, and this version reads {FORMAT} only")
    method, anchors, shares = str(stored["method"]), stored["anchors"], stored["shares"]
    if max(len(method), len(str(stored["name"]))) > _LONGEST_TEXT:
        raise UnreadableFileError("the name of its method or variable is too long")
    background = _numbers(stored["background"], (0, 4))
    domain = _numbers(stored["domain"], (0, 2))
    parts = Parts(
        points=stored["points"],
        weights=stored["weights"],
        bandwidths=stored["bandwidths"],
        shares=None if shares.shape == (0, 0) else shares,
        epsilon=float(stored["epsilon"]),
        background=Background(*background) if background else None,
        bounds=Bounds(*_numbers(stored["bounds"], (2,))),
        domain=Bounds(*domain) if domain else None,
        method=method,
        anchors=None if anchors.shape == (0,) else anchors,
        name=str(stored["name"]),
    )
    check_parts(parts)
    return parts


def _numbers(array: NDArray[Any], sizes: tuple[int, ...]) -> list[float]:
    if array.ndim != 1 or array.size not in sizes:
        raise UnreadableFileError(f"an array has shape {array.shape} instead of {sizes[-1]} numbers")
    return [float(number) for number in array]
