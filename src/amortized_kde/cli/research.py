"""The commands for researchers: models, train. What reproduces the paper is in `reproduction.py`."""

from pathlib import Path
from typing import Annotated

import typer

from amortized_kde.cli.archive import ArchiveOptions, check_choice, train_on_file
from amortized_kde.cli.options import BoundsPair
from amortized_kde.cli.reports import print_facts, print_json
from amortized_kde.cli.workbar import TrainingBar
from amortized_kde.errors import InvalidParameterError, MissingExtraError


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show the whole card of one model.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
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
        str | None, typer.Option("--obs", metavar="NAME", help="Of --archive: the variable with what came true.")
    ] = None,
    obs_file: Annotated[
        str | None, typer.Option("--obs-file", metavar="FILE", help="Where that variable is; default: in the archive.")
    ] = None,
    var: Annotated[
        str | None, typer.Option("--var", metavar="NAME", help="The forecasts; default: the only one with members.")
    ] = None,
    member_dim: Annotated[
        str, typer.Option("--member-dim", metavar="NAME", help="Dimension of the members.")
    ] = "member",
    time_dim: Annotated[str, typer.Option("--time-dim", metavar="NAME", help="Dimension of time.")] = "time",
    bounds: BoundsPair = None,
    atoms: Annotated[
        str | None,
        typer.Option("--atoms", metavar="A,B,...", help="Values with a probability of their own, as 0 rain."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--start", metavar="NAME", help="adaptive (default), single, a model's folder, or scratch."),
    ] = None,
    dress: Annotated[bool, typer.Option("--dress", help="Learn a correction of bias and spread along.")] = False,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", min=1, help="Steps on the archive; default: 1000.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the training on an archive.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write; default: training/RECIPE.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in DIR.")] = False,
) -> None:
    """Train a selector, on a recipe's tasks or on an archive: checkpoints, a log, a picture of it, and the model."""
    check_choice(recipe, archive)
    alone = {"--obs": obs, "--obs-file": obs_file, "--var": var, "--bounds": bounds, "--atoms": atoms, "--steps": steps}
    wrong = [name for name, value in {**alone, "--start": start, "--dress": dress or None}.items() if value is not None]
    if archive is None and wrong:
        raise InvalidParameterError(f"{wrong[0]} is for training on an archive; give --archive FILE too.")
    if archive is not None:
        train_on_file(
            ArchiveOptions(
                archive=archive,
                obs=obs,
                obs_file=obs_file,
                var=var,
                member_dim=member_dim,
                time_dim=time_dim,
                bounds=bounds,
                atoms=atoms,
                start=start or "adaptive",
                dress=dress,
                steps=steps,
                seed=seed,
                out=out,
                resume=resume,
            )
        )
    elif recipe is not None:
        _train_recipe(recipe, out, resume=resume)


def _train_recipe(recipe: str, out: Path | None, *, resume: bool) -> None:
    try:
        from amortized_kde.research.training.ladder.loop import train_ladder
        from amortized_kde.research.training.loop import train as train_one_number
    except ImportError as error:
        raise MissingExtraError(
            f"training needs {error.name}; install it with: pip install 'amortized-kde[train]'"
        ) from None
    from amortized_kde.research.training.picture import draw_log
    from amortized_kde.research.training.recipe import Recipe, find_recipe

    found = find_recipe(recipe)
    folder = out or Path("training", found.name)
    with TrainingBar(found.steps) as report:
        if isinstance(found, Recipe):
            progress = train_one_number(found, folder, resume=resume, report=report)
        else:
            progress = train_ladder(found, folder, resume=resume, report=report)
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
