"""Draws from a density that is made of parts."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.density.components import Components, Part
from amortized_kde.density.scores import FARTHEST

# Draws in one call; with eight variables they are 8 GB.
MOST_DRAWS = 1 << 27
# Scores beyond the ends of their map are drawn anew at most so often.
_REDRAWS = 20


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
            draw = part.components.draw if part.margins is None else partial(_draw_scores, part.components)
            out[mine] = part.outer(draw(chosen[mine] - start, rng))
        start += size
    return rng.permutation(out) if even else out


def _draw_scores(components: Components, chosen: Index, rng: np.random.Generator) -> Array:
    """Draws of normal scores; the few of Student's t beyond the ends of the map would otherwise all lie at these."""
    out = components.draw(chosen, rng)
    for _ in range(_REDRAWS):
        beyond = np.flatnonzero(np.any(np.abs(out) > FARTHEST, axis=1))
        if beyond.size == 0:
            break
        out[beyond] = components.draw(chosen[beyond], rng)
    return out
