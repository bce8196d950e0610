"""Read the two files of a model: the card (JSON), and the weights (safetensors) that it describes.

Both may come from anywhere, so nothing in them is trusted: the card says which arrays there must be, and every array is
checked for its name, shape, type and finiteness before a compiled loop sees it.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import UnreadableFileError

FORMAT = 1
# Shipped cards have 2 kB and networks 256 units in 3 layers.
_LARGEST_CARD = 1 << 20
_MOST_UNITS = 4096
_MOST_LAYERS = 16
# Names and shapes of all arrays, for the heading of a safetensors file.
_LARGEST_HEADING = 100_000

Shapes = dict[str, tuple[int, ...]]


def read_card(folder: Traversable) -> dict[str, Any]:
    """Read ``card.json``; its format, name, checksum and the network's output are then there, and of the right type.

    Raises
    ------
    UnreadableFileError
        If it is missing, too large, no JSON object, of another format, or lacks one of these entries.
    """
    try:
        card = json.loads(card_bytes(folder).decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"card.json in {folder} is not valid JSON ({_brief(error)}).") from None
    if not isinstance(card, dict):
        raise UnreadableFileError(f"card.json in {folder} does not contain a JSON object, so it is not a model's card.")
    if isinstance(card.get("format"), bool) or card.get("format") != FORMAT:
        found = _brief(card.get("format"))
        raise UnreadableFileError(f"the model in {folder} has format {found}; this package reads {FORMAT}.")
    for name in ("name", "sha256"):
        if not isinstance(card.get(name), str):
            raise UnreadableFileError(f"card.json in {folder} lacks the entry {name!r}, or it is not text.")
    recipe = card.get("recipe")
    network = recipe.get("network") if isinstance(recipe, dict) else None
    if not isinstance(network, dict) or not isinstance(network.get("output"), str):
        raise UnreadableFileError(f"card.json in {folder} lacks the network's output (recipe, network, output).")
    return card


def card_bytes(folder: Traversable) -> bytes:
    """Return the contents of ``card.json``; an `UnreadableFileError` if it is missing or too large."""
    return _read_bytes(folder, "card.json", _LARGEST_CARD)


def read_arrays(folder: Traversable, card: dict[str, Any], shapes_of: Callable[[Mapping[str, Any]], Shapes]) -> Any:
    """Read ``weights.safetensors`` as float64: exactly the arrays whose shapes the card's network asks for.

    Raises
    ------
    UnreadableFileError
        If the file is missing, too large, damaged or of another checksum, or an array is missing, unknown, of another
        shape or type, or not finite.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        shapes = shapes_of(card["recipe"]["network"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableFileError(f"card.json in {folder} describes no network ({_brief(error)}).") from None
    most = _LARGEST_HEADING + 8 * sum(math.prod(shape) for shape in shapes.values())
    data = _read_bytes(folder, "weights.safetensors", most)
    if hashlib.sha256(data).hexdigest() != card["sha256"]:
        raise UnreadableFileError(f"the weights in {folder} do not match the checksum in their card; restore the file.")
    try:
        stored = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        raise UnreadableFileError(f"the weights in {folder} are not a safetensors file ({_brief(error)}).") from None
    _check_names(folder, set(stored), set(shapes))
    return {name: _checked(folder, name, stored[name], shapes[name]) for name in sorted(shapes)}


def _check_names(folder: Traversable, found: set[str], wanted: set[str]) -> None:
    if wanted - found:
        raise UnreadableFileError(f"the weights in {folder} lack the array {min(wanted - found)!r}.")
    if found - wanted:
        raise UnreadableFileError(
            f"the weights in {folder} have the array {_brief(min(found - wanted))}, which its network does not have."
        )


def _checked(folder: Traversable, name: str, array: Any, shape: tuple[int, ...]) -> Array:
    if array.shape != shape:
        raise UnreadableFileError(
            f"the array {name!r} in {folder} has shape {array.shape}, where the card's network has {shape}."
        )
    if array.dtype not in (np.float32, np.float64):
        raise UnreadableFileError(f"the array {name!r} in {folder} has type {array.dtype}, not float32 or float64.")
    if not np.isfinite(array).all():
        raise UnreadableFileError(f"the array {name!r} in {folder} has entries that are not finite.")
    # The forward pass is in float64.
    return np.ascontiguousarray(array, np.float64)


def _read_bytes(folder: Traversable, name: str, most: int) -> bytes:
    """The contents of a regular file of at most `most` bytes."""
    file = folder / name
    try:
        # Reading a pipe would wait for ever.
        if not file.is_file():
            raise UnreadableFileError(f"the model in {folder} cannot be read: there is no file {name}.")
        with file.open("rb") as stream:
            data: bytes = stream.read(most + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        raise UnreadableFileError(f"the model in {folder} cannot be read ({_brief(error)}).") from None
    if len(data) > most:
        raise UnreadableFileError(f"{name} in {folder} has more than the {most} bytes that such a file can have.")
    return data


def units(network: Mapping[str, Any], name: str) -> int:
    """Return the number of units in an entry of a card's network, or raise a `ValueError`."""
    return _units(network[name], name)


def units_of_layers(network: Mapping[str, Any], name: str) -> list[int]:
    """Return the numbers of units in a list of layers, or raise a `ValueError`."""
    found = network[name]
    if not isinstance(found, list) or len(found) > _MOST_LAYERS:
        raise ValueError(f"{name} must be a list of at most {_MOST_LAYERS} numbers of units")
    return [_units(entry, name) for entry in found]


def _units(found: Any, name: str) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= _MOST_UNITS:
        raise ValueError(f"{name} must be a number of units, 1 to {_MOST_UNITS}, not {_brief(found)}")
    return found


def _brief(found: object) -> str:
    """The text of an object, cut, because a file decides on its length."""
    text = str(found) if isinstance(found, Exception) else repr(found)
    return text if len(text) <= 100 else text[:100] + "…"
