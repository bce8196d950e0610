"""Exact draws from the densities of many tasks, in compiled loops.

A draw is a standard variate moved and scaled, repeated until it lies inside the bounds: the law of the truncated
density, without interpolation. Each task draws from its own stream.
"""

from typing import Any, NamedTuple

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.numerics.jit import compiled, entry, inlined
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.research.tasks.standard import CODES, HIGHEST, LOWEST, NORMAL, STANDARDS
from amortized_kde.research.tasks.variates import form_variate, normal_variate, other_variate

_LOWEST = np.array([standard.support[0] for standard in STANDARDS])
_HIGHEST = np.array([standard.support[1] for standard in STANDARDS])
_MIXTURE = CODES["mixture"]
# Cells of a guide; a power of two, so that their edges are exact. The 31 steps between 32 components leave most of them
# whole.
_CELLS = 256
# The most parts of a compound: the paper's mixtures have 32 components.
MOST_PARTS = 32


class Rows(NamedTuple):
    """Densities for the compiled loop: x = origin + slope * y in [lower, upper], with y of the standard form."""

    codes: Index
    origins: Array
    slopes: Array
    shapes: Array
    lower: float
    upper: float


@inlined
def _component_of(u: float, weights: Array) -> int:
    """Return the component that u falls on; the first if rounding leaves some of u at the end."""
    for k in range(weights.size):
        if u < weights[k]:
            return k
        u -= weights[k]
    return 0


@compiled
def _fill_guide(guide: Index, weights: Array) -> None:
    """Write the component of each of `guide.size` equal cells of (0, 1), or -1 where a cell holds more than one.

    Most draws then find their component without a search, whose branches no processor can predict.
    """
    before = _component_of(0.0, weights)
    for cell in range(guide.size):
        after = -1
        if cell + 1 < guide.size:
            after = _component_of((cell + 1) / guide.size, weights)
        guide[cell] = before if before == after else -1
        before = after


@compiled
def _choose(state: Words, guide: Index, weights: Array) -> int:
    u = next_uniform(state)
    # The largest u rounds to 1.
    chosen = guide[min(int(u * guide.size), guide.size - 1)]
    return _component_of(u, weights) if chosen < 0 else chosen


@inlined
def _standardised(x: float, origin: float, slope: float) -> float:
    """Return the y that the log-density will see; inlined, or the subtraction would be simplified away."""
    return (x - origin) / slope


@compiled
def _mixture_variate(state: Words, shape: Array, guide: Index) -> float:
    count = shape.size // 3
    chosen = _choose(state, guide, shape[:count])
    location: float = shape[count + chosen]
    scale: float = shape[2 * count + chosen]
    return location + scale * normal_variate(state)


@compiled
def _keep(rows: Rows, t: int, y: float, out: Array, filled: int) -> int:
    """Write a standard variate, moved and scaled, if it then lies inside; return the number of draws so far."""
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
    # Mixtures have their own loop: together with the others' code it ran half as fast.
    if code == _MIXTURE:
        _fill_guide(guide, shape[: shape.size // 3])
        while filled < out.size:
            filled = _keep(rows, t, _mixture_variate(state, shape, guide), out, filled)
    while filled < out.size:
        filled = _keep(rows, t, other_variate(code, state, shape), out, filled)


@entry
def fill_draws(rows: Rows, words: Words, first: int, offsets: Index, out: Array, start: int, stop: int) -> None:
    """Write the draws of tasks start .. stop - 1, each from stream first + t, to out[offsets[t]:offsets[t + 1]]."""
    state, guide = np.empty(4, np.uint64), np.empty(_CELLS, np.int64)
    for t in range(start, stop):
        start_stream(state, words, first + t)
        _fill_task(rows, t, state, guide, out[offsets[t] : offsets[t + 1]])


class Parts(NamedTuple):
    """The first ``used[t]`` parts of density t, each x = origin + slope * y with y of the form that `codes` names.

    All but `used` (tasks,) are of shape (tasks, MOST_PARTS), `shapes` (tasks, MOST_PARTS, 2). Unused parts have weight
    0.
    """

    used: Index
    codes: Index
    weights: Array
    origins: Array
    slopes: Array
    shapes: Array

    def of(self, rows: Any) -> "Parts":
        """Return the parts of some of the densities."""
        return Parts(*(array[rows] for array in self))


def empty_parts(count: int) -> Parts:
    """Return `count` compounds without parts."""
    size = (count, MOST_PARTS)
    codes = np.full(size, NORMAL)
    return Parts(np.zeros(count, np.int64), codes, np.zeros(size), np.zeros(size), np.ones(size), np.ones((*size, 2)))


@compiled
def _fill_normals(parts: Parts, t: int, low: float, high: float, state: Words, guide: Index, out: Array) -> None:
    weights = parts.weights[t, : parts.used[t]]
    filled = 0
    while filled < out.size:
        k = _choose(state, guide, weights)
        x = parts.origins[t, k] + parts.slopes[t, k] * normal_variate(state)
        if low <= x <= high:
            out[filled] = x
            filled += 1


@compiled
def _fill_forms(parts: Parts, t: int, low: float, high: float, state: Words, guide: Index, out: Array) -> None:
    weights = parts.weights[t, : parts.used[t]]
    filled = 0
    while filled < out.size:
        k = _choose(state, guide, weights)
        code, origin, slope = parts.codes[t, k], parts.origins[t, k], parts.slopes[t, k]
        x = origin + slope * form_variate(code, state, parts.shapes[t, k])
        # Rounding can put a draw onto the very end of the support, where a density may be infinite.
        if low <= x <= high and LOWEST[code] < _standardised(x, origin, slope) < HIGHEST[code]:
            out[filled] = x
            filled += 1


@entry
def fill_compounds(
    parts: Parts, low: Array, high: Array, words: Words, first: int, offsets: Index, out: Array, start: int, stop: int
) -> None:
    """Write the draws of compounds start .. stop - 1, truncated to [low, high], as `fill_draws` does."""
    state, guide = np.empty(4, np.uint64), np.empty(_CELLS, np.int64)
    for t in range(start, stop):
        row = out[offsets[t] : offsets[t + 1]]
        start_stream(state, words, first + t)
        _fill_guide(guide, parts.weights[t, : parts.used[t]])
        # Normal mixtures, the most common, have a loop without the others' code, which would slow it down.
        if parts.codes[t].max() == NORMAL:
            _fill_normals(parts, t, low[t], high[t], state, guide, row)
        else:
            _fill_forms(parts, t, low[t], high[t], state, guide, row)
