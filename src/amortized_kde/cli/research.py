"""The commands for trained models: models, train."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amortized_kde.cli.options import Atoms, BoundsPair, Json, read_limits, read_numbers_list
from amortized_kde.cli.output import TrainingBar, print_facts, print_json
from amortized_kde.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from amortized_kde.research.training.archive.train import Outcome


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show the whole card of one model.")] = None,
    as_json: Json = False,
) -> None:
    """List the shipped trained models, or show one model's card."""
    import amortized_kde as akde

    cards = akde.models()
    if name is not None and name not in cards:
        raise InvalidParameterError(f"there is no model {name!r}; the models are: {', '.join(cards)}.")
    if as_json:
        print_json(cards if name is None else cards[name])
    elif name is not None:
        print_facts({key: value for key, value in cards[name].items() if not isinstance(value, dict)})
        print_facts(cards[name].get("conventions", {}))
    else:
        for key, card in cards.items():
            kept, score, world = card["kept_step"], card["validation_score_bits"], card["recipe"]["world"]
            paper = f" (paper: {card['paper_kept_step']})" if "paper_kept_step" in card else ""
            typer.echo(f"{key:<12}  step {kept}{paper}  validation {score:.4f} bits  world {world}")


def train(
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A recipe's name, or a TOML file of your own.")
    ] = None,
    archive: Annotated[
        str | None, typer.Option("--archive", metavar="FILE", help="Train on forecasts of your own: NetCDF or Zarr.")
    ] = None,
    obs: Annotated[
        str | None, typer.Option("--obs", metavar="NAME", help="With --archive: the variable with the observations.")
    ] = None,
    obs_file: Annotated[
        str | None, typer.Option("--obs-file", metavar="FILE", help="File of that variable; default: the archive.")
    ] = None,
    var: Annotated[
        str | None, typer.Option("--var", metavar="NAME", help="The forecasts; default: the only one with members.")
    ] = None,
    member_dim: Annotated[
        str, typer.Option("--member-dim", metavar="NAME", help="Dimension of the members.")
    ] = "member",
    time_dim: Annotated[str, typer.Option("--time-dim", metavar="NAME", help="Dimension of time.")] = "time",
    bounds: BoundsPair = None,
    atoms: Atoms = None,
    start: Annotated[
        str | None,
        typer.Option("--start", metavar="NAME", help="adaptive (default), single, a model's folder, or scratch."),
    ] = None,
    dress: Annotated[bool, typer.Option("--dress", help="Also learn a correction of bias and spread.")] = False,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", min=1, help="Steps on the archive; default: 1000.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the training on an archive.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write; default: training/RECIPE.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint in DIR.")] = False,
) -> None:
    """Train a model on a recipe's tasks or on an archive; write checkpoints, a log with a picture, and the model."""
    if recipe is not None and archive is not None:
        raise InvalidParameterError("RECIPE and --archive exclude each other: an archive needs no recipe.")
    if archive is not None:
        if obs is None:
            raise InvalidParameterError("--archive needs --obs VARIABLE, the observations that the forecasts are for.")
        reading = {"var": var, "obs": obs, "obs_file": obs_file, "member_dim": member_dim, "time_dim": time_dim}
        training = {"start": start or "adaptive", "dress": dress, "seed": seed} | (
            {} if steps is None else {"steps": steps}
        )
        support = {"bounds": read_limits(bounds), "atoms": read_numbers_list(atoms, "--atoms")}
        _train_archive(archive, reading, support, training, out, resume=resume)
        return
    if recipe is None:
        raise InvalidParameterError("give a RECIPE, or --archive FILE to train on forecasts of your own.")
    archive_only: dict[str, Any] = {"--obs": obs, "--obs-file": obs_file, "--var": var, "--bounds": bounds}
    archive_only |= {"--atoms": atoms, "--steps": steps, "--start": start, "--dress": dress or None}
    for name, value in archive_only.items():
        if value is not None:
            raise InvalidParameterError(f"{name} is for training on an archive; give --archive FILE too.")
    _train_recipe(recipe, out, resume=resume)


@contextmanager
def _training_extra() -> Iterator[None]:
    """Turn a missing library into one sentence."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"training needs {error.name}; install it with: pip install 'amortized-kde[train]'"
        ) from None


def _train_recipe(recipe: str, out: Path | None, *, resume: bool) -> None:
    with _training_extra():
        from amortized_kde.research.training.loop import train
    from amortized_kde.research.training.checkpoint import draw_log
    from amortized_kde.research.training.recipe import find_recipe

    found = find_recipe(recipe)
    folder = out or Path("training", found.name)
    with TrainingBar(found.steps) as report:
        progress = train(found, folder, resume=resume, report=report)
    draw_log(progress.log, folder / "log.png", name=found.name)
    print_facts(
        {
            "recipe": found.name,
            "last_step": progress.step,
            "kept_step": progress.best_step,
            "validation_score_bits": progress.best_score,
            "model": str(folder),
            "use_it": f'method="amortized:{folder}"',
        }
    )


def _train_archive(
    archive: str,
    reading: dict[str, Any],
    support: dict[str, Any],
    training: dict[str, Any],
    out: Path | None,
    *,
    resume: bool,
) -> None:
    """Train on a file; print where the model is, and how it scores on held-out time."""
    from amortized_kde.integrations.xarray.files import read_archive

    with _training_extra():
        from amortized_kde.research.training.archive.train import split_pairs, train_archive
    from amortized_kde.research.training.archive.pairs import read_pairs
    from amortized_kde.research.training.archive.recipe import archive_recipe
    from amortized_kde.research.training.checkpoint import draw_log

    pairs = read_pairs(*read_archive(archive, **reading), **support)
    # An archive that cannot be split is refused before the bar is drawn.
    split = split_pairs(pairs)
    folder = out or Path("training", Path(archive).stem)
    recipe = archive_recipe(pairs, name=folder.name, **training)
    with TrainingBar(recipe.steps) as bar:
        outcome = train_archive(recipe, pairs, folder, resume=resume, report=bar)
    draw_log(outcome.progress.log, folder / "log.png", name=recipe.name)
    print_facts(
        {
            "pairs": len(pairs),
            **{f"left_out_{reason.replace(' ', '_')}": count for reason, count in pairs.left_out.items() if count},
            "blocks_of_time": f"{len(split.parts)} of {split.length} steps or more",
            "kept_step": outcome.progress.best_step,
            "last_step": outcome.progress.step,
            **(_about_dressing(folder) if recipe.dress else {}),
            "model": str(folder),
            "use_it": f'method="amortized:{folder}"' + (f', after dressed(x, "{folder}")' if recipe.dress else ""),
        }
    )
    _print_report(outcome, folder)


def _about_dressing(folder: Path) -> dict[str, str]:
    from amortized_kde.ensembles.dressing import read_dressing

    found = read_dressing(folder)
    return {"dressing": f"x' = {found.shift:.6g} + {found.slope:.6g} m + {found.spread:.6g} (x - m)"}


def _print_report(outcome: "Outcome", folder: Path) -> None:
    from amortized_kde.research.training.archive.scores import table_lines

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
