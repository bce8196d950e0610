"""What the random densities of the broad world are written in: random numbers, and parts put in their places.

A stream enters, numbers leave; or a part enters a compound (`compounds.py`).
"""

import math

from amortized_kde._types import Words
from amortized_kde.numerics.jit import compiled
from amortized_kde.numerics.streams import next_uniform
from amortized_kde.research.tasks.compounds import Parts

# Natural bounds of a density on the whole line.
LINE = (-math.inf, math.inf)


@compiled
def uniform(state: Words, low: float, high: float) -> float:
    """Draw a number of (low, high)."""
    return low + (high - low) * next_uniform(state)


@compiled
def log_uniform(state: Words, low: float, high: float) -> float:
    """Draw a number of (low, high) whose logarithm is uniform."""
    return math.exp(uniform(state, math.log(low), math.log(high)))


@compiled
def below(state: Words, count: int) -> int:
    """Draw a whole number of 0 .. count - 1."""
    return min(int(next_uniform(state) * count), count - 1)


@compiled
def either_sign(state: Words) -> float:
    """Draw 1 or -1."""
    return 1.0 if next_uniform(state) < 0.5 else -1.0


@compiled
def put(parts: Parts, t: int, code: int, weight: float, origin: float, slope: float, a: float, b: float) -> None:
    """Add one part with shape parameters a and b; a form that has fewer does not read them."""
    k = parts.used[t]
    parts.codes[t, k], parts.weights[t, k], parts.origins[t, k], parts.slopes[t, k] = code, weight, origin, slope
    parts.shapes[t, k, 0], parts.shapes[t, k, 1] = a, b
    parts.used[t] = k + 1


@compiled
def shares(state: Words, parts: Parts, t: int, least: float) -> None:
    """Give the parts of a task weights that are uniform on the simplex, then raised to at least `least` of each."""
    count, total = parts.used[t], 0.0
    for k in range(count):
        parts.weights[t, k] = -math.log(next_uniform(state))
        total += parts.weights[t, k]
    for k in range(count):
        parts.weights[t, k] = least + (1.0 - count * least) * parts.weights[t, k] / total


@compiled
def half_line(sign: float) -> tuple[float, float]:
    """Give the natural bounds of a density on the positive half line, or on the negative one."""
    return (0.0, math.inf) if sign > 0.0 else (-math.inf, 0.0)
