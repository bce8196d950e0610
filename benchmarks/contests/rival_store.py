"""Scores of a method on disk, so that rivals are computed once: a path enters, scores and failures leave.

A file is written beside its place and then moved there, so that a kill leaves whole files only; one that cannot be
read counts as not there.
"""

import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from amortized_kde._types import Array
from amortized_kde.research.files import replacing

FOLDER = ".rivals"
# Changes when scores of the same name would get other numbers.
_FORMAT = "1"


@dataclass(frozen=True, eq=False)
class CellScores:
    """Scores (cells, replicates) in bits, and what failed how often."""

    scores: Array
    failures: Counter[str] = field(default_factory=Counter)


def file_name(*parts: object) -> str:
    """Name the file of scores after all that they depend on.

    Examples
    --------
    >>> file_name("marron_wand", 10, 7, "ssden, wide")
    'marron_wand_10_7_ssden--wide_1.npz'
    """
    safe = ("".join(c if c.isalnum() or c == "_" else "-" for c in str(part)) for part in (*parts, _FORMAT))
    return f"{'_'.join(safe)}.npz"


def kept_scores(path: Path, compute: Callable[[], CellScores]) -> CellScores:
    """Read scores from a file, or compute them and write it."""
    held = _read(path)
    if held is None:
        held = compute()
        _write(path, held)
    return held


def _read(path: Path) -> CellScores | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            failures = dict(zip(file["reasons"].tolist(), file["counts"].tolist(), strict=True))
            return CellScores(file["scores"], Counter(failures))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write(path: Path, held: CellScores) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    reasons, counts = np.array(list(held.failures), dtype=str), np.array(list(held.failures.values()), dtype=np.int64)
    with replacing(path) as file:
        np.savez(file, scores=held.scores, reasons=reasons, counts=counts)
