"""Densities of several variables on matplotlib axes: contours by probability, and corner plots."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.plotting import COLOURS, current_axes, despine, new_pyplot_figure
from amortized_kde.errors import DegenerateSampleError, InvalidParameterError

if TYPE_CHECKING:
    from amortized_kde.density.axis_density import AxisDensity
    from amortized_kde.density.multivariate import MultivariateDensity

# Probabilities inside the contours.
LEVELS = (0.25, 0.5, 0.75, 0.95)
# An axis ends inside its bounds by this part of its length: a density can be infinite at a bound.
_INSIDE = 1e-3
# More points than these would cover the contours; they are thinned evenly.
_MOST_POINTS = 2000
_PANEL = 2.2


def plot(
    density: "MultivariateDensity",
    ax: Any = None,
    *,
    levels: Sequence[float] = LEVELS,
    points: bool | str = True,
    count: int = 150,
    fill: bool = True,
    color: Any = COLOURS[0],
) -> Any:
    """Draw contours of a density of two variables, or a corner plot of more.

    Parameters
    ----------
    density : MultivariateDensity
    ax : matplotlib.axes.Axes, optional
        For two variables; default: pyplot's current ones. A corner plot makes a figure of its own; to draw into another
        one, give that figure.
    levels : sequence of float
        Probabilities inside the contours: each encloses the smallest region that holds it.
    points : bool or "rug"
        Draw the points, of many an even choice of 2000; or ticks at the edges.
    count : int
        Arguments of the grid along each axis.
    fill : bool
        Shade the regions, darker where the density is higher.
    color : matplotlib colour

    Returns
    -------
    matplotlib.axes.Axes, or an array of them of shape (d, d)

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InvalidParameterError
        If a level is not between 0 and 1, or another option is none of the above.
    """
    masses = sorted({float(level) for level in levels}, reverse=True)
    if not masses or not all(0.0 < mass < 1.0 for mass in masses):
        raise InvalidParameterError("levels are probabilities between 0 and 1, such as [0.5, 0.9].")
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 2 <= count <= 5000:
        raise InvalidParameterError(f"count is a whole number from 2 to 5000, not {count!r}.")
    if points not in (True, False, "rug"):
        raise InvalidParameterError(f'points is True, False or "rug", not {points!r}.')
    if density.dimension > 2:
        return _corner(density, ax, masses, points, count, fill, color)
    own_axes = ax is None
    ax = current_axes() if own_axes else ax
    views = [view(density, axis, masses[0]) for axis in (0, 1)]
    _draw_contours(ax, density, masses, points, count, fill, color, *views)
    if own_axes:
        despine(ax)
    for axis, name in ((ax.xaxis, density.names[0]), (ax.yaxis, density.names[1])):
        if not axis.label.get_text():
            # A dollar sign in a column's name does not begin a formula.
            axis.set_label_text(name, parse_math=False)
    return ax


def draw_panels(
    densities: Mapping[str, "MultivariateDensity"],
    names: Sequence[str],
    make_figure: Callable[[float, float], Any] = new_pyplot_figure,
) -> Any:
    """Draw each density of two variables, of these names, in its own panel; return the axes of the first.

    Raises
    ------
    DegenerateSampleError
        If there are no densities.
    InvalidParameterError
        If they have more than two variables.
    """
    if not densities:
        raise DegenerateSampleError("no method has a density of this sample.")
    if any(density.dimension > 2 for density in densities.values()):
        raise InvalidParameterError("only two variables can be drawn side by side; plot the densities one by one.")
    across = min(3, len(densities))
    down = -(-len(densities) // across)
    figure = make_figure(3.2 * across, 3.0 * down)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for ax, (label, density) in zip(panels.flat, densities.items(), strict=False):
        plot(density, ax, count=100)
        despine(ax)
        ax.set_title(label, fontsize=9)
        ax.set(xlabel="", ylabel="")
    for ax in panels.flat[len(densities) :]:
        ax.set_axis_off()
    for ax in panels.flat[len(densities) - across : len(densities)]:
        ax.tick_params(labelbottom=True)
    figure.supxlabel(names[0], fontsize=10, parse_math=False)
    figure.supylabel(names[1], fontsize=10, parse_math=False)
    return panels[0, 0]


def _axis(density: "MultivariateDensity", axis: int) -> "AxisDensity":
    return density.marginal(axis)  # type: ignore[return-value]


def view(density: "MultivariateDensity", axis: int, mass: float = LEVELS[-1]) -> tuple[float, float]:
    """Return the ends of an axis: the region that holds this probability, and the points near it."""
    margin = _axis(density, axis)
    # Of a normal density in two dimensions the region ends just inside these quantiles.
    tail = min(0.1 * (1.0 - mass), 0.005)
    low, high = margin.ppf(tail), margin.isf(tail)
    if len(density.points):
        near = density.points[:, axis]
        near = near[(near > low - (high - low)) & (near < high + (high - low))]
        low, high = min(low, near.min(initial=low)), max(high, near.max(initial=high))
    edge, gap = 0.02 * (high - low), _INSIDE * (high - low)
    return max(low - edge, margin.limits.lower + gap), min(high + edge, margin.limits.upper - gap)


def _draw_contours(
    ax: Any,
    density: "MultivariateDensity",
    masses: Sequence[float],
    points: bool | str,
    count: int,
    fill: bool,
    color: Any,
    across: tuple[float, float],
    up: tuple[float, float],
) -> None:
    from matplotlib.colors import to_rgb

    x, y = np.linspace(*across, count), np.linspace(*up, count)
    heights = density.pdf(np.stack(np.meshgrid(x, y), axis=-1))
    levels = np.asarray(density.hdr_level(masses))
    # Two probabilities can have the same level where the density is flat.
    kept = np.append(True, np.diff(levels) > 0.0)
    levels = levels[kept]
    if points and len(density.points):
        _draw_points(ax, density.points, rug=points == "rug")
    if fill:
        base = np.array(to_rgb(color))
        shades = [tuple(1.0 - (1.0 - base) * part) for part in np.linspace(0.15, 0.75, levels.size)]
        top = max(float(heights.max()), float(levels[-1])) * 1.001
        ax.contourf(x, y, heights, levels=[*levels, top], colors=shades, alpha=0.75, zorder=1)
    ax.contour(x, y, heights, levels=levels, colors=[color], linewidths=1.0, zorder=3)
    for limit, draw in [(end, ax.axvline) for end in density.bounds[0]] + [
        (end, ax.axhline) for end in density.bounds[1]
    ]:
        if limit is not None:
            draw(limit, color="0.4", linewidth=0.8, linestyle=":")


def _draw_points(ax: Any, points: Array, *, rug: bool) -> None:
    shown = points
    if len(points) > _MOST_POINTS:
        shown = points[np.linspace(0, len(points) - 1, _MOST_POINTS).astype(np.int64)]
    alpha = float(np.clip(150.0 / len(shown), 0.15, 0.8))
    if rug:
        style = {"color": "0.15", "alpha": alpha, "linewidth": 0.6, "zorder": 2}
        ax.vlines(shown[:, 0], 0.0, 0.025, transform=ax.get_xaxis_transform(), **style)
        ax.hlines(shown[:, 1], 0.0, 0.025, transform=ax.get_yaxis_transform(), **style)
        return
    ax.plot(shown[:, 0], shown[:, 1], ".", color="0.15", markersize=4.0, alpha=alpha, zorder=2, markeredgewidth=0.0)


def _corner(
    density: "MultivariateDensity",
    figure: Any,
    masses: Sequence[float],
    points: bool | str,
    count: int,
    fill: bool,
    color: Any,
) -> Any:
    """Margins on the diagonal, contours of every pair below it."""
    d = density.dimension
    if figure is None:
        figure = new_pyplot_figure(_PANEL * d, _PANEL * d)
    elif not hasattr(figure, "subplots"):
        raise InvalidParameterError(f"{d} variables are drawn in {d} x {d} axes; give a figure, or nothing.")
    panels = figure.subplots(d, d, sharex="col", squeeze=False)
    views = [view(density, axis, masses[0]) for axis in range(d)]
    for i in range(d):
        for j in range(d):
            ax = panels[i, j]
            if j > i:
                ax.set_axis_off()
            elif i == j:
                _draw_margin(ax, _axis(density, i), views[i], count, color, fill=fill)
            else:
                pair = density.marginal([j, i])
                _draw_contours(ax, pair, masses, points, count, fill, color, views[j], views[i])  # type: ignore[arg-type]
                ax.set_ylim(views[i])
            ax.set_xlim(views[j])
            if j > 0:
                ax.tick_params(labelleft=False)
            despine(ax)
        panels[d - 1, i].set_xlabel(density.names[i], parse_math=False)
        if i:
            panels[i, 0].set_ylabel(density.names[i], parse_math=False)
    return panels


def _draw_margin(
    ax: Any, margin: "AxisDensity", view: tuple[float, float], count: int, color: Any, *, fill: bool
) -> None:
    grid = np.union1d(margin.grid(count), np.linspace(*view, count))
    grid = grid[(grid >= view[0]) & (grid <= view[1])]
    heights = margin.pdf(grid)
    ax.plot(grid, heights, color=color, linewidth=1.6)
    if fill:
        ax.fill_between(grid, heights, color=color, alpha=0.25, linewidth=0.0)
    ax.set_ylim(0.0, 1.05 * float(heights.max()))
    ax.set_yticks([])
