"""Generated parts of the site: model cards, the command line's help, pictures of the examples.

They are made when the site is built, so that they cannot be out of date.
"""

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from typer.testing import CliRunner

import amortized_kde as akde
from amortized_kde.cli import app
from amortized_kde.selection import SELECTORS

ROOT = Path(__file__).parents[2]
# The two defaults first, then the paper's.
ORDER = ("adaptive", "single", "gaussian", "multifamily", "gmm8", "gmm16", "gmm32")


# docs/hooks/results.py fills in the tables.
MEASURED = {
    "adaptive": "\n\nMean excess over the true density's score, in bits, on the Marron-Wand densities, which it "
    "was not trained on, by n ([more, and where it loses](results.md)):\n\n<!-- table: marron_wand -->",
    "single": "\n\nThe same in the paper's two worlds:\n\n<!-- table: worlds -->",
}


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages and pictures."""
    made = {"models.md": cards(), "reference/command-line.md": command_line()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for name, picture in pictures().items():
        files.append(File.generated(config, f"images/{name}", content=picture))
    for path in sorted((ROOT / "results").glob("*.png")):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, /, **_: Any) -> str:
    """Fill in the table of methods, and correct links to pictures of results/."""
    here = re.sub(r"\]\(\.\./results/([\w-]+\.png)\)", r"](results/\1)", markdown)
    return here.replace("<!-- selectors -->", selectors())


def selectors() -> str:
    """Return the table of names that ``method=`` takes."""
    rows = [f"| `{name}` | {selector.summary} |" for name, selector in SELECTORS.items()]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


@cache
def pictures() -> dict[str, bytes]:
    """Run the examples whose pictures are not in docs/images, each in a new folder, and return what they draw."""
    drawn: dict[str, bytes] = {}
    for script in sorted((ROOT / "examples").glob("*.py")):
        picture = f"{script.stem}.png"
        if picture not in script.read_text(encoding="utf-8") or (ROOT / "docs" / "images" / picture).exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"MPLBACKEND": "Agg"}
            subprocess.run(
                [sys.executable, str(script)], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL
            )
            drawn[picture] = (Path(folder) / picture).read_bytes()
    return drawn


def command_line() -> str:
    """Return the help of every command."""
    parts = ["# Command line", "```text", _help(), "```"]
    for command in (entry.callback.__name__ for entry in app.registered_commands):
        parts += [f"## {command}", "```text", _help(command), "```"]
    return "\n\n".join(parts).replace("```text\n\n", "```text\n").replace("\n\n```\n", "\n```\n")


def _help(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--help"], prog_name="amortized-kde", env={"COLUMNS": "96"})
    return result.output.strip()


def cards() -> str:
    """Return the cards of all shipped models."""
    found = akde.models()
    order = [name for name in ORDER if name in found] + sorted(set(found) - set(ORDER))
    opening = (
        "# The models' cards\n\nEvery model is a folder with `weights.safetensors` and `card.json`. This page is made "
        "from the cards when the site is built. `amortized-kde models NAME` prints them, `akde.models()` returns them "
        "in Python. Loading a model verifies its checksum."
    )
    return "\n\n".join([opening, *(_card(name, found[name]) for name in order)]) + "\n"


def _card(name: str, card: dict[str, Any]) -> str:
    recipe = card["recipe"]
    facts = {
        "use it as": f'`method="amortized:{name}"`',
        "trained on": f"the world `{recipe['world']}` ([tasks](tasks.md))",
        "returns": _output(recipe["network"]["output"]),
        "training": f"{recipe['steps']} steps of {recipe['batch']} tasks, seed {card['seed']}",
        "kept step": str(card["kept_step"]),
        "validation score": f"{card['validation_score_bits']:.4f} bits",
        "made by": f"`{card['command']}`",
        "SHA-256 of the weights": f"`{card['sha256'][:16]}…`",
    }
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    conventions = "\n".join(f"| {key} | {value} |" for key, value in card["conventions"].items())
    return (
        f"## {name}\n\n{SELECTORS[f'amortized:{name}'].summary}\n\n| about it | |\n|---|---|\n{rows}\n\n"
        f"| it reads | how |\n|---|---|\n{conventions}" + MEASURED.get(name, "")
    )


def _output(kind: str) -> str:
    words = {
        "adaptive": "for every point, shares of a ladder of bandwidths, and the probability of a background",
        "single": "one bandwidth, in the sample's own frame",
        "bandwidth": "one bandwidth, in the working domain",
        "ratio": "the bandwidth over the standard deviation",
    }
    return words.get(kind, f"`{kind}`")
