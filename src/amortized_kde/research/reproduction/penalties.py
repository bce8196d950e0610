"""The classical selectors' worst scores at n = 5, computed again with 50 digits.

Stored scores enter, a table of both numbers leaves. Severe undersmoothing costs hundreds or millions of bits; nothing
floors or caps them, and this shows it. Points, weights, values and bandwidths are the float64 numbers that they are.
"""

import csv
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde.research.reproduction.columns import Tasks, make_tasks, select_bandwidths
from amortized_kde.research.reproduction.protocol import SIZES, Bed, Chunk, Scale, chunks_of
from amortized_kde.research.reproduction.tables import read_columns, write_csv

DIGITS = 50
# The paper's classical selectors, at its smallest size.
_METHODS = ("silverman", "sheather-jones-r", "lscv")
_SMALLEST = SIZES[0]
_COLUMNS = ("bed", "method", "n", "task", "score_bits", f"score_{DIGITS}_digits", "relative_difference")


def score_with_digits(tasks: Tasks, task: int, h: float, *, digits: int = DIGITS) -> Any:
    """Give the score of one task at one bandwidth, in bits, as an mpmath number with so many digits."""
    import mpmath

    judge = tasks.judge
    with mpmath.workdps(digits):
        width, root2 = mpmath.mpf(float(h)), mpmath.sqrt(2)
        lower, upper = map(mpmath.mpf, judge.bounds)
        values = [mpmath.mpf(float(x)) for x in judge.values[judge.offsets[task] : judge.offsets[task + 1]]]
        inside = mpmath.fsum(
            (mpmath.erf((upper - x) / (width * root2)) - mpmath.erf((lower - x) / (width * root2))) / 2 for x in values
        )
        log_norm = mpmath.log(inside * width * mpmath.sqrt(2 * mpmath.pi))
        total = mpmath.mpf(0)
        for y, weight in zip(judge.points[task], judge.weights, strict=True):
            kernels = mpmath.fsum(mpmath.exp(-(((mpmath.mpf(float(y)) - x) / width) ** 2) / 2) for x in values)
            total += mpmath.mpf(float(weight)) * (log_norm - mpmath.log(kernels))
        return total / mpmath.log(2)


def write_penalties(bed: Bed, scale: Scale, folder: Path) -> bool:
    """Put the lines of a bed that has been run into ``penalties.csv``; without mpmath do nothing and say so."""
    if importlib.util.find_spec("mpmath") is None:
        return False
    path = folder / "penalties.csv"
    old = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    others = [line for line in csv.reader(old[1:]) if line[0] != bed.name]
    write_csv(path, _COLUMNS, [*others, *_lines(bed, scale, folder)])
    return True


def _lines(bed: Bed, scale: Scale, folder: Path) -> Iterator[Sequence[Any]]:
    import mpmath

    world = bed.make_world()
    parts = [read_columns(folder, bed, chunk) for chunk in chunks_of(bed, scale) if chunk.n == _SMALLEST]
    for method in _METHODS:
        scores = np.concatenate([part[method].scores for part in parts])
        for i in np.argsort(scores)[::-1][: scale.worst].tolist():
            tasks = make_tasks(Chunk(bed.name, _SMALLEST, i, 1), world)
            exact = score_with_digits(tasks, 0, float(select_bandwidths(method, tasks).bandwidths[0]))
            difference = float(abs(exact - mpmath.mpf(float(scores[i]))) / abs(exact))
            text = mpmath.nstr(exact, DIGITS - 1, strip_zeros=False)
            yield (bed.name, method, _SMALLEST, i, float(scores[i]), text, difference)
