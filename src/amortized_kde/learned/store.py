"""The shipped models: one folder each, with weights (safetensors) and a card. Load, verify, list."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NoReturn

from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.learned.adaptive.network import LadderNetwork
from amortized_kde.learned.adaptive.prediction import select_adaptive, select_single
from amortized_kde.learned.cards import FORMAT as FORMAT
from amortized_kde.learned.cards import Shapes, card_bytes, read_arrays, read_card
from amortized_kde.learned.model import Architecture, Model
from amortized_kde.learned.paper.prediction import read_stack, select_in_domain, select_relative_to_sd
from amortized_kde.learned.shapes import (
    adaptive_shapes,
    bandwidth_shapes,
    has_valid_standards,
    ratio_shapes,
    single_shapes,
)

_FAMILIES = ("adaptive", "multivariate", "paper")


def _candidate_shapes(network: Mapping[str, Any]) -> Shapes:
    """The arrays of the network for several variables, whose module is imported when it is needed."""
    from amortized_kde.learned.multivariate.network import SHAPES

    return dict(SHAPES)


def _select_for_several(model: Model, *_: Any, **__: Any) -> NoReturn:
    raise InvalidParameterError(f"the model {model.name!r} is for samples of several variables: fit(X), X (n, d).")


# By the output of the network in a model's card. An architecture joins by a row here.
ARCHITECTURES: dict[str, Architecture] = {
    "bandwidth": Architecture(bandwidth_shapes, read_stack, select_in_domain),
    "ratio": Architecture(ratio_shapes, read_stack, select_relative_to_sd),
    "single": Architecture(single_shapes, LadderNetwork.of, select_single, own_frame=True),
    "adaptive": Architecture(adaptive_shapes, LadderNetwork.of, select_adaptive, own_frame=True, adaptive=True),
    "candidates": Architecture(_candidate_shapes, dict, _select_for_several),
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
        If a file is missing or damaged, the checksum differs, the format is another, or the arrays are not those of the
        network that the card describes.
    """
    card = read_card(folder)
    output = card["recipe"]["network"]["output"]
    if output not in ARCHITECTURES:
        raise UnreadableFileError(
            f"the model in {folder} has the output {output[:100]!r}; this package knows {', '.join(ARCHITECTURES)}."
        )
    arrays = read_arrays(folder, card, ARCHITECTURES[output].shapes)
    if not has_valid_standards(arrays):
        raise UnreadableFileError(f"the weights in {folder} have a feature with zero scale, or a reversed range.")
    return Model(card["name"], ARCHITECTURES[output], arrays, card)


def stamp(folder: Path) -> tuple[object, ...]:
    """Return what changes with the model in a folder: its card, and the identity, size and times of its weights.

    Times alone are not enough, since copying can keep them; but a card has the checksum of its weights.
    """
    try:
        found = (folder / "weights.safetensors").stat()
    except OSError as error:
        raise UnreadableFileError(f"the model in {folder} cannot be read ({error}).") from None
    return card_bytes(folder), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def models() -> dict[str, dict[str, Any]]:
    """Return the card of every shipped model, by name: recipe, seed, step kept, scores, conventions, checksum.

    Examples
    --------
    >>> models()["gmm32"]["seed"]
    2026
    """
    return {name: load_model(name).card for name in model_names()}
