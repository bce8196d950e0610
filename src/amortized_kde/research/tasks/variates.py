"""Exact random variates of the standard densities, from the state of a stream (`numerics.streams`)."""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Words
from amortized_kde.numerics.jit import compiled
from amortized_kde.numerics.streams import next_bits, next_uniform
from amortized_kde.research.tasks.standard import (
    BETA,
    FOLDED,
    GAMMA,
    LAPLACE,
    LOGISTIC,
    NORMAL,
    PARETO,
    STUDENT,
    WEIBULL,
)

# Layers of the ziggurat, and where its tail begins (Marsaglia and Tsang 2000, table of constants for 128
# layers).
_LAYERS = 128
_TAIL = 3.442619855899
_LAYER_MASK = np.uint64(_LAYERS - 1)
_SHIFT_11, _DOUBLE_UNIT = np.uint64(11), 2.0**-52
# Squeeze of Marsaglia and Tsang (2000, "A simple method for generating gamma variables").
_SQUEEZE = 0.0331


def _layer_edges() -> NDArray[np.float64]:
    """Return right ends of the layers of equal area under exp(-x^2/2), widest first (Doornik 2005, ZIGNOR)."""
    height = math.exp(-0.5 * _TAIL**2)
    area = _TAIL * height + math.sqrt(0.5 * math.pi) * math.erfc(_TAIL / math.sqrt(2.0))
    edges = np.zeros(_LAYERS + 1)
    edges[0], edges[1] = area / height, _TAIL
    for i in range(2, _LAYERS):
        edges[i] = math.sqrt(-2.0 * math.log(area / edges[i - 1] + height))
        height = math.exp(-0.5 * edges[i] ** 2)
    return edges


_EDGES = _layer_edges()
_INNER = _EDGES[1:] / _EDGES[:-1]


@compiled
def _normal_tail(state: Words) -> float:
    """Draw from the tail by Marsaglia's exact method."""
    while True:
        excess = -math.log(next_uniform(state)) / _TAIL
        if -2.0 * math.log(next_uniform(state)) >= excess * excess:
            return _TAIL + excess


@compiled
def normal_variate(state: Words) -> float:
    """Draw from the standard normal distribution by the ziggurat, exactly."""
    while True:
        bits = next_bits(state)
        u = (float(bits >> _SHIFT_11) + 0.5) * _DOUBLE_UNIT - 1.0
        layer = np.int64(bits & _LAYER_MASK)
        x: float = u * _EDGES[layer]
        if abs(u) < _INNER[layer]:
            return x
        if layer == 0:
            return math.copysign(_normal_tail(state), u)
        outer = math.exp(-0.5 * (_EDGES[layer] ** 2 - x * x))
        inner = math.exp(-0.5 * (_EDGES[layer + 1] ** 2 - x * x))
        if inner + next_uniform(state) * (outer - inner) < 1.0:
            return x


@compiled
def _gamma_from_one(state: Words, shape: float) -> float:
    """Draw by Marsaglia and Tsang's rejection, for shape >= 1."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal_variate(state)
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        u, square, v = next_uniform(state), x * x, root * root * root
        if u < 1.0 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v


@compiled
def gamma_variate(state: Words, shape: float) -> float:
    """Draw from the gamma distribution with unit scale, any shape > 0."""
    boost, boosted = 1.0, shape
    if shape < 1.0:
        boost, boosted = next_uniform(state) ** (1.0 / shape), shape + 1.0
    return boost * _gamma_from_one(state, boosted)


@compiled
def log_gamma_variate(state: Words, shape: float) -> float:
    """Draw the logarithm of a gamma variate, finite where the variate itself underflows."""
    return math.log(_gamma_from_one(state, shape + 1.0)) + math.log(next_uniform(state)) / shape


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
    if code == LAPLACE:
        return _laplace_variate(state)
    if code == STUDENT:
        return _student_variate(state, shape[0])
    if code == GAMMA:
        return gamma_variate(state, shape[0])
    if code == BETA:
        return _beta_variate(state, shape[0], shape[1])
    if code == LOGISTIC:
        return _logistic_variate(state)
    return math.exp(shape[0] * normal_variate(state))


@compiled
def form_variate(code: int, state: Words, shape: Array) -> float:
    """Draw from the form with this code."""
    if code == NORMAL:
        return normal_variate(state)
    if code == PARETO:
        return math.expm1(-math.log(next_uniform(state)) / shape[0])
    if code == WEIBULL:
        return (-math.log(next_uniform(state))) ** (1.0 / shape[0])
    if code == BETA and shape[1] == 1.0:
        # Uniform numbers and ramps: inversion is faster than two gammas.
        return next_uniform(state) ** (1.0 / shape[0])
    if code == FOLDED:
        return abs(other_variate(STUDENT, state, shape))
    return other_variate(code, state, shape)
