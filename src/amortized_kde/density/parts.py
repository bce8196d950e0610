"""The parts of a density, and the checks that they can be parts of one."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index
from amortized_kde.data.reading import LARGEST_VALUE, read_bounds, read_numbers
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import Bounds, check_inside
from amortized_kde.density.background import Background
from amortized_kde.density.kernels import BINNED_FROM
from amortized_kde.errors import InvalidParameterError, InvalidSampleError

# Float32 softmax outputs sum to 1 only this closely.
_SUM_TOLERANCE = 1e-5
# Weights and shares in a file were divided by their sums; a million of them round by less.
_STORED_TOLERANCE = 1e-12


class Parts(NamedTuple):
    """What a density is made of: ascending points (n,), weights that sum to 1, and ascending bandwidths (rungs,).

    Shares are (rungs, n), or (rungs, anchors) at the points with the ranks `anchors` and linear in rank in between;
    None for the paper's form with one bandwidth. `domain` is None unless it was given. `name` is that of the variable,
    or "".
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
    name: str = ""


def check_parts(parts: Parts) -> None:
    """Check parts of the right types that come from a file, as strictly as those that come from a caller.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        If they make no density.
    """
    _check_points(parts.points, parts.weights)
    read_bounds(parts.bounds)
    if parts.domain is not None and not all(map(math.isfinite, read_bounds(parts.domain))):
        raise InvalidParameterError("the working domain must be finite.")
    check_inside(parts.points, parts.bounds)
    check_bandwidths(parts.bandwidths)
    if parts.shares is None:
        if parts.bandwidths.size != 1 or parts.anchors is not None:
            raise InvalidParameterError("shares are required with several bandwidths or with anchors.")
    else:
        ranks = None if parts.anchors is None else read_anchors(parts.anchors, parts.points.size)
        columns = parts.points.size if ranks is None else ranks.size
        check_shares(parts.shares, (parts.bandwidths.size, columns), tolerance=_STORED_TOLERANCE)
    check_background(parts.epsilon, parts.background, parts.bounds)


def _check_points(points: Array, weights: Array) -> None:
    if points.ndim != 1 or points.size == 0 or not np.all(np.abs(points) <= LARGEST_VALUE):
        raise InvalidSampleError(f"points must be a list of numbers within ±{LARGEST_VALUE:g}.")
    if not np.all(points[1:] >= points[:-1]):
        raise InvalidSampleError("points must be ascending.")
    if weights.shape != points.shape or not np.all((weights > 0.0) & (weights <= 1.0)):
        raise InvalidSampleError("each point must have a positive weight.")
    if abs(math.fsum(weights) - 1.0) > _STORED_TOLERANCE:
        raise InvalidSampleError("weights must sum to 1.")


def check_bandwidths(h: Array) -> None:
    """Raise `InvalidParameterError` unless the rungs are positive, finite and ascending."""
    if h.ndim != 1 or h.size == 0 or not (np.all((h > 0.0) & (h < math.inf)) and np.all(np.diff(h) > 0.0)):
        raise InvalidParameterError("the bandwidths of a ladder must be positive, finite and ascending.")


def read_anchors(anchors: ArrayLike, n: int) -> Index:
    """Return ranks of n points, ascending from the first to the last, or raise `InvalidParameterError`."""
    ranks = np.array(anchors)
    if ranks.ndim != 1 or ranks.dtype.kind not in "iu" or ranks.size < 2 or not np.all(ranks[1:] > ranks[:-1]):
        raise InvalidParameterError("anchors must be ranks of points, ascending whole numbers.")
    if ranks[0] != 0 or ranks[-1] != n - 1:
        raise InvalidParameterError(f"the first anchor must be 0 and the last {n - 1}, not {ranks[0]} and {ranks[-1]}.")
    return ranks.astype(np.int64)


def check_shares(shares: Array, shape: tuple[int, int], *, tolerance: float = _SUM_TOLERANCE) -> None:
    """Raise `InvalidParameterError` unless shares have this shape, are not negative, and sum to 1 for each point."""
    if shares.shape != shape:
        raise InvalidParameterError(
            f"shares must have the shape (rungs, points), here ({shape[0]}, {shape[1]}), not {shares.shape}."
        )
    if not (shares.min() >= 0.0 and np.all(np.abs(shares.sum(axis=0) - 1.0) <= tolerance)):
        raise InvalidParameterError("shares must not be negative, and for each point they must sum to 1.")


def check_background(epsilon: float, background: Background | None, bounds: Bounds) -> None:
    """Raise `InvalidParameterError` unless the probability lies in [0, 1), and the background in the same bounds."""
    if not 0.0 <= epsilon < 1.0:
        raise InvalidParameterError(f"epsilon must lie in [0, 1), not {epsilon!r}.")
    if background is None and epsilon > 0.0:
        raise InvalidParameterError(f"a density with epsilon = {epsilon:g} needs a background.")
    if background is not None and (background.lower, background.upper) != tuple(bounds):
        raise InvalidParameterError(f"the background's bounds are not those of the density, {tuple(bounds)}.")


def weights_of(sample: Sample) -> Array:
    """Return the weights of all points, which sum to 1."""
    n = sample.values.size
    if sample.weights is not None:
        return sample.weights
    # Equal weights of a large sample are one number in memory.
    return np.full(n, 1.0 / n) if n < BINNED_FROM else np.broadcast_to(1.0 / n, n)


def read_shares(shares: ArrayLike, shape: tuple[int, int]) -> Array:
    """Return shares, divided by their sums, or raise `InvalidParameterError`."""
    w = read_numbers(shares, "shares")
    check_shares(w, shape)
    w /= w.sum(axis=0)
    return w
