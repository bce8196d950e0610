"""Check tables that somebody else has made: compute random chunks anew and compare with ``chunks_BED.csv``."""

import csv
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde.errors import UnreadableFileError
from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.reproduction.columns import compute_column, lower_oracle, make_tasks
from amortized_kde.research.reproduction.protocol import BEDS, SIZES, Chunk
from amortized_kde.research.tasks import World

CHUNKS = 3
# On one machine the same bits come out. Another processor may round sums in another order, 1e-14 of a score; and where
# the oracle's search ends a step earlier there, one task's score moves by up to 1e-6 bits, a chunk's mean by 1e-9.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Comparison:
    """A chunk and, by method, the difference of its mean score from the table's, relative to that or to one bit."""

    chunk: Chunk
    differences: dict[str, float]

    @property
    def worst(self) -> float:
        """The largest difference; NaN if any is NaN."""
        return float(np.max(list(self.differences.values())))

    @property
    def agrees(self) -> bool:
        """Whether every difference is within the tolerance."""
        return self.worst <= TOLERANCE


def verify_tables(folder: Path, *, seed: int, threads: int | None = None) -> list[Comparison]:
    """Compute three random chunks of the tables in a folder anew, and compare.

    Parameters
    ----------
    folder : Path
        With at least one ``chunks_BED.csv``.
    seed : int
        Chooses the chunks.
    threads : int, optional
        At most this many threads; default: all cores.

    Raises
    ------
    UnreadableFileError
        If there is no such table, or one has a line that this code does not write.
    """
    tables = _read(folder)
    if not tables:
        raise UnreadableFileError(f"{folder} holds no chunks_*.csv to verify; run the bed first.")
    chunks = sorted(tables)
    picked = np.random.default_rng(seed).choice(len(chunks), min(CHUNKS, len(chunks)), replace=False)
    chosen = [chunks[i] for i in sorted(picked)]
    worlds = {bed: BEDS[bed].make_world() for bed in {chunk.bed for chunk in chosen}}
    with ThreadPoolExecutor(max_workers=available_threads(threads)) as pool:
        return list(pool.map(lambda chunk: _compare(chunk, worlds[chunk.bed], tables[chunk]), chosen))


def _read(folder: Path) -> dict[Chunk, dict[str, float]]:
    """Return mean scores by chunk and method."""
    found: dict[Chunk, dict[str, float]] = {}
    for bed in BEDS:
        path = folder / f"chunks_{bed}.csv"
        try:
            for chunk, method, score in _lines(bed, path) if path.is_file() else ():
                found.setdefault(chunk, {})[method] = score
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableFileError(f"{path} is not a table of chunks ({error}).") from None
    return found


def _lines(bed: str, path: Path) -> Iterable[tuple[Chunk, str, float]]:
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            chunk = Chunk(bed, int(row["n"]), int(row["first"]), int(row["tasks"]))
            if chunk.n not in SIZES or row["method"] not in BEDS[bed].methods:
                raise ValueError(f"there is no {row['method']} at n = {chunk.n}")
            yield chunk, row["method"], float(row["score_bits"])


def _compare(chunk: Chunk, world: World, table: dict[str, float]) -> Comparison:
    tasks = make_tasks(chunk, world)
    columns = lower_oracle({method: compute_column(method, tasks) for method in table})
    means = {method: float(np.mean(column.scores)) for method, column in columns.items()}
    return Comparison(chunk, {m: abs(means[m] - score) / max(1.0, abs(score)) for m, score in table.items()})
