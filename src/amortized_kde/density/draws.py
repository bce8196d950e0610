"""Draws from a density that is made of parts."""

from collections.abc import Sequence

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.components import Part

# Draws in one call; with eight variables they are 8 GB.
MOST_DRAWS = 1 << 27


def draw_from_parts(parts: Sequence[Part], count: int, rng: np.random.Generator, *, even: bool = False) -> Array:
    """Return draws (count, d) in random order.

    With `even` every component has its share of them, up to one draw: the draws are no longer independent, and means
    over them are more accurate.
    """
    d = parts[0].components.dimension
    if count == 0:
        return np.empty((0, d))
    sizes = np.array([len(part.components) for part in parts])
    masses = np.cumsum(np.concatenate([part.weight * part.components.weights for part in parts]))
    at = (np.arange(count) + rng.random()) / count if even else rng.random(count)
    chosen = np.minimum(np.searchsorted(masses, at * masses[-1], side="right"), masses.size - 1)
    out, start = np.empty((count, d)), 0
    for part, size in zip(parts, sizes, strict=True):
        mine = np.flatnonzero((chosen >= start) & (chosen < start + size))
        if mine.size:
            out[mine] = part.outer(part.components.draw(chosen[mine] - start, rng))
        start += size
    return rng.permutation(out) if even else out
