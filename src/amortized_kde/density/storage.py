"""The parts of a density, and the file that keeps them (NumPy's npz format, without pickle)."""

import os
from dataclasses import astuple
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.support import Bounds
from amortized_kde.density.background import Background
from amortized_kde.errors import UnreadableFileError

# Format 1 has one bandwidth, 2 a ladder, 3 shares at anchors. Each density is written in the first that can hold it.
_COMMON = {"points", "weights", "bounds", "domain", "method"}
_LADDER = _COMMON | {"bandwidths", "shares", "epsilon", "background"}
_NAMES = {1: _COMMON | {"bandwidth"}, 2: _LADDER, 3: _LADDER | {"anchors"}}


class Parts(NamedTuple):
    """What a density is made of: ascending points (n,), weights that sum to 1, and ascending bandwidths (rungs,).

    Shares are (rungs, n), or (rungs, anchors) at the points with the ranks `anchors` and linear in rank in between;
    None for the paper's form with one bandwidth. `domain` is None unless it was given.
    """

    points: Array
    weights: Array
    bandwidths: Array
    shares: Array | None
    epsilon: float
    background: Background | None
    bounds: Bounds
    domain: Bounds | None
    method: str
    anchors: Index | None = None


def save_parts(parts: Parts, path: str | os.PathLike[str]) -> None:
    """Write the parts to a file."""
    stored: dict[str, Any] = {
        "points": parts.points,
        "weights": parts.weights,
        "bounds": np.array(parts.bounds),
        "domain": np.array(parts.domain if parts.domain is not None else ()),
        "method": parts.method,
    }
    if parts.shares is None:
        stored |= {"format": 1, "bandwidth": parts.bandwidths[0]}
    else:
        background = () if parts.background is None else astuple(parts.background)
        stored |= {"format": 2, "bandwidths": parts.bandwidths, "shares": parts.shares}
        stored |= {"epsilon": parts.epsilon, "background": np.array(background)}
    if parts.anchors is not None:
        stored |= {"format": 3, "anchors": parts.anchors}
    with open(path, "wb") as file:
        np.savez(file, **stored)


def load_parts(path: str | os.PathLike[str]) -> Parts:
    """Read the parts that `save_parts` wrote, or raise an `UnreadableFileError`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        saved_format = int(stored["format"])
    except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile) as error:
        raise UnreadableFileError(f"{os.fspath(path)} cannot be read as a saved density ({error}).") from None
    if saved_format not in _NAMES or not stored.keys() >= _NAMES[saved_format]:
        raise UnreadableFileError(f"{os.fspath(path)} is not a density saved in format 1, 2 or 3.")
    background, domain = stored.get("background", np.empty(0)), stored["domain"]
    return Parts(
        points=stored["points"],
        weights=stored["weights"],
        bandwidths=stored["bandwidth"].reshape(1) if saved_format == 1 else stored["bandwidths"],
        shares=stored.get("shares"),
        epsilon=float(stored.get("epsilon", 0.0)),
        background=Background(*map(float, background)) if background.size else None,
        bounds=Bounds(*map(float, stored["bounds"])),
        domain=Bounds(*map(float, domain)) if domain.size else None,
        method=str(stored["method"]),
        anchors=stored.get("anchors"),
    )
