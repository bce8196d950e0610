"""The random densities of the broad world: parts of compounds and natural bounds, by the kind of each task."""

import math
from typing import Any, NamedTuple

import numpy as np

from amortized_kde._types import Array, Index, Words
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.research.tasks.broad.kinds import BOTH, KINDS, ONE
from amortized_kde.research.tasks.mixtures import Constants, fill_mixture
from amortized_kde.research.tasks.sampling import Parts
from amortized_kde.research.tasks.standard import (
    BETA,
    FOLDED,
    GAMMA,
    LAPLACE,
    LOGNORMAL,
    NORMAL,
    PARETO,
    STUDENT,
    WEIBULL,
)

_MIXTURE, _FAMILY, _UNIFORM = (KINDS.index(name) for name in ("mixture", "family", "uniform"))
_LOGNORMAL, _GAMMA, _PARETO = (KINDS.index(name) for name in ("lognormal", "gamma", "pareto"))
_STUDENT, _EXPONENTIALS = (KINDS.index(name) for name in ("student", "exponentials"))
_SINGULAR, _MULTISCALE = (KINDS.index(name) for name in ("singular", "multiscale"))
# Components of a mixture: one half few, one half many.
_FEW, _MANY = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12]), np.array([16, 20, 24, 28, 32])
# Natural bounds of a density on the whole line.
_LINE = (-math.inf, math.inf)


class Settings(NamedTuple):
    """For each task: parts, natural bounds (infinite where open), and uniform numbers for its bounds and ties."""

    parts: Parts
    low: Array
    high: Array
    chances: Array


class Sources(NamedTuple):
    """What the paper's two kinds draw from: the constants of its mixtures, and the settings of a pool of families."""

    constants: Constants
    codes: Index
    origins: Array
    slopes: Array
    shapes: Array


@compiled
def _uniform(state: Words, low: float, high: float) -> float:
    """Draw a number from (low, high)."""
    return low + (high - low) * next_uniform(state)


@compiled
def _log_uniform(state: Words, low: float, high: float) -> float:
    """Draw a number from (low, high) whose logarithm is uniform."""
    return math.exp(_uniform(state, math.log(low), math.log(high)))


@compiled
def _below(state: Words, count: int) -> int:
    """Draw a whole number from 0 .. count - 1."""
    return min(int(next_uniform(state) * count), count - 1)


@compiled
def _either_sign(state: Words) -> float:
    """Draw 1 or -1."""
    return 1.0 if next_uniform(state) < 0.5 else -1.0


@compiled
def _put(parts: Parts, t: int, code: int, weight: float, origin: float, slope: float, a: float, b: float) -> None:
    """Add a part with shape parameters a and b; forms with fewer ignore them."""
    k = parts.used[t]
    parts.codes[t, k], parts.weights[t, k], parts.origins[t, k], parts.slopes[t, k] = code, weight, origin, slope
    parts.shapes[t, k, 0], parts.shapes[t, k, 1] = a, b
    parts.used[t] = k + 1


@compiled
def _draw_weights(state: Words, parts: Parts, t: int, least: float) -> None:
    """Draw the weights of a task's parts, uniform on the simplex, then raised to at least `least` each."""
    count, total = parts.used[t], 0.0
    for k in range(count):
        parts.weights[t, k] = -math.log(next_uniform(state))
        total += parts.weights[t, k]
    for k in range(count):
        parts.weights[t, k] = least + (1.0 - count * least) * parts.weights[t, k] / total


@compiled
def _half_line(sign: float) -> tuple[float, float]:
    """Return the natural bounds of a density on the positive or the negative half line."""
    return (0.0, math.inf) if sign > 0.0 else (-math.inf, 0.0)


@compiled
def _mixture(state: Words, parts: Parts, t: int, sources: Sources) -> tuple[float, float]:
    """Draw one of the paper's random mixtures (section 3.3)."""
    count = _FEW[_below(state, _FEW.size)] if next_uniform(state) < 0.5 else _MANY[_below(state, _MANY.size)]
    shape = np.empty(3 * count)
    fill_mixture(shape, sources.constants, state)
    for k in range(count):
        _put(parts, t, NORMAL, shape[k], shape[count + k], shape[2 * count + k], 1.0, 1.0)
    return -1.0, 1.0


@compiled
def _family(state: Words, parts: Parts, t: int, sources: Sources) -> tuple[float, float]:
    """Draw a setting of the pool (paper, section 3.2), whose normal mixtures have three components."""
    i = _below(state, sources.codes.size)
    origin, slope, shape = sources.origins[i], sources.slopes[i], sources.shapes[i]
    if sources.codes[i] != NORMAL:
        _put(parts, t, sources.codes[i], 1.0, origin, slope, shape[0], shape[1])
        return -1.0, 1.0
    for k in range(3):
        if shape[k] > 0.0:
            _put(parts, t, NORMAL, shape[k], origin + slope * shape[3 + k], slope * shape[6 + k], 1.0, 1.0)
    return -1.0, 1.0


@compiled
def _uniform_like(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Draw a nearly uniform density on an interval inside [-1, 1], from its end `at` with the signed width `w`."""
    width, sign = _uniform(state, 0.3, 2.0), _either_sign(state)
    low = _uniform(state, -1.0, 1.0 - width)
    at, w = (low, width) if sign > 0.0 else (low + width, -width)
    shape = _below(state, 7)
    if shape == 0:
        _put(parts, t, BETA, 1.0, at, w, 1.0, 1.0)
    elif shape == 1:
        _put(parts, t, BETA, 1.0, at, w, _uniform(state, 0.7, 2.5), _uniform(state, 0.7, 2.5))
    elif shape == 2:
        # A trapezoid.
        up, down = _uniform(state, 0.01, 0.49), _uniform(state, 0.01, 0.49)
        total = 1.0 - 0.5 * (up + down)
        _put(parts, t, BETA, (1.0 - up - down) / total, at + up * w, (1.0 - up - down) * w, 1.0, 1.0)
        _put(parts, t, BETA, 0.5 * up / total, at, up * w, 2.0, 1.0)
        _put(parts, t, BETA, 0.5 * down / total, at + w, -down * w, 2.0, 1.0)
    elif shape == 3:
        bump = _uniform(state, 0.02, 0.3)
        _put(parts, t, BETA, 1.0 - bump, at, w, 1.0, 1.0)
        centre, scale = at + w * next_uniform(state), width * _log_uniform(state, 0.01, 0.1)
        _put(parts, t, NORMAL, bump, centre, scale, 1.0, 1.0)
    elif shape == 4:
        mode = _uniform(state, 0.02, 0.98)
        _put(parts, t, BETA, mode, at, mode * w, 2.0, 1.0)
        _put(parts, t, BETA, 1.0 - mode, at + w, (mode - 1.0) * w, 2.0, 1.0)
    elif shape == 5:
        _put(parts, t, GAMMA, 1.0, at, w * _log_uniform(state, 0.3, 3.0), 1.0, 1.0)
    else:
        ramp = _uniform(state, 0.1, 1.0)
        _put(parts, t, BETA, 1.0 - ramp, at, w, 1.0, 1.0)
        _put(parts, t, BETA, ramp, at, w, 2.0, 1.0)
    return low, low + width


@compiled
def _one_sided(state: Words, parts: Parts, t: int, kind: int) -> tuple[float, float]:
    """Draw a lognormal, gamma or Pareto density of about unit scale that starts at 0, where no digits are lost."""
    sign = _either_sign(state)
    slope = sign * _log_uniform(state, 0.5, 2.0)
    if kind == _LOGNORMAL:
        _put(parts, t, LOGNORMAL, 1.0, 0.0, slope, _log_uniform(state, 0.3, 3.0), 1.0)
    elif kind == _GAMMA:
        k = _log_uniform(state, 0.15, 20.0)
        _put(parts, t, GAMMA, 1.0, 0.0, slope / math.sqrt(k), k, 1.0)
    else:
        _put(parts, t, PARETO, 1.0, 0.0, slope, _log_uniform(state, 0.7, 5.0), 1.0)
    return _half_line(sign)


@compiled
def _student(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Draw from Cauchy to ten degrees of freedom; one half with two scales, whose halves meet at the mode."""
    nu, centre, scale = _log_uniform(state, 1.0, 10.0), _uniform(state, -1.0, 1.0), _log_uniform(state, 0.5, 2.0)
    if next_uniform(state) < 0.5:
        _put(parts, t, STUDENT, 1.0, centre, scale, nu, 1.0)
    else:
        other = scale * _log_uniform(state, 0.25, 4.0)
        _put(parts, t, FOLDED, scale / (scale + other), centre, scale, nu, 1.0)
        _put(parts, t, FOLDED, other / (scale + other), centre, -other, nu, 1.0)
    return _LINE


@compiled
def _exponentials(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Draw two to four exponentials with scales over up to four decades."""
    sign, decades = _either_sign(state), _uniform(state, 0.5, 4.0)
    for _ in range(2 + _below(state, 3)):
        scale = 10.0 ** (decades * (next_uniform(state) - 0.5))
        _put(parts, t, GAMMA, 1.0, 0.0, sign * scale, 1.0, 1.0)
    _draw_weights(state, parts, t, 0.02)
    return _half_line(sign)


@compiled
def _singular(state: Words, parts: Parts, t: int, known_bounds: int) -> tuple[float, float]:
    """Draw a density that is infinite at 0: Weibull, or beta, the one with a second natural bound."""
    sign, power = _either_sign(state), _log_uniform(state, 0.3, 1.0)
    slope = sign * _log_uniform(state, 0.5, 2.0)
    if known_bounds != BOTH and next_uniform(state) < 0.5:
        _put(parts, t, WEIBULL, 1.0, 0.0, slope, power, 1.0)
        return _half_line(sign)
    other = _log_uniform(state, 0.3, 1.0) if next_uniform(state) < 0.5 else _uniform(state, 1.0, 4.0)
    _put(parts, t, BETA, 1.0, 0.0, slope, power, other)
    return min(0.0, slope), max(0.0, slope)


@compiled
def _multiscale(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Draw two to five parts with widths over three to four decades, side by side or nested."""
    decades = _uniform(state, 3.0, 4.0)
    apart = _log_uniform(state, 0.3, 10.0)
    for k in range(2 + _below(state, 4)):
        # The first is the widest, the second one of the narrowest, so that both are always there.
        narrow = _uniform(state, 0.6, 1.0) if k == 1 else (next_uniform(state) if k > 1 else 0.0)
        width, centre, form = 10.0 ** (-decades * narrow), _uniform(state, -apart, apart), _below(state, 3)
        if form == 2:
            _put(parts, t, BETA, 1.0, centre - width, 2.0 * width, 1.0, 1.0)
        else:
            _put(parts, t, NORMAL if form == 0 else LAPLACE, 1.0, centre, width, 1.0, 1.0)
    _draw_weights(state, parts, t, 0.03)
    return _LINE


@compiled
def _core(state: Words, parts: Parts, t: int, gamma: bool, sign: float) -> None:
    """Draw a gamma density, or one to three normals, of unit scale."""
    if gamma:
        k = _log_uniform(state, 0.5, 10.0)
        _put(parts, t, GAMMA, 1.0, 0.0, sign / math.sqrt(k), k, 1.0)
        return
    count = 1 + max(0, _below(state, 4) - 1)
    for _ in range(count):
        centre = 0.0 if count == 1 else _uniform(state, -1.5, 1.5)
        _put(parts, t, NORMAL, 1.0, centre, _log_uniform(state, 0.3, 1.0), 1.0, 1.0)
    _draw_weights(state, parts, t, 0.1)


@compiled
def _outliers(state: Words, parts: Parts, t: int, known_bounds: int) -> tuple[float, float]:
    """Draw a core, and a few points that are spread 5 to 1000 times as wide or lie that far away."""
    sign, gamma = _either_sign(state), known_bounds == ONE or next_uniform(state) < 1.0 / 3.0
    _core(state, parts, t, gamma, sign)
    few, far = _log_uniform(state, 0.005, 0.1), _log_uniform(state, 5.0, 1000.0)
    for k in range(parts.used[t]):
        parts.weights[t, k] *= 1.0 - few
    if known_bounds == ONE:
        _put(parts, t, GAMMA, few, 0.0, sign * far, 1.0, 1.0)
        return _half_line(sign)
    if next_uniform(state) < 0.5:
        _put(parts, t, NORMAL if next_uniform(state) < 0.5 else LAPLACE, few, 0.0, far, 1.0, 1.0)
    else:
        _put(parts, t, NORMAL, few, _either_sign(state) * far, _log_uniform(state, 0.3, 3.0), 1.0, 1.0)
    return _LINE


@compiled
def _draw(state: Words, parts: Parts, t: int, kind: int, known_bounds: int, sources: Sources) -> Any:
    # A chain, not a table: compiled code that is kept on disk cannot hold a table of functions.
    if kind == _MIXTURE:
        return _mixture(state, parts, t, sources)
    if kind == _FAMILY:
        return _family(state, parts, t, sources)
    if kind == _UNIFORM:
        return _uniform_like(state, parts, t)
    if kind in (_LOGNORMAL, _GAMMA, _PARETO):
        return _one_sided(state, parts, t, kind)
    if kind == _STUDENT:
        return _student(state, parts, t)
    if kind == _EXPONENTIALS:
        return _exponentials(state, parts, t)
    if kind == _SINGULAR:
        return _singular(state, parts, t, known_bounds)
    if kind == _MULTISCALE:
        return _multiscale(state, parts, t)
    return _outliers(state, parts, t, known_bounds)


@entry
def fill_settings(
    out: Settings, kinds: Index, known_bounds: Index, sources: Sources, words: Words, first: int, start: int, stop: int
) -> None:
    """Write the settings of tasks start .. stop - 1, each from stream first + t."""
    state = np.empty(4, np.uint64)
    for t in range(start, stop):
        start_stream(state, words, first + t)
        for j in range(out.chances.shape[1]):
            out.chances[t, j] = next_uniform(state)
        low, high = _draw(state, out.parts, t, kinds[t], known_bounds[t], sources)
        out.low[t], out.high[t] = low, high
