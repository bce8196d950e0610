"""Densities, probabilities and quantiles of a mixture at many arguments, read from a table of its density."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Flags, Index
from amortized_kde.density.mixture import Mixture
from amortized_kde.numerics.table import NODES, SIZE, Table, coefficients_of, errors_of, powers_of, tabulate

Function = Callable[[Array], Array]

# Largest relative error of densities and probabilities from a table, and of the probability below a quantile.
_TOLERANCE, _TOLERANCE_OF_QUANTILES = 2e-13, 1e-12
# From this many arguments on a table is worth its making; fewer are summed directly.
TABULATED_FROM = 128
# Arguments at a time, few enough for their powers to stay in the cache.
_ROWS = 4096
# Parts of a cell in which the search for a quantile starts, and Newton's steps at most; two or three are enough.
_PARTS, _MOST_STEPS = 8, 8
# Half widths of a cell; Newton's method squares its error, so that after a step of this size it is right.
_LAST_STEP = 1e-9


class _Integrals(NamedTuple):
    """A table of density and distribution function.

    `density` and `integral` (cells, size) are coefficients of the density and of its integral over half s, by powers of
    s, which goes from -1 to 1 in a cell. The probability below is `lower` plus the integral, that above is `upper`
    minus it, with bounds of their errors. `parts` (cells, parts + 1) are the integrals up to edges within a cell, and
    `heights` the densities there; `below` and `above`, both ascending, are the probabilities below and above the first
    edges.
    """

    density: Array
    integral: Array
    lower: Array
    upper: Array
    lower_errors: Array
    upper_errors: Array
    parts: Array
    heights: Array
    below: Array
    above: Array


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
        low, high = max(lower, first - margin), min(upper, last + margin)
        if background is None:
            return tabulate(rungs, low, high, first, math.inf)
        return tabulate(rungs, low, high, background.location, background.scale)

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
        found = np.einsum("ij,ij->i", coefficients[cell], powers_of(s)) + self._background(x)
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
        integral = density / np.arange(1.0, SIZE + 1.0)
        edges = powers_of(np.linspace(-1.0, 1.0, _PARTS + 1))
        parts = (integral @ edges.T) * (table.half[:, None] * edges[:, 1])
        masses = parts[:, -1] - parts[:, 0]
        below = np.append(0.0, np.cumsum(masses[:-1])) - parts[:, 0]
        above = np.append(np.cumsum(masses[:0:-1])[::-1], 0.0) + parts[:, -1]
        # Both are right up to a constant, which follows from the exact probabilities outside.
        ends = np.array([table.low, table.high])
        cell, s = table.locate(ends)
        at_ends = np.einsum("ij,ij->i", integral[cell], powers_of(s)) * (table.half[cell] * s)
        outside = [math.exp(exact(end)[0]) for exact, end in zip(self._exact, ends[:, None], strict=True)]
        errors = 2.0 * table.half * (table.errors + errors_of(more))
        lower = below - (below[cell[0]] + at_ends[0] - outside[0])
        upper = above - (above[cell[1]] - at_ends[1] - outside[1])
        return _Integrals(
            density,
            integral,
            lower,
            upper,
            np.cumsum(errors),
            np.cumsum(errors[::-1])[::-1],
            parts,
            density @ edges.T,
            (lower[:, None] + parts[:, :-1]).ravel(),
            (upper[:, None] - parts[:, :-1]).ravel()[::-1],
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
        area = np.einsum("ij,ij->i", integrals.integral[cell], powers_of(s)) * (table.half[cell] * s)
        if is_upper:
            found, errors = integrals.upper[cell] - area, integrals.upper_errors[cell]
        else:
            found, errors = integrals.lower[cell] + area, integrals.lower_errors[cell]
        return np.minimum(_log_of_accurate(found, errors, table, x), 0.0)

    def quantile(self, p: Array) -> Array:
        """Return the quantiles of probabilities in [0, 1], each from the tail in which it is the smaller."""
        return _in_rows(lambda part: self._quantile(part, part <= 0.5), p)

    def upper_quantile(self, p: Array) -> Array:
        """Return the arguments above which the probabilities in [0, 1] lie."""
        return _in_rows(lambda part: self._quantile(part, part > 0.5), p)

    def _quantile(self, p: Array, is_lower: Flags) -> Array:
        """Arguments with the probability min(p, 1 - p) below or above, by Newton's method within a part of a cell."""
        table, integrals = self._table, self._integrals
        if table is None or integrals is None:
            return np.full(p.size, math.nan)
        tail = np.minimum(p, 1.0 - p)
        cell, s, low, high = _first_guess(integrals, table.half, tail, is_lower)
        # The integral from the middle of the cell to the quantile.
        goal = np.where(is_lower, tail - integrals.lower[cell], integrals.upper[cell] - tail)
        half, left = table.half[cell], np.arange(p.size)
        density, integral, goal = integrals.density[cell], integrals.integral[cell], goal / half
        for _ in range(_MOST_STEPS):
            powers = powers_of(s[left])
            area, height = np.einsum("ij,ij->i", integral, powers), np.einsum("ij,ij->i", density, powers)
            step = (s[left] * area - goal) / height
            s[left] = np.clip(s[left] - step, low[left], high[left])
            more = np.flatnonzero(~(np.abs(step) <= _LAST_STEP))
            left = left[more]
            if left.size == 0:
                break
            density, integral, goal = density[more], integral[more], goal[more]
        s[left] = math.nan
        errors = np.where(is_lower, integrals.lower_errors[cell], integrals.upper_errors[cell])
        x = table.centre[cell] + half * s
        return np.where((errors <= _TOLERANCE_OF_QUANTILES * tail) & (x >= table.low) & (x <= table.high), x, math.nan)


def _first_guess(found: _Integrals, half: Array, tail: Array, is_lower: Flags) -> tuple[Index, Array, Array, Array]:
    """Cells, and in units of s a guess and two ends, by cubic interpolation of the inverse within a part of a cell."""
    from_above = found.above.size - np.searchsorted(found.above, tail)
    part = np.where(is_lower, np.searchsorted(found.below, tail, side="right"), from_above) - 1
    cell, number = np.divmod(np.clip(part, 0, found.below.size - 1), _PARTS)
    first, last = found.parts[cell, number], found.parts[cell, number + 1]
    goal = np.where(is_lower, tail - found.lower[cell], found.upper[cell] - tail)
    y, width = np.clip((goal - first) / (last - first), 0.0, 1.0), 2.0 / _PARTS
    # Slopes of the inverse at both ends, relative to its chord.
    chord = (last - first) / (width * half[cell])
    at_first, at_last = chord / found.heights[cell, number], chord / found.heights[cell, number + 1]
    fraction = y * y * (3.0 - 2.0 * y) + y * (1.0 - y) * ((1.0 - y) * at_first - y * at_last)
    low = number * width - 1.0
    # Rounding can put a quantile just outside its part.
    return cell, low + width * np.clip(np.nan_to_num(fraction, nan=0.5), 0.0, 1.0), low - 1e-6, low + width + 1e-6


def _in_rows(function: Function, x: Array) -> Array:
    """The function of some thousand arguments at a time."""
    if x.size <= _ROWS:
        return function(x)
    return np.concatenate([function(x[i : i + _ROWS]) for i in range(0, x.size, _ROWS)])


def _log_of_accurate(found: Array, errors: Array, table: Table, x: Array) -> Array:
    """Logarithms of what is accurate and inside the table, elsewhere NaN."""
    is_known = (found * _TOLERANCE >= errors) & (x >= table.low) & (x <= table.high)
    return np.log(np.where(is_known, found, math.nan))
