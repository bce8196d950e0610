"""What a picture shows, as plain arrays: curves on one grid, a histogram, a rug, bounds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.sample import Sample
from amortized_kde.density import KernelDensity

Limits = tuple[float | None, float | None]

# Points of the grid: evenly spaced ones, and quantiles of the sample so that no narrow peak is missed.
_EVEN, _QUANTILES = 301, 201
_MOST_BINS = 120
# A rug of more ticks than pixels would be a solid bar.
_MOST_TICKS = 1000
# Spans outside these are drawn in a unit of their own: JavaScript's axes, and densities, would overflow.
_PLAIN_SPANS = (1e-250, 1e250)
# Margins beside the outermost values, as fractions of the range; on a logarithmic axis the tails matter.
_MARGIN, _MARGIN_OF_TAILS = 0.06, 0.25
# "Without the farthest" leaves out this fraction of the values, at least one; none of a small sample.
_FARTHEST_FRACTION, _SMALL_SAMPLE = 0.02, 20
# A range this many times as wide as that of the other values squeezes them into a line.
_SPREAD_OUT = 6.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """Grid (m,), densities (m,) by name, histogram (edges and heights), ticks of the rug, bounds, and axis label.

    All are in units of ``10 ** exponent``.
    """

    grid: Array
    curves: dict[str, Array]
    edges: Array
    heights: Array
    ticks: Array
    bounds: Limits
    name: str
    exponent: int = 0


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
    sample: Sample,
    bounds: Limits,
    *,
    name: str,
    near: bool = False,
    tails: bool = False,
    limits: Limits = (None, None),
) -> Drawing:
    """Evaluate densities on one grid, and sum the weights of values in bins of equal width.

    `limits` are ends of the axis in place of those that `window` chooses. The histogram is normalised by all values,
    also those outside the window, so that it compares with the curves. Very small and very large numbers are shown in
    units of a power of ten, which the name says.
    """
    points = sample.values
    low, high = _ends(window(points, bounds, near=near, tails=tails), limits)
    exponent = _exponent(high - low)
    ranks = np.linspace(0.0, points.size - 1.0, _QUANTILES).astype(np.int64)
    grid = np.union1d(np.linspace(low, high, _EVEN), np.clip(points[ranks], low, high))
    inside = slice(np.searchsorted(points, low), np.searchsorted(points, high, side="right"))
    shown = points[inside]
    ticks = _in_unit(shown, exponent)
    weights = None if sample.weights is None else sample.weights[inside]
    span = tuple(_in_unit([low, high], exponent))
    masses, edges = np.histogram(ticks, bins=_bins(shown, low, high), range=span, weights=weights)
    return Drawing(
        grid=_in_unit(grid, exponent),
        curves={key: _curve(density, grid, exponent) for key, density in densities.items()},
        edges=edges,
        heights=masses / ((points.size if weights is None else 1.0) * np.diff(edges)),
        ticks=ticks if ticks.size <= _MOST_TICKS else np.empty(0),
        bounds=(_bound(bounds[0], exponent), _bound(bounds[1], exponent)),
        name=f"{name}, in units of 1e{exponent}" if exponent else name,
        exponent=exponent,
    )


def _ends(chosen: tuple[float, float], limits: Limits) -> tuple[float, float]:
    """Return the limits, and on an open side the end that was chosen, unless it lies beyond the other limit."""
    low, high = (end if limit is None else limit for end, limit in zip(chosen, limits, strict=True))
    width = chosen[1] - chosen[0]
    if not low < high:
        low, high = (low, low + width) if limits[1] is None else (high - width, high)
    return low, high


def brushed_limits(drawing: Drawing, low: float, high: float) -> tuple[str, str]:
    """Return the ends of a part of the picture in data units, with the digits that its width needs.

    Examples
    --------
    >>> nothing = np.empty(0)
    >>> brushed_limits(Drawing(nothing, {}, nothing, nothing, nothing, (None, None), "x"), 1000.12345, 1001.98765)
    ('1000.123', '1001.988')
    """
    span = high - low
    digits = min(4 + max(math.ceil(math.log10(max(abs(low), abs(high)) / span)), 0), 17)
    first, last = (float(_in_unit(end, -drawing.exponent)) for end in (low, high))
    return f"{first:.{digits}g}", f"{last:.{digits}g}"


def _exponent(span: float) -> int:
    """Return the power of ten of the unit to draw in, 0 if the numbers can be drawn as they are."""
    least, most = _PLAIN_SPANS
    return 0 if least <= span <= most or span == 0.0 else math.floor(math.log10(span))


def _in_unit(numbers: Any, exponent: int) -> Any:
    """Divide by a power of ten, in two steps because it may not be a number itself."""
    half = -exponent // 2
    return np.asarray(numbers) * 10.0**half * 10.0 ** (-exponent - half)


def _bound(end: float | None, exponent: int) -> float | None:
    with np.errstate(over="ignore"):
        scaled = math.inf if end is None else float(_in_unit(end, exponent))
    return scaled if math.isfinite(scaled) else None


def _curve(density: KernelDensity, grid: Array, exponent: int) -> Array:
    curve: Array = np.exp(density.logpdf(grid) + exponent * math.log(10.0)) if exponent else density.pdf(grid)
    return curve


def _bins(shown: Array, low: float, high: float) -> int:
    """Return the number of bins by Rice's rule, as in `density.plotting`; not more than there are numbers between."""
    between = (high - low) / np.spacing(max(abs(low), abs(high)))
    return max(1, int(min(_MOST_BINS, np.ceil(2.0 * np.cbrt(max(shown.size, 1))), between / 2.0)))
