"""Exact draws from the densities of many tasks, in one compiled loop.

Standard forms by code, origins, slopes, shapes and a seed enter (see `densities.py`), draws leave. A draw is
a standard variate moved and scaled, taken again until it lies in the bounds: the law of the truncated
density, without interpolation. Each task draws from its own stream.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.numerics.jit import compiled, entry, inlined
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.research.tasks.standard import CODES, STANDARDS
from amortized_kde.research.tasks.variates import gamma_variate, normal_variate

_LOWEST = np.array([standard.support[0] for standard in STANDARDS])
_HIGHEST = np.array([standard.support[1] for standard in STANDARDS])
_MIXTURE, _LAPLACE, _STUDENT = CODES["mixture"], CODES["laplace"], CODES["student"]
_GAMMA, _BETA, _LOGISTIC = CODES["gamma"], CODES["beta"], CODES["logistic"]
# A power of two, so that the cells' edges are exact. The 31 steps between 32 components then leave most cells whole.
CELLS = 256


class Rows(NamedTuple):
    """Densities as compiled loops read them: x = origin + slope * y, lower <= x <= upper, y of the standard form."""

    codes: Index
    origins: Array
    slopes: Array
    shapes: Array
    lower: float
    upper: float


@inlined
def component_of(u: float, weights: Array) -> int:
    """Give the component that u falls to, no lower one for a larger u unless rounding leaves u over at the end."""
    for k in range(weights.size):
        if u < weights[k]:
            return k
        u -= weights[k]
    return 0


@compiled
def fill_guide(guide: Index, weights: Array) -> None:
    """Write the component of each of as many equal cells of (0, 1), or -1 where a cell holds more than one.

    Most draws then find their component without a search, whose branches no processor can foretell.
    """
    before = component_of(0.0, weights)
    for cell in range(guide.size):
        after = -1
        if cell + 1 < guide.size:
            after = component_of((cell + 1) / guide.size, weights)
        guide[cell] = before if before == after else -1
        before = after


@compiled
def _mixture_variate(state: Words, shape: Array, guide: Index) -> float:
    count = shape.size // 3
    u = next_uniform(state)
    # The largest u rounds to 1.
    chosen = guide[min(int(u * guide.size), guide.size - 1)]
    if chosen < 0:
        chosen = component_of(u, shape[:count])
    location: float = shape[count + chosen]
    scale: float = shape[2 * count + chosen]
    return location + scale * normal_variate(state)


@compiled
def _laplace_variate(state: Words) -> float:
    u = next_uniform(state) - 0.5
    return math.copysign(math.log(1.0 - 2.0 * abs(u)), u)


@compiled
def _student_variate(state: Words, nu: float) -> float:
    return normal_variate(state) / math.sqrt(gamma_variate(state, 0.5 * nu) * 2.0 / nu)


@compiled
def _beta_variate(state: Words, a: float, b: float) -> float:
    x = gamma_variate(state, a)
    return x / (x + gamma_variate(state, b))


@compiled
def _logistic_variate(state: Words) -> float:
    u = next_uniform(state)
    return math.log(u / (1.0 - u))


@compiled
def other_variate(code: int, state: Words, shape: Array) -> float:
    """Draw from a standard density that is not a mixture."""
    # A chain, not a table: compiled code that is kept on disk cannot hold a table of functions.
    if code == _LAPLACE:
        return _laplace_variate(state)
    if code == _STUDENT:
        return _student_variate(state, shape[0])
    if code == _GAMMA:
        return gamma_variate(state, shape[0])
    if code == _BETA:
        return _beta_variate(state, shape[0], shape[1])
    if code == _LOGISTIC:
        return _logistic_variate(state)
    return math.exp(shape[0] * normal_variate(state))


@inlined
def _standardised(x: float, origin: float, slope: float) -> float:
    """The y that the log-density will see: inlined keeps the subtraction from being simplified away."""
    return (x - origin) / slope


@compiled
def _keep(rows: Rows, t: int, y: float, out: Array, filled: int) -> int:
    """Write a standard variate, moved and scaled, if it then lies inside; give how many draws there are now."""
    code, origin, slope = rows.codes[t], rows.origins[t], rows.slopes[t]
    x = origin + slope * y
    # Rounding can put a draw onto the very end of the support, where a density may be infinite.
    if rows.lower <= x <= rows.upper and _LOWEST[code] < _standardised(x, origin, slope) < _HIGHEST[code]:
        out[filled] = x
        return filled + 1
    return filled


@compiled
def _fill_task(rows: Rows, t: int, state: Words, guide: Index, out: Array) -> None:
    code, shape = rows.codes[t], rows.shapes[t]
    filled = 0
    # Mixtures have a loop of their own: beside the others' code theirs ran half as fast.
    if code == _MIXTURE:
        fill_guide(guide, shape[: shape.size // 3])
        while filled < out.size:
            filled = _keep(rows, t, _mixture_variate(state, shape, guide), out, filled)
    while filled < out.size:
        filled = _keep(rows, t, other_variate(code, state, shape), out, filled)


@entry
def fill_draws(rows: Rows, words: Words, first: int, offsets: Index, out: Array, start: int, stop: int) -> None:
    """Write the draws of tasks start .. stop - 1, each from stream first + t, to out[offsets[t]:offsets[t + 1]]."""
    state, guide = np.empty(4, np.uint64), np.empty(CELLS, np.int64)
    for t in range(start, stop):
        start_stream(state, words, first + t)
        _fill_task(rows, t, state, guide, out[offsets[t] : offsets[t + 1]])
