"""Pictures of the worlds: random densities, with their samples. Matplotlib is imported only when one is drawn."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._files import replacing
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure
from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.provenance import record_files
from amortized_kde.research.tasks.batch import World, draw_tasks
from amortized_kde.research.tasks.broad.batch import BroadBatch, broad_batch
from amortized_kde.research.tasks.broad.kinds import KINDS, KNOWN_BOUNDS
from amortized_kde.research.tasks.families import FAMILIES
from amortized_kde.research.tasks.worlds import WORLDS, MultifamilyWorld, make_pool, world

_SEED = 2026
# Densities a world, and the size of their sample, which is drawn as a rug below them.
_DENSITIES = 8
_SIZE = 50
_POINTS = 1001
# Where the whole line is too long to draw: 1 - 6e-5 of a standard normal lies inside.
_WIDEST = 4.0
# The broad world's kinds, the most common one twice, which makes twelve panels.
_SHOWN = (KINDS[0], *KINDS)
_BROAD_SIZE, _BROAD_DRAWS, _BROAD_POINTS = 60, 400, 1501
# Fraction of the draws that a panel leaves out, and its margin as a fraction of what it shows.
_LEFT_OUT, _MARGIN = 0.15, 0.35


def _interval(shown: World) -> tuple[float, float]:
    return max(shown.bounds[0], -_WIDEST), min(shown.bounds[1], _WIDEST)


def _draw_one(axes: Any, grid: Any, density: Any, sample: Any) -> None:
    # A singular end would flatten the rest, so five points of the grid stick out; a peak is wider than that.
    top = 1.1 * np.quantile(density, 1.0 - 5.0 / _POINTS)
    axes.fill_between(grid, np.minimum(density, 2.0 * top), color="#a6cee3", linewidth=0)
    axes.plot(grid, density, color="#1f4e79", linewidth=1.1)
    axes.plot(sample, np.full(sample.shape, -0.06 * top), "|", color="#b35806", markersize=4, markeredgewidth=0.6)
    axes.set_ylim(-0.12 * top, top)
    axes.set_xlim(grid[0], grid[-1])
    axes.tick_params(labelsize=6, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def draw_worlds(worlds: Sequence[World], path: str | os.PathLike[str], *, seed: int = _SEED) -> None:
    """Draw eight random densities of each world, each with a sample of 50 below it, into an image file.

    Parameters
    ----------
    worlds : sequence of World
        One row of the picture for each.
    path : path
        The file; its suffix determines the format.
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
        raise InvalidParameterError("there is no world to draw; pass at least one.")
    figure = new_figure(1.75 * _DENSITIES, 1.55 * len(worlds))
    grid_of_axes = figure.subplots(len(worlds), _DENSITIES, squeeze=False)
    for row, shown in zip(grid_of_axes, worlds, strict=True):
        tasks = draw_tasks(shown, _DENSITIES, seed=seed, sizes=_SIZE, draws=0)
        grid = np.linspace(*_interval(shown), _POINTS)
        densities = np.exp(tasks.truths.logpdf(grid))
        for t, axes in enumerate(row):
            _draw_one(axes, grid, densities[t], tasks.values[tasks.offsets[t] : tasks.offsets[t + 1]])
        row[0].set_ylabel(shown.name, fontsize=10)
    figure.suptitle(f"Random densities of each world, with a sample of {_SIZE} from each", fontsize=11)
    with replacing(path) as file:
        figure.savefig(file, dpi=120)


def reproduce_worlds(out: str | os.PathLike[str]) -> str:
    """Write ``worlds.png`` and ``families.png`` into a directory, eight random densities of each; return a sentence."""
    directory = Path(out)
    directory.mkdir(parents=True, exist_ok=True)
    draw_worlds([world(name) for name in WORLDS], directory / "worlds.png")
    families = [MultifamilyWorld(make_pool(families=(name,)), name) for name in FAMILIES]
    draw_worlds(families, directory / "families.png")
    record_files(directory, ["worlds.png", "families.png"], {})
    return f"Eight random densities of each world and of each family: {directory}/worlds.png, {directory}/families.png"


def draw_broad(path: str | os.PathLike[str], *, seed: int = _SEED) -> None:
    """Draw twelve random tasks into an image file: true density, sample, and in red the known bounds.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure = new_figure(11.0, 6.0)
    panels = figure.subplots(3, 4).ravel()
    for i, (axes, kind) in enumerate(zip(panels, _SHOWN, strict=True)):
        batch = broad_batch(1, seed=seed, first=i, sizes=_BROAD_SIZE, draws=_BROAD_DRAWS, kinds=[kind])
        _draw_task(axes, batch)
        rounded = ", rounded" if batch.units[0] > 0.0 else ""
        axes.set_title(f"{kind}; known bounds: {KNOWN_BOUNDS[batch.known_bounds[0]]}{rounded}", fontsize=8)
    save_figure(panels[0], os.fspath(path))


def _draw_task(axes: Any, batch: BroadBatch) -> None:
    low, high = _view(batch)
    # Draws are dense where the density is high, so that no spike falls between two points of the grid.
    grid = np.unique(np.concatenate([np.linspace(low, high, _BROAD_POINTS), np.clip(batch.draws[0], low, high)]))
    density = np.exp(batch.true_logpdf(grid)[0])
    # A singular end would flatten the rest.
    top = 1.2 * np.quantile(density, 0.98)
    axes.fill_between(grid, np.minimum(density, top), color=COLOURS[5], alpha=0.4, linewidth=0)
    axes.plot(grid, density, color=COLOURS[0], linewidth=1.0)
    axes.plot(
        batch.values, np.full(batch.values.size, -0.06 * top), "|", color="0.2", markersize=5, markeredgewidth=0.5
    )
    for bound in (batch.lower[0], batch.upper[0]):
        if low <= bound <= high:
            axes.axvline(bound, color=COLOURS[1], linewidth=1.5)
    axes.set(xlim=(low, high), ylim=(-0.12 * top, top))
    axes.tick_params(labelsize=6, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _view(batch: BroadBatch) -> tuple[float, float]:
    """Return an interval with most of the draws and a margin, in which near bounds are seen."""
    low, high = np.quantile(batch.draws[0], [_LEFT_OUT / 2.0, 1.0 - _LEFT_OUT / 2.0])
    margin = _MARGIN * (high - low)
    return float(low - margin), float(high + margin)
