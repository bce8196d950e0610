"""Chunks on disk: one file a chunk, with a column of scores for each method that was computed.

A file is written beside its place and then moved there, so that a kill at any moment leaves whole files only; one that
cannot be read counts as not there. Columns have keys: one whose key has changed (a model was trained anew) is computed
again, the others stay.
"""

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde.research.files import replacing
from amortized_kde.research.reproduction.columns import Column, column_key
from amortized_kde.research.reproduction.protocol import Chunk

FOLDER = ".chunks"


@dataclass(frozen=True, eq=False)
class Held:
    """What is known of a chunk: columns by method, and the seconds (by the clock, of the processors) they took."""

    columns: dict[str, Column] = field(default_factory=dict)
    seconds: float = 0.0
    processor_seconds: float = 0.0


def _path(folder: Path, chunk: Chunk) -> Path:
    return folder / FOLDER / f"{chunk.bed}_{chunk.n:03d}_{chunk.first:05d}_{chunk.count}.npz"


def read_chunk(folder: Path, chunk: Chunk) -> Held:
    """Read the columns that are there and up to date."""
    try:
        with np.load(_path(folder, chunk), allow_pickle=False) as file:
            methods = [name.removesuffix(".key") for name in file.files if name.endswith(".key")]
            columns = {
                method: Column(file[f"{method}.scores"], int(file[f"{method}.failures"]))
                for method in methods
                if str(file[f"{method}.key"]) == column_key(method)
            }
            return Held(columns, float(file["seconds"]), float(file["processor_seconds"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return Held()


def write_chunk(folder: Path, chunk: Chunk, held: Held) -> None:
    """Write a chunk in one move."""
    arrays: dict[str, Any] = {"seconds": held.seconds, "processor_seconds": held.processor_seconds}
    for method, column in held.columns.items():
        arrays |= {
            f"{method}.key": column_key(method),
            f"{method}.scores": column.scores,
            f"{method}.failures": column.failures,
        }
    path = _path(folder, chunk)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez(file, **arrays)
