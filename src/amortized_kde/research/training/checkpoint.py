"""What a run leaves on disk: checkpoints, the log with a figure of it, and the finished model."""

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from amortized_kde._files import replacing, write_file
from amortized_kde.density.plotting import COLOURS, new_axes, save_figure
from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.learned.store import FORMAT

CHECKPOINT, LOG, LOG_PICTURE = "checkpoint.safetensors", "log.csv", "log.png"
CARD, WEIGHTS = "card.json", "weights.safetensors"
RUN_FILES = (CHECKPOINT, LOG, LOG_PICTURE, CARD, WEIGHTS)


@dataclass(frozen=True)
class LogRow:
    """Mean training score since the row before and, where there was one, the validation score, in bits."""

    step: int
    score: float
    validation: float | None


@dataclass
class Progress:
    """Where a run stands.

    Attributes
    ----------
    step : int
        Steps taken.
    best_step, best_score : int, float
        The step whose weights are kept, and its validation score in bits.
    reference, stale : float, int
        The score that an early stop compares with, and the validations since it was last improved.
    stopped : bool
        Whether the run was stopped early.
    log : list of LogRow
    """

    step: int = 0
    best_step: int = 0
    best_score: float = float("inf")
    reference: float = float("inf")
    stale: int = 0
    stopped: bool = False
    log: list[LogRow] = field(default_factory=list)


def check_folder(
    out: Path, names: Sequence[str], *, overwrite: bool, resume: bool = False, sources: Iterable[str | None] = ()
) -> None:
    """Raise `InvalidParameterError` if a training must not write files of these names to a folder."""
    if out.exists() and not out.is_dir():
        raise InvalidParameterError(f"{str(out)!r} is a file; give a folder with --out.")
    if any(source is not None and out.resolve() == Path(source).resolve() for source in sources):
        raise InvalidParameterError(f"{str(out)!r} is also an input; give another --out.")
    found = [name for name in names if (out / name).exists()]
    if found and not (overwrite or (resume and CHECKPOINT in found)):
        hint = "--resume to continue, " if CHECKPOINT in found else ""
        raise InvalidParameterError(
            f"{str(out)!r} has {found[0]} already; give another --out, {hint}or --overwrite to replace what is there."
        )


def write_checkpoint(
    out: Path, recipe: dict[str, Any], progress: Progress, state: list[NDArray[Any]], best: list[NDArray[Any]]
) -> None:
    """Write everything that is needed to resume the run."""
    arrays = {f"state{i:03d}": np.asarray(a) for i, a in enumerate(state)}
    arrays |= {f"best{i:03d}": np.asarray(a) for i, a in enumerate(best)}
    # One entry: safetensors writes several in a random order, and a run must end with the same bytes.
    about = json.dumps({"recipe": recipe, "progress": asdict(progress)})
    write_file(out / CHECKPOINT, save(arrays, metadata={"run": about}))


def read_checkpoint(
    out: Path, recipe: dict[str, Any]
) -> tuple[Progress, list[NDArray[Any]], list[NDArray[Any]]] | None:
    """Return progress, state and best arrays of a run's last checkpoint, or None if there is none.

    Raises
    ------
    UnreadableFileError
        If the file is damaged.
    InvalidParameterError
        If it belongs to another recipe.
    """
    path = out / CHECKPOINT
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata()
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
        about = json.loads(meta["run"])
        found, stored = about["recipe"], about["progress"]
        progress = Progress(**{**stored, "log": [LogRow(**row) for row in stored["log"]]})
        _check_progress(progress)
    except Exception as error:
        # Damaged bytes raise nearly anything.
        raise _damaged(path, f"{type(error).__name__}: {error}"[:200]) from None
    if found != json.loads(json.dumps(recipe)):
        raise InvalidParameterError(f"{out} holds a run of another recipe; give another --out.")
    state = [a for name, a in arrays.items() if name.startswith("state")]
    best = [a for name, a in arrays.items() if name.startswith("best")]
    return progress, state, best


def _damaged(path: Path, reason: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"the checkpoint {path} is damaged ({reason}); start again without --resume, with --overwrite."
    )


def _check_progress(progress: Progress) -> None:
    """Raise `TypeError` unless every entry has the type of its default, and every row of the log its own."""
    for name, usual in asdict(Progress()).items():
        if type(getattr(progress, name)) is not type(usual):
            raise TypeError(f"{name} is {getattr(progress, name)!r}")
    for row in progress.log:
        if not (type(row.step) is int and type(row.score) is float and isinstance(row.validation, float | None)):
            raise TypeError(f"the log has the row {row}")


def check_arrays(out: Path, arrays: Sequence[NDArray[Any]], like: Sequence[NDArray[Any]]) -> None:
    """Raise `UnreadableFileError` unless a checkpoint's arrays have the types and shapes of the run's own."""
    if [(a.dtype, a.shape) for a in arrays] != [(a.dtype, a.shape) for a in like]:
        raise _damaged(out / CHECKPOINT, "its arrays are not those of the recipe's network")


def write_log(out: Path, log: list[LogRow]) -> None:
    """Write the log as CSV: step, mean training score, validation score; bits."""
    lines = ["step,score,validation"]
    lines += [f"{r.step},{r.score!r},{'' if r.validation is None else repr(r.validation)}" for r in log]
    write_file(out / LOG, "\n".join(lines) + "\n")


def read_log(path: Path) -> list[LogRow]:
    """Read what `write_log` wrote."""
    with open(path, newline="", encoding="utf-8") as file:
        return [
            LogRow(int(row["step"]), float(row["score"]), float(row["validation"]) if row["validation"] else None)
            for row in csv.DictReader(file)
        ]


def write_model(out: Path, arrays: dict[str, NDArray[Any]], card: dict[str, Any]) -> None:
    """Write named arrays, and the card with their checksum; neither replaces a file before both are on disk."""
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    card = {"format": FORMAT, **card, "sha256": hashlib.sha256(data).hexdigest()}
    with replacing(out / CARD) as about, replacing(out / WEIGHTS) as weights:
        about.write((json.dumps(card, indent=2) + "\n").encode())
        about.flush()
        os.fsync(about.fileno())
        weights.write(data)


def draw_log(log: list[LogRow], path: Path, *, name: str) -> None:
    """Draw training and validation scores against the step; the axis leaves out the steep start and costly outliers."""
    ax = new_axes()
    scored = [(row.step, row.validation) for row in log if row.validation is not None]
    ax.plot([row.step for row in log], [row.score for row in log], color="0.7", linewidth=0.8, label="training")
    steps, scores = [step for step, _ in scored], [score for _, score in scored]
    ax.plot(steps, scores, "o-", color=COLOURS[0], markersize=3, label="validation")
    usual = sorted(row.score for row in log[len(log) // 20 :])
    late = usual[: max(1, 9 * len(usual) // 10)] + scores[1:]
    if late:
        margin = 0.05 * (max(late) - min(late)) + 1e-9
        ax.set_ylim(min(late) - margin, max(late) + margin)
    ax.set_xlabel("step")
    ax.set_ylabel("mean score (bits)")
    ax.set_title(f"training of {name}", fontsize=10)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    save_figure(ax, str(path))
