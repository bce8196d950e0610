"""``run.json``: how, when and on which machine the tables of a folder were made."""

import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import amortized_kde
from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.files import replacing
from amortized_kde.research.reproduction.protocol import SEED

_FILE = "run.json"


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of a folder, empty if there is none.

    Raises
    ------
    UnreadableFileError
        If it is damaged.
    """
    path = folder / _FILE
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    except ValueError as error:
        raise UnreadableFileError(
            f"{path} is not a record of a run ({error}); delete it or take another --out."
        ) from None


def check_scale(folder: Path, scale: str) -> None:
    """Raise an error if a folder holds tables of another scale.

    Raises
    ------
    InvalidParameterError
        If the folder holds tables of another scale.
    """
    stored = read_record(folder).get("scale", scale)
    if stored != scale:
        raise InvalidParameterError(
            f"{folder} holds results of --scale {stored}, which --scale {scale} would overwrite; take another --out."
        )


def record_part(folder: Path, part: str, *, scale: str, command: str, facts: dict[str, Any]) -> None:
    """Add a finished part to the record, with facts about it.

    The largest number of seconds is kept, because a run that finds work done by an earlier one is no measure.
    """
    record = read_record(folder)
    before = record.get("parts", {}).get(part, {})
    facts = facts | {"seconds": max(facts.get("seconds", 0.0), before.get("seconds", 0.0))}
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    parts = record.get("parts", {}) | {part: facts | {"command": command, "finished": finished}}
    record = {
        "scale": scale,
        "command": command,
        "seed": SEED,
        "version": amortized_kde.__version__,
        "python": platform.python_version(),
        "cores": available_threads(),
        "machine": _machine(),
        "parts": parts,
    }
    with replacing(folder / _FILE) as file:
        file.write((json.dumps(record, indent=2) + "\n").encode())


def _machine() -> str:
    """Return the processor's name, which Linux keeps in a file and others in `platform`."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
