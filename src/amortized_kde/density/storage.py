"""What a density is made of: a sample, bandwidths and their shares, a background, bounds.

What people or selectors give enters and is checked; `Parts` leave, which can be kept in a file. No density is computed.
"""

import math
import os
from dataclasses import astuple
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index
from amortized_kde.data.reading import read_numbers
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import Bounds, Domain, check_inside
from amortized_kde.density.background import Background
from amortized_kde.density.sums import BINNED_FROM
from amortized_kde.errors import InvalidParameterError, UnreadableFileError

# Format 1 knew one bandwidth; 2 adds ladders, 3 shares at anchors. Each is written where no later one is needed.
_SAVED = {
    1: {"points", "weights", "bandwidth", "bounds", "domain", "method"},
    2: {"points", "weights", "bandwidths", "shares", "epsilon", "background", "bounds", "domain", "method"},
    3: {"points", "weights", "bandwidths", "shares", "epsilon", "background", "bounds", "domain", "method", "anchors"},
}
# Shares that come from a softmax in float32 sum to 1 only so closely; they are divided by their sum.
_UNITY = 1e-5


class Parts(NamedTuple):
    """All that a density is made of; `shares` is None for the paper's form, which has one bandwidth.

    With `anchors` the shares are (rungs, anchors) instead of (rungs, n), and between anchors linear in rank.
    """

    points: Array
    weights: Array
    bandwidths: Array
    shares: Array | None
    epsilon: float
    background: Background | None
    bounds: Bounds
    domain: Domain | None
    method: str
    anchors: Index | None = None


def one_bandwidth_parts(sample: Sample, bandwidth: float, bounds: Bounds, domain: Domain | None, method: str) -> Parts:
    """Check the parts of a density with one bandwidth."""
    check_inside(sample.values, bounds)
    h = read_numbers(bandwidth, "bandwidth")
    if h.ndim != 0 or not 0.0 < h < math.inf:
        raise InvalidParameterError(f"the bandwidth must be a single positive finite number, not {bandwidth!r}.")
    return Parts(sample.values, _weights(sample), h.reshape(1), None, 0.0, None, bounds, domain, method)


def ladder_parts(
    sample: Sample,
    bandwidths: ArrayLike,
    shares: ArrayLike,
    *,
    epsilon: float,
    background: Background | None,
    bounds: Bounds,
    domain: Domain | None,
    method: str,
    anchors: ArrayLike | None = None,
) -> Parts:
    """Check the parts of a density with several bandwidths."""
    check_inside(sample.values, bounds)
    h = read_numbers(bandwidths, "bandwidths")
    if h.ndim != 1 or h.size == 0 or not (np.all((h > 0.0) & (h < math.inf)) and np.all(np.diff(h) > 0.0)):
        raise InvalidParameterError("the bandwidths of a ladder must be positive, finite and ascending.")
    ranks = None if anchors is None else _read_anchors(anchors, sample.values.size)
    w = _read_shares(shares, (h.size, sample.values.size if ranks is None else ranks.size))
    _check_background(epsilon, background, bounds)
    return Parts(sample.values, _weights(sample), h, w, float(epsilon), background, bounds, domain, method, ranks)


def _weights(sample: Sample) -> Array:
    n = sample.values.size
    if sample.weights is not None:
        return sample.weights
    # For large samples one number, seen n times.
    return np.full(n, 1.0 / n) if n < BINNED_FROM else np.broadcast_to(1.0 / n, n)


def _read_anchors(anchors: ArrayLike, n: int) -> Index:
    ranks = np.array(anchors)
    if ranks.ndim != 1 or ranks.dtype.kind not in "iu" or ranks.size < 2 or not np.all(np.diff(ranks) > 0):
        raise InvalidParameterError("anchors must be ranks of points, whole numbers that ascend.")
    if ranks[0] != 0 or ranks[-1] != n - 1:
        raise InvalidParameterError(f"the first anchor must be 0 and the last {n - 1}, not {ranks[0]} and {ranks[-1]}.")
    return ranks.astype(np.int64)


def _read_shares(shares: ArrayLike, shape: tuple[int, int]) -> Array:
    w = read_numbers(shares, "shares")
    if w.shape != shape:
        raise InvalidParameterError(f"shares of {shape[0]} rungs and {shape[1]} points need that shape, not {w.shape}.")
    total = w.sum(axis=0)
    if w.min() < 0.0 or not np.all(np.abs(total - 1.0) <= _UNITY):
        raise InvalidParameterError("shares must not be negative, and for each point they must sum to 1.")
    w /= total
    return w


def _check_background(epsilon: float, background: Background | None, bounds: Bounds) -> None:
    if not 0.0 <= epsilon < 1.0:
        raise InvalidParameterError(f"epsilon must lie in [0, 1), not {epsilon!r}.")
    if background is None and epsilon > 0.0:
        raise InvalidParameterError(f"a density with epsilon = {epsilon:g} needs a background.")
    if background is not None and (background.lower, background.upper) != tuple(bounds):
        raise InvalidParameterError(f"the background's bounds are not those of the density, {tuple(bounds)}.")


def save_parts(parts: Parts, path: str | os.PathLike[str]) -> None:
    """Write the parts to a file in NumPy's npz format; no pickle is involved."""
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
    """Read the parts that `save_parts` wrote.

    Raises
    ------
    UnreadableFileError
        If the file is not there, not such a density, or of a newer format.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        saved_format = int(stored["format"])
    except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile) as error:
        raise UnreadableFileError(f"{os.fspath(path)} cannot be read as a saved density ({error}).") from None
    if saved_format not in _SAVED or not stored.keys() >= _SAVED[saved_format]:
        raise UnreadableFileError(f"{os.fspath(path)} is not a density saved in format 1, 2 or 3.")
    sample = Sample(stored["points"], stored["weights"])
    domain = Domain(*map(float, stored["domain"])) if stored["domain"].size else None
    bounds, method = Bounds(*map(float, stored["bounds"])), str(stored["method"])
    if saved_format == 1:
        return one_bandwidth_parts(sample, float(stored["bandwidth"]), bounds, domain, method)
    background = Background(*map(float, stored["background"])) if stored["background"].size else None
    ladder = stored["bandwidths"], stored["shares"], float(stored["epsilon"]), background
    return Parts(stored["points"], stored["weights"], *ladder, bounds, domain, method, stored.get("anchors"))
