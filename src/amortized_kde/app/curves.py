"""What a picture shows, as plain arrays: curves on one grid, a histogram, a rug, bounds. No picture is drawn here."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from amortized_kde.density import KernelDensity
from amortized_kde.domain import read_bounds

__all__ = ["Drawing", "compute_drawing", "is_spread_out", "window"]

Array = NDArray[np.float64]
Limits = tuple[float | None, float | None]

# Even steps, and as many steps of the sample's quantiles, so that no narrow peak falls between two.
_EVEN, _QUANTILES = 301, 201
_MOST_BINS = 120
# More ticks than pixels are a bar that says nothing.
_MOST_TICKS = 1000
# Room beside the outermost values, as a share of the range; on a logarithmic axis tails are what one looks at.
_MARGIN, _MARGIN_OF_TAILS = 0.06, 0.25
_MIDDLE = (0.01, 0.99)
# If the whole range is so many times as wide as the middle, the middle is a line in the picture of all.
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


def window(points: Array, bounds: Limits, *, middle: bool, tails: bool = False) -> tuple[float, float]:
    """Give the interval to show: the values, or the middle of them, with some room, inside the bounds.

    Examples
    --------
    >>> window(np.array([0.0, 5.0, 10.0]), (0.0, None), middle=False)
    (0.0, 10.6)
    """
    low, high = (float(end) for end in (np.quantile(points, _MIDDLE) if middle else points[[0, -1]]))
    room = (_MARGIN_OF_TAILS if tails else _MARGIN) * (high - low or float(points[-1] - points[0]))
    lower, upper = read_bounds(bounds)
    return max(lower, low - room), min(upper, high + room)


def is_spread_out(points: Array) -> bool:
    """Whether outliers leave so little room for the middle of a sample that one would rather look at the middle."""
    low, high = np.quantile(points, _MIDDLE)
    return bool(points[-1] - points[0] > _SPREAD_OUT * (high - low) > 0.0)


def compute_drawing(
    densities: Mapping[str, KernelDensity],
    points: Array,
    bounds: Limits,
    *,
    name: str,
    middle: bool = False,
    tails: bool = False,
) -> Drawing:
    """Evaluate densities on one grid, and count values, given in ascending order, in bins of equal width.

    The heights belong to all values, those outside the window too, so that they can be compared with the curves.
    """
    low, high = window(points, bounds, middle=middle, tails=tails)
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
