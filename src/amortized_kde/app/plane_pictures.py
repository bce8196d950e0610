"""Pictures of a `Plane`: an Altair chart, light or dark, and files to take away."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from amortized_kde._types import Array
from amortized_kde.app.pictures import colours, finish, ink
from amortized_kde.app.two_columns import Plane
from amortized_kde.app.words import digits_for
from amortized_kde.density import plotting

_HEIGHT = 520
# The densities of the columns are drawn beside the plane, in a strip of this part of its width and height.
_STRIP = 0.2
# Opacities of the regions, from the outermost.
_SHADES = (0.12, 0.25, 0.42, 0.62)


def plane_chart(plane: Plane, *, dark: bool) -> Any:
    """Draw regions by probability with the points, and the density of each column above and to the right.

    All is one chart, which fits any width: the strips for the densities of the columns extend the axes.
    """
    (left, right), (bottom, top) = plane.ends
    colour = colours(1, dark=dark)[0]
    x = _axis("x", plane.names[0], left, right)
    y = _axis("y", plane.names[1], bottom, top)
    drawn: dict[str, Any] = {"clip": True, "aria": False}
    contours = [path for paths in plane.contours.values() for path in paths]
    points = (
        alt.Chart(pd.DataFrame(plane.points, columns=["x", "y"]))
        .mark_circle(size=14, color=ink(dark), opacity=_opacity(plane), **drawn)
        # A visitor's names are no titles here: "image" would be shown as a picture.
        .encode(tooltip=[alt.Tooltip("x:Q", format=".5~g"), alt.Tooltip("y:Q", format=".5~g")])
    )
    layers = [
        *(
            alt.Chart(_paths(paths))
            .mark_line(filled=True, color=colour, fillOpacity=shade, strokeWidth=0, **drawn)
            .encode(x, y, detail="path:N", order="order:Q")
            for shade, paths in zip(_SHADES, plane.regions.values(), strict=True)
        ),
        alt.Chart(_paths(contours))
        .mark_line(color=colour, strokeWidth=1.2, **drawn)
        .encode(x, y, detail="path:N", order="order:Q"),
        points.encode(x, y),
        *(
            alt.Chart(frame).mark_line(color=colour, strokeWidth=2, aria=False).encode(x, y, order="order:Q")
            for frame in _margins(plane)
        ),
        alt.Chart(_rules(plane))
        .mark_rule(color=ink(dark), strokeWidth=1.2, aria=False)
        .encode(x, y, x2="x2:Q", y2="y2:Q", strokeDash=alt.StrokeDash("dash:N", scale=_DASHES, legend=None)),
    ]
    return finish(alt.layer(*layers), _HEIGHT, dark=dark)


_DASHES = alt.Scale(domain=["edge", "bound"], range=[[1, 0], [3, 3]])


def _opacity(plane: Plane) -> float:
    return float(np.clip(150.0 / len(plane.points), 0.25, 0.7))


def _axis(name: str, title: str, low: float, high: float) -> Any:
    """Return an encoding whose ticks end where the strip begins."""
    from matplotlib.ticker import MaxNLocator

    ticks = [float(tick) for tick in MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(low, high) if low <= tick <= high]
    scale = alt.Scale(domain=[low, high + _STRIP * (high - low)], nice=False, zero=False)
    digits = digits_for(np.array([low, high])) + 1
    axis = alt.Axis(values=ticks, format=f",.{digits}~g", grid=False, titleAnchor="start")
    return (alt.X if name == "x" else alt.Y)(f"{name}:Q", scale=scale, axis=axis, title=title)


def _paths(paths: Sequence[Array]) -> pd.DataFrame:
    """Return the points of all paths, with the number of the path and the order within it."""
    points = np.concatenate([np.empty((0, 2)), *paths])
    number = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
    return pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "path": number, "order": np.arange(len(points))})


def _margins(plane: Plane) -> list[pd.DataFrame]:
    """Return the densities of both columns as curves in the strips."""
    frames = []
    for axis, (grid, heights) in enumerate(plane.margins):
        low, high = plane.ends[1 - axis]
        beside = high + 0.95 * _STRIP * (high - low) * heights / heights.max()
        x, y = (grid, beside) if axis == 0 else (beside, grid)
        frames.append(pd.DataFrame({"x": x, "y": y, "order": np.arange(grid.size)}))
    return frames


def _rules(plane: Plane) -> pd.DataFrame:
    """Return the edges between the plane and its strips, and the bounds."""
    (left, right), (bottom, top) = plane.ends
    rows = [(left, top, right, top, "edge"), (right, bottom, right, top, "edge")]
    rows += [(end, bottom, end, top, "bound") for end in _within(plane.bounds[0], left, right)]
    rows += [(left, end, right, end, "bound") for end in _within(plane.bounds[1], bottom, top)]
    return pd.DataFrame(rows, columns=["x", "y", "x2", "y2", "dash"])


def _within(bounds: Sequence[float | None], low: float, high: float) -> list[float]:
    return [end for end in bounds if end is not None and low <= end <= high]


def plane_picture(plane: Plane, kind: str) -> bytes:
    """Return the picture as a file to take away; `kind` is png or svg."""
    figure = plotting.new_figure(6.0, 5.4)
    panels = figure.subplots(2, 2, sharex="col", sharey="row", width_ratios=[4, 1], height_ratios=[1, 4])
    colour, ax = plotting.COLOURS[0], panels[1, 0]
    for shade, paths in zip(_SHADES, plane.regions.values(), strict=True):
        for path in paths:
            ax.fill(*path.T, facecolor=colour, alpha=shade, edgecolor="none")
    for paths in plane.contours.values():
        for path in paths:
            ax.plot(*path.T, color=colour, linewidth=1.0)
    ax.plot(*plane.points.T, ".", color="0.15", markersize=4.0, alpha=_opacity(plane), markeredgewidth=0.0)
    plotting.draw_bounds(ax, _within(plane.bounds[0], *plane.ends[0]))
    for bound in _within(plane.bounds[1], *plane.ends[1]):
        ax.axhline(bound, color="0.4", linewidth=0.8, linestyle=":")
    (x, of_x), (y, of_y) = plane.margins
    panels[0, 0].plot(x, of_x, color=colour)
    panels[1, 1].plot(of_y, y, color=colour)
    for margin in (panels[0, 0], panels[1, 1], panels[0, 1]):
        margin.set_axis_off()
    plotting.despine(ax)
    ax.set(xlim=plane.ends[0], ylim=plane.ends[1])
    ax.set_xlabel(plane.names[0], parse_math=False)
    ax.set_ylabel(plane.names[1], parse_math=False)
    return plotting.figure_bytes(ax, kind)
