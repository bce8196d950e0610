"""Scores on held-out time: of rivals, of the model before and after training, and their differences with intervals.

Scores of one day are alike from place to place, and from one day to the next. So the bootstrap draws whole pieces of
held-out time, and uses the same ones for all methods. Every dressed rival has the dressing that is best for itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.learned.model import Model
from amortized_kde.research.training.archive.dressing import fit_dressing
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.archive.scores import Scorer, gaussian_scores, model_scores, silverman_scores
from amortized_kde.research.training.archive.split import HELD_OUT, TRAINING, Split

_REPLICATES, _LIMITS = 2000, (2.5, 97.5)
TUNED = "tuned model"


@dataclass(frozen=True)
class Row:
    """A method: its mean score in bits, and how much higher that is than the tuned model's, with a 95 % interval."""

    method: str
    score: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Report:
    """Rows, the tuned model last; held-out pairs; the pieces of time in the bootstrap, and their length in steps."""

    rows: tuple[Row, ...]
    pairs: int
    pieces: int
    piece_length: int


def compare(
    pairs: Pairs, split: Split, *, untuned: Model, tuned: Model, numbers: Array | None = None, seed: int = 0
) -> Report:
    """Score the held-out pairs by all methods; with the tuned model's dressing (a, b, c) rivals are dressed too."""
    part = split.part_of(pairs.times)
    training, held_out = pairs.where(part == TRAINING), pairs.where(part == HELD_OUT)
    rivals: dict[str, Scorer] = {
        "gaussian": gaussian_scores,
        "silverman": silverman_scores,
        "untuned model": model_scores(untuned),
    }
    scores = {name: scorer(held_out) for name, scorer in rivals.items()}
    if numbers is not None:
        for name, scorer in rivals.items():
            own = fit_dressing(training, scorer, seed=seed)
            scores[f"{name}, dressed"] = scorer(held_out.dressed(own))
    last = TUNED if numbers is None else f"{TUNED}, dressed"
    scores[last] = model_scores(tuned)(held_out.dressed(numbers))
    table, pieces = np.stack(list(scores.values()), axis=1), split.pieces_of(held_out.times)
    means, differences = table.mean(axis=0), table - table[:, -1:]
    low, high = np.percentile(piece_bootstrap(differences, pieces, seed=seed), _LIMITS, axis=0)
    rows = zip(scores, means, differences.mean(axis=0), low, high, strict=True)
    return Report(
        tuple(Row(name, *map(float, values)) for name, *values in rows),
        len(held_out),
        int(pieces.max()) + 1,
        split.piece_length,
    )


def piece_bootstrap(values: Array, pieces: Index, *, seed: int, replicates: int = _REPLICATES) -> Array:
    """Means (replicates, columns) of `values` (pairs, columns), drawing pieces, numbers (pairs,), with replacement.

    Examples
    --------
    >>> means = piece_bootstrap(np.array([[1.0], [1.0], [4.0]]), np.array([0, 0, 1]), seed=1, replicates=1000)
    >>> np.unique(means)
    array([1., 2., 4.])
    """
    count = int(pieces.max()) + 1
    sums = np.stack([np.bincount(pieces, column, minlength=count) for column in values.T], axis=1)
    sizes = np.bincount(pieces, minlength=count)
    drawn = np.random.default_rng([seed, 3]).multinomial(count, np.full(count, 1.0 / count), size=replicates)
    return np.asarray((drawn @ sums) / (drawn @ sizes)[:, None])


def write_report(report: Report, path: Path) -> None:
    """Write the rows as CSV, in bits."""
    lines = ["method,mean_log_score_bits,minus_tuned_bits,low_95,high_95,pairs,pieces,piece_length"]
    tail = f"{report.pairs},{report.pieces},{report.piece_length}"
    lines += [f'"{r.method}",{r.score!r},{r.difference!r},{r.low!r},{r.high!r},{tail}' for r in report.rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table_lines(report: Report) -> Sequence[str]:
    """The rows as text, one line each, under a heading."""
    width = max(len(row.method) for row in report.rows)
    lines = [f"{'method':<{width}}  {'bits':>8}  {'minus tuned':>11}  95 % interval"]
    for row in report.rows:
        told = (
            f"{row.difference:>11.4f}  {row.low:.4f} to {row.high:.4f}" if row.method != report.rows[-1].method else ""
        )
        lines.append(f"{row.method:<{width}}  {row.score:>8.4f}  {told}".rstrip())
    return lines
