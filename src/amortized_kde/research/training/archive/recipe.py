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
# Chosen on synthetic archives; validation stops long before the last step where nothing is gained.
STEPS, _BATCH, _EVERY = 1000, 256, 50
_RATE, _FINAL_RATE, _AVERAGE = 2e-3, 0.02, 0.98


@dataclass(frozen=True, kw_only=True)
class ArchiveRecipe(AdaptiveRecipe):
    """Everything that decides a model that is trained on an archive.

    Attributes
    ----------
    start : str
        The model to start from, or ``scratch``.
    calibration, season, tuning : bool
        Whether a calibration may be fitted, may use the season, and the network may be tuned.
    window : int, optional
        Number of days before a forecast that are fitted; default: all.
    bounds, atoms, resolution
        As given for the pairs, or found.
    pairs, fingerprint : int, str
        Number and checksum of the pairs.
    """

    every: int
    start: str
    calibration: bool
    season: bool
    tuning: bool
    window: int | None
    bounds: tuple[float | None, float | None] | None
    atoms: tuple[float, ...]
    resolution: float
    pairs: int
    fingerprint: str
    world: str = "archive"

    @property
    def command(self) -> str:
        """The command that trains the model, with FILE for the archive."""
        parts = {"calibration": self.calibration, "season": self.season, "tuning": self.tuning}
        left_out = "".join(f" --no-{name}" for name, wanted in parts.items() if not wanted)
        window = "" if self.window is None else f" --window {self.window}"
        return f"amortized-kde train --archive FILE --start {self.start} --steps {self.steps}{window}{left_out}"


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
    calibration: bool = True,
    season: bool = True,
    tuning: bool = True,
    window: int | None = None,
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
    calibration, season, tuning : bool
        Parts that may be used; each is used only if it pays for itself.
    window : int, optional
        Days before a forecast that are fitted.
    steps : int
        Most steps of Adam.
    seed : int
        Seed of the order of the pairs, and of random weights.

    Returns
    -------
    ArchiveRecipe

    Raises
    ------
    InvalidParameterError
        If there is no such start, or steps, seed or window are out of range.
    UnreadableFileError
        If the folder to start from holds no valid model.
    """
    if steps < 1 or seed < 0:
        raise InvalidParameterError(f"steps must be at least 1 and the seed at least 0, not {steps} and {seed}.")
    days = int(pairs.days.max() - pairs.days.min()) + 1
    if window is not None and not 5 <= window <= 0.8 * days:
        raise InvalidParameterError(
            f"a window of {window} days does not fit the archive of {days} days; take 5 to {int(0.8 * days)}, or leave "
            "--window out."
        )
    if start == SCRATCH and not tuning:
        raise InvalidParameterError("a network from scratch must be tuned; leave --no-tuning out.")
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
        calibration=calibration,
        season=season,
        tuning=tuning,
        window=window,
        bounds=pairs.limits,
        atoms=pairs.atoms,
        resolution=pairs.resolution,
        pairs=len(pairs),
        fingerprint=pairs.fingerprint(),
    )
