"""Densities on matplotlib axes. Matplotlib is imported when the first picture is drawn."""

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from amortized_kde._files import replacing
from amortized_kde._types import Array
from amortized_kde.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from amortized_kde.density.kernel_density import KernelDensity

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# A rug with more ticks than pixels is a solid bar.
MOST_TICKS = 1000
# Fields in which matplotlib would write its version and the date.
_NO_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "svgz": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def new_axes() -> Any:
    """Return axes on a new figure without a window."""
    return new_figure(7.0, 4.0).add_subplot()


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure without a window, `width` by `height` inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        message = "plots need matplotlib; install it with: pip install 'amortized-kde[plot]'"
        raise MissingExtraError(message) from None
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def new_pyplot_figure(width: float, height: float) -> Any:
    """Return an empty pyplot figure, in inches."""
    new_figure(width, height)
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def current_axes() -> Any:
    """Return pyplot's current axes."""
    new_axes()
    from matplotlib import pyplot

    return pyplot.gca()


def despine(ax: Any) -> None:
    """Remove the upper and the right edge of the axes."""
    ax.spines[["top", "right"]].set_visible(False)


def draw_ground(ax: Any, points: Array | None, bounds: tuple[float | None, float | None]) -> None:
    """Draw what is common to all densities: a rug of the points, the bounds, and an axis that begins at zero."""
    if points is not None:
        draw_rug(ax, points, "0.25")
    draw_bounds(ax, [bound for bound in bounds if bound is not None])
    # The upper limit stays automatic, so that curves drawn later are not cut.
    for line in ax.get_lines():
        line.sticky_edges.y.append(0.0)
    ax.update_datalim([(ax.dataLim.x0, 0.0)])
    ax.autoscale_view()
    ax.set_ylabel("density")
    despine(ax)


def draw_rug(ax: Any, points: Array, color: Any) -> None:
    """Draw a tick at each point, or at a thousand quantiles of more."""
    ticks = np.quantile(points, np.linspace(0.0, 1.0, MOST_TICKS)) if points.size > MOST_TICKS else points
    # x in data units, y in units of the axes: ticks stay at the bottom for a density of any height.
    across, alpha = ax.get_xaxis_transform(), float(np.clip(100.0 / ticks.size, 0.2, 0.8))
    # The axis hides the lower half of a tick.
    ax.plot(ticks, np.zeros(ticks.size), "|", color=color, markersize=14, alpha=alpha, transform=across)


def bins_of(points: Array) -> int:
    """Return a number of bins by Rice's rule.

    Unlike rules for the width of a bin, it does not return a million bins because of one outlier.
    """
    return min(200, int(np.ceil(2.0 * np.cbrt(points.size))))


def draw_bounds(ax: Any, bounds: Sequence[float]) -> None:
    """Draw a dotted line at each bound that is in view; one that is far away would squeeze the curve."""
    low, high = sorted(ax.get_xlim())
    for bound in (bound for bound in bounds if low <= bound <= high):
        ax.axvline(bound, color="0.4", linewidth=0.8, linestyle=":")


def plot_bandwidths(density: "KernelDensity", ax: Any) -> Any:
    """Draw the bandwidth at each point on a logarithmic scale, and the overall one as a line."""
    own_axes = ax is None
    ax = current_axes() if own_axes else ax
    points, bandwidths, overall = density.points, density.local_bandwidths, density.bandwidth
    size = 4.0 if points.size <= MOST_TICKS else 1.5
    (dots,) = ax.plot(points, bandwidths, ".", markersize=size, alpha=0.6, label="at each point")
    ax.axhline(overall, color=dots.get_color(), linewidth=1.2, linestyle="--", label=f"overall, {overall:.3g}")
    _logarithmic(ax)
    draw_bounds(ax, [bound for bound in density.bounds if bound is not None])
    ax.set_ylabel("bandwidth")
    if own_axes:
        despine(ax)
    ax.legend(frameon=False, fontsize=9)
    return ax


def _logarithmic(ax: Any) -> None:
    """Make the second axis logarithmic, with numbers that can be read where it spans less than a decade."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def draw_comparison(
    densities: Mapping[str, tuple[Array, Array]],
    *,
    points: Array,
    bounds: tuple[float | None, float | None],
    name: str,
    make_figure: Callable[[float, float], Any] = new_figure,
) -> Any:
    """Draw densities over a histogram of the points, each in its own panel with the others in grey.

    Selectors often agree: curves in a single panel would hide each other. `densities` maps labels to (grid, density).
    Return the axes of the first panel.
    """
    across = 2 if len(densities) == 4 else min(3, len(densities))
    down = -(-len(densities) // across)
    figure = make_figure(3.2 * across + 0.6, 2.4 * down + 0.4)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    heights, edges = np.histogram(points, bins=bins_of(points), density=True)
    for ax, (label, (grid, density)), colour in zip(panels.flat, densities.items(), cycle(COLOURS), strict=False):
        ax.stairs(heights, edges, fill=True, color="0.9")
        for others in densities.values():
            ax.plot(*others, color="0.65", linewidth=0.8)
        ax.plot(grid, density, color=colour, linewidth=2.0)
        draw_ground(ax, points, bounds)
        ax.set_title(label, fontsize=9)
        ax.set_ylabel("")
    for ax in panels.flat[len(densities) :]:
        ax.set_axis_off()
    for ax in panels.flat[len(densities) - across : len(densities)]:
        ax.tick_params(labelbottom=True)
    # A dollar sign in a column's name does not begin a formula.
    figure.supxlabel(name, fontsize=10, parse_math=False)
    figure.supylabel("density", fontsize=10)
    return panels[0, 0]


def save_figure(ax: Any, path: str) -> None:
    """Write the figure that holds the axes to a file, in the format of the name's ending, or as PNG without one."""
    kind = check_picture(path)
    with replacing(path) as file:
        _write(ax, file, kind)


def check_picture(path: str) -> str:
    """Return the format of a picture by its name's ending; raise `InvalidParameterError` if there is none such."""
    kind, known = Path(path).suffix.lstrip(".").lower() or "png", new_figure(1.0, 1.0).canvas.get_supported_filetypes()
    if kind not in known:
        raise InvalidParameterError(f"{path!r}: a plot cannot be saved as {kind!r}; use one of {', '.join(known)}.")
    return kind


def figure_bytes(ax: Any, kind: str) -> bytes:
    """Return the bytes of a file with the figure that holds the axes; `kind` is png, svg or another format."""
    file = io.BytesIO()
    _write(ax, file, kind)
    return file.getvalue()


def _write(ax: Any, file: Any, kind: str) -> None:
    from matplotlib import rc_context

    # The same picture must give the same bytes: fixed names inside an SVG, no date and no version.
    with rc_context({"svg.hashsalt": "amortized-kde"}):
        ax.figure.savefig(file, format=kind, metadata=_NO_METADATA.get(kind))
