"""Estimators that live in R: samples, bounds and points enter, log-densities leave, a whole batch in one process.

``logspline`` is from the R package of that name, after Kooperberg and Stone. ``ssden`` is Gu's smoothing spline, from
the package ``gss``. That needs a finite domain: where a side is open, ``ssden`` has its own default, which reaches a
twentieth of the sample's range beyond the sample, and ``ssden, wide`` reaches a whole range beyond. Between two known
bounds they are the same. Where ssden does not converge, logspline answers for it, and the failure is counted.
"""

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from amortized_kde.errors import MissingExtraError

R_RIVALS = ("logspline", "ssden", "ssden, wide")
_SCRIPT = "rivals.R"
_PACKAGES = "stopifnot(requireNamespace('logspline', quietly = TRUE), requireNamespace('gss', quietly = TRUE))"


class RAnswers(NamedTuple):
    """Log-densities of each task at its points, NaN where no estimator answered, and what failed how often."""

    log_densities: list[Array]
    failures: Counter[str]


def has_r() -> bool:
    """Whether Rscript and both packages are here."""
    rscript = shutil.which("Rscript")
    return rscript is not None and subprocess.run([rscript, "-e", _PACKAGES], capture_output=True).returncode == 0


def ask_r(rival: str, samples: Sequence[Array], bounds: Sequence[Bounds], points: Sequence[Array]) -> RAnswers:
    """Fit an R estimator to every sample, told its bounds, and evaluate it at the points.

    Raises
    ------
    MissingExtraError
        If Rscript is not here or stops, for instance because a package is missing.
    """
    with tempfile.TemporaryDirectory() as name, as_file(files("contests") / _SCRIPT) as script:
        folder = Path(name)
        _write(folder, samples, bounds, points)
        try:
            done = subprocess.run(["Rscript", str(script), rival, name], capture_output=True, text=True)
        except OSError as error:
            raise MissingExtraError(f"{rival} needs R, with its packages logspline and gss ({error}).") from None
        if done.returncode != 0:
            raise MissingExtraError(f"{rival} in R stopped with code {done.returncode}: {done.stderr.strip()[-500:]}")
        flat = np.fromfile(folder / "answers.bin")
        failures = Counter((folder / "failures.txt").read_text().splitlines())
    return RAnswers(np.split(flat, np.cumsum([at.size for at in points])[:-1]), failures)


def _write(folder: Path, samples: Sequence[Array], bounds: Sequence[Bounds], points: Sequence[Array]) -> None:
    arrays = {
        "values": np.concatenate(samples),
        "points": np.concatenate(points),
        "sizes": [x.size for x in samples],
        "counts": [at.size for at in points],
        "limits": np.array(bounds),
    }
    for name, array in arrays.items():
        np.asarray(array, np.float64).tofile(folder / f"{name}.bin")
