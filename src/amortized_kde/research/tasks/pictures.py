"""A picture of each world: eight of its random densities.

Worlds enter, an image file leaves. Matplotlib is imported only when a picture is asked for.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde.errors import InvalidParameterError, MissingExtraError
from amortized_kde.research.tasks.batch import draw_tasks
from amortized_kde.research.tasks.families import FAMILIES
from amortized_kde.research.tasks.pool import make_pool
from amortized_kde.research.tasks.protocol import World
from amortized_kde.research.tasks.worlds import WORLDS, MultifamilyWorld, world

# Densities a world, and the size of their sample, which is drawn as a rug below them.
_DENSITIES = 8
_SIZE = 50
_SEED = 2026
_POINTS = 1001
# Where the whole line is too long to draw: 1 - 6e-5 of a standard normal lies inside.
_WIDEST = 4.0


def _interval(shown: World) -> tuple[float, float]:
    return max(shown.bounds[0], -_WIDEST), min(shown.bounds[1], _WIDEST)


def _draw_one(axes: Any, grid: Any, density: Any, sample: Any) -> None:
    # A singular end would flatten the rest, so five points of the grid may stick out; a peak is wider than
    # that.
    top = 1.1 * np.quantile(density, 1.0 - 5.0 / _POINTS)
    axes.fill_between(grid, np.minimum(density, 2.0 * top), color="#a6cee3", linewidth=0)
    axes.plot(grid, density, color="#1f4e79", linewidth=1.1)
    axes.plot(sample, np.full(sample.shape, -0.06 * top), "|", color="#b35806", markersize=4, markeredgewidth=0.6)
    axes.set_ylim(-0.12 * top, top)
    axes.set_xlim(grid[0], grid[-1])
    axes.tick_params(labelsize=6, length=2)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw_worlds(worlds: Sequence[World], path: str | os.PathLike[str], *, seed: int = _SEED) -> None:
    """Draw eight random densities of each world, each with a sample of 50 below it, into an image file.

    Parameters
    ----------
    worlds : sequence of World
        One row of the picture for each.
    path : path
        The file; its ending says which format.
    seed : int
        The tasks shown are the first eight under this seed.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InvalidParameterError
        If there is no world to draw.
    """
    if not worlds:
        raise InvalidParameterError("There is no world to draw; pass at least one.")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("Pictures need matplotlib: pip install 'amortized-kde[plot]'.") from None
    figure = Figure(figsize=(1.75 * _DENSITIES, 1.55 * len(worlds)), layout="constrained")
    FigureCanvasAgg(figure)
    grid_of_axes = figure.subplots(len(worlds), _DENSITIES, squeeze=False)
    for row, shown in zip(grid_of_axes, worlds, strict=True):
        tasks = draw_tasks(shown, _DENSITIES, seed=seed, sizes=_SIZE, draws=0)
        grid = np.linspace(*_interval(shown), _POINTS)
        densities = np.exp(tasks.truths.logpdf(grid))
        for t, axes in enumerate(row):
            _draw_one(axes, grid, densities[t], tasks.values[tasks.offsets[t] : tasks.offsets[t + 1]])
        row[0].set_ylabel(shown.name, fontsize=10)
    figure.suptitle(f"Random densities of each world, with a sample of {_SIZE} from each", fontsize=11)
    figure.savefig(path, dpi=120)


def reproduce_worlds(out: str | os.PathLike[str]) -> str:
    """Write ``worlds.png`` and ``families.png`` into a directory, eight random densities of each; say where."""
    directory = Path(out)
    directory.mkdir(parents=True, exist_ok=True)
    draw_worlds([world(name) for name in WORLDS], directory / "worlds.png")
    families = [MultifamilyWorld(make_pool(families=(name,)), name) for name in FAMILIES]
    draw_worlds(families, directory / "families.png")
    return f"Eight random densities of each world and of each family: {directory}/worlds.png, {directory}/families.png"
