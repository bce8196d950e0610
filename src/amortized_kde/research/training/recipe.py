"""Recipes: what to train, on which tasks, for how long. TOML files; those of the shipped models are in the package."""

import difflib
import importlib.util
import math
import tomllib
from dataclasses import MISSING, asdict, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.research.tasks import World, own_world, world
from amortized_kde.research.training.recipe_checks import check_broad, check_numbers, check_paper


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """Adam's learning rate, the largest norm of a gradient, and the decay of the weights' moving average (0: none)."""

    learning_rate: float
    clip: float
    average: float


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What every recipe says: the model's name, the seed, the number of steps and the optimiser."""

    name: str
    seed: int
    steps: int
    optimiser: Optimiser

    @property
    def command(self) -> str:
        """The command that trains the model."""
        return f"amortized-kde train {self.name}"

    def as_card(self) -> dict[str, Any]:
        """Return the recipe as plain data."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Network:
    """Inputs, widths of the hidden layers, what the output is, and limits of inputs.

    The output is the bandwidth in the domain, or its ratio to the standard deviation. An input outside its limits, in
    the network's scale, is clipped, in training and after.
    """

    inputs: list[str]
    hidden: list[int]
    output: Literal["bandwidth", "ratio"]
    limits: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Objective:
    """Expected score by `points` fresh draws per task, or by that many nodes of Gauss-Hermite quadrature."""

    kind: Literal["draws", "gauss-hermite"]
    points: int


@dataclass(frozen=True, kw_only=True)
class Validation:
    """A fixed set of `tasks_per_size` tasks for each size (empty: all sizes), scored every `every` steps."""

    seed: int
    sizes: list[int]
    tasks_per_size: int
    every: int


@dataclass(frozen=True, kw_only=True)
class EarlyStop:
    """Stop after `patience` validations without an improvement of `improvement` bits, not before step `start`."""

    start: int
    patience: int
    improvement: float


@dataclass(frozen=True, kw_only=True)
class PaperRecipe(Recipe):
    """Everything that decides the weights of one of the paper's models; `folder` is where the recipe was read from."""

    world: str
    batch: int
    sizes: list[int]
    one_size_a_step: bool
    network: Network
    objective: Objective
    validation: Validation
    early_stop: EarlyStop
    notes: dict[str, Any] = field(default_factory=dict)
    folder: str = ""

    def as_card(self) -> dict[str, Any]:
        """Return the recipe as plain data, without the folder."""
        return {key: value for key, value in asdict(self).items() if key != "folder"}


@dataclass(frozen=True, kw_only=True)
class AdaptiveNetwork:
    """What the output is, and the widths of the layers that read the sample (`whole`) and each point (`point`)."""

    output: Literal["adaptive", "single"]
    whole: int
    point: int


@dataclass(frozen=True, kw_only=True)
class AdaptiveRecipe(Recipe):
    """What recipes of models in the sample's own frame share.

    The learning rate falls along a cosine to `final_rate` times the first.
    """

    batch: int
    final_rate: float
    network: AdaptiveNetwork


@dataclass(frozen=True, kw_only=True)
class BroadTasks:
    """Tasks for validation, every `every` steps, and those whose features give the standardisation."""

    validation_seed: int
    validation_tasks: int
    every: int
    standard_seed: int
    standard_tasks: int


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """Tasks that are used several times: steps cycle through the tasks of `steps` steps (0: all tasks are fresh).

    Of a step's tasks, `families` are of the ten families and `mixtures` are mixtures of 32 components, all with known
    bounds and n uniform on 5 .. 256; `open` are mixtures and families without known bounds, with n log-uniform on
    30 .. 4096; the others are of the broad world.
    """

    steps: int
    families: int
    mixtures: int
    open: int

    @property
    def added(self) -> int:
        """The tasks of a step that are not of the broad world."""
        return self.families + self.mixtures + self.open


_NO_REUSE = Reuse(steps=0, families=0, mixtures=0, open=0)


@dataclass(frozen=True, kw_only=True)
class Penalties:
    """Penalties in bits, added to the score of an adaptive estimate, so that its curve is one that people would draw.

    Attributes
    ----------
    roughness, roughness_below, roughness_above : float
        For ripples that the truth does not have (`ladder_score.Shape`): the penalty at n = 100, its power of 100/n
        below that size, and its power of n/100 above.
    spread, spread_below : float
        For twice the sample's standard deviation: the penalty from n = 30 on, and its power of 30/n below.
    first, full : int
        The steps at which the penalties begin to rise from zero, and at which they are whole. Training with them from
        the start ended far worse.
    """

    roughness: float
    roughness_below: float
    roughness_above: float
    spread: float
    spread_below: float
    first: int
    full: int

    def at(self, step: int) -> float:
        """Return the fraction of the penalties at a step.

        Examples
        --------
        >>> rising = Penalties(
        ...     roughness=0.1, roughness_below=0.0, roughness_above=0.0, spread=0.0, spread_below=0.0, first=10, full=20
        ... )
        >>> [rising.at(step) for step in (0, 10, 15, 20, 99)]
        [0.0, 0.0, 0.5, 1.0, 1.0]
        """
        if max(self.roughness, self.spread) == 0.0:
            return 0.0
        return min(max((step - self.first) / max(self.full - self.first, 1), 0.0), 1.0)


_NO_PENALTIES = Penalties(
    roughness=0.0, roughness_below=0.0, roughness_above=0.0, spread=0.0, spread_below=0.0, first=0, full=0
)


@dataclass(frozen=True, kw_only=True)
class BroadRecipe(AdaptiveRecipe):
    """Everything that decides the weights of a model that is trained on the broad world.

    A task of n values has the weight n^`size_power`, because larger samples leave less to gain. Tasks of more than 256
    values are `large` times as frequent as the world has them.
    """

    world: Literal["broad"]
    draws: int
    size_power: float
    large: float
    tasks: BroadTasks
    again: Reuse = _NO_REUSE
    penalties: Penalties = _NO_PENALTIES

    def as_card(self) -> dict[str, Any]:
        """Return the recipe as plain data, without `again` and `penalties` if there are none."""
        idle = {"again": self.again == _NO_REUSE, "penalties": self.penalties == _NO_PENALTIES}
        return {key: value for key, value in asdict(self).items() if not idle.get(key, False)}


def recipe_names() -> tuple[str, ...]:
    """Return the names of the recipes in the package."""
    folder = resources.files(__package__) / "recipes"
    return tuple(sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".toml")))


@dataclass(frozen=True, kw_only=True)
class DimensionsRecipe(Recipe):
    """Everything that decides the weights of the model for several dimensions.

    Tasks are prepared once, in `files` files, of which the first `held_files` validate every `every` steps. The
    learning rate falls along a cosine to `final_rate` times the first. A density with twice the sample's standard
    deviation costs `width_price` bits.
    """

    world: Literal["dimensions"]
    batch: int
    every: int
    files: int
    held_files: int
    final_rate: float
    width_price: float

    def as_card(self) -> dict[str, Any]:
        """Return the recipe as plain data, with the network's output."""
        return {**asdict(self), "network": {"output": "candidates"}}


def find_recipe(name: str) -> PaperRecipe | BroadRecipe | DimensionsRecipe:
    """Read one of the package's recipes, or a TOML file.

    Raises
    ------
    UnreadableFileError, InvalidParameterError
        If there is no such recipe or file, or an entry is missing, unknown or of the wrong type.
    """
    if name in recipe_names():
        text, folder = (resources.files(__package__) / "recipes" / f"{name}.toml").read_text(encoding="utf-8"), ""
    else:
        path = Path(name)
        if path.suffix != ".toml" and not path.exists():
            near = difflib.get_close_matches(name, recipe_names(), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidParameterError(
                f"there is no recipe {name!r}.{hint} The recipes are: {', '.join(recipe_names())}; or give a TOML file."
            )
        try:
            text, folder = path.read_text(encoding="utf-8"), str(path.parent)
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableFileError(f"{name} cannot be read ({error}).") from None
    try:
        entries = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidParameterError(f"{name} is not valid TOML ({error}).") from None
    if entries.get("world") == "broad":
        broad: BroadRecipe = _build(BroadRecipe, entries, name)
        check_numbers(name, asdict(broad))
        check_broad(name, broad)
        return broad
    if entries.get("world") == "dimensions":
        dimensions: DimensionsRecipe = _build(DimensionsRecipe, entries, name)
        check_numbers(name, asdict(dimensions))
        if not 0 < dimensions.held_files < dimensions.files:
            raise InvalidParameterError(f"{name}: held_files must be at least 1, and fewer than files.")
        return dimensions
    recipe: PaperRecipe = _build(PaperRecipe, {**entries, "folder": folder}, name)
    check_numbers(name, asdict(recipe))
    check_paper(name, recipe)
    return recipe


def _build(kind: Any, entries: dict[str, Any], where: str) -> Any:
    known = {f.name: f for f in fields(kind)}
    for name in entries:
        if name not in known:
            raise InvalidParameterError(f"{where} has an unknown entry {name!r}; known are {', '.join(known)}.")
    made = {}
    for name, f in known.items():
        if name not in entries:
            if f.default is not MISSING or f.default_factory is not MISSING:
                continue
            raise InvalidParameterError(f"{where} lacks the entry {name!r}.")
        made[name] = _value(f.type, entries[name], f"{where}: {name}")
    return kind(**made)


def _value(kind: Any, value: Any, where: str) -> Any:
    if hasattr(kind, "__dataclass_fields__"):
        if not isinstance(value, dict):
            raise InvalidParameterError(f"{where} must be a table of entries, not {value!r}.")
        return _build(kind, value, where)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise InvalidParameterError(f"{where} must be one of {', '.join(get_args(kind))}, not {value!r}.")
        return value
    plain = get_origin(kind) or kind
    if plain is float and isinstance(value, int) and not isinstance(value, bool):
        # Larger ones have no float.
        return float(value) if abs(value) < 2**1023 else math.inf
    if not isinstance(value, plain) or (plain is int and isinstance(value, bool)):
        raise InvalidParameterError(f"{where} must be of type {plain.__name__}, not {value!r}.")
    if plain is list:
        return [_value(get_args(kind)[0], entry, where) for entry in value]
    if plain is dict and get_args(kind)[1] is not Any:
        return {key: _value(get_args(kind)[1], entry, f"{where}.{key}") for key, entry in value.items()}
    return value


def find_world(recipe: PaperRecipe) -> World:
    """Return the recipe's world: a name, or ``file.py:NAME`` for tasks of your own, relative to the recipe's folder.

    Raises
    ------
    UnreadableFileError, InvalidParameterError
        If the file cannot be read, or has no such name.
    """
    if ":" not in recipe.world:
        return world(recipe.world)
    file, _, name = recipe.world.rpartition(":")
    path = Path(recipe.folder, file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UnreadableFileError(f"{path}, which holds the recipe's tasks, cannot be read.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise InvalidParameterError(f"{path} has no {name}, which the recipe names as its tasks.")
    tasks = getattr(module, name)
    return own_world(tasks() if isinstance(tasks, type) else tasks)
