"""Densities on the whole line with several scales: parts of very different widths, and outliers.

A stream enters; parts are written, natural bounds leave, infinite where there is none.
"""

import math

from amortized_kde._types import Words
from amortized_kde.numerics.jit import compiled
from amortized_kde.numerics.streams import next_uniform
from amortized_kde.research.tasks.broad.kinds import ONE
from amortized_kde.research.tasks.broad.placing import (
    LINE,
    below,
    either_sign,
    half_line,
    log_uniform,
    put,
    shares,
    uniform,
)
from amortized_kde.research.tasks.compounds import Parts
from amortized_kde.research.tasks.forms import BETA, GAMMA, LAPLACE, NORMAL


@compiled
def multiscale(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Two to five parts with widths over three to four decades, side by side or one inside the other."""
    decades = uniform(state, 3.0, 4.0)
    apart = log_uniform(state, 0.3, 10.0)
    for k in range(2 + below(state, 4)):
        # The first is the widest; the second is one of the narrowest, so that there always are both.
        narrow = uniform(state, 0.6, 1.0) if k == 1 else (next_uniform(state) if k > 1 else 0.0)
        width, centre, form = 10.0 ** (-decades * narrow), uniform(state, -apart, apart), below(state, 3)
        if form == 2:
            put(parts, t, BETA, 1.0, centre - width, 2.0 * width, 1.0, 1.0)
        else:
            put(parts, t, NORMAL if form == 0 else LAPLACE, 1.0, centre, width, 1.0, 1.0)
    shares(state, parts, t, 0.03)
    return LINE


@compiled
def _core(state: Words, parts: Parts, t: int, gamma: bool, sign: float) -> None:
    """A gamma density, or one to three normals, of unit scale."""
    if gamma:
        k = log_uniform(state, 0.5, 10.0)
        put(parts, t, GAMMA, 1.0, 0.0, sign / math.sqrt(k), k, 1.0)
        return
    count = 1 + max(0, below(state, 4) - 1)
    for _ in range(count):
        centre = 0.0 if count == 1 else uniform(state, -1.5, 1.5)
        put(parts, t, NORMAL, 1.0, centre, log_uniform(state, 0.3, 1.0), 1.0, 1.0)
    shares(state, parts, t, 0.1)


@compiled
def outliers(state: Words, parts: Parts, t: int, known_bounds: int) -> tuple[float, float]:
    """A core and a few points that are spread 5 to 1000 times as wide, or lie that far away."""
    sign, gamma = either_sign(state), known_bounds == ONE or next_uniform(state) < 1.0 / 3.0
    _core(state, parts, t, gamma, sign)
    few, far = log_uniform(state, 0.005, 0.1), log_uniform(state, 5.0, 1000.0)
    for k in range(parts.used[t]):
        parts.weights[t, k] *= 1.0 - few
    if known_bounds == ONE:
        put(parts, t, GAMMA, few, 0.0, sign * far, 1.0, 1.0)
        return half_line(sign)
    if next_uniform(state) < 0.5:
        put(parts, t, NORMAL if next_uniform(state) < 0.5 else LAPLACE, few, 0.0, far, 1.0, 1.0)
    else:
        put(parts, t, NORMAL, few, either_sign(state) * far, log_uniform(state, 0.3, 3.0), 1.0, 1.0)
    return LINE
