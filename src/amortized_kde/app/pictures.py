"""Pictures of a `Drawing` and of ranks: interactive Altair charts, light or dark, and files to take away."""

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from PIL import Image

from amortized_kde.app.curves import Drawing
from amortized_kde.density import plotting

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the palest on a light background and
# without the darkest on a dark one. Dashes tell curves apart without any colour.
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
_DARK = ("#56B4E9", "#E69F00", "#2FC79A", "#E89BC4", "#F0E442", "#D55E00", "#BBBBBB")
DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (12, 4), (4, 4), (1, 3))
_HEIGHT = 400
# The name of the selection that is brushed.
ZOOM = "zoom"
# A logarithmic axis shows six powers of ten.
_FLOOR = 1e-6
_GREY = "#8A8F98"
# Marks have `aria=False`: a screen reader would read out hundreds of them. The picture has a text of its own.


def colours(count: int, *, dark: bool) -> list[str]:
    """Return `count` colours; they repeat after seven."""
    palette = _DARK if dark else _LIGHT
    return [palette[k % len(palette)] for k in range(count)]


def density_chart(
    drawing: Drawing,
    *,
    log: bool,
    dark: bool,
    hidden: Collection[str] = (),
    top: float | None = None,
    observed: float | None = None,
    zoom: bool = False,
) -> Any:
    """Draw curves over a histogram with a rug and bounds; a tooltip shows the values of all curves.

    Curves with a name in `hidden` are left out, `top` ends the vertical axis, and an observation is a dashed line. With
    `zoom`, a range can be brushed, which is the selection `ZOOM`.
    """
    curves = {name: curve for name, curve in drawing.curves.items() if name not in hidden}
    if top is None:
        highest = max(float(height.max(initial=0.0)) for height in (drawing.heights, *curves.values()))
        top = (highest or 1.0) * (2.0 if log else 1.05)
    floor = top * _FLOOR if log else 0.0
    vertical = alt.Scale(type="log" if log else "linear", domain=[floor, top], nice=False)
    across = alt.Scale(domain=[float(drawing.grid[0]), float(drawing.grid[-1])], nice=False)
    x = alt.X("x:Q", scale=across, title=drawing.name)
    bars = _bars(drawing, across, vertical, floor=floor, dark=dark)
    layers = [
        bars.add_params(_brush()) if zoom else bars,
        _rules(drawing, drawing.bounds, x, dark=dark, dash=[3, 3]),
        _lines(drawing, curves, x, vertical, floor=floor, dark=dark),
        _rug(drawing, x, floor=floor, dark=dark),
        _rules(drawing, [observed], x, dark=dark, dash=[8, 3]),
        _pointer(drawing, curves, x, dark=dark),
    ]
    return finish(alt.layer(*(layer for layer in layers if layer is not None)), _HEIGHT, dark=dark)


def finish(chart: Any, height: int, *, dark: bool) -> Any:
    """Set the height, and axes dark enough to read; Streamlit's are light grey."""
    return chart.properties(height=height).configure_axis(labelColor=ink(dark), titleColor=ink(dark))


def _brush() -> Any:
    # A finger scrolls the page; a mouse or a pen brushes.
    dragged = "[pointerdown[event.pointerType !== 'touch'], window:pointerup] > window:pointermove!"
    return alt.selection_interval(name=ZOOM, encodings=["x"], on=dragged, translate=False, zoom=False)


def icon(size: int = 64) -> Any:
    """Draw the page's icon, two peaks; a named icon would be fetched from another server."""
    x, height = np.linspace(-3.0, 3.0, size), np.linspace(1.1, 0.0, size)[:, None]
    curve = np.exp(-8.0 * (x + 1.0) ** 2) + 0.7 * np.exp(-2.0 * (x - 1.0) ** 2)
    return Image.fromarray(np.where((height < curve)[..., None], [0, 114, 178], [255, 255, 255]).astype(np.uint8))


def legend_css(place: str, names: Sequence[str], *, dark: bool) -> str:
    """Return a style that draws each curve's line before the k-th button of a container with the key `place`."""
    rules = (
        f".st-key-{place} button:nth-of-type({k})::before {{ background: {_dashed(colour, k - 1)}; }}"
        for k, colour in enumerate(colours(len(names), dark=dark), start=1)
    )
    return f"<style>{' '.join(rules)}</style>"


def _dashed(colour: str, k: int) -> str:
    """Return the k-th pattern of dashes as a CSS background."""
    stops, at = [], 0
    for index, length in enumerate(DASHES[k % len(DASHES)]):
        stops.append(f"{'transparent' if index % 2 else colour} {at}px {at + length}px")
        at += length
    return f"repeating-linear-gradient(90deg, {', '.join(stops)})"


def ink(dark: bool) -> str:
    """Return the colour of letters and ticks."""
    return "#DDDDDD" if dark else "#333333"


def _bars(drawing: Drawing, across: Any, vertical: Any, *, floor: float, dark: bool) -> Any:
    frame = pd.DataFrame({"from": drawing.edges[:-1], "to": drawing.edges[1:], "height": drawing.heights})
    frame = frame[frame["height"] > floor].assign(floor=floor)
    return (
        alt.Chart(frame)
        .mark_rect(color=_GREY, opacity=0.35 if dark else 0.25, clip=True, aria=False)
        .encode(
            x=alt.X("from:Q", scale=across, title=drawing.name),
            x2="to:Q",
            y=alt.Y("height:Q", scale=vertical, title="density"),
            y2="floor:Q",
        )
    )


def _lines(drawing: Drawing, curves: dict[str, Any], x: Any, vertical: Any, *, floor: float, dark: bool) -> Any:
    if not curves:
        return None
    # All names, so that a curve keeps its colour when another one is hidden.
    names = list(drawing.curves)
    dashes = [list(DASHES[k % len(DASHES)]) for k in range(len(names))]
    frame = pd.concat(
        [
            pd.DataFrame({"x": drawing.grid, "density": np.maximum(curve, floor), "method": name})
            for name, curve in curves.items()
        ]
    )
    return (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.2, clip=True, aria=False)
        .encode(
            x=x,
            y=alt.Y("density:Q", scale=vertical, title="density"),
            color=alt.Color(
                "method:N", scale=alt.Scale(domain=names, range=colours(len(names), dark=dark)), legend=None
            ),
            strokeDash=alt.StrokeDash("method:N", scale=alt.Scale(domain=names, range=dashes), legend=None),
        )
    )


def _rug(drawing: Drawing, x: Any, *, floor: float, dark: bool) -> Any:
    if not drawing.ticks.size:
        return None
    return (
        alt.Chart(pd.DataFrame({"x": drawing.ticks}))
        .mark_tick(color=ink(dark), opacity=0.45, thickness=1, size=12, yOffset=-6, aria=False)
        .encode(x=x, y=alt.Y(datum=floor))
    )


def _rules(drawing: Drawing, places: Sequence[float | None], x: Any, *, dark: bool, dash: list[int]) -> Any:
    """Draw vertical lines at the places that the picture shows."""
    low, high = drawing.grid[0], drawing.grid[-1]
    shown = [place for place in places if place is not None and low <= place <= high]
    if not shown:
        return None
    return (
        alt.Chart(pd.DataFrame({"x": shown}))
        .mark_rule(color=ink(dark), strokeDash=dash, strokeWidth=1.5, aria=False)
        .encode(x=x)
    )


def _pointer(drawing: Drawing, curves: dict[str, Any], x: Any, *, dark: bool) -> Any:
    """Draw a line at the nearest grid point, with the values there as a tooltip."""
    # A visitor's name is no title here: "image" would be shown as a picture.
    columns = {f"c{k}": curve for k, curve in enumerate(curves.values())}
    tips = [alt.Tooltip("x:Q", title="value", format=".5~g")]
    tips += [alt.Tooltip(f"c{k}:Q", title=name, format=".4~g") for k, name in enumerate(curves)]
    near = alt.selection_point(nearest=True, on="pointermove", clear="pointerout", fields=["x"], empty=False)
    return (
        alt.Chart(pd.DataFrame({"x": drawing.grid, **columns}))
        .mark_rule(color=ink(dark), strokeWidth=1, aria=False)
        .encode(x=x, opacity=alt.condition(near, alt.value(0.5), alt.value(0.0)), tooltip=tips)
        .add_params(near)
    )


def rank_chart(counts: Any, expected: float, band: tuple[float, float], *, dark: bool) -> Any:
    """Draw a histogram of ranks, the expected count of a bin, and the interval of 95 % of counts."""
    edges = np.linspace(0.0, 1.0, len(counts) + 1)
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "count": counts})
    top = 1.1 * max(float(frame["count"].max()), band[1])
    across = alt.X("from:Q", scale=alt.Scale(domain=[0.0, 1.0]), title="rank of the observation among its members")
    bars = (
        alt.Chart(frame)
        .mark_rect(color=colours(1, dark=dark)[0], opacity=0.75, stroke="white", strokeWidth=0.5)
        .encode(
            x=across,
            x2="to:Q",
            y=alt.Y("count:Q", scale=alt.Scale(domain=[0.0, top], nice=False), title="observations"),
            y2=alt.datum(0.0),
            tooltip=[alt.Tooltip("from:Q"), alt.Tooltip("to:Q"), alt.Tooltip("count:Q")],
        )
    )
    usual = alt.Chart(pd.DataFrame({"low": [band[0]], "high": [band[1]]})).mark_rect(color=_GREY, opacity=0.25)
    line = alt.Chart(pd.DataFrame({"y": [expected]})).mark_rule(color=ink(dark), strokeDash=[6, 3]).encode(y="y:Q")
    return finish(alt.layer(usual.encode(y="low:Q", y2="high:Q"), bars, line), 280, dark=dark)


def picture(drawing: Drawing, kind: str, *, log: bool, hidden: Collection[str] = (), top: float | None = None) -> bytes:
    """Return the picture as a file to take away; `kind` is png or svg."""
    ax = plotting.new_axes()
    ax.stairs(drawing.heights, drawing.edges, fill=True, color="0.88")
    for k, (label, curve) in enumerate(drawing.curves.items()):
        if label not in hidden:
            dash = (0, DASHES[k % len(DASHES)]) if k % len(DASHES) else "-"
            ax.plot(drawing.grid, curve, color=_LIGHT[k % len(_LIGHT)], linestyle=dash, linewidth=1.8, label=label)
    plotting.draw_ground(ax, drawing.ticks if drawing.ticks.size else None, drawing.bounds)
    ax.set_xlim(drawing.grid[0], drawing.grid[-1])
    if log:
        highest = top or 2.0 * (max(float(curve.max()) for curve in drawing.curves.values()) or 1.0)
        ax.set_yscale("log")
        ax.set_ylim(_FLOOR * highest, highest)
    elif top is not None:
        ax.set_ylim(0.0, top)
    ax.set_xlabel(drawing.name, parse_math=False)
    if set(drawing.curves) - set(hidden):
        ax.legend(frameon=False, fontsize=9)
    return plotting.figure_bytes(ax, kind)
