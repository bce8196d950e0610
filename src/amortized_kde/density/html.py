"""A density in a notebook: a small HTML table beside a curve in SVG, without a plotting library.

Lines and letters take the colour of the surrounding text, so that they can be read on light and dark backgrounds.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.density_plot import visible

if TYPE_CHECKING:
    from amortized_kde.density.kernel_density import KernelDensity

Bounds = tuple[float | None, float | None]

_WIDTH, _HEIGHT = 300.0, 112.0
# Space for half a line's width at the sides and above, and for numbers below.
_MARGIN, _FLOOR = 4.0, 94.0


def describe(density: "KernelDensity") -> str:
    """Return the curve, shaded inside the central 90 % interval, and a table of a density's properties."""
    low, median, high = density.ppf([0.05, 0.5, 0.95])
    wide = curve_grid(density)
    ends = wide[visible(wide, density.pdf(wide), density.points[[0, -1]])][[0, -1]]
    grid = np.union1d(wide[(wide >= ends[0]) & (wide <= ends[1])], np.clip([low, high], *ends))
    facts = {
        "n": density.points.size,
        "method": density.method,
        "bandwidth": density.bandwidth,
        "bounds": density.bounds,
        "mean": density.mean(),
        "standard deviation": density.std(),
        "median": median,
        "90 % interval": (low, high),
    }
    return density_html(
        repr(density), facts, grid=grid, density=density.pdf(grid), band=(low, high), bounds=density.bounds
    )


def curve_grid(density: "KernelDensity") -> Array:
    """Return about two hundred arguments for a small picture: even ones, and some around points for narrow peaks."""
    grid, some = density.grid(100), np.linspace(0, density.points.size - 1, 33).astype(int)
    near = density.points[some, None] + density.local_bandwidths[some, None] * np.array([-1.5, 0.0, 1.5])
    return np.union1d(grid, np.clip(near, grid[0], grid[-1]))


def density_html(
    title: str, facts: Mapping[str, Any], *, grid: Array, density: Array, band: tuple[float, float], bounds: Bounds
) -> str:
    """Return the table of `facts` and the curve through (grid, density), darker inside the band, with walls at bounds.

    The grid ascends and holds the ends of the band. Facts are strings, numbers, None or tuples of these; all text is
    escaped.
    """
    digits = _digits(grid)
    rows = "".join(f"<tr>{_cell('th', name)}{_cell('td', _text(fact, digits))}</tr>" for name, fact in facts.items())
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:center">'
        f'{_svg(title, grid, density, band, bounds)}<table style="color:inherit">{rows}</table></div>'
    )


def table_html(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], remarks: Iterable[str]) -> str:
    """Return a table with a title above and remarks below; all texts are escaped."""
    lines = [("th", header), *(("td", row) for row in rows)]
    body = "".join(f"<tr>{''.join(_cell(kind, text) for text in line)}</tr>" for kind, line in lines)
    below = "".join(f"<p>{escape(remark)}</p>" for remark in remarks)
    return f'<div><p>{escape(title)}</p><table style="color:inherit">{body}</table>{below}</div>'


def _cell(kind: str, text: str) -> str:
    return f'<{kind} style="text-align:left">{escape(text)}</{kind}>'


def _digits(grid: Array) -> int:
    """Number of digits that tell apart arguments a thousandth of the grid apart, at least six."""
    ratio = float(np.abs(grid).max()) / _span(grid)
    return min(max(6, 4 + math.ceil(math.log10(max(ratio, 1.0)))), 17)


def _span(grid: Array) -> float:
    # With a bandwidth below the spacing of float64 numbers all arguments are the same.
    return float(grid[-1] - grid[0]) or 1.0


def _text(fact: Any, digits: int) -> str:
    if isinstance(fact, tuple):
        return ", ".join(_text(part, digits) for part in fact)
    if fact is None:
        return "none"
    return f"{fact:.{digits}g}" if isinstance(fact, float) else str(fact)


def _svg(title: str, grid: Array, density: Array, band: tuple[float, float], bounds: Bounds) -> str:
    x = _MARGIN + (_WIDTH - 2.0 * _MARGIN) * (grid - grid[0]) / _span(grid)
    y = _FLOOR - (_FLOOR - _MARGIN) * density / density.max()
    inside = (grid >= band[0]) & (grid <= band[1])
    parts = [
        _area(x, y, 0.12),
        _area(x[inside], y[inside], 0.2) if inside.any() else "",
        f'<path d="M{_points(x, y)}" fill="none" stroke="currentColor" stroke-width="1.5"/>',
        f'<path d="M{_MARGIN:g} {_FLOOR:g}H{_WIDTH - _MARGIN:g}" stroke="currentColor" stroke-opacity="0.5"/>',
        *(_wall(at) for at, bound in zip(x[[0, -1]], bounds, strict=True) if bound in (grid[0], grid[-1])),
        _end(_MARGIN, "start", grid[0], _digits(grid) - 2),
        _end(_WIDTH - _MARGIN, "end", grid[-1], _digits(grid) - 2),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:g}" height="{_HEIGHT:g}" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def _points(x: Array, y: Array) -> str:
    # Less than a tenth of a pixel cannot be seen.
    return " ".join(f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _area(x: Array, y: Array, opacity: float) -> str:
    path = f"M{x[0]:.1f} {_FLOOR:g}L{_points(x, y)}V{_FLOOR:g}Z"
    return f'<path d="{path}" fill="currentColor" fill-opacity="{opacity:g}"/>'


def _wall(x: float) -> str:
    return f'<path d="M{x:.1f} 0V{_FLOOR:g}" stroke="currentColor" stroke-opacity="0.6" stroke-dasharray="2 3"/>'


def _end(x: float, anchor: str, value: float, digits: int) -> str:
    text = f'<text x="{x:g}" y="{_HEIGHT - 4.0:g}" font-size="11" text-anchor="{anchor}" fill="currentColor">'
    return f"{text}{value:.{digits}g}</text>"
