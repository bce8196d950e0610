"""Which models made which file of results: ``models.json`` beside the files, with a command and checksums for each."""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from amortized_kde._files import write_file
from amortized_kde.selection import SELECTORS, find_selector
from amortized_kde.selection.registry import Learned

RECORD = "models.json"


class Origin(NamedTuple):
    """The command that wrote a file, and the SHA-256 of the weights of every model in it, by name."""

    command: str
    models: dict[str, str]


def models_behind(methods: Iterable[str]) -> dict[str, str]:
    """Return the checksum of each model that gives the densities of these methods; other names have none.

    Examples
    --------
    >>> list(models_behind(["amortized", "amortized:gmm32", "silverman", "logspline"]))
    ['adaptive', 'gmm32']
    """
    found = {}
    for method in methods:
        if method not in SELECTORS and not method.startswith("amortized:"):
            continue
        selector = find_selector(method)
        load = selector.adaptive or (selector.select.load if isinstance(selector.select, Learned) else None)
        if load is not None:
            model = load()
            found[model.name] = str(model.card["sha256"])
    return found


def record_files(folder: Path, names: Iterable[str], models: Mapping[str, str], *, command: str | None = None) -> None:
    """Add files of a folder to its record, without a change of the others.

    Parameters
    ----------
    folder : Path
        Where the files and the record are.
    names : iterable of str
        The files, relative to the folder.
    models : mapping
        Checksums by name, from `models_behind`; empty for files in which no model has a part.
    command : str, optional
        What writes them; default: the one under way.
    """
    origin = Origin(command or command_under_way(sys.argv), dict(models))
    _write(folder, read_origins(folder) | dict.fromkeys(names, origin))


def record_derived(folder: Path, names: Iterable[str], sources: Iterable[str]) -> None:
    """Add files that were made from other files of the folder: they have the models of these.

    Where the origin of a source is not known, theirs is not either, and they are not in the record.
    """
    names, known = list(names), read_origins(folder)
    found = [known.get(source) for source in sources]
    if None in found:
        if known.keys() & names:
            _write(folder, {name: origin for name, origin in known.items() if name not in names})
    else:
        record_files(folder, names, {name: sha for origin in found if origin for name, sha in origin.models.items()})


def _write(folder: Path, origins: Mapping[str, Origin]) -> None:
    text = json.dumps({name: origins[name]._asdict() for name in sorted(origins)}, indent=2)
    write_file(folder / RECORD, f"{text}\n")


def read_origins(folder: Path) -> dict[str, Origin]:
    """Return the record of a folder, empty if there is none."""
    path = folder / RECORD
    if not path.is_file():
        return {}
    return {name: Origin(**entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def command_under_way(words: list[str]) -> str:
    """Return a command line as one would type it in the repository, without its folder of output.

    Examples
    --------
    >>> command_under_way(["/home/me/benchmarks/real_data.py", "--held", "--out", "there"])
    'python benchmarks/real_data.py --held'
    """
    program = Path(words[0])
    start = f"python benchmarks/{program.name}" if program.parent.name == "benchmarks" else "amortized-kde"
    rest, options = [], iter(words[1:])
    for word in options:
        if word == "--out":
            next(options, None)
        elif not word.startswith("--out="):
            rest.append(word)
    return f"{start} {shlex.join(rest)}".strip()
