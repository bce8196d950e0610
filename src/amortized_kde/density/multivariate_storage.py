"""Write a density of several variables to a file and read it back, as `storage` does for one variable.

A margin that several parts share is stored once. What is read is checked as if a caller had given it.
"""

import os
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from amortized_kde._files import replacing
from amortized_kde._types import Array
from amortized_kde.data.multivariate import MOST_VARIABLES, check_in_box
from amortized_kde.data.reading import LARGEST_VALUE, LONGEST_NAME, read_bounds
from amortized_kde.data.support import Bounds
from amortized_kde.density.components import Components, Part, check_components
from amortized_kde.density.kernel_density import KernelDensity
from amortized_kde.density.storage import (
    TYPES,
    check_entries,
    file_name,
    parts_of_arrays,
    parts_to_arrays,
    read_array,
    read_density,
)
from amortized_kde.errors import UnreadableFileError

if TYPE_CHECKING:
    from amortized_kde.density.multivariate import MultivariateDensity

FORMAT = 1
_TYPES = {"multivariate_format": "i", "points": "f", "weights": "f", "names": "U", "bounds": "f", "method": "U"}
_PART_TYPES = {"weights": "f", "means": "f", "factors": "f", "shape_of": "i", "sizes": "f", "dofs": "f"}
# Of the parts: their weights, and the numbers of their margins, of shape (parts, d), -1 for parts in data units.
_PARTS_TYPES = {"part_weights": "f", "part_margins": "i"}
_SUM_TOLERANCE = 1e-9

Fields = tuple[tuple[Part, ...], Array, Array, tuple[str, ...], tuple[Bounds, ...], str]


def save_density(density: "MultivariateDensity", path: str | os.PathLike[str]) -> None:
    """Write a density to a file, in one move."""
    margins: dict[int, KernelDensity] = {}
    for part in density.parts:
        margins |= {id(margin): margin for margin in part.margins or ()}
    number = {key: k for k, key in enumerate(margins)}
    none = [-1] * density.dimension
    arrays: dict[str, Any] = {
        "multivariate_format": np.array(FORMAT, "<i8"),
        "points": density.points,
        "weights": density.weights,
        "names": np.array(density.names),
        "bounds": np.array(density.box, float),
        "method": np.array(density.method),
        "part_weights": np.array([part.weight for part in density.parts]),
        "part_margins": np.array(
            [none if part.margins is None else [number[id(one)] for one in part.margins] for part in density.parts],
            np.int64,
        ),
    }
    for k, part in enumerate(density.parts):
        arrays |= {f"part{k}.{name}": getattr(part.components, name) for name in _PART_TYPES}
    for k, margin in enumerate(margins.values()):
        arrays |= {f"margin{k}.{name}": array for name, array in parts_to_arrays(margin.__getstate__()).items()}  # type: ignore[arg-type]
    with replacing(file_name(path)) as file:
        np.savez(file, **arrays)


def load_density(path: str | os.PathLike[str]) -> Fields:
    """Return the fields of a `MultivariateDensity` that `save_density` wrote, or raise an `UnreadableFileError`."""
    return read_density(path, _read)


def _read(file: IO[bytes]) -> Fields:
    with ZipFile(file) as archive:
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        if not {"multivariate_format", "part_margins"} <= entries.keys():
            raise UnreadableFileError("it is no file that MultivariateDensity.save wrote")
        wanted = read_array(archive, entries["part_margins"], "i")
        if wanted.ndim != 2 or wanted.shape[0] == 0 or not (wanted.min() >= -1 and wanted.max() < wanted.size):
            raise UnreadableFileError("its parts have no margins that could be found")
        types = _TYPES | _PARTS_TYPES
        types |= {f"part{k}.{name}": kind for k in range(len(wanted)) for name, kind in _PART_TYPES.items()}
        count = int(wanted.max()) + 1
        types |= {f"margin{k}.{name}": kind for k in range(count) for name, kind in TYPES.items()}
        check_entries(entries, len(archive.infolist()), os.fstat(file.fileno()).st_size, types, FORMAT)
        stored = {name: read_array(archive, entries[name], kind) for name, kind in types.items()}
    return _fields(stored, count)


def _fields(stored: dict[str, NDArray[Any]], margins: int) -> Fields:
    if stored["multivariate_format"].shape != () or stored["multivariate_format"] != FORMAT:
        raise UnreadableFileError(f"it has another format than {FORMAT}, which this version reads")
    names = tuple(str(name)[:LONGEST_NAME] for name in stored["names"].ravel())
    d = len(names)
    if not 2 <= d <= MOST_VARIABLES or len(set(names)) < d or stored["bounds"].shape != (d, 2):
        raise UnreadableFileError(f"it must have two to {MOST_VARIABLES} names, and bounds for each")
    box = tuple(read_bounds(tuple(pair)) for pair in stored["bounds"].tolist())
    points, weights = stored["points"], stored["weights"]
    _check_points(points, weights, d)
    check_in_box(points, box, names)
    found = [
        KernelDensity._from_parts(parts_of_arrays({name: stored[f"margin{k}.{name}"] for name in TYPES}))
        for k in range(margins)
    ]
    if stored["method"].shape != () or len(str(stored["method"])) > LONGEST_NAME:
        raise UnreadableFileError("its method must be one name")
    return _parts(stored, found, box), points, weights, names, box, str(stored["method"])


def _check_points(points: Array, weights: Array, d: int) -> None:
    if points.ndim != 2 or points.shape[1] != d or weights.shape != (len(points),):
        raise UnreadableFileError(f"its points must have {d} columns and a weight for each row")
    if not np.all(np.abs(points) <= LARGEST_VALUE) or not np.all(weights > 0.0):
        raise UnreadableFileError("its points must be finite, and their weights positive")
    if len(points) and abs(float(weights.sum()) - 1.0) > _SUM_TOLERANCE:
        raise UnreadableFileError("the weights of its points must sum to 1")


def _parts(stored: dict[str, NDArray[Any]], margins: list[KernelDensity], box: tuple[Bounds, ...]) -> tuple[Part, ...]:
    weights, numbers = stored["part_weights"], stored["part_margins"]
    if weights.shape != (len(numbers),) or numbers.shape[1] != len(box):
        raise UnreadableFileError("each of its parts needs a weight, and a margin for each variable")
    if not np.all(weights > 0.0) or abs(float(weights.sum()) - 1.0) > _SUM_TOLERANCE:
        raise UnreadableFileError("the weights of its parts must be positive and sum to 1")
    parts = []
    for k, row in enumerate(numbers):
        components = Components(*(stored[f"part{k}.{name}"] for name in _PART_TYPES))
        check_components(components, len(box))
        raw = bool(np.all(row == -1))
        if not raw and (row.min() < 0 or any(margins[i].support() != tuple(b) for i, b in zip(row, box, strict=True))):
            raise UnreadableFileError("the margins of a part must have the bounds of the density")
        if raw and any(np.isfinite(bounds).any() for bounds in box):
            raise UnreadableFileError("a part in data units cannot have bounds")
        parts.append(Part(float(weights[k]), components, None if raw else tuple(margins[i] for i in row)))
    return tuple(parts)
