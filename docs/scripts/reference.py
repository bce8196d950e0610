"""Pages and tables that describe the package: command line, models' cards, methods."""

from collections.abc import Callable
from typing import Any

from tables import table
from typer.testing import CliRunner

import amortized_kde as akde
from amortized_kde.cli import app
from amortized_kde.selection import SELECTORS

# Commands of the first page; the second has all others.
SAMPLE_COMMANDS = ("fit", "compare", "score", "app")
# The three defaults first, then the paper's.
ORDER = ("adaptive", "single", "multivariate", "gaussian", "multifamily", "gmm8", "gmm16", "gmm32")
_RETURNS = {
    "adaptive": "shares of a ladder of bandwidths for every point, and the weight of a background",
    "single": "one bandwidth, from features in the sample's own frame",
    "bandwidth": "one bandwidth, from features in the working domain",
    "ratio": "the bandwidth over the standard deviation",
    "candidates": "weights of candidate densities, from their scores at left-out points",
}
_NOTE = "<!-- Written by docs/scripts/fill.py; do not edit. -->"


def selectors() -> str:
    """Return the table of names that ``method=`` takes."""
    return table(["name", "what it is"], [[f"`{name}`", row.summary] for name, row in SELECTORS.items()])


def sample_commands() -> str:
    """Return the help of the commands for one sample."""
    opening = "`ensemble`, `train` and the others are on [the next page](command-line-more.md)."
    return _command_page("Command line", opening, SAMPLE_COMMANDS, general=True)


def more_commands() -> str:
    """Return the help of all other commands."""
    others = [name for name in _commands() if name not in SAMPLE_COMMANDS]
    return _command_page(
        "Command line: ensembles, training", "`fit` and `compare` are on [another page](command-line.md).", others
    )


def _commands() -> list[str]:
    return [entry.name or entry.callback.__name__ for entry in app.registered_commands]


def _command_page(title: str, opening: str, commands: Any, *, general: bool = False) -> str:
    parts = [f"# {title}", _NOTE, opening, *([_help()] if general else [])]
    for command in commands:
        parts += [f"## {command}", _help(command)]
    return "\n\n".join(parts) + "\n"


def _help(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--help"], prog_name="amortized-kde", env={"COLUMNS": "96"})
    # Every command has the option --help, so it is shown once, on top.
    lines = [line for line in result.output.strip().splitlines() if not command or not line.startswith("  --help ")]
    shown = "\n".join(lines).removesuffix("Options:").rstrip()
    return f"```text\n{shown}\n```"


def cards() -> str:
    """Return the page of all shipped models."""
    found = akde.models()
    names = [name for name in ORDER if name in found] + sorted(set(found) - set(ORDER))
    opening = (
        "Every model is a folder with `weights.safetensors` and `card.json`. This page is made from the cards. "
        "`amortized-kde models NAME` prints one, and `akde.models()` returns all of them. Loading a model verifies its "
        "checksum. [Results](results.md) says how good each is, [tasks](tasks.md) describes the worlds."
    )
    parts = ["# The models", _NOTE, opening, *(_card(name, found[name]) for name in names)]
    return "\n\n".join([*parts, "## What they read", *_conventions({name: found[name] for name in names})]) + "\n"


def _card(name: str, card: dict[str, Any]) -> str:
    recipe, steps, selector = card["recipe"], card["last_step"], SELECTORS.get(f"amortized:{name}")
    lines = [
        f'Use it as `method="{selector.name}"`. {selector.summary}'
        if selector
        else "The default of `fit` for [several variables](several.md).",
        "",
        f"- Returns {_RETURNS[recipe['network']['output']]}.",
        f"- Trained on the world `{recipe['world']}`: {steps:,} steps of {recipe['batch']:,} tasks, "
        f"{_distinct(card)} tasks in all, seed {card['seed']}; step {card['kept_step']:,} was kept.",
        f"- Validation score {card['validation_score_bits']:.4f} bits. `{card['command']}` repeats the training.",
        f"- SHA-256 of the weights: `{card['sha256'][:16]}…`",
    ]
    return f"## {name}\n\n" + "\n".join(lines)


def _distinct(card: dict[str, Any]) -> str:
    """Return the number of different tasks: some recipes use theirs several times."""
    recipe = card["recipe"]
    steps = recipe.get("again", {}).get("steps", card["last_step"])
    return f"{card['tasks']:,}" if "tasks" in card else f"{steps * recipe['batch'] / 1e6:.1f} million"


def _conventions(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a table for each set of conventions, with the models that share it."""
    shared: dict[str, list[str]] = {}
    for name, card in found.items():
        lines = [[key, str(value)] for key, value in card["conventions"].items()]
        shared.setdefault(table(["", "convention"], lines), []).append(f"`{name}`")
    return [f"{', '.join(names)}:\n\n{text}" for text, names in shared.items()]


SELECTION: dict[str, Callable[[], str]] = {"selectors": selectors}
GENERATED: dict[str, Callable[[], str]] = {
    "models.md": cards,
    "reference/command-line.md": sample_commands,
    "reference/command-line-more.md": more_commands,
}
