"""Summaries of what is measured of curves (`contests.shape`): a line for each cell, small tables, losses and a figure.

A cell is a density, a size and a method. Means over several densities are shown only where all of them have an answer.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure
from amortized_kde.research.reproduction.report_tables import section, table
from contests.marron_wand import MIXTURES
from contests.rivals import UNDER_TEST
from contests.shape import LEVELS, MEASURES, PROMINENCES, smooth_densities

SMOOTH = tuple(truth.name for truth in smooth_densities())
MARRON_WAND = tuple(MIXTURES)
# Modes of the tables; the file has those of the other prominence too.
_MODES = f"{100 * PROMINENCES[0]:g} %"
NEEDLES = "share with a peak above twice the true one"
SHARES = (*(f"share with two modes or more {100 * p:g} %" for p in PROMINENCES), NEEDLES)
_COLUMNS = ("density", "n", "method", "samples", "without answer")


class Key(NamedTuple):
    """One density, size and method."""

    density: str
    n: int
    method: str


# The numbers of a cell by name; without any where the method had no answer.
Cells = Mapping[Key, Mapping[str, float]]


def summarise(values: Array) -> dict[str, float]:
    """Return means, medians and shares of the measures (samples, measures) of a cell, over samples with an answer."""
    answered = values[~np.isnan(values).any(axis=1)]
    if not len(answered):
        return {}
    column = dict(zip(MEASURES, answered.T, strict=True))
    two = [column[f"found modes {100 * p:g} %"] >= 2.0 for p in PROMINENCES]
    shares = [float(np.mean(hits)) for hits in (*two, column["peak / true peak"] > 2.0)]
    return {
        **{name: float(np.mean(values)) for name, values in column.items()},
        **{f"median {name}": float(np.median(values)) for name, values in column.items()},
        **dict(zip(SHARES, shares, strict=True)),
    }


def write_cells(path: Path, found: Mapping[Key, Array]) -> None:
    """Write a line for each cell."""
    names = (*MEASURES, *(f"median {name}" for name in MEASURES), *SHARES)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_COLUMNS, *names])
        for key, values in found.items():
            summary = summarise(values)
            numbers = [f"{summary[name]:.6g}" for name in names] if summary else []
            writer.writerow([*key, len(values), int(np.isnan(values).any(axis=1).sum()), *numbers])


def read_cells(path: Path) -> dict[Key, dict[str, float]]:
    """Read what `write_cells` wrote."""
    with open(path, newline="", encoding="utf-8") as file:
        return {
            Key(row["density"], int(row["n"]), row["method"]): {
                name: float(value) for name, value in row.items() if value and name not in _COLUMNS
            }
            for row in csv.DictReader(file)
        }


def mean_over(cells: Cells, densities: Iterable[str], n: int, method: str, measure: str) -> float:
    """Return the mean of a measure over densities; NaN unless each has one."""
    found = [cells.get(Key(density, n, method), {}).get(measure, math.nan) for density in densities]
    return math.fsum(found) / len(found) if np.isfinite(found).all() else float(np.sum(found))


class View(NamedTuple):
    """A table: the mean of a measure over densities, by n and method; `best` is what a perfect curve would have."""

    heading: str
    sentence: str
    densities: Sequence[str]
    measure: str
    best: float | None = None
    drawn: bool = False
    log_scale: bool = False

    def value(self, cells: Cells, n: int, method: str) -> float:
        """Return the number of a size and method; NaN if there is none."""
        return mean_over(cells, self.densities, n, method, self.measure)


def views() -> tuple[View, ...]:
    """Return all tables, in order."""
    of_smooth, of_marron_wand = "Mean over the eight smooth densities", "Mean over the fifteen Marron-Wand densities"
    true = float(np.mean([truth.modes[PROMINENCES[0]] for truth in smooth_densities()]))
    found, spurious, missed = (f"{kind} modes {_MODES}" for kind in ("found", "spurious", "missed"))
    return (
        View("Modes found", f"{of_smooth}; the truth is {true:g}.", SMOOTH, found, true, drawn=True),
        View("Modes found in uniform samples", "The truth is 1.", ("uniform",), found, 1.0),
        View(
            "Two modes seen", "Share of samples of *two modes* with two modes or more.", ("two modes",), SHARES[0], 1.0
        ),
        View(
            "Two modes seen in normal samples",
            "False alarms: the same share of normal samples.",
            ("normal",),
            SHARES[0],
        ),
        View("Spurious modes", f"{of_marron_wand}.", MARRON_WAND, spurious, 0.0, drawn=True),
        View("Missed modes", f"{of_marron_wand}.", MARRON_WAND, missed, 0.0, drawn=True),
        View("Peak / true peak", f"{of_smooth}.", SMOOTH, "peak / true peak", 1.0, drawn=True, log_scale=True),
        View("Needles", f"Normal samples: {NEEDLES}.", ("normal",), NEEDLES, 0.0),
        View("Sd / sample sd", "Normal samples, median.", ("normal",), "median sd / sample sd", 1.0, drawn=True),
        *(
            View(
                f"True probability of central {100 * level:g} % intervals",
                f"{of_smooth}.",
                SMOOTH,
                f"coverage {100 * level:g} %",
                level,
                drawn=True,
            )
            for level in LEVELS
        ),
        View("Squared error", f"{of_smooth}.", SMOOTH, "squared error", drawn=True, log_scale=True),
        View("Squared error, Marron-Wand", f"{of_marron_wand}.", MARRON_WAND, "squared error"),
        View("Excess bits", f"{of_smooth}.", SMOOTH, "excess bits", drawn=True, log_scale=True),
        View("Excess bits, Marron-Wand", f"{of_marron_wand}.", MARRON_WAND, "excess bits"),
    )


class Loss(NamedTuple):
    """A cell in which a rival has the lower mean: the best such rival, its mean and ours."""

    density: str
    n: int
    rival: str
    theirs: float
    ours: float


# What is better if lower.
LOST_BY = {"spurious modes": f"spurious modes {_MODES}", "squared error": "squared error", "excess bits": "excess bits"}


def losses(cells: Cells, measure: str) -> list[Loss]:
    """Return the cells in which any rival has a lower mean than the default, by size, the largest difference first."""
    found = []
    for (density, n, method), numbers in cells.items():
        if method != UNDER_TEST or measure not in numbers:
            continue
        rivals = {
            key.method: other[measure]
            for key, other in cells.items()
            if key[:2] == (density, n) and not key.method.startswith(UNDER_TEST) and measure in other
        }
        if rivals and min(rivals.values()) < numbers[measure]:
            best = min(rivals, key=rivals.__getitem__)
            found.append(Loss(density, n, best, rivals[best], numbers[measure]))
    return sorted(found, key=lambda loss: (loss.n, loss.theirs - loss.ours))


def to_markdown(cells: Cells) -> str:
    """Return the losses, and a table for each view, as plain Markdown."""
    parts = [_losses(cells)]
    parts += [section(view.heading, view.sentence, _table(cells, view)) for view in views()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _losses(cells: Cells) -> str:
    lost = {what: losses(cells, measure) for what, measure in LOST_BY.items()}
    judged = [key for key, numbers in cells.items() if key.method == UNDER_TEST and numbers]
    sizes = sorted({key.n for key in judged})
    counts = [
        [
            str(n),
            *(f"{sum(k.n == n for k in lost[what])} of {sum(key.n == n for key in judged)}" for what in lost),
        ]
        for n in sizes
    ]
    lists = [
        section(f"Lower {what}" if what != "spurious modes" else f"Fewer {what}", _list(found), level=3)
        for what, found in lost.items()
    ]
    opening = f"Densities on which the best rival has a lower mean than `{UNDER_TEST}`, however small the difference:"
    return section("Where a rival is better", opening, table(["n", *lost], counts), *lists)


def _list(found: Sequence[Loss]) -> str:
    lines = []
    for n in dict.fromkeys(loss.n for loss in found):
        cells = (
            f"{loss.density} ({loss.rival}, {_figure(loss.theirs)} against {_figure(loss.ours)})"
            for loss in found
            if loss.n == n
        )
        lines.append(f"- n = {n}: {'; '.join(cells)}")
    return "\n".join(lines)


def _table(cells: Cells, view: View) -> str:
    methods = _methods(cells)
    rows = []
    for n in sorted({key.n for key in cells}):
        values = [view.value(cells, n, method) for method in methods]
        if not np.isnan(values).all():
            rows.append([str(n), *(_figure(value) for value in values)])
    return table(["n", *(f"`{method}`" for method in methods)], rows) if rows else ""


def _figure(value: float) -> str:
    if math.isnan(value):
        return ""
    return "∞" if math.isinf(value) else f"{value:.3g}" if abs(value) < 1e4 else f"{value:.1e}"


def _methods(cells: Cells) -> list[str]:
    return list(dict.fromkeys(key.method for key in cells))


def draw_shape(path: Path, cells: Cells) -> None:
    """Draw the most important views against n, a panel each."""
    from matplotlib.ticker import LogLocator, NullLocator

    shown = [view for view in views() if view.drawn]
    figure = new_figure(18.0, 5.0 * math.ceil(len(shown) / 3) + 1.5)
    panels = figure.subplots(math.ceil(len(shown) / 3), 3).ravel()
    sizes = sorted({key.n for key in cells})
    for panel, view in zip(panels, shown, strict=True):
        for k, method in enumerate(_methods(cells)):
            values = {n: view.value(cells, n, method) for n in sizes}
            drawn = {n: value for n, value in values.items() if np.isfinite(value)}
            panel.plot(list(drawn), list(drawn.values()), label=method, **_style(method, k))
        if view.best is not None:
            panel.axhline(view.best, color="black", linestyle=":", linewidth=1.5, zorder=0)
        panel.set_title(view.heading, fontsize=18)
        panel.set_xlabel("n", fontsize=16)
        panel.set(xscale="log", yscale="log" if view.log_scale else "linear")
        panel.tick_params(labelsize=14)
        for axis in (panel.xaxis, panel.yaxis) if view.log_scale else (panel.xaxis,):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter("{x:g}")
        panel.grid(alpha=0.3)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=16)
    save_figure(panels[0], str(path))


def _style(method: str, k: int) -> dict[str, Any]:
    """Our models in vermilion, the default thick; every rival has its own colour and marker."""
    if method.startswith(UNDER_TEST):
        default = {"color": COLOURS[1], "marker": "o", "markersize": 8, "zorder": 5}
        return default | ({"linewidth": 3.5} if method == UNDER_TEST else {"linewidth": 1.5, "linestyle": "--"})
    others = [colour for place, colour in enumerate(COLOURS) if place != 1]
    return {"color": others[k % len(others)], "marker": "sD^vPX*<>"[k % 9], "markersize": 7, "linewidth": 1.5}
