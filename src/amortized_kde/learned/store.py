"""The shipped trained models: weights as safetensors, one folder a model with its card. Load, verify, list.

A name enters, a verified `Model` leaves. How it was trained is told by its card only.
"""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amortized_kde.errors import UnreadableFileError
from amortized_kde.learned.network import Layer

FORMAT = 1
# What the networks give that read a sample in its own frame.
OWN_FRAME = ("adaptive", "single")
_FAMILIES = ("adaptive", "paper")


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network: its name, its layers or named arrays, what its output is, and its card."""

    name: str
    layers: tuple[Layer, ...] = field(repr=False)
    output: str
    card: dict[str, Any] = field(repr=False)
    arrays: dict[str, NDArray[np.float64]] = field(repr=False, default_factory=dict)

    @property
    def limits(self) -> dict[str, list[float]]:
        """The range of each input that the network is asked about, where the recipe limits it."""
        return dict(self.card["recipe"]["network"].get("limits", {}))


def _folders() -> dict[str, Traversable]:
    """The folder of each shipped model; every family keeps its own."""
    root = resources.files(__package__)
    found = (entry for family in _FAMILIES for entry in (root / family / "weights").iterdir())
    return {entry.name: entry for entry in found if (entry / "card.json").is_file()}


def model_names() -> tuple[str, ...]:
    """Names of the shipped models."""
    return tuple(sorted(_folders()))


@cache
def load_model(name: str) -> Model:
    """Load a shipped model; the checksum and the format in its card are verified."""
    return read_model(_folders()[name])


def read_model(folder: Traversable) -> Model:
    """Read ``card.json`` and ``weights.safetensors`` of a folder.

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
    arrays, output = load(data), card["recipe"]["network"]["output"]
    if output in OWN_FRAME:
        # In float64, in which the network answers.
        return Model(card["name"], (), output, card, {name: a.astype(np.float64) for name, a in arrays.items()})
    layers = tuple(Layer(arrays[f"weight{i}"], arrays[f"bias{i}"]) for i in range(len(arrays) // 2))
    return Model(card["name"], layers, output, card)


def models() -> dict[str, dict[str, Any]]:
    """The shipped trained models by name, each with its card: recipe, seed, step kept, scores, conventions, checksum.

    Examples
    --------
    >>> models()["gmm32"]["seed"]
    2026
    """
    return {name: load_model(name).card for name in model_names()}
