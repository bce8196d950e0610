"""Recipes for training on an archive."""

from dataclasses import dataclass
from pathlib import Path

from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import ARCHITECTURES, load_model, model_names, read_model
from amortized_kde.research.training.archive.pairs import Pairs
from amortized_kde.research.training.recipe import AdaptiveNetwork, AdaptiveRecipe, Optimiser

SCRATCH = "scratch"
_STARTS = " or ".join(sorted(name for name, kind in ARCHITECTURES.items() if kind.own_frame))
# Chosen on synthetic archives; docs/archive.md has the figures.
STEPS, _BATCH, _EVERY = 1000, 256, 100
_RATE, _FINAL_RATE, _AVERAGE = 2e-3, 0.02, 0.99


@dataclass(frozen=True, kw_only=True)
class ArchiveRecipe(AdaptiveRecipe):
    """Everything that decides the weights of a model that is trained on an archive.

    Attributes
    ----------
    start : str
        The model to start from, or ``scratch``.
    dress : bool
        Whether a dressing is fitted too.
    bounds, atoms
        As given for the pairs.
    pairs, fingerprint : int, str
        Number and checksum of the pairs.
    """

    every: int
    start: str
    dress: bool
    bounds: tuple[float | None, float | None] | None
    atoms: tuple[float, ...]
    pairs: int
    fingerprint: str
    world: str = "archive"

    @property
    def command(self) -> str:
        """The command that trains the model, with FILE for the archive."""
        dress = " --dress" if self.dress else ""
        return f"amortized-kde train --archive FILE --start {self.start} --steps {self.steps}{dress}"


def find_start(start: str) -> Model | None:
    """Return the model to start from: a shipped one or one in a folder; None for ``scratch``.

    Raises
    ------
    InvalidParameterError
        If there is none, or it is one of the paper's, which do not work in the sample's own frame.
    UnreadableFileError
        If the folder holds no valid model.
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
    """Return a recipe for training on pairs.

    Parameters
    ----------
    pairs : Pairs
        From `read_pairs`.
    name : str
        Name of the model.
    start : str
        The model to start from: ``adaptive``, ``single``, the folder of a trained model, or ``scratch``.
    dress : bool
        Whether to fit a correction of bias and spread too.
    steps : int
        Steps of Adam.
    seed : int
        Seed of the order of the pairs, and of random weights.

    Returns
    -------
    ArchiveRecipe

    Raises
    ------
    InvalidParameterError
        If there is no such start, or steps or seed are out of range.
    UnreadableFileError
        If the folder to start from holds no valid model.
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
        network=AdaptiveNetwork(output=widths["output"], whole=widths["whole"], point=widths["point"]),
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
