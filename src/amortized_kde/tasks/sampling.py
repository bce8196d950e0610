"""Exact draws from the densities of many tasks, in one compiled loop.

Standard forms by code, origins, slopes, shapes and a seed enter (see `densities.py`), draws leave. A draw is
a standard variate moved and scaled, taken again until it lies in the bounds: the law of the truncated
density, without interpolation. Each task draws from its own stream.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.jit import compiled, entry, inlined
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.numerics.variates import gamma_variate, normal_variate
from amortized_kde.tasks.standard import CODES, STANDARDS

__all__ = ["Rows", "fill_draws"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Words = NDArray[np.uint64]

_LOWEST = np.array([standard.support[0] for standard in STANDARDS])
_HIGHEST = np.array([standard.support[1] for standard in STANDARDS])
_MIXTURE, _LAPLACE, _STUDENT = CODES["mixture"], CODES["laplace"], CODES["student"]
_GAMMA, _BETA, _LOGISTIC = CODES["gamma"], CODES["beta"], CODES["logistic"]


class Rows(NamedTuple):
    """Densities as compiled loops read them: x = origin + slope * y, lower <= x <= upper, y of the standard form."""

    codes: Index
    origins: Array
    slopes: Array
    shapes: Array
    lower: float
    upper: float


@compiled
def _mixture_variate(state: Words, shape: Array) -> float:
    count = shape.size // 3
    u = next_uniform(state)
    chosen = 0
    for k in range(count):
        if u < shape[k]:
            chosen = k
            break
        u -= shape[k]
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
def _standard_variate(code: int, state: Words, shape: Array) -> float:
    # A chain, not a table: compiled code that is kept on disk cannot hold a table of functions.
    if code == _MIXTURE:
        return _mixture_variate(state, shape)
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
def _fill_task(rows: Rows, t: int, state: Words, out: Array) -> None:
    code, origin, slope, shape = rows.codes[t], rows.origins[t], rows.slopes[t], rows.shapes[t]
    lowest, highest = _LOWEST[code], _HIGHEST[code]
    filled = 0
    while filled < out.size:
        x = origin + slope * _standard_variate(code, state, shape)
        y = _standardised(x, origin, slope)
        # Rounding can put a draw onto the very end of the support, where a density may be infinite.
        if rows.lower <= x <= rows.upper and lowest < y < highest:
            out[filled] = x
            filled += 1


@entry
def fill_draws(rows: Rows, words: Words, first: int, offsets: Index, out: Array, start: int, stop: int) -> None:
    """Write the draws of tasks start .. stop - 1, each from stream first + t, to out[offsets[t]:offsets[t + 1]]."""
    state = np.empty(4, np.uint64)
    for t in range(start, stop):
        start_stream(state, words, first + t)
        _fill_task(rows, t, state, out[offsets[t] : offsets[t + 1]])
