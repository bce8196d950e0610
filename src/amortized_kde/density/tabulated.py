"""Densities, probabilities and quantiles of a mixture at many arguments, read from a table of its density."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.density.mixture import Mixture
from amortized_kde.numerics.table import (
    NODES,
    SIZE,
    Table,
    coefficients_of,
    errors_of,
    polynomials,
    polynomials_and_slopes,
    tabulate,
)

Function = Callable[[Array], Array]

# Largest relative error of densities and probabilities from a table, and of the probability below a quantile.
_TOLERANCE, _TOLERANCE_OF_QUANTILES = 2e-13, 1e-12
# From this many arguments on a table is worth its making; fewer are summed directly.
TABULATED_FROM = 128
# A table ends so many scales of the background outside: what lies farther has a probability of at most 2e-5 of its own.
_SCALES = 32.0
# Arguments at a time, few enough for their coefficients to stay in the cache.
_ROWS = 4096
# Parts of a cell in which the search for a quantile starts, and Newton's steps at most; one or two are enough.
_PARTS, _MOST_STEPS = 16, 8
_WIDTH = 2.0 / _PARTS
# Half widths of a cell; Newton's method squares its error, so that after a step of this size it is right.
_LAST_STEP = 3e-8


class _Integrals(NamedTuple):
    """A table of density and distribution function.

    `integral` (size, cells) are coefficients of the integral over half s, by powers of s, which goes from -1 to 1 in a
    cell. The probability below is `lower` plus the integral, that above is `upper` minus it, with bounds of their
    errors.
    """

    integral: Array
    lower: Array
    upper: Array
    lower_errors: Array
    upper_errors: Array


class _Inverse(NamedTuple):
    """The inverse of the distribution function by parts of cells, in which it is nearly cubic.

    `below` and `above` are the probabilities on both sides of the beginning of each part, `ascending` those above from
    the last part to the first. `masses` are the probabilities within; `first` and `last` the slopes of the inverse at
    both ends, relative to the chord.
    """

    below: Array
    above: Array
    ascending: Array
    masses: Array
    first: Array
    last: Array


class Tabulated:
    """Functions of a mixture from a table that the first call makes; NaN where it is not accurate to 2e-13.

    Exact tail probabilities are given. Without a table, for kernels that are too narrow or too many, everything is NaN.
    """

    def __init__(self, mixture: Mixture, log_cdf: Function, log_sf: Function) -> None:
        self._mixture = mixture
        self._exact = log_cdf, log_sf

    @cached_property
    def _table(self) -> Table | None:
        rungs, (lower, upper), background = self._mixture.rungs, self._mixture.bounds, self._mixture.background
        first, last = float(rungs.places.min()), float(rungs.places.max())
        masses = np.abs(rungs.coefficients)
        typical = math.exp(float(masses @ np.log(rungs.spread)) / float(masses.sum()))
        # Beyond, where few ask, sums are direct.
        margin = 0.5 * (last - first) + 4.0 * typical
        centre, scale = first, math.inf
        if background is not None:
            centre, scale = background.location, background.scale
            margin += _SCALES * scale
        return tabulate(rungs, max(lower, first - margin), min(upper, last + margin), centre, scale)

    @property
    def edges(self) -> Array:
        """Edges of the cells, between which the density is smooth; none without a table."""
        return np.empty(0) if self._table is None else np.append(self._table.left, self._table.high)

    @cached_property
    def _coefficients(self) -> Array | None:
        return None if self._table is None else coefficients_of(self._table.values)

    def _background(self, x: Array) -> Array | float:
        background, epsilon = self._mixture.background, self._mixture.epsilon
        return 0.0 if background is None or epsilon == 0.0 else epsilon * np.exp(background.log_density(x))

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density."""
        return _in_rows(self._log_density, x)

    def _log_density(self, x: Array) -> Array:
        table, coefficients = self._table, self._coefficients
        if table is None or coefficients is None:
            return np.full(x.size, math.nan)
        cell, s = table.locate(x)
        found = polynomials(coefficients, cell, s) + self._background(x)
        return _log_of_accurate(found, table.errors[cell], table, x)

    @cached_property
    def _integrals(self) -> _Integrals | None:
        table = self._table
        if table is None:
            return None
        more = np.broadcast_to(
            self._background(table.centre[:, None] + table.half[:, None] * NODES), table.values.shape
        )
        density = coefficients_of(table.values + more)
        integral = density / np.arange(1.0, SIZE + 1.0)[:, None]
        to_end = table.half * integral.sum(axis=0)
        from_start = table.half * (integral[::2].sum(axis=0) - integral[1::2].sum(axis=0))
        masses = from_start + to_end
        below = np.append(0.0, np.cumsum(masses[:-1])) + from_start
        above = np.append(np.cumsum(masses[:0:-1])[::-1], 0.0) + to_end
        # Both are right up to a constant, which follows from the exact probabilities outside.
        ends = np.array([table.low, table.high])
        cell, s = table.locate(ends)
        at_ends = polynomials(integral, cell, s) * (table.half[cell] * s)
        outside = [math.exp(exact(end)[0]) for exact, end in zip(self._exact, ends[:, None], strict=True)]
        errors = 2.0 * table.half * (table.errors + errors_of(more))
        lower = below - (below[cell[0]] + at_ends[0] - outside[0])
        upper = above - (above[cell[1]] - at_ends[1] - outside[1])
        return _Integrals(
            integral,
            lower,
            upper,
            np.cumsum(errors),
            np.cumsum(errors[::-1])[::-1],
        )

    @cached_property
    def _inverse(self) -> _Inverse:
        table, integrals = self._table, self._integrals
        assert table is not None
        assert integrals is not None
        edges = np.linspace(-1.0, 1.0, _PARTS + 1)
        powers, half = np.vander(edges, SIZE, increasing=True), table.half[:, None]
        parts = (powers @ integrals.integral).T * (half * edges)
        heights = ((powers * np.arange(1.0, SIZE + 1.0)) @ integrals.integral).T
        masses = np.diff(parts, axis=1)
        chords = masses / (_WIDTH * half)
        above = (integrals.upper[:, None] - parts[:, :-1]).ravel()
        return _Inverse(
            (integrals.lower[:, None] + parts[:, :-1]).ravel(),
            above,
            np.ascontiguousarray(above[::-1]),
            masses.ravel(),
            (chords / heights[:, :-1]).ravel(),
            (chords / heights[:, 1:]).ravel(),
        )

    def log_cdf(self, x: Array) -> Array:
        """Return the natural logarithm of the probability below."""
        return _in_rows(lambda part: self._log_tail(part, is_upper=False), x)

    def log_sf(self, x: Array) -> Array:
        """Return the natural logarithm of the probability above."""
        return _in_rows(lambda part: self._log_tail(part, is_upper=True), x)

    def _log_tail(self, x: Array, *, is_upper: bool) -> Array:
        table, integrals = self._table, self._integrals
        if table is None or integrals is None:
            return np.full(x.size, math.nan)
        cell, s = table.locate(x)
        area = polynomials(integrals.integral, cell, s) * (table.half[cell] * s)
        if is_upper:
            found, errors = integrals.upper[cell] - area, integrals.upper_errors[cell]
        else:
            found, errors = integrals.lower[cell] + area, integrals.lower_errors[cell]
        return np.minimum(_log_of_accurate(found, errors, table, x), 0.0)

    def quantile(self, p: Array) -> Array:
        """Return the quantiles of probabilities in [0, 1], each from the tail in which it is the smaller."""
        return _sorted(lambda part: self._quantile(part, part <= 0.5), p)

    def upper_quantile(self, p: Array) -> Array:
        """Return the arguments above which the probabilities in [0, 1] lie."""
        return _sorted(lambda part: self._quantile(part, part > 0.5), p)

    def _quantile(self, p: Array, is_lower: Flags) -> Array:
        """Arguments with the probability min(p, 1 - p) below or above, by Newton's method within a part of a cell."""
        table, integrals = self._table, self._integrals
        if table is None or integrals is None:
            return np.full(p.size, math.nan)
        tail = np.minimum(p, 1.0 - p)
        cell, low, s = _first_guess(self._inverse, tail, is_lower)
        # The integral from the middle of the cell to the quantile.
        goal = np.where(is_lower, tail - integrals.lower[cell], integrals.upper[cell] - tail)
        half, left = table.half[cell], np.arange(p.size)
        of_left = cell, goal / half, low, s
        for _ in range(_MOST_STEPS):
            cells, goals, lows, at = of_left
            area, slope = polynomials_and_slopes(integrals.integral, cells, at)
            step = (at * area - goals) / (area + at * slope)
            # Rounding can put a quantile just outside its part.
            s[left] = np.clip(at - step, lows - 1e-6, lows + _WIDTH + 1e-6)
            more = np.flatnonzero(~(np.abs(step) <= _LAST_STEP))
            left = left[more]
            if left.size == 0:
                break
            of_left = cells[more], goals[more], lows[more], s[left]
        s[left] = math.nan
        errors = np.where(is_lower, integrals.lower_errors[cell], integrals.upper_errors[cell])
        x = table.centre[cell] + half * s
        return np.where((errors <= _TOLERANCE_OF_QUANTILES * tail) & (x >= table.low) & (x <= table.high), x, math.nan)


def _first_guess(inverse: _Inverse, tail: Array, is_lower: Flags) -> tuple[Index, Array, Array]:
    """Cells, and in units of s the beginnings of parts of these and guesses within the parts."""
    from_above = inverse.above.size - np.searchsorted(inverse.ascending, tail)
    part = np.where(is_lower, np.searchsorted(inverse.below, tail, side="right"), from_above) - 1
    part = np.minimum(np.maximum(part, 0), inverse.below.size - 1)
    mass = np.where(is_lower, tail - inverse.below[part], inverse.above[part] - tail)
    y = np.clip(mass / inverse.masses[part], 0.0, 1.0)
    rest = 1.0 - y
    fraction = y * (y * (3.0 - 2.0 * y) + rest * (rest * inverse.first[part] - y * inverse.last[part]))
    fraction[np.isnan(fraction)] = 0.5
    cell = part // _PARTS
    low = (part - _PARTS * cell) * _WIDTH - 1.0
    return cell, low, low + _WIDTH * np.clip(fraction, 0.0, 1.0)


def _in_rows(function: Function, x: Array) -> Array:
    """The function of some thousand arguments at a time."""
    if x.size <= _ROWS:
        return function(x)
    return np.concatenate([function(x[i : i + _ROWS]) for i in range(0, x.size, _ROWS)])


def _sorted(function: Function, p: Array) -> Array:
    """The function of sorted arguments, which are found in a table faster."""
    order, out = np.argsort(p), np.empty(p.size)
    out[order] = _in_rows(function, p[order])
    return out


def _log_of_accurate(found: Array, errors: Array, table: Table, x: Array) -> Array:
    """Logarithms of what is accurate and inside the table, elsewhere NaN."""
    is_known = (found * _TOLERANCE >= errors) & (x >= table.low) & (x <= table.high)
    return np.log(np.where(is_known, found, math.nan))
