"""Peers in R, a batch of tests in one process: bandwidth matrices and boundary kernels of ks, mixtures of mclust."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from amortized_kde.errors import MissingExtraError
from contests.dimensions.beds import Task
from contests.dimensions.scoring import Score, ends_of, score_answer

# The dimensions that each is run in: ks has boundary kernels for two or three, and its bandwidth matrices take seconds
# to minutes above.
R_PEERS: dict[str, tuple[int, ...]] = {
    "ks Hpi": (2, 3),
    "ks Hscv": (2,),
    "mclust": (2, 3, 4, 5, 6, 7, 8),
    "ks boundary (beta)": (2,),
    "ks boundary (linear)": (2,),
}
# Peers for samples with bounds only.
BOUNDED_ONLY = ("ks boundary (beta)", "ks boundary (linear)")
_SCRIPT = Path(__file__).with_name("peers.R")
_PACKAGES = "stopifnot(requireNamespace('ks', quietly = TRUE), requireNamespace('mclust', quietly = TRUE))"


def has_r() -> bool:
    """Return whether Rscript and both packages are installed."""
    rscript = shutil.which("Rscript")
    return rscript is not None and subprocess.run([rscript, "-e", _PACKAGES], capture_output=True).returncode == 0


def score_in_r(peer: str, tasks: Sequence[Task]) -> list[Score]:
    """Score a peer on tests in one process of R.

    Raises
    ------
    MissingExtraError
        If Rscript is missing or stops, for instance because a package is missing.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_tasks(folder, tasks)
        try:
            # One thread, as for the peers in Python.
            environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            command = ["Rscript", str(_SCRIPT), peer, name]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
        except OSError as error:
            raise MissingExtraError(f"{peer} needs R, with its packages ks and mclust ({error}).") from None
        if done.returncode != 0:
            raise MissingExtraError(f"{peer} in R stopped with code {done.returncode}: {done.stderr.strip()[-500:]}")
        flat, seconds = np.fromfile(folder / "answers.bin"), np.fromfile(folder / "seconds.bin")
        failures = (folder / "failures.txt").read_text(encoding="utf-8").splitlines()
    answers = np.split(flat, np.cumsum([len(task.points) for task in tasks])[:-1])
    return [
        score_answer(answer, task, float(time), failure)
        for task, answer, time, failure in zip(tasks, answers, seconds, failures, strict=True)
    ]


def _write_tasks(folder: Path, tasks: Sequence[Task]) -> None:
    arrays = {
        "shapes": np.concatenate([[len(task.sample), len(task.points), task.sample.shape[1]] for task in tasks]),
        "values": np.concatenate([task.sample.ravel() for task in tasks]),
        "points": np.concatenate([task.points.ravel() for task in tasks]),
        "limits": np.concatenate([np.concatenate(ends_of(task.bounds, task.sample.shape[1])) for task in tasks]),
    }
    for name, array in arrays.items():
        np.asarray(array, np.float64).tofile(folder / f"{name}.bin")
