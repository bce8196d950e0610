"""What a picture shows, as plain arrays: curves on one grid, a histogram, a rug, bounds. No picture is drawn here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.density import KernelDensity

Limits = tuple[float | None, float | None]

# Even steps, and as many steps of the sample's quantiles, so that no narrow peak falls between two.
_EVEN, _QUANTILES = 301, 201
_MOST_BINS = 120
# More ticks than pixels are a bar that says nothing.
_MOST_TICKS = 1000
# Room beside the outermost values, as a share of the range; on a logarithmic axis tails are what one looks at.
_MARGIN, _MARGIN_OF_TAILS = 0.06, 0.25
# The farthest values: two in a hundred, one at least; of fewer values than this, none is far.
_FARTHEST, _FEW = 0.02, 20
# If the whole range is so many times as wide as the rest, the rest is a line in the picture of all.
_SPREAD_OUT = 6.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """Arguments (m,), densities (m,) by name, histogram (edges and heights), ticks, bounds inside the window."""

    grid: Array
    curves: dict[str, Array]
    edges: Array
    heights: Array
    ticks: Array
    bounds: Limits
    name: str


def window(points: Array, bounds: Limits, *, near: bool, tails: bool = False) -> tuple[float, float]:
    """Give the interval to show: the values, or all but the farthest, with some room, inside the bounds.

    Examples
    --------
    >>> window(np.array([0.0, 5.0, 10.0]), (0.0, None), near=False)
    (0.0, 10.6)
    """
    low, high = (float(end) for end in (_nearest(points) if near else points[[0, -1]]))
    room = (_MARGIN_OF_TAILS if tails else _MARGIN) * (high - low or float(points[-1] - points[0]))
    lower, upper = read_bounds(bounds)
    return max(lower, low - room), min(upper, high + room)


def _nearest(points: Array) -> tuple[Any, Any]:
    """The ends of the shortest interval that holds all but the farthest values."""
    left_out = max(1, int(_FARTHEST * points.size)) if points.size >= _FEW else 0
    lengths = points[points.size - 1 - left_out :] - points[: left_out + 1]
    first = int(np.argmin(lengths))
    return points[first], points[first + points.size - 1 - left_out]


def is_spread_out(points: Array) -> bool:
    """Whether far values leave so little room for all others that one would rather look at those.

    Examples
    --------
    >>> is_spread_out(np.append(np.arange(50.0), 1e12)), is_spread_out(np.arange(50.0))
    (True, False)
    """
    low, high = _nearest(points)
    return bool(points[-1] - points[0] > _SPREAD_OUT * (high - low) > 0.0)


def compute_drawing(
    densities: Mapping[str, KernelDensity],
    points: Array,
    bounds: Limits,
    *,
    name: str,
    near: bool = False,
    tails: bool = False,
) -> Drawing:
    """Evaluate densities on one grid, and count values, given in ascending order, in bins of equal width.

    The heights belong to all values, those outside the window too, so that they can be compared with the curves.
    """
    low, high = window(points, bounds, near=near, tails=tails)
    ranks = np.linspace(0.0, points.size - 1.0, _QUANTILES).astype(np.int64)
    grid = np.union1d(np.linspace(low, high, _EVEN), np.clip(points[ranks], low, high))
    shown = points[np.searchsorted(points, low) : np.searchsorted(points, high, side="right")]
    # Rice's rule, as in the library's pictures.
    bins = min(_MOST_BINS, int(np.ceil(2.0 * np.cbrt(max(shown.size, 1)))))
    counts, edges = np.histogram(shown, bins=bins, range=(low, high))
    return Drawing(
        grid=grid,
        curves={key: density.pdf(grid) for key, density in densities.items()},
        edges=edges,
        heights=counts / (points.size * np.diff(edges)),
        ticks=shown if shown.size <= _MOST_TICKS else np.empty(0),
        bounds=bounds,
        name=name,
    )
