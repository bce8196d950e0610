"""The modes of a density in d dimensions, by climbing from the highest points of a set of candidates."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array

Function = Callable[[Array], Array]

# Candidates beyond this many are left out, evenly.
_MOST_CANDIDATES = 1000
# The climb begins with steps of this part of the spread, and ends with that; modes closer than the last are one.
_FIRST_STEP, _LAST_STEP, _SAME = 0.1, 1e-5, 1e-2
_MOST_ROUNDS = 1000
# Where the density is looked at on the straight line between two modes.
_BETWEEN = np.linspace(0.0, 1.0, 33)[1:-1]


class MultivariateMode(NamedTuple):
    """One mode: see `MultivariateModes`."""

    place: Array
    height: float
    prominence: float


@dataclass(frozen=True, eq=False)
class MultivariateModes:
    """The modes of a density in d dimensions, the highest first; a sequence of modes, and an array of each property.

    Attributes
    ----------
    places : array of shape (k, d)
        Where the density has a local maximum, in data units.
    heights : array of shape (k,)
        The density there.
    prominences : array of shape (k,)
        How far the density falls on the straight line to a higher mode, relative to the highest density: the least over
        all higher modes. The highest mode has 1.
    """

    places: Array
    heights: Array
    prominences: Array

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, i: int) -> MultivariateMode:
        return MultivariateMode(self.places[i], float(self.heights[i]), float(self.prominences[i]))

    def __iter__(self) -> Iterator[MultivariateMode]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        rows = [["place", "height", "prominence"]]
        for place, height, prominence in self:
            rows.append([f"({', '.join(f'{x:.4g}' for x in place)})", f"{height:.4g}", f"{prominence:.4g}"])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(cell.rjust(n) for cell, n in zip(row, widths, strict=True)) for row in rows)


def find_modes(log_density: Function, candidates: Array, prominence: float) -> MultivariateModes:
    """Return the modes with at least this prominence that can be reached from candidates (m, d)."""
    if len(candidates) > _MOST_CANDIDATES:
        candidates = candidates[np.linspace(0, len(candidates) - 1, _MOST_CANDIDATES).astype(np.int64)]
    spread = np.std(candidates, axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    logs = log_density(candidates)
    candidates, logs = candidates[np.isfinite(logs)], logs[np.isfinite(logs)]
    starts = _separate(log_density, candidates, logs, spread)
    places, heights = _climb(log_density, candidates[starts], logs[starts], spread)
    order = np.argsort(-heights, kind="stable")
    places, heights = places[order], heights[order]
    kept = [0]
    rises = [1.0]
    for i in range(1, len(places)):
        rise = _prominence(log_density, places[i], heights[i], places[kept], spread, heights[0])
        if rise >= max(prominence, 1e-9):
            kept.append(i)
            rises.append(rise)
    return MultivariateModes(places[kept], np.exp(heights[kept]), np.array(rises))


def _separate(log_density: Function, candidates: Array, logs: Array, spread: Array) -> Array:
    """Candidates from which the density falls on the way to the nearest higher one."""
    order = np.argsort(-logs, kind="stable")
    scaled = (candidates / spread)[order]
    squares = np.sum(scaled**2, axis=1)
    distances = squares[:, None] + squares - 2.0 * scaled @ scaled.T
    distances[np.triu_indices(len(order))] = np.inf
    nearest = np.argmin(distances, axis=1)
    middle = 0.5 * (candidates[order] + candidates[order[nearest]])
    falls = log_density(middle) < logs[order]
    falls[0] = True
    return np.asarray(order[falls])


def _climb(log_density: Function, places: Array, logs: Array, spread: Array) -> tuple[Array, Array]:
    """Local maxima, by steps along the axes that are halved where none of them leads upwards."""
    m, d = places.shape
    places, logs, step = places.copy(), logs.copy(), np.full(m, _FIRST_STEP)
    directions = np.concatenate([np.eye(d), -np.eye(d)])
    last = np.zeros((m, d))
    for _ in range(_MOST_ROUNDS):
        moving = np.flatnonzero(step > _LAST_STEP)
        if moving.size == 0:
            break
        # The direction of the last step once more, so that a slanting ridge is followed.
        moves = np.concatenate([np.broadcast_to(directions, (moving.size, 2 * d, d)), last[moving, None]], axis=1)
        tried = places[moving, None] + moves * (step[moving, None] * spread)[:, None]
        found = log_density(tried.reshape(-1, d)).reshape(moving.size, -1)
        best = np.argmax(found, axis=1)
        highest = found[np.arange(moving.size), best]
        up = highest > logs[moving]
        risen = moving[up]
        before = places[risen]
        places[risen], logs[risen] = tried[up, best[up]], highest[up]
        last[risen] = last[risen] * 0.5 + (places[risen] - before) / (step[risen, None] * spread)
        step[moving[~up]] *= 0.5
    return places, logs


def _prominence(log_density: Function, place: Array, log: float, others: Array, spread: Array, highest: float) -> float:
    """How far the density falls between a mode and each of the others, at least, relative to the highest."""
    if np.min(np.max(np.abs(others - place) / spread, axis=1)) < _SAME:
        return 0.0
    line = place + _BETWEEN[:, None, None] * (others - place)
    between = log_density(line.reshape(-1, place.size)).reshape(len(_BETWEEN), -1).min(axis=0)
    return float(np.exp(log - highest) - np.exp(np.minimum(between.max(), log) - highest))
