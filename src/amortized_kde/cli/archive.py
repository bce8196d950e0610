"""What ``train --archive`` does: a file becomes pairs, pairs a model, and a report on held-out time is printed."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from amortized_kde.cli.options import read_limits, read_numbers_list
from amortized_kde.cli.reports import print_facts
from amortized_kde.cli.workbar import TrainingBar
from amortized_kde.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from amortized_kde.research.training.archive.train import Outcome


@dataclass(frozen=True, kw_only=True)
class ArchiveOptions:
    """The options as they were typed."""

    archive: str
    obs: str | None
    obs_file: str | None
    var: str | None
    member_dim: str
    time_dim: str
    bounds: tuple[str, str] | None
    atoms: str | None
    start: str
    dress: bool
    steps: int | None
    seed: int
    out: Path | None
    resume: bool


def check_choice(recipe: str | None, archive: str | None) -> None:
    """Raise `InvalidParameterError` unless there is a recipe or an archive, and not both."""
    if recipe is not None and archive is not None:
        raise InvalidParameterError("RECIPE and --archive exclude each other: an archive needs no recipe.")
    if recipe is None and archive is None:
        raise InvalidParameterError("give a RECIPE, or --archive FILE to train on forecasts of your own.")


def train_on_file(options: ArchiveOptions) -> None:
    """Train on a file, and print where the model is and how good it is."""
    from amortized_kde.integrations.xarray.archives import read_archive

    try:
        from amortized_kde.research.training.archive.train import split_pairs, train_archive
    except ImportError as error:
        raise MissingExtraError(
            f"training needs {error.name}; install it with: pip install 'amortized-kde[train]'"
        ) from None
    from amortized_kde.research.training.archive.pairs import read_pairs
    from amortized_kde.research.training.archive.recipe import STEPS, archive_recipe
    from amortized_kde.research.training.picture import draw_log

    if options.obs is None:
        raise InvalidParameterError("--archive needs --obs VARIABLE, the observations that the forecasts are for.")
    rows = read_archive(
        options.archive,
        var=options.var,
        obs=options.obs,
        obs_file=options.obs_file,
        member_dim=options.member_dim,
        time_dim=options.time_dim,
    )
    pairs = read_pairs(*rows, bounds=read_limits(options.bounds), atoms=read_numbers_list(options.atoms, "--atoms"))
    # What cannot be trained on is told before a bar is drawn.
    split = split_pairs(pairs)
    folder = options.out or Path("training", Path(options.archive).stem)
    recipe = archive_recipe(
        pairs,
        name=folder.name,
        start=options.start,
        dress=options.dress,
        steps=STEPS if options.steps is None else options.steps,
        seed=options.seed,
    )
    with TrainingBar(recipe.steps) as bar:
        outcome = train_archive(recipe, pairs, folder, resume=options.resume, report=bar)
    draw_log(outcome.progress.log, folder / "log.png", name=recipe.name)
    print_facts(
        {
            "pairs": len(pairs),
            **{f"left_out_{reason.replace(' ', '_')}": count for reason, count in pairs.left_out.items() if count},
            "blocks_of_time": f"{len(split.parts)} of {split.length} steps or more",
            "kept_step": outcome.progress.best_step,
            "last_step": outcome.progress.step,
            **_told_dressing(folder, dress=recipe.dress),
            "model": str(folder),
            "use_it": f'method="amortized:{folder}"' + (f', after dressed(x, "{folder}")' if recipe.dress else ""),
        }
    )
    _print_report(outcome, folder)


def _told_dressing(folder: Path, *, dress: bool) -> dict[str, str]:
    from amortized_kde.ensembles.dressing import read_dressing

    if not dress:
        return {}
    found = read_dressing(folder)
    return {"dressing": f"x' = {found.shift:.6g} + {found.slope:.6g} m + {found.spread:.6g} (x - m)"}


def _print_report(outcome: "Outcome", folder: Path) -> None:
    from amortized_kde.research.training.archive.report import table_lines

    report = outcome.report
    if report is None:
        return
    typer.echo(
        f"\nMean log score in bits, lower is better, of {report.pairs} held-out pairs; intervals by drawing "
        f"{report.pieces} pieces of {report.piece_length} time steps:\n"
    )
    for line in table_lines(report):
        typer.echo(line)
    typer.echo(f"\nwrote {folder / 'report.csv'}")
