"""The random densities of the broad world, kind by kind, in one compiled loop.

Kinds, how bounds will be told, a pool of families and a seed enter; parts of compounds (`compounds.py`) and their
natural bounds leave. Which bounds an estimator is told, sample sizes and ties are not known here.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.tasks.compounds import Parts
from amortized_kde.tasks.forms import (
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
from amortized_kde.tasks.mixtures import Constants, fill_mixture
from amortized_kde.tasks.shares import KINDS

__all__ = ["PoolRows", "Settings", "fill_settings"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Words = NDArray[np.uint64]

(_MIXTURE, _FAMILY, _UNIFORM, _LOGNORMAL, _GAMMA, _PARETO, _STUDENT, _EXPONENTIALS, _SINGULAR, _MULTISCALE) = range(10)
assert KINDS[_MULTISCALE] == "multiscale"
_BOTH, _ONE = 0, 1
# Components of a mixture: one half few, one half many.
_FEW, _MANY = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12]), np.array([16, 20, 24, 28, 32])
_LINE = (-math.inf, math.inf)


class Settings(NamedTuple):
    """What the loop writes for each task: parts, natural bounds (infinite where open) and uniform numbers to spare."""

    parts: Parts
    low: Array
    high: Array
    chances: Array


class PoolRows(NamedTuple):
    """The families of a pool, as the loop reads them."""

    codes: Index
    origins: Array
    slopes: Array
    shapes: Array


@compiled
def _uniform(state: Words, low: float, high: float) -> float:
    return low + (high - low) * next_uniform(state)


@compiled
def _log_uniform(state: Words, low: float, high: float) -> float:
    return math.exp(_uniform(state, math.log(low), math.log(high)))


@compiled
def _below(state: Words, count: int) -> int:
    """A whole number of 0 .. count - 1."""
    return min(int(next_uniform(state) * count), count - 1)


@compiled
def _sign(state: Words) -> float:
    return 1.0 if next_uniform(state) < 0.5 else -1.0


@compiled
def _put(parts: Parts, t: int, code: int, weight: float, origin: float, slope: float, a: float, b: float) -> None:
    """Add one part with shape parameters a and b; a form that has fewer does not read them."""
    k = parts.used[t]
    parts.codes[t, k], parts.weights[t, k], parts.origins[t, k], parts.slopes[t, k] = code, weight, origin, slope
    parts.shapes[t, k, 0], parts.shapes[t, k, 1] = a, b
    parts.used[t] = k + 1


@compiled
def _shares(state: Words, parts: Parts, t: int, least: float) -> None:
    """Give the parts of a task weights that are uniform on the simplex, then raised to at least `least` of each."""
    count, total = parts.used[t], 0.0
    for k in range(count):
        parts.weights[t, k] = -math.log(next_uniform(state))
        total += parts.weights[t, k]
    for k in range(count):
        parts.weights[t, k] = least + (1.0 - count * least) * parts.weights[t, k] / total


@compiled
def _half_line(sign: float) -> tuple[float, float]:
    """Natural bounds of a density on the positive half line, or on the negative one."""
    return (0.0, math.inf) if sign > 0.0 else (-math.inf, 0.0)


@compiled
def _mixture(state: Words, parts: Parts, t: int, constants: Constants) -> tuple[float, float]:
    """The paper's random mixtures (section 3.3)."""
    count = _FEW[_below(state, _FEW.size)] if next_uniform(state) < 0.5 else _MANY[_below(state, _MANY.size)]
    shape = np.empty(3 * count)
    fill_mixture(shape, constants, state)
    for k in range(count):
        _put(parts, t, NORMAL, shape[k], shape[count + k], shape[2 * count + k], 1.0, 1.0)
    return -1.0, 1.0


@compiled
def _family(state: Words, parts: Parts, t: int, pool: PoolRows) -> tuple[float, float]:
    """A setting of the pool (paper, section 3.2); its normal mixtures have three components."""
    i = _below(state, pool.codes.size)
    origin, slope, shape = pool.origins[i], pool.slopes[i], pool.shapes[i]
    if pool.codes[i] != NORMAL:
        _put(parts, t, pool.codes[i], 1.0, origin, slope, shape[0], shape[1])
        return -1.0, 1.0
    for k in range(3):
        if shape[k] > 0.0:
            _put(parts, t, NORMAL, shape[k], origin + slope * shape[3 + k], slope * shape[6 + k], 1.0, 1.0)
    return -1.0, 1.0


@compiled
def _uniform_like(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Uniform, or nearly: on an interval inside [-1, 1], from its end `at` with the signed width `w`."""
    width, sign = _uniform(state, 0.3, 2.0), _sign(state)
    low = _uniform(state, -1.0, 1.0 - width)
    at, w = (low, width) if sign > 0.0 else (low + width, -width)
    shape = _below(state, 7)
    if shape == 0:
        _put(parts, t, BETA, 1.0, at, w, 1.0, 1.0)
    elif shape == 1:
        _put(parts, t, BETA, 1.0, at, w, _uniform(state, 0.7, 2.5), _uniform(state, 0.7, 2.5))
    elif shape == 2:
        # A trapezoid, and with ramps that meet a triangle.
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
    """Lognormal, gamma and Pareto densities of about unit scale, which start at 0, where no digits are lost."""
    sign = _sign(state)
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
    """From Cauchy to ten degrees of freedom; one half with two scales, whose halves meet at the mode."""
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
    """Two to four exponentials with scales over up to four decades."""
    sign, decades = _sign(state), _uniform(state, 0.5, 4.0)
    for _ in range(2 + _below(state, 3)):
        scale = 10.0 ** (decades * (next_uniform(state) - 0.5))
        _put(parts, t, GAMMA, 1.0, 0.0, sign * scale, 1.0, 1.0)
    _shares(state, parts, t, 0.02)
    return _half_line(sign)


@compiled
def _singular(state: Words, parts: Parts, t: int, told: int) -> tuple[float, float]:
    """A density that is infinite at 0: Weibull, or beta, which alone has a second bound to tell."""
    sign, power = _sign(state), _log_uniform(state, 0.3, 1.0)
    slope = sign * _log_uniform(state, 0.5, 2.0)
    if told != _BOTH and next_uniform(state) < 0.5:
        _put(parts, t, WEIBULL, 1.0, 0.0, slope, power, 1.0)
        return _half_line(sign)
    other = _log_uniform(state, 0.3, 1.0) if next_uniform(state) < 0.5 else _uniform(state, 1.0, 4.0)
    _put(parts, t, BETA, 1.0, 0.0, slope, power, other)
    return min(0.0, slope), max(0.0, slope)


@compiled
def _multiscale(state: Words, parts: Parts, t: int) -> tuple[float, float]:
    """Two to five parts with widths over three to four decades, side by side or one inside the other."""
    decades = _uniform(state, 3.0, 4.0)
    apart = _log_uniform(state, 0.3, 10.0)
    for k in range(2 + _below(state, 4)):
        # The first is the widest; the second is one of the narrowest, so that there always are both.
        narrow = _uniform(state, 0.6, 1.0) if k == 1 else (next_uniform(state) if k > 1 else 0.0)
        width, centre, form = 10.0 ** (-decades * narrow), _uniform(state, -apart, apart), _below(state, 3)
        if form == 2:
            _put(parts, t, BETA, 1.0, centre - width, 2.0 * width, 1.0, 1.0)
        else:
            _put(parts, t, NORMAL if form == 0 else LAPLACE, 1.0, centre, width, 1.0, 1.0)
    _shares(state, parts, t, 0.03)
    return _LINE


@compiled
def _core(state: Words, parts: Parts, t: int, gamma: bool, sign: float) -> None:
    """A gamma density, or one to three normals, of unit scale."""
    if gamma:
        k = _log_uniform(state, 0.5, 10.0)
        _put(parts, t, GAMMA, 1.0, 0.0, sign / math.sqrt(k), k, 1.0)
        return
    count = 1 + max(0, _below(state, 4) - 1)
    for _ in range(count):
        centre = 0.0 if count == 1 else _uniform(state, -1.5, 1.5)
        _put(parts, t, NORMAL, 1.0, centre, _log_uniform(state, 0.3, 1.0), 1.0, 1.0)
    _shares(state, parts, t, 0.1)


@compiled
def _outliers(state: Words, parts: Parts, t: int, told: int) -> tuple[float, float]:
    """A core and a few points that are spread 5 to 1000 times as wide, or lie that far away."""
    sign, gamma = _sign(state), told == _ONE or next_uniform(state) < 1.0 / 3.0
    _core(state, parts, t, gamma, sign)
    few, far = _log_uniform(state, 0.005, 0.1), _log_uniform(state, 5.0, 1000.0)
    for k in range(parts.used[t]):
        parts.weights[t, k] *= 1.0 - few
    if told == _ONE:
        _put(parts, t, GAMMA, few, 0.0, sign * far, 1.0, 1.0)
        return _half_line(sign)
    if next_uniform(state) < 0.5:
        _put(parts, t, NORMAL if next_uniform(state) < 0.5 else LAPLACE, few, 0.0, far, 1.0, 1.0)
    else:
        _put(parts, t, NORMAL, few, _sign(state) * far, _log_uniform(state, 0.3, 3.0), 1.0, 1.0)
    return _LINE


@compiled
def _draw(state: Words, parts: Parts, t: int, kind: int, told: int, constants: Constants, pool: PoolRows) -> Any:
    # A chain, not a table: compiled code that is kept on disk cannot hold a table of functions.
    if kind == _MIXTURE:
        return _mixture(state, parts, t, constants)
    if kind == _FAMILY:
        return _family(state, parts, t, pool)
    if kind == _UNIFORM:
        return _uniform_like(state, parts, t)
    if kind in (_LOGNORMAL, _GAMMA, _PARETO):
        return _one_sided(state, parts, t, kind)
    if kind == _STUDENT:
        return _student(state, parts, t)
    if kind == _EXPONENTIALS:
        return _exponentials(state, parts, t)
    if kind == _SINGULAR:
        return _singular(state, parts, t, told)
    if kind == _MULTISCALE:
        return _multiscale(state, parts, t)
    return _outliers(state, parts, t, told)


@entry
def fill_settings(
    out: Settings,
    kinds: Index,
    told: Index,
    constants: Constants,
    pool: PoolRows,
    words: Words,
    first: int,
    start: int,
    stop: int,
) -> None:
    """Write the settings of tasks start .. stop - 1, each from stream first + t."""
    state = np.empty(4, np.uint64)
    for t in range(start, stop):
        start_stream(state, words, first + t)
        for j in range(out.chances.shape[1]):
            out.chances[t, j] = next_uniform(state)
        low, high = _draw(state, out.parts, t, kinds[t], told[t], constants, pool)
        out.low[t], out.high[t] = low, high
