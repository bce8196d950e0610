"""Find out to which unit values are rounded, and which values have a probability of their own."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index
from amortized_kde.data.reading import read_numbers

# A grid that this share of the values lies on is their rounding; the rest are typing errors and other sources.
_ON_GRID = 0.99
# A value lies on a grid if it is nearer than this to a multiple of the unit, in units, and relative to the values: room
# for arithmetic in float32, such as a conversion from kelvin.
_NOISE, _RELATIVE_NOISE = 0.05, 1e-5
# Bits of evidence for a grid (chance 1e-6), and for a multiple of a decimal unit (chance 1/500).
_GRID_BITS, _MULTIPLE_BITS = 20.0, 9.0
# A unit below this part of the spread changes no density that can be estimated; files packed to 16 bits have such ones.
_FINEST = 1e-4
# An atom has at least this many values, this share of all, and this many times the most frequent other value.
_ATOM_COUNT, _ATOM_SHARE, _ATOM_ABOVE = 5, 0.02, 3.0
# And this many times what the cells beside it lead one to expect.
_ATOM_UNEXPECTED = 4.0
# Cells are pooled on each side of a supposed atom until they have this many values.
_POOL = 10
_MOST_ATOMS = 2


class Rounding(NamedTuple):
    """How values were recorded.

    Attributes
    ----------
    unit : float
        Distance between neighbouring values that can occur; a value stands for all within half a unit. 0 if the values
        look exact.
    atoms : tuple of float
        Values with a probability of their own, ascending.
    """

    unit: float
    atoms: tuple[float, ...]


def find_rounding(values: ArrayLike) -> Rounding:
    """Return the unit to which values are rounded, and the values that have a probability of their own.

    Units are decimal (0.1, 0.5, 10), multiples of decimals (0.254), and others where values repeat (5/9, from degrees
    Fahrenheit). The grid need not contain 0: 273.15, 274.15, ... has the unit 1. Noise of float32 storage is allowed
    for. Units below 1e-4 of the spread, too fine to matter, count as exact.

    A value has a probability of its own, as zero has for rain, if it is far more frequent than all others and than the
    values beside it lead one to expect. The most frequent whole degree is not such a value, nor is zero among counts.
    At most two are found.

    Parameters
    ----------
    values : array_like
        Numbers of any shape; NaN and infinite ones are left out.

    Returns
    -------
    Rounding
        ``Rounding(0.0, ())`` for fewer than two different values.

    Raises
    ------
    InvalidSampleError
        If `values` are not numbers.

    Examples
    --------
    >>> find_rounding([12.3, 14.5, 11.0, 18.1])
    Rounding(unit=0.1, atoms=())
    >>> rain = np.random.default_rng(1).exponential(4.0, 1000).round(1)
    >>> rain[:300] = 0.0
    >>> find_rounding(rain)
    Rounding(unit=0.1, atoms=(0.0,))
    """
    given = read_numbers(values, "values", copy=False).reshape(-1)
    given = given[np.isfinite(given)]
    if given.size < 2 or given.min() == given.max():
        return Rounding(0.0, ())
    unit = _find_unit(given)
    return Rounding(unit, _find_atoms(given, unit))


def _find_unit(values: Array) -> float:
    """Return the unit, or 0 if there is none or it is too fine to matter."""
    spread = _spread(values)
    distinct = np.unique(values)
    noise = _RELATIVE_NOISE * float(np.quantile(np.abs(values), _ON_GRID))
    unit = _decimal_unit(values, distinct, spread, noise) or _unit_of_gaps(values, distinct, noise)
    single = distinct.astype(np.float32)
    # Numbers stored in float32 lie on the grid of that format, which is not a rounding of the variable.
    stored = float(np.spacing(np.abs(single).max())) if np.array_equal(single, distinct) else 0.0
    return unit if unit >= _FINEST * spread and unit > 4.0 * stored else 0.0


def _spread(values: Array) -> float:
    """Return the interquartile range of the values other than the most frequent one, or their range if it is 0."""
    different, counts = np.unique(values, return_counts=True)
    rest = np.sort(values[values != different[np.argmax(counts)]])
    lower, upper = rest[rest.size // 4], rest[(3 * rest.size) // 4]
    return float(upper - lower or values.max() - values.min())


def _on_grid(values: Array, distinct: int, unit: float, noise: float, origin: float = 0.0) -> bool:
    """Return whether values lie on a grid, with more evidence than chance gives."""
    steps = (values - origin) / unit
    apart = np.abs(steps - np.rint(steps))
    farthest = float(np.sort(apart)[math.ceil(_ON_GRID * apart.size) - 1])
    return farthest <= min(_NOISE, noise / unit) and -distinct * math.log2(2.0 * max(farthest, 1e-15)) >= _GRID_BITS


def _decimal_unit(values: Array, distinct: Array, spread: float, noise: float) -> float:
    """Return the coarsest power of ten that all values are multiples of, times what the steps have in common; or 0."""
    # Two powers more than the finest unit: 273.15, 274.15, ... are multiples of 0.01.
    for power in range(math.floor(math.log10(spread)), math.floor(math.log10(spread * _FINEST)) - 2, -1):
        # Not 10.0**power, which is inexact below 1: 0.1 must be that decimal.
        unit = float(f"1e{power}")
        if not _on_grid(values, distinct.size, unit, noise):
            continue
        steps = np.unique(np.rint(distinct / unit)).astype(np.int64)
        for common, free in ((np.gcd.reduce(np.diff(steps)), 2), (np.gcd.reduce(steps), 1)):
            # One value sets the origin, and one the multiple.
            if common > 1 and (steps.size - free) * math.log2(common) >= _MULTIPLE_BITS:
                return float(f"{int(common)}e{power}")
        return unit
    return 0.0


def _unit_of_gaps(values: Array, distinct: Array, noise: float) -> float:
    """Return the unit of a grid of any kind on which many values repeat; or 0."""
    gaps = np.diff(distinct)
    # Values that differ by noise only are one; the narrowest true gap is that of neighbours on the grid.
    gaps = np.sort(gaps[gaps > 2.0 * noise])
    if gaps.size < 3 or 2 * (gaps.size + 1) > values.size:
        return 0.0
    unit, origin = float(gaps[gaps.size // 20]), float(distinct[0])
    for reach in (10.0, 100.0, math.inf):
        # Fitted to near values first, where steps can be counted in spite of the error of the first guess.
        near = distinct[distinct - origin <= reach * unit] - origin
        steps = np.rint(near / unit)
        if not steps.any():
            return 0.0
        unit = float(near @ steps / (steps @ steps))
    return unit if _on_grid(values, gaps.size + 1, unit, noise, origin) else 0.0


def _find_atoms(values: Array, unit: float) -> tuple[float, ...]:
    """Return values that are far more frequent than all others and than rounding explains, ascending."""
    cells = values if unit == 0.0 else np.rint((values - values.min()) / unit)
    places, first, counts = np.unique(cells, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    for number in range(1, min(_MOST_ATOMS, order.size - 1) + 1):
        top, others = order[:number], counts[order[number]]
        least = max(_ATOM_COUNT, _ATOM_SHARE * values.size, _ATOM_ABOVE * others)
        if counts[top[-1]] >= least and (
            unit == 0.0 or all(counts[k] > _ATOM_UNEXPECTED * _expected(places, counts, k) for k in top)
        ):
            return tuple(sorted(float(values[first[k]]) for k in top))
    return ()


def _expected(places: Array, counts: Index, at: int) -> float:
    """Return the count in a cell that the cells on either side of it lead one to expect, the larger of both."""
    above = _extrapolated(places[at + 1 :] - places[at], counts[at + 1 :])
    below = _extrapolated(places[at] - places[:at], counts[:at])
    return max(above, below)


def _extrapolated(distances: Array, counts: Index) -> float:
    """Return the count at distance 0 by a geometric law through two pools of cells of equal width."""
    width = 1
    while width < distances.max(initial=0.0) and counts[distances <= width].sum() < _POOL:
        width *= 2
    near = counts[distances <= width].sum() / width
    far = counts[(width < distances) & (distances <= 2 * width)].sum() / width
    if near == 0.0:
        return 0.0
    # A tenth of a value where there is none: a steep law then explains any count.
    return float(near * max(1.0, near / max(far, 0.1 / width)) ** ((width + 1) / (2 * width)))
