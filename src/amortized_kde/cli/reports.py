"""What the commands print: facts in lines or as JSON."""

import json
import math
from typing import Any

import typer

LABELS = {"interval_90": "90 % interval", "files": "wrote"}


def print_json(facts: dict[str, Any]) -> None:
    """Print facts as JSON, numbers that it cannot hold as null."""
    typer.echo(json.dumps(_finite(facts), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    """The same, with None for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_facts(facts: dict[str, Any]) -> None:
    """Print facts one a line, labels aligned."""
    from rich.text import Text

    labels = {name: LABELS.get(name, name.replace("_", " ")) for name in facts if facts[name] != []}
    width = max(map(len, labels.values()))
    for name, label in labels.items():
        _console().print(Text.assemble((label.ljust(width), "bold"), "  ", _in_words(facts[name])))


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return " to ".join(map(_in_words, value)) if any(end is not None for end in value) else "none"
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _console() -> Any:
    from rich.console import Console

    # So wide that rich cuts no number and breaks no line, in a pipe or on a narrow terminal.
    return Console(width=10_000, markup=False, highlight=False, emoji=False)
