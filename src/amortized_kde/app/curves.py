"""What a picture shows, as plain arrays: curves on one grid, a histogram, a rug, bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.density import KernelDensity

Limits = tuple[float | None, float | None]

# Points of the grid: evenly spaced ones, and quantiles of the sample so that no narrow peak is missed.
_EVEN, _QUANTILES = 301, 201
_MOST_BINS = 120
# A rug of more ticks than pixels would be a solid bar.
_MOST_TICKS = 1000
# Margins beside the outermost values, as fractions of the range; on a logarithmic axis the tails matter.
_MARGIN, _MARGIN_OF_TAILS = 0.06, 0.25
# "Without the farthest" leaves out this fraction of the values, at least one; none of a small sample.
_FARTHEST_FRACTION, _SMALL_SAMPLE = 0.02, 20
# A range this many times as wide as that of the other values squeezes them into a line.
_SPREAD_OUT = 6.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """Grid (m,), densities (m,) by name, histogram (edges and heights), ticks of the rug, bounds, and axis label."""

    grid: Array
    curves: dict[str, Array]
    edges: Array
    heights: Array
    ticks: Array
    bounds: Limits
    name: str


def window(points: Array, bounds: Limits, *, near: bool, tails: bool = False) -> tuple[float, float]:
    """Return the interval to show: all values, or with `near` all but the farthest, with margins inside the bounds.

    Examples
    --------
    >>> window(np.array([0.0, 5.0, 10.0]), (0.0, None), near=False)
    (0.0, 10.6)
    """
    low, high = (float(end) for end in (_nearest(points) if near else points[[0, -1]]))
    margin = (_MARGIN_OF_TAILS if tails else _MARGIN) * (high - low or float(points[-1] - points[0]))
    lower, upper = read_bounds(bounds)
    return max(lower, low - margin), min(upper, high + margin)


def _nearest(points: Array) -> tuple[Any, Any]:
    """Return the shortest interval that holds all but the farthest values."""
    left_out = max(1, int(_FARTHEST_FRACTION * points.size)) if points.size >= _SMALL_SAMPLE else 0
    lengths = points[points.size - 1 - left_out :] - points[: left_out + 1]
    first = int(np.argmin(lengths))
    return points[first], points[first + points.size - 1 - left_out]


def is_spread_out(points: Array) -> bool:
    """Whether far values squeeze all others into a small part of the picture.

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
    """Evaluate densities on one grid, and count the sorted values in bins of equal width.

    The histogram is normalised by all values, also those outside the window, so that it compares with the curves.
    """
    low, high = window(points, bounds, near=near, tails=tails)
    ranks = np.linspace(0.0, points.size - 1.0, _QUANTILES).astype(np.int64)
    grid = np.union1d(np.linspace(low, high, _EVEN), np.clip(points[ranks], low, high))
    shown = points[np.searchsorted(points, low) : np.searchsorted(points, high, side="right")]
    # Rice's rule, as in `density.plotting`.
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
