"""The commands for researchers: models, train. What reproduces the paper is in `reproduction.py`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amortized_kde.cli.reports import print_facts, print_json
from amortized_kde.errors import MissingExtraError

if TYPE_CHECKING:
    from amortized_kde.training.checkpoint import Progress

__all__ = ["models", "train"]


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show the whole card of one model.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """List the shipped trained models, or show one model's card."""
    import amortized_kde as akde
    from amortized_kde.errors import InvalidParameterError

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
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe's name, or a TOML file of your own.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write; default: training/RECIPE.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in DIR.")] = False,
) -> None:
    """Train a selector: checkpoints, a log, a picture of it, and the model."""
    try:
        from amortized_kde.training.ladder.loop import train_ladder
        from amortized_kde.training.loop import train as train_one_number
    except ImportError as error:
        raise MissingExtraError(
            f"training needs {error.name}; install it with: pip install 'amortized-kde[train]'"
        ) from None
    from amortized_kde.training.picture import draw_log
    from amortized_kde.training.recipe import Recipe, find_recipe

    found = find_recipe(recipe)
    folder = out or Path("training", found.name)
    with _progress(found.steps) as report:
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


class _progress:
    """A live line: step, score, validation, time left."""

    def __init__(self, steps: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.fields[scores]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._task = self._bar.add_task("train", total=steps, scores="")

    def __enter__(self) -> "_progress":
        self._bar.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bar.stop()

    def __call__(self, progress: "Progress") -> None:
        if not progress.log:
            return
        best = f"best {progress.best_score:.4f} at {progress.best_step}" if progress.best_step else "not yet validated"
        self._bar.update(self._task, completed=progress.step, scores=f"score {progress.log[-1].score:.4f}, {best}")
