"""Curves of densities on matplotlib axes, alone or several together, which leave what is there already in view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.plotting import bins_of, current_axes, despine, draw_bounds, draw_rug
from amortized_kde.errors import InvalidParameterError

if TYPE_CHECKING:
    from amortized_kde.density.kernel_density import KernelDensity

# The view shows the data, and beyond them the density down to a part of its peak: the first up to half the range of the
# data away from them, the second from there on, the third on a logarithmic axis.
_NEAR, _FAR, _LOG = 0.02, 0.1, 1e-6
# Opacity of the area below the curve, and of the band in addition.
_FILL, _BAND = 0.25, 0.2
# More ticks than these make a bar of the rug, unless it is asked for.
_MOST_TICKS = 500


@dataclass(frozen=True, eq=False)
class _Curve:
    """A density as it is drawn: ascending arguments, heights there, which of them to show, the ends of the band."""

    density: "KernelDensity"
    label: str | None
    grid: Array
    heights: Array
    view: slice
    band: tuple[float, float] | None


def plot(
    densities: "KernelDensity | Mapping[str, KernelDensity] | Sequence[KernelDensity]",
    ax: Any = None,
    *,
    count: int = 512,
    fill: bool | float = True,
    rug: bool | None = None,
    hist: bool | int = False,
    band: float | None = None,
    log: bool = False,
    **style: Any,
) -> Any:
    """Draw one density, or several together, on matplotlib axes.

    The view spans the data and the visible part of the density beyond them. Limits stay automatic, so that everything
    else on the axes, before and after, stays in view. The axis gets the name of the variable, if the sample was a named
    column or series.

    Parameters
    ----------
    densities : KernelDensity, sequence of them, or mapping from labels to them
        Several get a legend, of the labels or of the names of their variables.
    ax : matplotlib.axes.Axes, optional
        Default: pyplot's current ones.
    count : int
        Least number of arguments of a curve.
    fill : bool or float
        Shade the area below the curve; a number is the opacity.
    rug : bool, optional
        Draw a tick at each point, at most a thousand; default: for a single density of up to 500 points.
    hist : bool or int
        Draw a histogram of the points behind the curve; a number is that of the bins.
    band : float, optional
        Shade the central interval that has this probability.
    log : bool
        Logarithmic axis of the density, down to a millionth of the peak.
    **style
        Passed to ``Axes.plot``: color, linewidth, linestyle, alpha, label and others.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InvalidParameterError
        If `densities` is or contains something else, or an option is outside its range.

    Examples
    --------
    >>> import amortized_kde as akde
    >>> from matplotlib.figure import Figure
    >>> old, new = akde.fit([1, 2, 2, 3], bandwidth=0.5), akde.fit([2, 3, 3, 5], bandwidth=0.5)
    >>> ax = akde.plot({"old": old, "new": new}, Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['old', 'new']
    """
    named = _named(densities)
    single = len(named) == 1
    if single:
        named = [(style.pop("label", named[0][0]), named[0][1])]
    curves = [_curve(density, label, count, band, log=log) for label, density in named]
    own_axes = ax is None
    ax = current_axes() if own_axes else ax
    if log:
        ax.set_yscale("log")
    floor = _floor(curves) if log else 0.0
    for curve in curves:
        color = _draw(ax, curve, floor, fill, style)
        if hist is not False:
            _draw_histogram(ax, curve.density, hist, "0.85" if single else color, floor)
        if rug or (rug is None and single and curve.density.points.size <= _MOST_TICKS):
            draw_rug(ax, curve.density.points, color)
    _finish(ax, curves, own_axes=own_axes)
    return ax


def _named(densities: Any) -> list[tuple[str | None, "KernelDensity"]]:
    """Densities with their labels."""
    found: list[tuple[str | None, KernelDensity]]
    if isinstance(densities, Mapping):
        found = [(str(label), density) for label, density in densities.items()]
    elif isinstance(densities, Sequence):
        found = [(getattr(density, "name", None) or None, density) for density in densities]
    else:
        found = [(None, densities)]
    wrong = [density for _, density in found if not hasattr(density, "local_bandwidths")]
    if wrong or not found:
        what = f"this is of type {type(wrong[0]).__name__}; fit data first" if wrong else "there is none"
        raise InvalidParameterError(f"plot draws densities, such as those that fit returns, but {what}.")
    return found


def _curve(density: "KernelDensity", label: str | None, count: int, band: float | None, *, log: bool) -> _Curve:
    wide = density.grid(count)
    if density.bandwidths.size > 1:
        # A peak can be narrower than the steps of an even grid, but not than those of the quantiles.
        inside = density.ppf(np.linspace(0.0, 1.0, count + 2)[1:-1])
        wide = np.union1d(wide, inside[(inside > wide[0]) & (inside < wide[-1])])
    if log:
        # Tails that an ordinary axis would not show, up to the range of the data away from them.
        first, last = density.points[[0, -1]]
        low, high = np.clip([2.0 * first - last, 2.0 * last - first], *density.support())
        wide = np.union1d(wide, np.linspace(low, high, count))
    ends = None
    if band is not None:
        ends = tuple(np.clip(density.interval(float(band)), wide[0], wide[-1]))
        wide = np.union1d(wide, ends)
    heights = density.pdf(wide)
    return _Curve(density, label, wide, heights, visible(wide, heights, density.points[[0, -1]], log=log), ends)


def visible(grid: Array, heights: Array, data: Array, *, log: bool = False) -> slice:
    """Return which arguments to show, given the first and the last value of the data."""
    away = np.maximum(data[0] - grid, grid - data[1])
    least = _LOG if log else np.where(away <= 0.5 * (data[1] - data[0]), _NEAR, _FAR)
    shown = np.flatnonzero((away <= 0.0) | (heights >= least * heights.max()))
    return slice(shown[0], shown[-1] + 1)


def _draw(ax: Any, curve: _Curve, floor: float, fill: bool | float, style: dict[str, Any]) -> Any:
    """Draw curve, area and band, and return the colour."""
    grid, heights, view = curve.grid, np.maximum(curve.heights, floor), curve.view
    (line,) = ax.plot(grid[view], heights[view], label=curve.label, **{"linewidth": 1.8, **_in_full(style)})
    # The curve goes on behind the edges of the view, where it may come to be seen beside a wider one.
    line.set_data(grid, heights)
    color, opacity = line.get_color(), line.get_alpha() or 1.0
    if fill:
        _shade(ax, grid, heights, floor, color, (_FILL if fill is True else float(fill)) * opacity)
    if curve.band is not None:
        inside = (grid >= curve.band[0]) & (grid <= curve.band[1])
        _shade(ax, grid[inside], heights[inside], floor, color, _BAND * opacity)
    # The axis begins at the floor without a margin, and still grows with what is drawn later.
    line.sticky_edges.y.append(floor)
    ax.update_datalim([(grid[view][0], floor)])
    return color


def _shade(ax: Any, grid: Array, heights: Array, floor: float, color: Any, alpha: float) -> None:
    """Fill the area below a curve without a claim to be seen as a whole."""
    from matplotlib.collections import PolyCollection

    outline = np.column_stack([[grid[0], *grid, grid[-1]], [floor, *heights, floor]])
    ax.add_collection(PolyCollection([outline], facecolor=color, alpha=alpha, linewidth=0, zorder=1), autolim=False)


def _floor(curves: Sequence[_Curve]) -> float:
    """Where a logarithmic axis begins: at the lowest that is shown, or a millionth of the peak."""
    lowest = min(float(curve.heights[curve.view].min()) for curve in curves)
    return max(lowest, _LOG * max(float(curve.heights.max()) for curve in curves))


def _in_full(style: dict[str, Any]) -> dict[str, Any]:
    """Matplotlib's short names of styles in full, since one of each may be given."""
    short = {"lw": "linewidth", "c": "color", "ls": "linestyle"}
    return {short.get(name, name): value for name, value in style.items()}


def _draw_histogram(ax: Any, density: "KernelDensity", bins: bool | int, color: Any, floor: float) -> None:
    count = bins_of(density.points) if bins is True else bins
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= 100_000:
        raise InvalidParameterError(f"hist takes True, False or a number of bins, not {bins!r}.")
    heights, edges = np.histogram(density.points, bins=int(count), weights=density.weights, density=True)
    alpha = None if color == "0.85" else 0.2
    ax.stairs(np.maximum(heights, floor), edges, baseline=floor, fill=True, color=color, alpha=alpha, zorder=0.5)


def _finish(ax: Any, curves: Sequence[_Curve], *, own_axes: bool) -> None:
    """Bounds that are in view, labels where there are none, and a legend for several curves."""
    for curve in curves:
        draw_bounds(ax, [end for end in curve.density.support() if end in curve.grid[curve.view][[0, -1]]])
    if own_axes:
        despine(ax)
    names = {curve.density.name for curve in curves}
    if not ax.get_xlabel() and len(names) == 1:
        # A dollar sign in a column's name does not begin a formula.
        ax.set_xlabel(names.pop(), parse_math=False)
    if not ax.get_ylabel():
        ax.set_ylabel("density")
    if len(curves) > 1 and any(curve.label for curve in curves):
        ax.legend(frameon=False)
    ax.autoscale_view()
