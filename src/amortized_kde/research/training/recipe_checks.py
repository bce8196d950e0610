"""What the entries of a recipe may be: ranges of numbers, and what must fit together."""

import re
from typing import TYPE_CHECKING, Any

from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.paper.features import CONVENTIONS

if TYPE_CHECKING:
    from amortized_kde.research.training.recipe import BroadRecipe, PaperRecipe

_COUNT, _COUNT_OR_NONE, _SEED, _POWER = (1, 10**9), (0, 10**9), (0, 2**32 - 1), (-10.0, 10.0)
_WIDTH, _SIZE, _PENALTY = (1, 2**14), (1, 10**6), (0.0, 1e6)
# Smallest and largest value of every number, by its name; a list's name is for all its entries.
_RANGES: dict[str, tuple[float, float]] = {
    "seed": _SEED,
    "steps": _COUNT,
    "batch": _SIZE,
    "sizes": _SIZE,
    "draws": _SIZE,
    "size_power": _POWER,
    "large": (0.0, 1e6),
    "final_rate": (0.0, 1.0),
    "network.hidden": _WIDTH,
    "network.whole": _WIDTH,
    "network.point": (0, 2**14),
    "network.limits": (-1e6, 1e6),
    "objective.points": _SIZE,
    "optimiser.learning_rate": (1e-12, 10.0),
    "optimiser.clip": (1e-12, 1e12),
    "optimiser.average": (0.0, 1.0 - 1e-12),
    "validation.seed": _SEED,
    "validation.sizes": _SIZE,
    "validation.tasks_per_size": _SIZE,
    "validation.every": _COUNT,
    "early_stop.start": _COUNT_OR_NONE,
    "early_stop.patience": _COUNT,
    "early_stop.improvement": (0.0, 1e6),
    "tasks.validation_seed": _SEED,
    "tasks.validation_tasks": _SIZE,
    "tasks.every": _COUNT,
    "tasks.standard_seed": _SEED,
    "tasks.standard_tasks": (2, 10**6),
    "again.steps": _COUNT_OR_NONE,
    "again.families": (0, 10**6),
    "again.mixtures": (0, 10**6),
    "again.open": (0, 10**6),
    "penalties.roughness": _PENALTY,
    "penalties.roughness_below": _POWER,
    "penalties.roughness_above": _POWER,
    "penalties.spread": _PENALTY,
    "penalties.spread_below": _POWER,
    "penalties.first": _COUNT_OR_NONE,
    "penalties.full": _COUNT_OR_NONE,
}
# A model's name is that of its folder too.
_NAME = re.compile(r"\w[\w .+-]{0,99}")


def check_numbers(where: str, entries: dict[str, Any], prefix: str = "") -> None:
    """Raise `InvalidParameterError` if the name is no name of a folder, or a number is out of its range or NaN."""
    if not prefix and not _NAME.fullmatch(entries["name"]):
        raise InvalidParameterError(
            f"{where}: name must be of at most 100 letters, digits, spaces and the signs _.+-, not {entries['name']!r}."
        )
    for name, value in entries.items():
        full = f"{prefix}{name}"
        if full in _RANGES:
            _check_range(f"{where}: {full}", value, *_RANGES[full])
        elif isinstance(value, dict) and full != "notes":
            check_numbers(where, value, f"{full}.")


def _check_range(where: str, value: Any, low: float, high: float) -> None:
    """Check a number, all numbers of a list, or all of a table's."""
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _check_range(where, part, low, high)
    elif not low <= value <= high:
        raise InvalidParameterError(f"{where} must be from {low} to {high}, not {value}.")


def check_paper(where: str, recipe: "PaperRecipe") -> None:
    """Raise `InvalidParameterError` unless the entries of a recipe of the paper fit together."""
    network = recipe.network
    low, high = recipe.sizes if len(recipe.sizes) == 2 else (1, 0)
    inputs = ["n"] if network.output == "ratio" else list(CONVENTIONS)
    wrong = {
        "sizes must be the smallest and the largest n": low > high,
        "network.hidden must have at least one layer": not network.hidden,
        f"network.inputs must be {inputs} for the output {network.output!r}": network.inputs != inputs,
        "network.limits must be two ascending numbers for some of the inputs": not all(
            name in network.inputs and len(pair) == 2 and pair[0] < pair[1] for name, pair in network.limits.items()
        ),
    }
    _refuse(where, wrong)


def check_broad(where: str, recipe: "BroadRecipe") -> None:
    """Raise `InvalidParameterError` unless the entries of a recipe of the broad world fit together."""
    again, penalties, output = recipe.again, recipe.penalties, recipe.network.output
    added = again.families + again.mixtures + again.open
    wrong = {
        "only the output 'adaptive' can have penalties": output != "adaptive"
        and max(penalties.roughness, penalties.spread) > 0.0,
        "only tasks of the output 'single' can be used again": output != "single" and again.steps + added > 0,
        "again needs at least one step; families, mixtures and open must leave some tasks": (again.steps < 1 <= added)
        or added >= recipe.batch,
        "the output 'adaptive' needs network.point of at least 1": output == "adaptive" and recipe.network.point < 1,
    }
    _refuse(where, wrong)


def _refuse(where: str, wrong: dict[str, bool]) -> None:
    for sentence, broken in wrong.items():
        if broken:
            raise InvalidParameterError(f"{where}: {sentence}.")
