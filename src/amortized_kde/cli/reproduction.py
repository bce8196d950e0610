"""The command that makes the paper's evidence anew: which parts to run, in what order, and a bar of what is left."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amortized_kde.errors import InvalidParameterError

if TYPE_CHECKING:
    from amortized_kde.benchmark.protocol import Bed, Chunk, Scale

__all__ = ["reproduce"]


class Part(StrEnum):
    """What can be reproduced."""

    gaussian = "gaussian"
    multifamily = "multifamily"
    gmm = "gmm"
    gmm_on_families = "gmm-on-families"
    modes = "modes"
    worlds = "worlds"
    ablations = "ablations"
    all = "all"


class ScaleName(StrEnum):
    """How large."""

    quick = "quick"
    paper = "paper"


# The beds that a part needs; the last figure of the paper shows the scores of the multi-family bed.
_BEDS = {
    Part.gaussian: ("gaussian",),
    Part.multifamily: ("multifamily",),
    Part.gmm: ("gmm",),
    Part.gmm_on_families: ("multifamily",),
    Part.all: ("gaussian", "multifamily", "gmm"),
}
_OUT = {ScaleName.quick: Path("results-quick"), ScaleName.paper: Path("results")}


def reproduce(
    part: Annotated[
        Part,
        typer.Argument(
            metavar="[PART]",
            help="gaussian: Figure 1. multifamily: Figure 2. gmm: Figure 3. gmm-on-families: Figure 4. "
            "worlds: Table 1. modes: Table 2. ablations: short trainings with other choices. all: everything.",
        ),
    ] = Part.all,
    scale: Annotated[
        ScaleName, typer.Option("--scale", help="quick: about two minutes for all. paper: about an hour.")
    ] = ScaleName.quick,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where results go; default: results-quick, or results for paper."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute three random chunks of the tables in DIR and compare.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Choose the same three chunks again.")] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="NAMES", help="Only score these (commas between), and write no tables yet."),
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", metavar="N", help="At most so many threads.")] = None,
) -> None:
    """Make the paper's evidence anew: tables, figures, report. Stopped runs go on where they were."""
    folder = out or _OUT[scale]
    if methods is not None:
        _score(part, scale, folder, _names(part, methods), threads)


def _names(part: Part, methods: str) -> list[str]:
    from amortized_kde.benchmark.protocol import find_bed

    names = [name.strip() for name in methods.split(",")]
    known = {method for bed in _BEDS.get(part, ()) for method in find_bed(bed).methods}
    unknown = [name for name in names if name not in known]
    if unknown:
        their = ", ".join(sorted(known)) or "none"
        raise InvalidParameterError(f"{part} has no method {unknown[0]!r}; its methods are: {their}.")
    return names


def _score(part: Part, scale: ScaleName, folder: Path, methods: list[str] | None, threads: int | None) -> None:
    """Compute the scores that are missing, with a bar of the work left."""
    from amortized_kde.benchmark.protocol import SCALES, find_bed
    from amortized_kde.benchmark.run import run_bed

    beds = [find_bed(name) for name in _BEDS.get(part, ())]
    with _Progress(beds, SCALES[scale]) as progress:
        for bed in beds:
            progress.begin(bed)
            run_bed(bed, SCALES[scale], folder, methods=methods, threads=threads, report=progress)


class _Progress:
    """A live line: bed, share of the work done, time left."""

    def __init__(self, beds: "list[Bed]", scale: "Scale") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        from amortized_kde.benchmark.protocol import chunks_of

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            speed_estimate_period=600.0,
        )
        self._task = self._bar.add_task("", total=sum(chunk.cost for bed in beds for chunk in chunks_of(bed, scale)))

    def __enter__(self) -> "_Progress":
        self._bar.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bar.stop()

    def begin(self, bed: "Bed") -> None:
        self._bar.update(self._task, description=bed.name)

    def __call__(self, chunk: "Chunk") -> None:
        self._bar.advance(self._task, chunk.cost)
