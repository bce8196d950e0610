"""How to train on an archive: everything that decides the weights, with defaults for those who have no recipe."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import ARCHITECTURES, load_model, model_names, read_model
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.recipe import LadderNetwork, Optimiser

SCRATCH = "scratch"
_STARTS = " or ".join(sorted(name for name, kind in ARCHITECTURES.items() if kind.own_frame))
# Chosen on synthetic archives; docs/archive.md has the figures.
STEPS, _BATCH, _EVERY = 1000, 256, 100
_RATE, _FINAL_RATE, _AVERAGE = 2e-3, 0.02, 0.99


@dataclass(frozen=True, kw_only=True)
class ArchiveRecipe:
    """Everything that decides the weights of a model that is trained on an archive; Adam's rate falls along a cosine.

    `start` names the model that it begins with, or is ``scratch``; `dress` says whether a dressing is learned along.
    """

    name: str
    seed: int
    steps: int
    batch: int
    every: int
    final_rate: float
    network: LadderNetwork
    optimiser: Optimiser
    start: str
    dress: bool
    bounds: tuple[float | None, float | None] | None
    atoms: tuple[float, ...]
    pairs: int
    fingerprint: str
    world: str = "archive"

    @property
    def command(self) -> str:
        """What to type for the same model, but for the file's name."""
        dress = " --dress" if self.dress else ""
        return f"amortized-kde train --archive FILE --start {self.start} --steps {self.steps}{dress}"

    def as_card(self) -> dict[str, Any]:
        """Give the recipe as plain data."""
        return asdict(self)


def find_start(start: str) -> Model | None:
    """Find the model to begin with: a shipped one, one in a folder, or None for ``scratch``.

    Raises
    ------
    InvalidParameterError
        If there is none, or it is one of the paper's, which do not read a sample in its own frame.
    UnreadableFileError
        If the folder holds no sound model.
    """
    if start == SCRATCH:
        return None
    if start in model_names():
        model = load_model(start)
    elif Path(start).is_dir():
        model = read_model(Path(start))
    else:
        raise InvalidParameterError(
            f"there is no model {start!r} to start from; take {_STARTS}, the folder of a trained model, or {SCRATCH}."
        )
    if not model.architecture.own_frame:
        raise InvalidParameterError(
            f"the model {start!r} cannot be trained on an archive; start from {_STARTS}, or {SCRATCH}."
        )
    return model


def archive_recipe(
    pairs: Pairs,
    *,
    name: str = "archive",
    start: str = "adaptive",
    dress: bool = False,
    steps: int = STEPS,
    seed: int = 0,
) -> ArchiveRecipe:
    """Give the recipe for these pairs; what is not asked for has sensible values.

    Raises
    ------
    InvalidParameterError, UnreadableFileError
        If there is no such start, or steps or seed are out of range.
    """
    if steps < 1 or seed < 0:
        raise InvalidParameterError(f"steps must be at least 1 and the seed at least 0, not {steps} and {seed}.")
    model = find_start(start)
    like = load_model("adaptive") if model is None else model
    widths = like.card["recipe"]["network"]
    return ArchiveRecipe(
        name=name,
        seed=seed,
        steps=steps,
        batch=_BATCH,
        every=_EVERY,
        final_rate=_FINAL_RATE,
        network=LadderNetwork(output=widths["output"], whole=widths["whole"], point=widths["point"]),
        optimiser=Optimiser(
            learning_rate=_RATE,
            clip=like.card["recipe"]["optimiser"]["clip"],
            average=_AVERAGE,
        ),
        start=start,
        dress=dress,
        bounds=pairs.limits,
        atoms=pairs.atoms,
        pairs=len(pairs),
        fingerprint=pairs.fingerprint(),
    )
