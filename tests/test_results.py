"""Every file of results/ was made with the models that are shipped."""

from pathlib import Path

import amortized_kde as akde
from amortized_kde.research.provenance import RECORD, read_origins

RESULTS = Path(__file__).parents[1] / "results"
ORIGINS = read_origins(RESULTS)
# Files that are known to be of older models, and why. Delete the line when the file has been made anew.
OUTDATED: dict[str, str] = {}


def files():
    """All files but hidden ones and the record itself."""
    paths = (path.relative_to(RESULTS) for path in RESULTS.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts)} - {RECORD}


def test_every_file_is_recorded():
    unknown = sorted(files() - set(ORIGINS))
    assert not unknown, (
        f"results/{RECORD} does not say which models made {', '.join(unknown)}; the script that writes a file "
        "records it by `record_files` of amortized_kde.research.provenance."
    )
    gone = sorted(set(ORIGINS) - files())
    assert not gone, f"results/{RECORD} has files that do not exist: {', '.join(gone)}."


def test_every_file_is_of_the_shipped_models():
    shipped = {name: card["sha256"] for name, card in akde.models().items()}
    others = {
        file: sorted(name for name, checksum in origin.models.items() if shipped.get(name) != checksum)
        for file, origin in ORIGINS.items()
    }
    outdated = {file: names for file, names in others.items() if names}
    commands = [
        f"{file} was made with other weights of {', '.join(names)}; make it anew: {ORIGINS[file].command}"
        for file, names in outdated.items()
        if file not in OUTDATED
    ]
    assert not commands, "\n".join(commands)
    fine = sorted(set(OUTDATED) - set(outdated))
    assert not fine, f"{', '.join(fine)} was made anew: delete its line in OUTDATED."
