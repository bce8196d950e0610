"""What a person takes away: files in memory, and the lines that make the same density elsewhere.

The lines read ``numbers.csv``, which the page gives too, or hold the numbers if they are few.
"""

import csv
import io
import shlex
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.app.curves import Drawing
from amortized_kde.app.pictures import DASHES, colours
from amortized_kde.density import plotting
from amortized_kde.estimate import DEFAULT_METHOD

Limits = tuple[float | None, float | None]

NUMBERS_FILE = "numbers.csv"
# So many numbers still read well in a line of code.
_FEW = 12


def numbers_csv(values: Array) -> str:
    """Give the sample as a file with the header x and a number a line, all digits kept.

    Examples
    --------
    >>> numbers_csv(np.array([0.1, 2.0]))
    'x\\n0.1\\n2.0\\n'
    """
    return "\n".join(["x", *map(repr, values.tolist()), ""])


def python_lines(values: Array, *, bounds: Limits, method: str, factor: float) -> str:
    """Give the lines of Python that make the density shown.

    Examples
    --------
    >>> print(python_lines(np.array([1.0, 2.5]), bounds=(0.0, None), method="scott", factor=1.0))
    import amortized_kde as akde
    <BLANKLINE>
    x = [1.0, 2.5]
    d = akde.fit(x, bounds=(0.0, None), method="scott")
    grid = d.grid(512)
    density, probability_below = d.pdf(grid), d.cdf(grid)
    """
    few = values.size <= _FEW
    options = [f"bounds={bounds!r}"] if bounds != (None, None) else []
    options += [f'method="{method}"'] if method != DEFAULT_METHOD else []
    smoothed = f".smoothed({factor!r})" if factor != 1.0 else ""
    lines = [] if few else ["import numpy as np"]
    lines += [
        "import amortized_kde as akde",
        "",
        f"x = {values.tolist()!r}" if few else f'x = np.loadtxt("{NUMBERS_FILE}", skiprows=1)',
        f"d = akde.fit({', '.join(['x', *options])}){smoothed}",
        "grid = d.grid(512)",
        "density, probability_below = d.pdf(grid), d.cdf(grid)",
    ]
    return "\n".join(lines)


def command_line(*, bounds: Limits, method: str, factor: float) -> str:
    """Give the command that makes the density shown of the file of numbers.

    Examples
    --------
    >>> command_line(bounds=(0.0, None), method="scott", factor=0.5)
    'amortized-kde fit numbers.csv --bounds 0.0 none --method scott --smooth 0.5 --out density.csv --plot density.png'
    """
    words = ["amortized-kde", "fit", NUMBERS_FILE]
    if bounds != (None, None):
        words += ["--bounds", *("none" if end is None else repr(end) for end in bounds)]
    words += ["--method", method] if method != DEFAULT_METHOD else []
    words += ["--smooth", repr(factor)] if factor != 1.0 else []
    return shlex.join([*words, "--out", "density.csv", "--plot", "density.png"])


def rows_csv(columns: dict[str, Any]) -> str:
    """Give columns as CSV, all digits kept, empty cells for NaN."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = ([None if x != x else x for x in np.asarray(column).tolist()] for column in columns.values())
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def picture(drawing: Drawing, kind: str, *, log: bool) -> bytes:
    """Draw what the page shows on paper: `kind` is png or svg."""
    ax = plotting.new_axes()
    ax.stairs(drawing.heights, drawing.edges, fill=True, color="0.88")
    for (label, curve), colour, dash in zip(
        drawing.curves.items(), colours(len(drawing.curves), dark=False), _dashes(len(drawing.curves)), strict=True
    ):
        ax.plot(drawing.grid, curve, color=colour, linestyle=dash, linewidth=1.8, label=label)
    plotting.draw_ground(ax, drawing.ticks if drawing.ticks.size else None, drawing.bounds)
    ax.set_xlim(drawing.grid[0], drawing.grid[-1])
    if log:
        top = max(float(curve.max()) for curve in drawing.curves.values())
        ax.set_yscale("log")
        ax.set_ylim(1e-6 * top, 2.0 * top)
    ax.set_xlabel(drawing.name, parse_math=False)
    ax.legend(frameon=False, fontsize=9)
    return plotting.figure_bytes(ax, kind)


def _dashes(count: int) -> list[Any]:
    return [(0, DASHES[k % len(DASHES)]) if k % len(DASHES) else "-" for k in range(count)]
