"""A stack of compound densities: each a mixture of placed forms, truncated to an interval of its own.

Parts and intervals enter; exact log-densities, probabilities and draws leave. How parts are chosen is not known here.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde._types import Array, Index, Words
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.jit import compiled, entry, inlined
from amortized_kde.numerics.streams import next_uniform, start_stream
from amortized_kde.research.tasks.forms import FORMS, HIGHEST, LOWEST, NORMAL, form_variate
from amortized_kde.research.tasks.normal_sums import log_normal_sums
from amortized_kde.research.tasks.sampling import CELLS, component_of, fill_guide
from amortized_kde.research.tasks.variates import normal_variate

# The most parts of a compound: the paper's mixtures have 32 components.
MOST = 32
# Inside the support of every form.
_HARMLESS = 0.5


class Parts(NamedTuple):
    """The first ``used[t]`` parts of density t, each x = origin + slope * y with y of the form that `codes` names.

    All but `used` (tasks,) are of shape (tasks, MOST), `shapes` (tasks, MOST, 2). Unused parts have weight 0.
    """

    used: Index
    codes: Index
    weights: Array
    origins: Array
    slopes: Array
    shapes: Array

    def of(self, rows: Any) -> "Parts":
        """Give the parts of some of the densities."""
        return Parts(
            self.used[rows],
            self.codes[rows],
            self.weights[rows],
            self.origins[rows],
            self.slopes[rows],
            self.shapes[rows],
        )


def empty_parts(count: int) -> Parts:
    """Give `count` compounds without parts."""
    size = (count, MOST)
    codes = np.full(size, NORMAL)
    return Parts(np.zeros(count, np.int64), codes, np.zeros(size), np.zeros(size), np.ones(size), np.ones((*size, 2)))


@inlined
def _standardised(x: float, origin: float, slope: float) -> float:
    """The y that the log-density will see: inlined keeps the subtraction from being simplified away."""
    return (x - origin) / slope


@compiled
def _choose(state: Words, guide: Index, weights: Array) -> int:
    u = next_uniform(state)
    # The largest u rounds to 1.
    chosen = guide[min(int(u * guide.size), guide.size - 1)]
    return component_of(u, weights) if chosen < 0 else chosen


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
def _fill_compounds(
    parts: Parts, low: Array, high: Array, words: Words, first: int, offsets: Index, out: Array, start: int, stop: int
) -> None:
    state, guide = np.empty(4, np.uint64), np.empty(CELLS, np.int64)
    for t in range(start, stop):
        row = out[offsets[t] : offsets[t + 1]]
        start_stream(state, words, first + t)
        fill_guide(guide, parts.weights[t, : parts.used[t]])
        # Normal mixtures, which are most, have a loop without the others' code, which would slow theirs.
        if parts.codes[t].max() == NORMAL:
            _fill_normals(parts, t, low[t], high[t], state, guide, row)
        else:
            _fill_forms(parts, t, low[t], high[t], state, guide, row)


@dataclass(frozen=True, eq=False)
class Compounds:
    r"""Mixtures of placed forms, each truncated to its own interval and renormalised.

    .. math:: f_t(x) = \frac{1}{c_t} \sum_k \frac{w_{tk}}{|b_{tk}|} g_{tk}\Big(\frac{x - a_{tk}}{b_{tk}}\Big)
        \quad (A_t \le x \le B_t)

    Made by `truncate`.

    Examples
    --------
    >>> parts = empty_parts(1)
    >>> parts.used[0], parts.weights[0, 0] = 1, 1.0
    >>> f = truncate(parts, [-np.inf], [0.0])
    >>> f.logpdf([[0.0, 1.0]]).round(6), f.cdf([[-np.inf, 0.0]])
    (array([[-0.225791,      -inf]]), array([[0., 1.]]))
    """

    parts: Parts
    low: Array
    high: Array
    masses: Array

    def __len__(self) -> int:
        return self.low.size

    def of(self, rows: Any) -> "Compounds":
        """Give some of the densities."""
        return Compounds(self.parts.of(rows), self.low[rows], self.high[rows], self.masses[rows])

    def logpdf(self, x: ArrayLike) -> Array:
        """Give natural log-densities (tasks, m) at x, (m,) for all or (tasks, m); -inf outside, NaN where x is."""
        at = self._arguments(x)
        out = np.empty(at.shape)
        normal = self.parts.codes.max(axis=1) == NORMAL
        if normal.any():
            out[normal] = _normal_sums(self.parts, normal, at[normal])
        if not normal.all():
            out[~normal] = _form_sums(self.parts, ~normal, at[~normal])
        out -= np.log(self.masses)[:, None]
        outside = (at < self.low[:, None]) | (at > self.high[:, None]) | np.isinf(at)
        return np.where(outside, -math.inf, np.where(np.isnan(at), math.nan, out))

    def cdf(self, x: ArrayLike) -> Array:
        """Give the probability below x, arguments as in `logpdf`."""
        at = np.clip(self._arguments(x), self.low[:, None], self.high[:, None])
        below = _probability(self.parts, at) - _probability(self.parts, self.low[:, None])
        return np.asarray(np.clip(below / self.masses[:, None], 0.0, 1.0))

    def fill(self, out: Array, offsets: Index, *, words: Words, first: int, start: int, stop: int) -> None:
        """Write draws of tasks start .. stop - 1 to ``out[offsets[t]:offsets[t + 1]]``, from stream first + t."""
        _fill_compounds(self.parts, self.low, self.high, words, first, offsets, out, start, stop)

    def _arguments(self, x: ArrayLike) -> Array:
        at = np.asarray(x, dtype=np.float64)
        if at.ndim not in (1, 2) or (at.ndim == 2 and at.shape[0] != len(self)):
            raise InvalidParameterError(
                f"x has shape {at.shape}; pass (m,) for all densities or ({len(self)}, m), one row for each."
            )
        return np.broadcast_to(at, (len(self), at.shape[-1]))


def truncate(parts: Parts, low: ArrayLike, high: ArrayLike) -> Compounds:
    """Truncate compounds to the intervals [low, high], (tasks,) each, and find their masses there."""
    ends = np.stack([np.asarray(low, np.float64), np.asarray(high, np.float64)], axis=1)
    below = _probability(parts, ends)
    return Compounds(parts, ends[:, 0].copy(), ends[:, 1].copy(), below[:, 1] - below[:, 0])


def _normal_sums(parts: Parts, rows: NDArray[np.bool_], at: Array) -> Array:
    out = np.empty(at.shape)
    weights, origins, slopes = parts.weights[rows], parts.origins[rows], np.abs(parts.slopes[rows])
    log_normal_sums(weights, origins, slopes, np.ascontiguousarray(at), out)
    return out


def _form_sums(parts: Parts, rows: NDArray[np.bool_], at: Array) -> Array:
    """A log-sum-exp over the parts, all tasks' parts one after the other."""
    tasks, terms = _terms(parts.of(rows), at, of="logpdf")
    starts = np.flatnonzero(np.diff(tasks, prepend=-1))
    largest = np.maximum.reduceat(terms, starts, axis=0)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.add.reduceat(np.exp(terms - shift[tasks]), starts, axis=0)))


def _probability(parts: Parts, at: Array) -> Array:
    tasks, terms = _terms(parts, at, of="cdf")
    return np.asarray(np.add.reduceat(terms, np.flatnonzero(np.diff(tasks, prepend=-1)), axis=0))


def _terms(parts: Parts, at: Array, *, of: str) -> tuple[Index, Array]:
    """Each used part's task (p,), and its weighted cdf or its log of weighted density at that task's arguments."""
    tasks, which = np.nonzero(np.arange(MOST) < parts.used[:, None])
    codes, shapes = parts.codes[tasks, which], parts.shapes[tasks, which]
    weights, origins, slopes = (a[tasks, which] for a in (parts.weights, parts.origins, parts.slopes))
    terms = np.empty((tasks.size, at.shape[1]))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        y = (at[tasks[rows]] - origins[rows, None]) / slopes[rows, None]
        terms[rows] = _PART[of](code, y, shapes[rows], weights[rows], slopes[rows])
    return tasks, terms


def _log_part(code: int, y: Array, shapes: Array, weights: Array, slopes: Array) -> Array:
    form = FORMS[code]
    inside = (y > form.support[0]) & (y < form.support[1])
    with np.errstate(divide="ignore"):
        factor = np.log(weights / np.abs(slopes))[:, None]
    return np.where(inside, form.logpdf(np.where(inside, y, _HARMLESS), shapes) + factor, -math.inf)


def _part_below(code: int, y: Array, shapes: Array, weights: Array, slopes: Array) -> Array:
    form = FORMS[code]
    below = form.cdf(np.clip(y, *form.support), shapes)
    return np.asarray(weights[:, None] * np.where(slopes[:, None] < 0.0, 1.0 - below, below))


_PART = {"logpdf": _log_part, "cdf": _part_below}
