"""Densities with two natural bounds: the paper's mixtures and families on [-1, 1], and uniform or nearly uniform ones.

A stream enters; parts are written, natural bounds leave.
"""

from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.numerics.jit import compiled
from amortized_kde.numerics.streams import next_uniform
from amortized_kde.research.tasks.broad.placing import below, either_sign, log_uniform, put, uniform
from amortized_kde.research.tasks.compounds import Parts
from amortized_kde.research.tasks.forms import BETA, GAMMA, NORMAL
from amortized_kde.research.tasks.mixtures import Constants, fill_mixture

# Components of a mixture: one half few, one half many.
_FEW, _MANY = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12]), np.array([16, 20, 24, 28, 32])


class PoolRows(NamedTuple):
    """The families of a pool, as the loop reads them."""

    codes: Index
    origins: Array
    slopes: Array
    shapes: Array


@compiled
def mixture(state: Words, parts: Parts, t: int, constants: Constants) -> tuple[float, float]:
    """The paper's random mixtures (section 3.3)."""
    count = _FEW[below(state, _FEW.size)] if next_uniform(state) < 0.5 else _MANY[below(state, _MANY.size)]
    shape = np.empty(3 * count)
    fill_mixture(shape, constants, state)
    for k in range(count):
        put(parts, t, NORMAL, shape[k], shape[count + k], shape[2 * count + k], 1.0, 1.0)
    return -1.0, 1.0


@compiled
def family(state: Words, parts: Parts, t: int, pool: PoolRows) -> tuple[float, float]:
    """A setting of the pool (paper, section 3.2); its normal mixtures have three components."""
    i = below(state, pool.codes.size)
    origin, slope, shape = pool.origins[i], pool.slopes[i], pool.shapes[i]
    if pool.codes[i] != NORMAL:
        put(parts, t, pool.codes[i], 1.0, origin, slope, shape[0], shape[1])
        return -1.0, 1.0
    for k in range(3):
        if shape[k] > 0.0:
            put(parts, t, NORMAL, shape[k], origin + slope * shape[3 + k], slope * shape[6 + k], 1.0, 1.0)
    return -1.0, 1.0


@compiled
def uniform_like(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Uniform, or nearly: on an interval inside [-1, 1], from its end `at` with the signed width `w`."""
    width, sign = uniform(state, 0.3, 2.0), either_sign(state)
    low = uniform(state, -1.0, 1.0 - width)
    at, w = (low, width) if sign > 0.0 else (low + width, -width)
    shape = below(state, 7)
    if shape == 0:
        put(parts, t, BETA, 1.0, at, w, 1.0, 1.0)
    elif shape == 1:
        put(parts, t, BETA, 1.0, at, w, uniform(state, 0.7, 2.5), uniform(state, 0.7, 2.5))
    elif shape == 2:
        # A trapezoid, and with ramps that meet a triangle.
        up, down = uniform(state, 0.01, 0.49), uniform(state, 0.01, 0.49)
        total = 1.0 - 0.5 * (up + down)
        put(parts, t, BETA, (1.0 - up - down) / total, at + up * w, (1.0 - up - down) * w, 1.0, 1.0)
        put(parts, t, BETA, 0.5 * up / total, at, up * w, 2.0, 1.0)
        put(parts, t, BETA, 0.5 * down / total, at + w, -down * w, 2.0, 1.0)
    elif shape == 3:
        bump = uniform(state, 0.02, 0.3)
        put(parts, t, BETA, 1.0 - bump, at, w, 1.0, 1.0)
        centre, scale = at + w * next_uniform(state), width * log_uniform(state, 0.01, 0.1)
        put(parts, t, NORMAL, bump, centre, scale, 1.0, 1.0)
    elif shape == 4:
        mode = uniform(state, 0.02, 0.98)
        put(parts, t, BETA, mode, at, mode * w, 2.0, 1.0)
        put(parts, t, BETA, 1.0 - mode, at + w, (mode - 1.0) * w, 2.0, 1.0)
    elif shape == 5:
        put(parts, t, GAMMA, 1.0, at, w * log_uniform(state, 0.3, 3.0), 1.0, 1.0)
    else:
        ramp = uniform(state, 0.1, 1.0)
        put(parts, t, BETA, 1.0 - ramp, at, w, 1.0, 1.0)
        put(parts, t, BETA, ramp, at, w, 2.0, 1.0)
    return low, low + width
