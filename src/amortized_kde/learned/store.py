"""The shipped models: one folder each, with weights (safetensors) and a card. Load, verify, list."""

import hashlib
import json
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from amortized_kde.errors import UnreadableFileError
from amortized_kde.learned.adaptive.network import LadderNetwork
from amortized_kde.learned.adaptive.prediction import select_adaptive, select_single
from amortized_kde.learned.model import Architecture, Model
from amortized_kde.learned.paper.prediction import read_stack, select_in_domain, select_relative_to_sd

FORMAT = 1
_FAMILIES = ("adaptive", "paper")

# By the output of the network in a model's card. An architecture joins by a row here.
ARCHITECTURES: dict[str, Architecture] = {
    "bandwidth": Architecture(read_stack, select_in_domain),
    "ratio": Architecture(read_stack, select_relative_to_sd),
    "single": Architecture(LadderNetwork.of, select_single, own_frame=True),
    "adaptive": Architecture(LadderNetwork.of, select_adaptive, own_frame=True, adaptive=True),
}


def _folders() -> dict[str, Traversable]:
    """The folder of each shipped model, by name."""
    root = resources.files(__package__)
    found = (entry for family in _FAMILIES for entry in (root / family / "weights").iterdir())
    return {entry.name: entry for entry in found if (entry / "card.json").is_file()}


def model_names() -> tuple[str, ...]:
    """Return the names of the shipped models."""
    return tuple(sorted(_folders()))


@cache
def load_model(name: str) -> Model:
    """Load a shipped model; the checksum and the format in its card are verified."""
    return read_model(_folders()[name])


def read_model(folder: Traversable) -> Model:
    """Read ``card.json`` and ``weights.safetensors`` from a folder.

    Raises
    ------
    UnreadableFileError
        If a file is missing or damaged, the checksum differs, or the format is newer than this package.
    """
    from safetensors.numpy import load

    try:
        card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
        data = (folder / "weights.safetensors").read_bytes()
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"the model in {folder} cannot be read ({error}).") from None
    if card.get("format") != FORMAT:
        raise UnreadableFileError(
            f"the model in {folder} has format {card.get('format')}; this package reads {FORMAT}."
        )
    if hashlib.sha256(data).hexdigest() != card.get("sha256"):
        raise UnreadableFileError(f"the weights in {folder} do not match the checksum in their card; get them again.")
    # The forward pass is in float64.
    arrays = {name: array.astype(np.float64) for name, array in load(data).items()}
    return Model(card["name"], ARCHITECTURES[card["recipe"]["network"]["output"]], arrays, card)


def models() -> dict[str, dict[str, Any]]:
    """Return the card of every shipped model, by name: recipe, seed, step kept, scores, conventions, checksum.

    Examples
    --------
    >>> models()["gmm32"]["seed"]
    2026
    """
    return {name: load_model(name).card for name in model_names()}
