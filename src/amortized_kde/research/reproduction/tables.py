"""Tables of a bed from its stored scores: CSV files with 17 significant digits.

Limits come from the paired bootstrap of Appendix C.4: each replicate draws as many task indices as there are tasks,
with replacement, and uses them for all methods.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._files import write_file
from amortized_kde._types import Array, Words
from amortized_kde.errors import UnreadableFileError
from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.streams import next_uniform, start_stream, stream_words
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.reproduction.columns import Column, lower_oracle, read_chunk
from amortized_kde.research.reproduction.protocol import SIZES, TRUTH, Bed, Chunk, Scale, chunks_of
from amortized_kde.research.tasks import FAMILIES

Columns = dict[str, Column]

_COLUMNS = (
    *("n", "method", "tasks", "score_bits", "score_lower", "score_upper"),
    *("excess_bits", "excess_lower", "excess_upper", "median_excess_bits", "failures"),
)
CHUNK_COLUMNS = ("n", "chunk", "first", "tasks", "method", "score_bits")
_FAMILY_COLUMNS = ("n", "family", "method", "tasks", "excess_bits", "standard_error")
# Replicates, and the percentiles that bound a 90 % interval (Appendix C.4).
REPLICATES = 1000
LIMITS = (5.0, 95.0)
# The streams of tasks are numbered from 0 (tasks/batch.py).
_RESAMPLING = 100


@entry
def _resample(scores: Array, words: Words, means: Array, start: int, stop: int) -> None:
    """Write the means (methods,) of replicates start .. stop - 1, each from its own stream."""
    state = np.empty(4, np.uint64)
    tasks = scores.shape[0]
    for r in range(start, stop):
        start_stream(state, words, r)
        means[r] = 0.0
        for _ in range(tasks):
            i = int(next_uniform(state) * tasks)
            for k in range(scores.shape[1]):
                means[r, k] += scores[i, k]
        means[r] /= tasks


def bootstrap_means(
    scores: Array, *, seed: int, stream: int = 0, replicates: int = REPLICATES, threads: int | None = None
) -> Array:
    """Return the mean score of every method over the tasks of every replicate.

    Parameters
    ----------
    scores : array of shape (tasks, methods)
    seed, stream : int
        Of the task indices; other streams of a seed are independent.
    replicates : int
        1000 in the paper.
    threads : int, optional
        At most this many threads; default: all cores. The result does not depend on it.

    Returns
    -------
    array of shape (replicates, methods)

    Examples
    --------
    >>> bootstrap_means(np.array([[1.0, 3.0], [1.0, 5.0]]), seed=1, replicates=3)[:, 0]
    array([1., 1., 1.])
    """
    means = np.empty((replicates, scores.shape[1]))
    # Sums of what lies above the lowest score round less.
    lowest = scores.min(axis=0)
    table, words = np.ascontiguousarray(scores - lowest), stream_words(seed, _RESAMPLING + stream)
    run_in_pieces(
        lambda start, stop: _resample(table, words, means, start, stop),
        replicates,
        operations=float(replicates) * table.size,
        threads=threads,
    )
    means += lowest
    return means


def write_csv(path: Path, header: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """Write a table, floats with 17 significant digits, from which the same float64 is read."""
    rows = [[f"{cell:.17g}" if isinstance(cell, float) else cell for cell in line] for line in lines]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_file(path, text.getvalue())


def write_tables(bed: Bed, scale: Scale, folder: Path, *, threads: int | None = None) -> None:
    """Write the tables of a bed that has been run.

    Raises
    ------
    UnreadableFileError
        If a column of a chunk is not stored.
    """
    by_size: dict[int, Columns] = {}
    of_chunks: list[Sequence[Any]] = []
    for n in SIZES:
        parts = [chunk for chunk in chunks_of(bed, scale) if chunk.n == n]
        columns = [read_columns(folder, bed, chunk) for chunk in parts]
        for k, (chunk, part) in enumerate(zip(parts, columns, strict=True)):
            of_chunks += chunk_lines(k, chunk, part)
        by_size[n] = _join(columns)
    tables: dict[str, tuple[Sequence[str], Iterable[Sequence[Any]]]] = {
        f"{bed.name}.csv": (_COLUMNS, _summary(bed, by_size, threads)),
        f"chunks_{bed.name}.csv": (CHUNK_COLUMNS, of_chunks),
    }
    if bed.balanced:
        tables["families.csv"] = (_FAMILY_COLUMNS, _by_family(by_size))
    for name, (header, lines) in tables.items():
        write_csv(folder / name, header, lines)
    record_files(folder, tables, models_behind(bed.methods))


def read_columns(folder: Path, bed: Bed, chunk: Chunk) -> Columns:
    """Read all columns of a chunk, with the oracle no worse than any other."""
    stored = read_chunk(folder, chunk).columns
    missing = [method for method in bed.methods if method not in stored]
    if missing:
        raise UnreadableFileError(
            f"{folder} has no scores of {missing[0]} for {chunk.bed}, n = {chunk.n}; run the bed first."
        )
    return lower_oracle({method: stored[method] for method in bed.methods})


def chunk_lines(number: int, chunk: Chunk, columns: Columns) -> list[Sequence[Any]]:
    """Return the lines of ``chunks_BED.csv`` for one chunk: the mean score of every method."""
    return [
        (chunk.n, number, chunk.first, chunk.count, method, float(np.mean(column.scores)))
        for method, column in columns.items()
    ]


def _join(parts: list[Columns]) -> Columns:
    return {
        method: Column(np.concatenate([part[method].scores for part in parts]), sum(p[method].failures for p in parts))
        for method in parts[0]
    }


def _summary(bed: Bed, by_size: dict[int, Columns], threads: int | None) -> Iterator[Sequence[Any]]:
    for n, columns in by_size.items():
        table = np.stack([column.scores for column in columns.values()], axis=1)
        means = bootstrap_means(table, seed=bed.seed, stream=n, threads=threads)
        truth = list(columns).index(TRUTH)
        for k, (method, column) in enumerate(columns.items()):
            # The mean of differences is the difference of means, in every replicate.
            score, excess = _limits(means[:, k]), _limits(means[:, k] - means[:, truth])
            above = column.scores - columns[TRUTH].scores
            numbers = (float(np.mean(column.scores)), *score, float(np.mean(above)), *excess, float(np.median(above)))
            yield (n, method, column.scores.size, *numbers, column.failures)


def _limits(means: Array) -> tuple[float, float]:
    low, high = np.percentile(means, LIMITS)
    return float(low), float(high)


def _by_family(by_size: dict[int, Columns]) -> Iterator[Sequence[Any]]:
    """Yield lines by family; tasks go through the families by turns (`BalancedWorld`)."""
    for n, columns in by_size.items():
        for k, family in enumerate(FAMILIES):
            truth = columns[TRUTH].scores[k :: len(FAMILIES)]
            for method, column in columns.items():
                excess = column.scores[k :: len(FAMILIES)] - truth
                error = float(np.std(excess, ddof=1)) / math.sqrt(excess.size)
                yield (n, family, method, excess.size, float(np.mean(excess)), error)
