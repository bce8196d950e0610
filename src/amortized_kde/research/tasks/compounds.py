"""A stack of compound densities: each a mixture of placed forms, truncated to its own interval."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags, Index, Words
from amortized_kde.research.tasks.densities import HARMLESS, broadcast_arguments
from amortized_kde.research.tasks.sampling import MOST_PARTS, Parts, fill_compounds
from amortized_kde.research.tasks.standard import FORMS, NORMAL, log_normal_sums


@dataclass(frozen=True, eq=False)
class Compounds:
    r"""Mixtures of placed forms, each truncated to its own interval and renormalised.

    .. math:: f_t(x) = \frac{1}{c_t} \sum_k \frac{w_{tk}}{|b_{tk}|} g_{tk}\Big(\frac{x - a_{tk}}{b_{tk}}\Big)
        \quad (A_t \le x \le B_t)

    Made by `truncate`.

    Examples
    --------
    >>> from amortized_kde.research.tasks.sampling import empty_parts
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
        """Return some of the densities."""
        return Compounds(self.parts.of(rows), self.low[rows], self.high[rows], self.masses[rows])

    def logpdf(self, x: ArrayLike) -> Array:
        """Return natural log-densities (tasks, m) at x, (m,) for all or (tasks, m); -inf outside, NaN at NaN."""
        at = broadcast_arguments(x, len(self))
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
        """Return the probability below x; arguments as in `logpdf`."""
        at = np.clip(broadcast_arguments(x, len(self)), self.low[:, None], self.high[:, None])
        below = _probability(self.parts, at) - _probability(self.parts, self.low[:, None])
        return np.asarray(np.clip(below / self.masses[:, None], 0.0, 1.0))

    def fill(self, out: Array, offsets: Index, *, words: Words, first: int, start: int, stop: int) -> None:
        """Write draws of tasks start .. stop - 1 to ``out[offsets[t]:offsets[t + 1]]``, from stream first + t."""
        fill_compounds(self.parts, self.low, self.high, words, first, offsets, out, start, stop)


def truncate(parts: Parts, low: ArrayLike, high: ArrayLike) -> Compounds:
    """Truncate compounds to the intervals [low, high], (tasks,) each."""
    ends = np.stack([np.asarray(low, np.float64), np.asarray(high, np.float64)], axis=1)
    below = _probability(parts, ends)
    return Compounds(parts, ends[:, 0].copy(), ends[:, 1].copy(), below[:, 1] - below[:, 0])


def _normal_sums(parts: Parts, rows: Flags, at: Array) -> Array:
    out = np.empty(at.shape)
    weights, origins, slopes = parts.weights[rows], parts.origins[rows], np.abs(parts.slopes[rows])
    log_normal_sums(weights, origins, slopes, np.ascontiguousarray(at), out)
    return out


def _form_sums(parts: Parts, rows: Flags, at: Array) -> Array:
    """Return a log-sum-exp over the parts, with the parts of all tasks one after the other."""
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
    """Return each used part's task (p,), and its weighted cdf or log weighted density at that task's arguments."""
    tasks, which = np.nonzero(np.arange(MOST_PARTS) < parts.used[:, None])
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
    return np.where(inside, form.logpdf(np.where(inside, y, HARMLESS), shapes) + factor, -math.inf)


def _part_below(code: int, y: Array, shapes: Array, weights: Array, slopes: Array) -> Array:
    form = FORMS[code]
    below = form.cdf(np.clip(y, *form.support), shapes)
    return np.asarray(weights[:, None] * np.where(slopes[:, None] < 0.0, 1.0 - below, below))


_PART = {"logpdf": _log_part, "cdf": _part_below}
