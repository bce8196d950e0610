"""What a run leaves on disk: checkpoints that survive a kill at any moment, the log, and the finished model.

A file is written beside its place and then moved there, so it is always whole.
"""

import csv
import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.learned.store import FORMAT
from amortized_kde.research.files import replacing

CHECKPOINT, LOG = "checkpoint.safetensors", "log.csv"


@dataclass(frozen=True)
class LogRow:
    """Mean training score since the row before, and the validation score where there was one; bits."""

    step: int
    score: float
    validation: float | None


@dataclass
class Progress:
    """Where a run stands, beside its arrays."""

    step: int = 0
    best_step: int = 0
    best_score: float = float("inf")
    reference: float = float("inf")
    stale: int = 0
    stopped: bool = False
    log: list[LogRow] = field(default_factory=list)


def _replace(path: Path, data: bytes) -> None:
    with replacing(path) as file:
        file.write(data)


def write_checkpoint(
    out: Path, recipe: dict[str, Any], progress: Progress, state: list[NDArray[Any]], best: list[NDArray[Any]]
) -> None:
    """Write everything from which the run can go on."""
    arrays = {f"state{i:03d}": np.asarray(a) for i, a in enumerate(state)}
    arrays |= {f"best{i:03d}": np.asarray(a) for i, a in enumerate(best)}
    meta = {"recipe": json.dumps(recipe, sort_keys=True), "progress": json.dumps(asdict(progress))}
    _replace(out / CHECKPOINT, save(arrays, metadata=meta))


def read_checkpoint(
    out: Path, recipe: dict[str, Any]
) -> tuple[Progress, list[NDArray[Any]], list[NDArray[Any]]] | None:
    """Read a run's last checkpoint, or give None if there is none.

    Raises
    ------
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
    except Exception as error:
        raise UnreadableFileError(f"the checkpoint {path} cannot be read ({error}).") from None
    if json.loads(meta["recipe"]) != json.loads(json.dumps(recipe)):
        raise InvalidParameterError(f"{out} holds a run of another recipe; give another --out.")
    stored = json.loads(meta["progress"])
    progress = Progress(**{**stored, "log": [LogRow(**row) for row in stored["log"]]})
    state = [a for name, a in arrays.items() if name.startswith("state")]
    best = [a for name, a in arrays.items() if name.startswith("best")]
    return progress, state, best


def write_log(out: Path, log: list[LogRow]) -> None:
    """Write the log as CSV: step, mean training score, validation score."""
    lines = ["step,score,validation"]
    lines += [f"{r.step},{r.score!r},{'' if r.validation is None else repr(r.validation)}" for r in log]
    _replace(out / LOG, ("\n".join(lines) + "\n").encode())


def read_log(path: Path) -> list[LogRow]:
    """Read what `write_log` wrote."""
    with open(path, newline="", encoding="utf-8") as file:
        return [
            LogRow(int(row["step"]), float(row["score"]), float(row["validation"]) if row["validation"] else None)
            for row in csv.DictReader(file)
        ]


def write_model(out: Path, layers: list[Any], card: dict[str, Any]) -> None:
    """Write the weights of layer after layer and the card that names their checksum."""
    arrays = {}
    for i, layer in enumerate(layers):
        arrays[f"weight{i}"], arrays[f"bias{i}"] = layer.weight, layer.bias
    write_arrays(out, arrays, card)


def write_arrays(out: Path, arrays: dict[str, NDArray[Any]], card: dict[str, Any]) -> None:
    """Write named arrays and the card that names their checksum."""
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    _replace(out / "weights.safetensors", data)
    card = {"format": FORMAT, **card, "sha256": hashlib.sha256(data).hexdigest()}
    _replace(out / "card.json", (json.dumps(card, indent=2) + "\n").encode())
