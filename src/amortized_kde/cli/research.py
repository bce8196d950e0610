"""The commands for trained models: models, train."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amortized_kde.cli.options import (
    Atoms,
    BoundsPair,
    Json,
    MemberDim,
    Observations,
    ObservedVariable,
    Overwrite,
    Resolution,
    TimeDim,
    Variable,
    read_limits,
    read_numbers_list,
)
from amortized_kde.cli.output import TrainingBar, print_facts, print_json
from amortized_kde.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from amortized_kde.research.training.archive.pairs import Pairs


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
        str | None,
        typer.Option("--archive", metavar="FILE", help="Your own forecasts to train on: NetCDF or Zarr."),
    ] = None,
    var: Variable = None,
    obs: Observations = None,
    obs_var: ObservedVariable = None,
    member_dim: MemberDim = None,
    time_dim: TimeDim = "time",
    bounds: BoundsPair = None,
    atoms: Atoms = None,
    resolution: Resolution = None,
    covariates: Annotated[
        str | None, typer.Option("--covariates", metavar="NAME,...", help="Variables that the correction may use.")
    ] = None,
    window: Annotated[
        int | None, typer.Option("--window", metavar="DAYS", help="Fit only to this many days before each forecast.")
    ] = None,
    calibration: Annotated[
        bool, typer.Option("--calibration/--no-calibration", help="Correct bias and spread, if that helps.")
    ] = True,
    season: Annotated[bool, typer.Option("--season/--no-season", help="Use the season, if that helps.")] = True,
    tuning: Annotated[bool, typer.Option("--tuning/--no-tuning", help="Tune the network, if that helps.")] = True,
    start: Annotated[
        str | None,
        typer.Option("--start", metavar="NAME", help="adaptive (default), single, a model's folder, or scratch."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", metavar="N", min=1, help="Maximum number of tuning steps; default: 1000."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the training on an archive.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write; default: training/RECIPE.")
    ] = None,
    overwrite: Overwrite = False,
    resume: Annotated[bool, typer.Option("--resume", help="With RECIPE: continue from the checkpoint in DIR.")] = False,
) -> None:
    """Train a model on a recipe's tasks or on an archive; write the model, and a log or a report."""
    if recipe is not None and archive is not None:
        raise InvalidParameterError("give either RECIPE or --archive, not both: an archive needs no recipe.")
    archive_only: dict[str, Any] = {"--obs": obs, "--obs-var": obs_var, "--var": var, "--bounds": bounds}
    archive_only |= {"--atoms": atoms, "--steps": steps, "--start": start, "--resolution": resolution}
    archive_only |= {"--covariates": covariates, "--window": window, "--no-calibration": None if calibration else True}
    archive_only |= {"--no-season": None if season else True, "--no-tuning": None if tuning else True}
    if archive is None:
        if recipe is None:
            raise InvalidParameterError("give a RECIPE, or --archive FILE to train on forecasts of your own.")
        for name, value in archive_only.items():
            if value is not None:
                raise InvalidParameterError(f"{name} is for training on an archive; give --archive FILE too.")
        _train_recipe(recipe, out, resume=resume, overwrite=overwrite)
        return
    if resume:
        raise InvalidParameterError("--resume is for recipes; training on an archive takes a minute, start it again.")
    names = () if covariates is None else tuple(name.strip() for name in covariates.split(","))
    reading = {"var": var, "obs": obs, "obs_var": obs_var, "member_dim": member_dim, "time_dim": time_dim}
    given = None if atoms is None else read_numbers_list(atoms, "--atoms")
    support = {"bounds": read_limits(bounds), "atoms": given, "resolution": resolution}
    parts = {"calibration": calibration, "season": season, "tuning": tuning, "window": window}
    training = {"start": start or "adaptive", "seed": seed, **parts} | ({} if steps is None else {"steps": steps})
    folder = out or Path("training", Path(archive).stem)
    _train_archive(archive, reading | {"covariates": names}, support, training, folder, overwrite=overwrite)


@contextmanager
def _training_extra() -> Iterator[None]:
    """Turn a missing library into one sentence."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"training needs {error.name or error}; install it with: pip install 'amortized-kde[train]'"
        ) from None


def _train_recipe(recipe: str, out: Path | None, *, resume: bool, overwrite: bool) -> None:
    from amortized_kde.research.training.recipe import find_recipe

    with _training_extra():
        from amortized_kde.research.training.checkpoint import LOG_PICTURE, RUN_FILES, check_folder, draw_log
        from amortized_kde.research.training.loop import train

    found = find_recipe(recipe)
    folder = out or Path("training", found.name)
    check_folder(folder, RUN_FILES, overwrite=overwrite, resume=resume)
    try:
        with TrainingBar(found.steps) as report:
            progress = train(found, folder, resume=resume, report=report)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("--resume continues from the last checkpoint.") from None
    draw_log(progress.log, folder / LOG_PICTURE, name=found.name)
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
    folder: Path,
    *,
    overwrite: bool,
) -> None:
    """Train on a file; print what was decided, where the model is, and how it scores on held-out time."""
    from amortized_kde.integrations.xarray.archives import read_archive

    with _training_extra():
        from amortized_kde.research.training.archive.train import FILES, held_out, train_archive
        from amortized_kde.research.training.checkpoint import check_folder

        if training["tuning"]:
            # Only tuning needs JAX; better to know before all else is done.
            import amortized_kde.research.training.archive.problem  # noqa: F401
    from amortized_kde.research.training.archive.pairs import read_pairs
    from amortized_kde.research.training.archive.recipe import archive_recipe
    from amortized_kde.research.training.archive.report import table_lines

    check_folder(folder, FILES, overwrite=overwrite, sources=[archive, reading["obs"]])
    found = read_archive(archive, **reading)
    pairs = read_pairs(
        found.members,
        found.observations,
        found.days,
        covariates=found.covariates,
        places=found.places,
        names=found.names,
        **support,
    )
    held_out(pairs)
    recipe = archive_recipe(pairs, name=folder.name, **training)
    print_facts(_about(pairs))
    for note in _notes(pairs, support):
        typer.echo(f"note: {note}")
    outcome = train_archive(recipe, pairs, folder, say=lambda sentence: typer.echo(f"  {sentence}"))
    print_facts({"model": str(folder), "use_it": f"--method amortized:{folder}"})
    typer.echo(
        f"\nMean log score in bits, lower is better, of {outcome.report.pairs} pairs of the last fifth of the days; "
        f"intervals by drawing {outcome.report.pieces} pieces of time:\n"
    )
    for line in table_lines(outcome.report):
        typer.echo(line)
    typer.echo(f"\nwrote {folder / 'report.csv'} and report.png")


def _about(pairs: "Pairs") -> dict[str, Any]:
    """Return counts and what was recognised in the archive."""
    import numpy as np

    left_out = {f"left_out_{reason.replace(' ', '_')}": count for reason, count in pairs.left_out.items() if count}
    places = 1 if pairs.places is None else np.unique(pairs.places).size
    return {
        "pairs": len(pairs),
        **left_out,
        "days": int(np.unique(pairs.days).size),
        "places": places,
        "members": ", ".join(pairs.names) if pairs.names else f"{pairs.members.shape[1]}, exchangeable",
        "resolution": pairs.resolution or "exact",
        "atoms": list(pairs.atoms) or "none",
        "covariates": list(pairs.covariates) or "none",
    }


def _notes(pairs: "Pairs", support: dict[str, Any]) -> list[str]:
    """Return sentences about what was found and not given."""
    notes = []
    if pairs.resolution and support["resolution"] is None:
        notes.append(
            f"observations look rounded to {pairs.resolution:g}; scoring the rounded cells. Pass --resolution 0 to "
            "treat them as exact."
        )
    if pairs.atoms and support["atoms"] is None:
        listed = ",".join(f"{atom:g}" for atom in pairs.atoms)
        notes.append(f"the value {listed} has a probability of its own; pass --atoms {listed} to say so.")
    return notes
