"""Densities with heavy tails or an end where they are steep: one natural bound, or none.

A stream enters; parts are written, natural bounds leave, infinite where there is none.
"""

import math

from amortized_kde._types import Words
from amortized_kde.numerics.jit import compiled
from amortized_kde.numerics.streams import next_uniform
from amortized_kde.research.tasks.broad.kinds import BOTH, KINDS
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
from amortized_kde.research.tasks.forms import BETA, FOLDED, GAMMA, LOGNORMAL, PARETO, STUDENT, WEIBULL

_LOGNORMAL, _GAMMA = KINDS.index("lognormal"), KINDS.index("gamma")


@compiled
def one_sided(state: Words, parts: Parts, t: int, kind: int) -> tuple[float, float]:
    """Lognormal, gamma and Pareto densities of about unit scale, which start at 0, where no digits are lost."""
    sign = either_sign(state)
    slope = sign * log_uniform(state, 0.5, 2.0)
    if kind == _LOGNORMAL:
        put(parts, t, LOGNORMAL, 1.0, 0.0, slope, log_uniform(state, 0.3, 3.0), 1.0)
    elif kind == _GAMMA:
        k = log_uniform(state, 0.15, 20.0)
        put(parts, t, GAMMA, 1.0, 0.0, slope / math.sqrt(k), k, 1.0)
    else:
        put(parts, t, PARETO, 1.0, 0.0, slope, log_uniform(state, 0.7, 5.0), 1.0)
    return half_line(sign)


@compiled
def student(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """From Cauchy to ten degrees of freedom; one half with two scales, whose halves meet at the mode."""
    nu, centre, scale = log_uniform(state, 1.0, 10.0), uniform(state, -1.0, 1.0), log_uniform(state, 0.5, 2.0)
    if next_uniform(state) < 0.5:
        put(parts, t, STUDENT, 1.0, centre, scale, nu, 1.0)
    else:
        other = scale * log_uniform(state, 0.25, 4.0)
        put(parts, t, FOLDED, scale / (scale + other), centre, scale, nu, 1.0)
        put(parts, t, FOLDED, other / (scale + other), centre, -other, nu, 1.0)
    return LINE


@compiled
def exponentials(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Two to four exponentials with scales over up to four decades."""
    sign, decades = either_sign(state), uniform(state, 0.5, 4.0)
    for _ in range(2 + below(state, 3)):
        scale = 10.0 ** (decades * (next_uniform(state) - 0.5))
        put(parts, t, GAMMA, 1.0, 0.0, sign * scale, 1.0, 1.0)
    shares(state, parts, t, 0.02)
    return half_line(sign)


@compiled
def singular(state: Words, parts: Parts, t: int, known_bounds: int) -> tuple[float, float]:
    """A density that is infinite at 0: Weibull, or beta, which alone has a second bound to tell."""
    sign, power = either_sign(state), log_uniform(state, 0.3, 1.0)
    slope = sign * log_uniform(state, 0.5, 2.0)
    if known_bounds != BOTH and next_uniform(state) < 0.5:
        put(parts, t, WEIBULL, 1.0, 0.0, slope, power, 1.0)
        return half_line(sign)
    other = log_uniform(state, 0.3, 1.0) if next_uniform(state) < 0.5 else uniform(state, 1.0, 4.0)
    put(parts, t, BETA, 1.0, 0.0, slope, power, other)
    return min(0.0, slope), max(0.0, slope)
