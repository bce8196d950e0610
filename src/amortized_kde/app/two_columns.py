"""The density of two columns: regions by probability, the points, and the density of each column alone."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import amortized_kde as akde
from amortized_kde._types import Array
from amortized_kde.app.columns import Pair
from amortized_kde.app.comparing import in_turn
from amortized_kde.app.curves import Limits
from amortized_kde.app.words import count_peaks, digits_for, plain
from amortized_kde.density.multivariate_plot import LEVELS, view
from amortized_kde.errors import DegenerateSampleError, InvalidSampleError

# Rows that are fitted, which takes some seconds, and points that are drawn; of more, as many drawn at random. Streamlit
# draws more than 2000 marks as pixels, whose letters cannot be made dark for paper.
MOST_ROWS, _MOST_POINTS = 5_000, 1_500
# Arguments along each axis.
_GRID, _MARGIN = 120, 200
# Squares and products of larger spans, or of smaller ones, are no numbers.
_SPANS = (1e-100, 1e100)


@dataclass(frozen=True, eq=False)
class Plane:
    """What the picture of two columns shows.

    Attributes
    ----------
    names : tuple of str
        Of the horizontal and the vertical axis.
    ends, bounds : tuple of two pairs
        Ends of both axes, and bounds of both columns.
    regions, contours : dict of float to list of arrays of shape (m, 2)
        By probability, largest first: closed paths around the region between one contour and the next, and contours.
    points : array of shape (k, 2)
        The rows, or a random part of them.
    margins : tuple of two pairs of arrays
        Grid and density of each column alone.
    sentence : str
        What the density looks like.
    fitted : int
        The number of rows that the density was fitted to.
    """

    names: tuple[str, str]
    ends: tuple[tuple[float, float], tuple[float, float]]
    bounds: tuple[Limits, Limits]
    regions: dict[float, list[Array]]
    contours: dict[float, list[Array]]
    points: Array
    margins: tuple[tuple[Array, Array], tuple[Array, Array]]
    sentence: str
    fitted: int


def compute_plane(pair: Pair, bounds: tuple[Limits, Limits], method: str) -> Plane:
    """Estimate the density of two columns, of a random part of the rows if there are many.

    Raises
    ------
    InvalidSampleError
        If there are fewer than three rows, or numbers are too large or too small.
    DegenerateSampleError
        If a column is constant, or the rows lie on a line.
    InvalidBoundsError
        If a value lies outside its bounds.

    Examples
    --------
    >>> x, y = np.random.default_rng(1).normal(size=(2, 50))
    >>> plane = compute_plane(Pair(("a", "b"), np.column_stack([x, x + y]), ()), ((None, None), (None, None)), "scott")
    >>> list(plane.contours), plane.sentence
    ([0.95, 0.75, 0.5, 0.25], 'The 50 rows have one peak, near (0.05, 0.14); the correlation is 0.72.')
    """
    _check(pair)
    rows = _drawn(pair.values, MOST_ROWS)
    columns = dict(zip(pair.names, rows.T, strict=True))
    with in_turn(quiet=True):
        try:
            density: Any = akde.fit(columns, bounds=list(bounds), method=method)
        except DegenerateSampleError:
            first, second = pair.names
            raise DegenerateSampleError(
                f"{first!r} and {second!r} lie on a straight line, so that each is known from the other; choose other "
                "columns."
            ) from None
        x, y = (np.linspace(*_ends(density, axis), _GRID) for axis in (0, 1))
        heights = density.pdf(np.stack(np.meshgrid(_inside(x), _inside(y)), axis=-1))
        masses = sorted(LEVELS, reverse=True)
        levels = np.asarray(density.hdr_level(masses))
        places = np.array([mode.place for mode in density.modes()])
        fine = [np.linspace(grid[0], grid[-1], _MARGIN) for grid in (x, y)]
        margins = tuple((grid, density.marginal(axis).pdf(_inside(grid))) for axis, grid in enumerate(fine))
    return Plane(
        names=pair.names,
        ends=((float(x[0]), float(x[-1])), (float(y[0]), float(y[-1]))),
        bounds=bounds,
        **_trace(x, y, heights, dict(zip(masses, levels.tolist(), strict=True))),
        points=_drawn(rows, _MOST_POINTS),
        margins=margins,  # type: ignore[arg-type]
        sentence=_sentence(pair.values, places),
        fitted=len(rows),
    )


def _check(pair: Pair) -> None:
    if len(pair.values) < 3:
        raise InvalidSampleError(
            f"{len(pair.values)} rows have a number in both columns, and a density of two columns needs at least three."
        )
    for name, column in zip(pair.names, pair.values.T, strict=True):
        span = float(column.max() / 2.0 - column.min() / 2.0)
        if span == 0.0 and column.max() == column.min():
            raise DegenerateSampleError(f"all values of {name!r} equal {column[0]:g}; choose another column.")
        if not _SPANS[0] <= span <= _SPANS[1]:
            raise InvalidSampleError(
                f"the values of {name!r} are too {'large' if span > 1.0 else 'small'} for this view; change their unit."
            )


def _drawn(rows: Array, most: int) -> Array:
    if len(rows) <= most:
        return rows
    return rows[np.sort(np.random.default_rng(0).choice(len(rows), most, replace=False))]


def _ends(density: Any, axis: int) -> tuple[float, float]:
    """Return the ends of an axis, which leave room around the outermost region and include a bound beside it."""
    low, high = view(density, axis)
    room, (lower, upper) = 0.04 * (high - low), density.box[axis]
    return max(low - room, lower), min(high + room, upper)


def _inside(grid: Array) -> Array:
    """Move the ends a little inwards: at a bound itself a density can be infinite."""
    little = 0.02 * (grid[1] - grid[0])
    return np.clip(grid, grid[0] + little, grid[-1] - little)


def _trace(x: Array, y: Array, heights: Array, levels: dict[float, float]) -> dict[str, dict[float, list[Array]]]:
    """Return contours at ascending levels by probability, and the regions between each and the next."""
    from contourpy import FillType, contour_generator

    traced: Any = contour_generator(x, y, heights, fill_type=FillType.OuterOffset)
    above = [*list(levels.values())[1:], np.inf]
    regions = {
        # Levels are equal where the density is flat.
        mass: [_joined(*ring) for ring in zip(*traced.filled(level, upper), strict=True)] if level < upper else []
        for (mass, level), upper in zip(levels.items(), above, strict=True)
    }
    contours: dict[float, list[Array]] = {mass: list(traced.lines(level)) for mass, level in levels.items()}
    return {"regions": regions, "contours": contours}


def _joined(points: Array, offsets: Any) -> Array:
    """Join an outer ring and its holes to one path, which returns to its beginning after each hole."""
    rings = [points[start:stop] for start, stop in pairwise(offsets)]
    return np.concatenate([part for ring in rings for part in (ring, rings[0][:1])])


def _sentence(rows: Array, places: Array) -> str:
    named = [f"({', '.join(map(_rounded, place, rows.T))})" for place in places.tolist()]
    # Without the sign of -0.00.
    correlation = round(float(np.asarray(np.corrcoef(rows.T))[0, 1]), 2) + 0.0
    return f"The {len(rows):,} rows have {count_peaks(named)}; the correlation is {correlation:.2f}."


def _rounded(number: float, column: Array) -> str:
    """Write a number with the digits that the span of its column needs."""
    decimals = 2 - math.floor(math.log10(np.ptp(column)))
    return plain(round(number, decimals) + 0.0, digits_for(column))
