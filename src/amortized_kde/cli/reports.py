"""What the commands print: facts in lines or as JSON, and the comparison's table."""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from amortized_kde._compare import HeldOutScore
    from amortized_kde.score import Mean


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


def print_comparison(facts: dict[str, Any], rows: Sequence["HeldOutScore"], protocol: str) -> None:
    """Print the comparison's table and its remarks."""
    from rich.table import Table

    print_facts(facts)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("method")
    for name in ("bandwidth", "score", "s.e.", "to best ± s.e.", "modes"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.method,
            "-" if row.bandwidth is None else f"{row.bandwidth:.6g}",
            *(("-", "-") if row.score is None else (f"{row.score.value:.4f}", f"{row.score.standard_error:.4f}")),
            "-" if row.difference is None else _difference_in_words(row.difference, best=row is rows[0]),
            "-" if row.modes is None else str(row.modes),
        )
    typer.echo(f"\n{protocol} logarithmic score in bits; lower is better\n")
    _console().print(table)
    remarks = [(row.method, text) for row in rows for text in (row.failure, row.note) if text is not None]
    for i, (method, text) in enumerate(remarks):
        typer.echo("\n" * (i == 0) + f"{method}: {text.removeprefix(f'{method}: ')}")


def about_row(row: "HeldOutScore") -> dict[str, Any]:
    """Give a row of the comparison as plain data."""
    return {
        "method": row.method,
        "bandwidth": row.bandwidth,
        "score": row.score and row.score.value,
        "standard_error": row.score and row.score.standard_error,
        "to_best": row.difference and row.difference.value,
        "to_best_standard_error": row.difference and row.difference.standard_error,
        "modes": row.modes,
        "failure": row.failure,
        "note": row.note,
    }


def _difference_in_words(difference: "Mean", *, best: bool) -> str:
    return "best" if best else f"{difference.value:+.4f} ± {difference.standard_error:.4f}"
