"""Options that several commands take, with one meaning in all, and how bounds and lists of numbers are read."""

from typing import Annotated

import typer

from amortized_kde.errors import InvalidBoundsError, InvalidParameterError

# Ways to write an open side.
_OPEN_SIDE = ("none", "-", "inf")

BoundsPair = Annotated[
    tuple[str, str] | None,
    typer.Option("--bounds", metavar="A B", help="Limits of the variable; none leaves a side open: --bounds 0 none."),
]
Method = Annotated[
    str | None,
    typer.Option("--method", metavar="NAME", help="Bandwidth selection method; an unknown name lists all."),
]
Bandwidth = Annotated[
    float | None, typer.Option("--bandwidth", metavar="H", help="Use this bandwidth instead, in data units.")
]
Atoms = Annotated[
    str | None,
    typer.Option("--atoms", metavar="A,B,...", help="Values with a probability of their own, such as 0 for no rain."),
]
Variable = Annotated[
    str | None, typer.Option("--var", metavar="NAME", help="The forecasts; default: the only variable with members.")
]
Observations = Annotated[
    str | None, typer.Option("--obs", metavar="FILE", help="File of the observations; default: that of the forecasts.")
]
ObservedVariable = Annotated[
    str | None, typer.Option("--obs-var", metavar="NAME", help="The observations; default: the name of the forecasts.")
]
MemberDim = Annotated[
    str | None,
    typer.Option("--member-dim", metavar="NAME", help="Dimension of the members; default: detected by its name."),
]
TimeDim = Annotated[str, typer.Option("--time-dim", metavar="NAME", help="Dimension of time.")]
Resolution = Annotated[
    float | None,
    typer.Option(
        "--resolution",
        metavar="R",
        min=0.0,
        help="Rounding unit of observations, 0 if exact; default: detected.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, help="At most N threads; default: all cores.")
]


def read_limits(given: tuple[str, str] | None) -> tuple[float | None, float | None] | None:
    """Read bounds, None where a side is open.

    Raises
    ------
    InvalidBoundsError
        If a side is neither a number nor open.
    """
    if not given:
        return None
    ends: list[float | None] = []
    for text, also_open in zip(given, ("-inf", "+inf"), strict=True):
        try:
            ends.append(None if text.lower() in (*_OPEN_SIDE, also_open) else float(text))
        except ValueError:
            raise InvalidBoundsError(
                f"--bounds takes two numbers, not {text!r}; write none for a side that is open: --bounds 0 none."
            ) from None
    return ends[0], ends[1]


def read_numbers_list(text: str | None, option: str) -> tuple[float, ...]:
    """Read numbers separated by commas.

    Raises
    ------
    InvalidParameterError
        If one is not a number.
    """
    try:
        return () if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameterError(f"{option} takes numbers with commas between them, not {text!r}.") from None


def check_bandwidth(method: str | None, bandwidth: float | None) -> None:
    """Raise `InvalidParameterError` if both a method and a bandwidth are given."""
    if method is not None and bandwidth is not None:
        raise InvalidParameterError("give either --method or --bandwidth, not both.")
