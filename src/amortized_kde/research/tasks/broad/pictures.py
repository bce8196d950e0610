"""A picture of the broad world: a random density of each kind, with its sample and the known bounds.

A seed enters, an image file leaves. Matplotlib is imported only when a picture is asked for.
"""

import os
from typing import Any

import numpy as np

from amortized_kde.density.plotting import COLOURS, new_figure, save_figure
from amortized_kde.research.tasks.broad.batch import BroadBatch, broad_batch
from amortized_kde.research.tasks.broad.kinds import KINDS, KNOWN_BOUNDS

_SEED = 2026
_SIZE, _DRAWS, _POINTS = 60, 400, 1501
# The most common kind is shown twice, which makes twelve.
_SHOWN = (KINDS[0], *KINDS)
# What a panel shows of the draws, and how much beyond.
_SHARE, _MARGIN = 0.15, 0.35


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
        batch = broad_batch(1, seed=seed, first=i, sizes=_SIZE, draws=_DRAWS, kinds=[kind])
        _draw_task(axes, batch)
        rounded = ", rounded" if batch.units[0] > 0.0 else ""
        axes.set_title(f"{kind}; known bounds: {KNOWN_BOUNDS[batch.known_bounds[0]]}{rounded}", fontsize=8)
    save_figure(panels[0], os.fspath(path))


def _draw_task(axes: Any, batch: BroadBatch) -> None:
    low, high = _view(batch)
    # Draws are dense where the density is high, so that no spike falls between two points of the grid.
    grid = np.unique(np.concatenate([np.linspace(low, high, _POINTS), np.clip(batch.draws[0], low, high)]))
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
    """Most of the draws and some room, in which near bounds are seen."""
    low, high = np.quantile(batch.draws[0], [_SHARE / 2.0, 1.0 - _SHARE / 2.0])
    margin = _MARGIN * (high - low)
    return float(low - margin), float(high + margin)
