"""Scores by cell and replicate: paired means, verdicts, and files, so that a rival is scored only once.

A cell is a density, a column of data or a size; every cell counts the same. A method is no worse than another if the
mean of its scores minus the other's, on the same samples, is at most two standard errors above zero.
"""

import math
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from amortized_kde._files import replacing
from amortized_kde._types import Array
from amortized_kde.research.provenance import models_behind
from amortized_kde.score import Mean

FOLDER = ".rivals"
# The most bits that count at a point where a density is zero, in the contests that would else have infinite means.
CAP = 40.0
# Increase it when scores of the same name would get other numbers.
_FORMAT = "1"
_STANDARD_ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class CellScores:
    """Scores (cells, replicates) in bits, and the number of failures by message."""

    scores: Array
    failures: Counter[str] = field(default_factory=Counter)


def mean_of_cells(cells: Sequence[Array] | Array) -> Mean:
    r"""Return the mean of the cells' means, and its standard error from the spread inside the cells.

    .. math:: \frac1K \sum_k \bar v_k, \qquad \frac1K \Big(\sum_k s_k^2 / R_k\Big)^{1/2}.

    Examples
    --------
    >>> mean_of_cells([np.array([1.0, 3.0]), np.array([4.0, 4.0])])
    Mean(value=3.0, standard_error=0.5, count=4)
    """
    means = [float(np.mean(cell)) for cell in cells]
    variances = [float(np.var(cell, ddof=1)) / cell.size if cell.size > 1 else math.nan for cell in cells]
    return Mean(
        math.fsum(means) / len(cells), math.sqrt(math.fsum(variances)) / len(cells), sum(cell.size for cell in cells)
    )


def verdict(difference: Mean) -> str:
    """Return ``"better"``, ``"no worse"`` or ``"worse"`` for a mean difference of scores, method minus rival.

    Examples
    --------
    >>> [verdict(Mean(value, 0.1, 50)) for value in (-0.3, -0.1, 0.1, 0.3)]
    ['better', 'no worse', 'no worse', 'worse']
    """
    within = _STANDARD_ERRORS * difference.standard_error
    if difference.value < -within:
        return "better"
    return "no worse" if difference.value <= within else "worse"


def file_name(*parts: object) -> str:
    """Return the name of a file of scores: everything that they depend on.

    Examples
    --------
    >>> file_name("marron_wand", 10, 7, "ssden, wide")
    'marron_wand_10_7_ssden--wide_1.npz'
    """
    safe = ("".join(c if c.isalnum() or c == "_" else "-" for c in str(part)) for part in (*parts, _FORMAT))
    return f"{'_'.join(safe)}.npz"


def weights_of(method: str) -> str:
    """Return the start of the checksum of a method's weights for `file_name`, or 0: new weights get new files.

    Examples
    --------
    >>> weights_of("silverman")
    '0'
    """
    return "".join(models_behind([method]).values())[:12] or "0"


def kept_scores(path: Path, compute: Callable[[], CellScores]) -> CellScores:
    """Read scores from a file; compute and write them if it is missing or damaged."""
    kept = _read(path)
    if kept is None:
        kept = compute()
        _write(path, kept)
    return kept


def _read(path: Path) -> CellScores | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            failures = dict(zip(file["reasons"].tolist(), file["counts"].tolist(), strict=True))
            return CellScores(file["scores"], Counter(failures))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write(path: Path, kept: CellScores) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    reasons, counts = np.array(list(kept.failures), dtype=str), np.array(list(kept.failures.values()), dtype=np.int64)
    with replacing(path) as file:
        np.savez(file, scores=kept.scores, reasons=reasons, counts=counts)
