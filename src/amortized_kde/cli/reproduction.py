"""The command that recomputes the paper's tables and figures: reproduce."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from amortized_kde.cli.options import Overwrite
from amortized_kde.cli.output import WorkBar
from amortized_kde.errors import InvalidParameterError


class Part(StrEnum):
    """Parts of the paper's evidence."""

    gaussian = "gaussian"
    multifamily = "multifamily"
    gmm = "gmm"
    gmm_on_families = "gmm-on-families"
    worlds = "worlds"
    modes = "modes"
    ablations = "ablations"
    all = "all"


class Size(StrEnum):
    """Number of tasks."""

    quick = "quick"
    paper = "paper"


# Steps of each part, in order. Figure 4 shows scores of the multi-family bed.
_STEPS = {part: (part.value,) for part in Part} | {
    Part.gmm_on_families: ("multifamily",),
    Part.all: ("worlds", "modes", "gaussian", "multifamily", "gmm", "ablations"),
}
_OUT = {Size.quick: Path("results-quick"), Size.paper: Path("results")}
# Pools for Table 1 and densities per K for Table 2 in a quick run; otherwise their functions' defaults.
_POOLS: dict[Size, dict[str, int]] = {Size.quick: {"pools": 4}, Size.paper: {}}
_DENSITIES: dict[Size, dict[str, int]] = {Size.quick: {"count": 1000}, Size.paper: {}}
# Approximate cost of these steps on two cores, in the microseconds of `Chunk.cost`.
_COSTS = {
    Size.quick: {"worlds": 4e7, "modes": 5e6, "ablations": 6e7},
    Size.paper: {"worlds": 1.3e8, "modes": 2.3e7, "ablations": 7.2e8},
}


@dataclass(frozen=True)
class _Run:
    """Options of a run."""

    size: Size
    folder: Path
    threads: int | None


def reproduce(
    part: Annotated[
        Part,
        typer.Argument(
            help="gaussian: Figure 1. multifamily: Figure 2. gmm: Figure 3. gmm-on-families: Figure 4. "
            "worlds: Table 1. modes: Table 2. ablations: short trainings with other choices. all: everything.",
        ),
    ] = Part.all,
    scale: Annotated[
        Size, typer.Option("--scale", help="quick: about two minutes for all. paper: about an hour.")
    ] = Size.quick,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to write; default: results-quick, for paper results."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute three random chunks of the tables in DIR and compare.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="With --verify: seed of the choice of chunks.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods", metavar="A,B,...", help="Compute only the scores of these methods, and write no tables."
        ),
    ] = None,
    overwrite: Overwrite = False,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="At most N threads; the results do not depend on N.")
    ] = None,
) -> None:
    """Recompute the paper's evidence: tables, figures, report. An interrupted run continues where it stopped."""
    run = _Run(scale, out or _OUT[scale], threads)
    if verify:
        _verify(run, seed)
        return
    with _continuable():
        if methods is not None:
            _score(part, run, [name.strip() for name in methods.split(",")])
        else:
            _make(part, run, overwrite=overwrite)


@contextmanager
def _continuable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command continues where it was.") from None


def _make(part: Part, run: _Run, *, overwrite: bool) -> None:
    from amortized_kde._files import locked
    from amortized_kde.density.plotting import new_axes
    from amortized_kde.research.reproduction.protocol import BEDS
    from amortized_kde.research.reproduction.run import begin_record

    if part is not Part.modes:
        # Fail now, not after an hour, if matplotlib is missing.
        new_axes()
    with locked(run.folder):
        begin_record(run.folder, run.size, overwrite=overwrite)
        with _bar(_STEPS[part], run.size) as progress:
            for step in _STEPS[part]:
                _take(step, run, progress)
        if any((run.folder / f"{name}.csv").is_file() for name in BEDS):
            _draw_and_report(run.folder)


def _take(step: str, run: _Run, progress: WorkBar) -> None:
    """Take a step, and record it."""
    from amortized_kde.research.reproduction.run import record_part

    progress.begin(step)
    started = time.perf_counter()
    facts = _MAKERS.get(step, _make_bed)(step, run, progress)
    facts = {"seconds": round(time.perf_counter() - started, 1)} | facts
    command = " ".join(["amortized-kde", *sys.argv[1:]])
    record_part(run.folder, step, scale=run.size, command=command, facts=facts)


def _bar(steps: Iterable[str], size: Size) -> WorkBar:
    from amortized_kde.research.reproduction.protocol import BEDS, SCALES, chunks_of

    costs = {bed.name: sum(chunk.cost for chunk in chunks_of(bed, SCALES[size])) for bed in BEDS.values()}
    return WorkBar(sum((costs | _COSTS[size])[step] for step in steps))


def _make_bed(name: str, run: _Run, progress: WorkBar) -> dict[str, Any]:
    from amortized_kde.research.reproduction.protocol import BEDS, SCALES
    from amortized_kde.research.reproduction.run import reproduce_bed

    facts = reproduce_bed(BEDS[name], SCALES[run.size], run.folder, threads=run.threads, report=progress.count)
    progress.say(f"{name}: {facts['tasks_per_size']} tasks of each size; tables in {run.folder}")
    if not facts["checked_with_50_digits"]:
        progress.say("penalties.csv was not written: it needs mpmath, which the dev extra brings.")
    return facts


def _make_worlds(step: str, run: _Run, progress: WorkBar) -> dict[str, Any]:
    from amortized_kde.research.tasks import reproduce_ranges, reproduce_worlds

    progress.say(reproduce_worlds(run.folder))
    progress.say(reproduce_ranges(run.folder, **_POOLS[run.size]))
    progress.advance(_COSTS[run.size][step])
    return {}


def _make_modes(step: str, run: _Run, progress: WorkBar) -> dict[str, Any]:
    from amortized_kde.research.reproduction.modes import reproduce_modes

    progress.say(reproduce_modes(run.folder, **_DENSITIES[run.size]))
    progress.advance(_COSTS[run.size][step])
    return {}


def _make_ablations(step: str, run: _Run, progress: WorkBar) -> dict[str, Any]:
    from amortized_kde.research.reproduction.ablations import reproduce_ablations

    def report(what: str, done: int, total: int) -> None:
        progress.begin(f"{step}: {what}, {done} of {total}")

    progress.say(reproduce_ablations(run.folder, scale=run.size, report=report))
    progress.advance(_COSTS[run.size][step])
    return {}


# Every other step is a bed.
_MAKERS: dict[str, Callable[[str, _Run, WorkBar], dict[str, Any]]] = {
    "worlds": _make_worlds,
    "modes": _make_modes,
    "ablations": _make_ablations,
}


def _draw_and_report(folder: Path) -> None:
    from amortized_kde.research.reproduction.figures import draw_figures
    from amortized_kde.research.reproduction.report import write_report

    drawn = draw_figures(folder)
    typer.echo(f"{len(drawn)} pictures and {write_report(folder)}")


def _score(part: Part, run: _Run, methods: list[str]) -> None:
    """Compute and store only these columns."""
    from amortized_kde._files import locked
    from amortized_kde.research.reproduction.protocol import BEDS, SCALES
    from amortized_kde.research.reproduction.run import run_bed

    beds = [BEDS[step] for step in _STEPS[part] if step in BEDS]
    known = list(dict.fromkeys(method for bed in beds for method in bed.methods))
    for name in methods:
        if name not in known:
            raise InvalidParameterError(f"{part} has no method {name!r}; it has: {', '.join(known) or 'none'}.")
    with locked(run.folder), _bar([bed.name for bed in beds], run.size) as progress:
        for bed in beds:
            progress.begin(bed.name)
            run_bed(bed, SCALES[run.size], run.folder, methods=methods, threads=run.threads, report=progress.count)


def _verify(run: _Run, seed: int | None) -> None:
    """Print how far three chunks are from the tables; exit with status 1 if one is too far."""
    import secrets

    from amortized_kde.research.reproduction.verify import TOLERANCE, verify_tables

    chosen = secrets.randbelow(2**32) if seed is None else seed
    typer.echo(f"chunks chosen by --seed {chosen}")
    compared = verify_tables(run.folder, seed=chosen, threads=run.threads)
    for found in compared:
        chunk = found.chunk
        typer.echo(
            f"{chunk.bed:<12} n = {chunk.n:<4} tasks {chunk.first} to {chunk.first + chunk.count - 1}: "
            f"largest difference {found.worst:.1e} over {len(found.differences)} methods"
        )
    if not all(found.agrees for found in compared):
        typer.echo(f"these tables are not what this code computes: a mean score differs by more than {TOLERANCE}.")
        raise typer.Exit(1)
    typer.echo("the tables agree")
