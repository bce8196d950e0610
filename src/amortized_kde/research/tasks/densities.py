"""A stack of true densities, one a task: exact log-density, distribution function and draws."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Index, Words
from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks.sampling import Rows, fill_draws
from amortized_kde.research.tasks.standard import CODES, STANDARDS, Standard

# Draws are repeated until they lie inside the bounds: a thousand times on average is the most we accept.
SMALLEST_MASS = 1e-3
# Numbers in a temporary array of half a megabyte, which stays in the cache.
_BLOCK = 2**16
# Inside the support of every standard density.
HARMLESS = 0.5


@dataclass(frozen=True, eq=False)
class Densities:
    r"""Many densities on one interval, truncated to it and renormalised (paper, section 2.3).

    .. math:: f_t(x) = \frac{1}{c_t |b_t|} g_t\Big(\frac{x - a_t}{b_t}\Big) \quad (A \le x \le B),

    where g is a standard density (named by `codes`, with the parameters `shapes`), a the origin, b the slope (negative
    where the density is mirrored) and c the mass inside the bounds (A, B). Made by `stack` or by a world.

    Examples
    --------
    >>> f = stack("laplace", np.zeros((1, 0)), origins=[0.0], slopes=[0.5], bounds=(-1.0, 1.0))
    >>> f.pdf([0.0]).round(6)
    array([[1.156518]])
    >>> f.cdf([-1.0, 0.0, 1.0])
    array([[0. , 0.5, 1. ]])
    """

    codes: Index
    origins: Array
    slopes: Array
    shapes: Array
    masses: Array
    bounds: tuple[float, float]

    def __len__(self) -> int:
        return self.codes.size

    def __getitem__(self, rows: Any) -> "Densities":
        kept = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "bounds"}
        return Densities(**kept, bounds=self.bounds)

    def logpdf(self, x: ArrayLike) -> Array:
        """Return the natural logarithm of each density.

        Parameters
        ----------
        x : array_like of shape (m,) or (tasks, m)
            The same arguments for every density, or one row of arguments for each.

        Returns
        -------
        array of shape (tasks, m)
            Minus infinity outside the bounds; NaN where x is NaN.
        """
        at = broadcast_arguments(x, len(self))
        out = np.empty(at.shape)
        for rows in self._blocks(at.shape[1]):
            out[rows] = self[rows]._block_logpdf(at[rows])
        return out

    def pdf(self, x: ArrayLike) -> Array:
        """Return each density; arguments and shape as in `logpdf`."""
        return np.asarray(np.exp(self.logpdf(x)))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability below x; arguments and shape as in `logpdf`."""
        at = np.clip(broadcast_arguments(x, len(self)), *self.bounds)
        out = np.empty(at.shape)
        for rows in self._blocks(at.shape[1]):
            out[rows] = self[rows]._block_cdf(at[rows])
        return out

    def untruncated(self) -> "Densities":
        """Return these densities on the whole line, with all of their mass.

        Examples
        --------
        >>> f = stack("laplace", np.zeros((1, 0)), origins=[0.0], slopes=[0.5], bounds=(-1.0, 1.0))
        >>> f.untruncated().pdf([0.0])
        array([[1.]])
        """
        return replace(self, masses=np.ones(len(self)), bounds=(-math.inf, math.inf))

    def fill(self, out: Array, offsets: Index, *, words: Words, first: int, start: int, stop: int) -> None:
        """Write draws of tasks start .. stop - 1 to ``out[offsets[t]:offsets[t + 1]]``, from stream first + t."""
        rows = Rows(self.codes, self.origins, self.slopes, self.shapes, *self.bounds)
        fill_draws(rows, words, first, offsets, out, start, stop)

    def _blocks(self, arguments: int) -> Iterator[Index]:
        """Yield rows of one standard form, few enough for temporary arrays to stay small."""
        step = max(1, _BLOCK // max(1, arguments))
        for code in np.unique(self.codes):
            rows = np.flatnonzero(self.codes == code)
            yield from (rows[i : i + step] for i in range(0, rows.size, step))

    def _block_logpdf(self, x: Array) -> Array:
        standard = STANDARDS[self.codes[0]]
        y = (x - self.origins[:, None]) / self.slopes[:, None]
        inside = (x >= self.bounds[0]) & (x <= self.bounds[1])
        inside &= (y > standard.support[0]) & (y < standard.support[1])
        log_g = standard.logpdf(np.where(inside, y, HARMLESS), self.shapes)
        log_g -= np.log(np.abs(self.slopes) * self.masses)[:, None]
        return np.where(inside, log_g, np.where(np.isnan(x), math.nan, -math.inf))

    def _block_cdf(self, x: Array) -> Array:
        placed = (STANDARDS[self.codes[0]], self.origins, self.slopes, self.shapes)
        below = np.abs(_untruncated(*placed, x) - _untruncated(*placed, self.bounds[0]))
        return np.asarray(np.minimum(below / self.masses[:, None], 1.0))


def broadcast_arguments(x: ArrayLike, count: int) -> Array:
    """Return arguments (count, m) from (m,), the same for all densities, or (count, m)."""
    at = np.asarray(x, dtype=np.float64)
    if at.ndim not in (1, 2) or (at.ndim == 2 and at.shape[0] != count):
        raise InvalidParameterError(
            f"x has shape {at.shape}; pass (m,) for all densities or ({count}, m), one row for each."
        )
    return np.broadcast_to(at, (count, at.shape[-1]))


def _untruncated(standard: Standard, origins: Array, slopes: Array, shapes: Array, x: ArrayLike) -> Array:
    """Return the distribution function of the standard form at y(x): of x itself, or of its mirror image."""
    y = (np.asarray(x) - origins[:, None]) / slopes[:, None]
    return standard.cdf(np.clip(y, *standard.support), shapes)


def mass_inside(
    standard: Standard, shapes: Array, *, origins: Array, slopes: Array, bounds: tuple[float, float]
) -> Array:
    """Return the probability (rows,) that a placed, untruncated density has between the bounds."""
    ends = _untruncated(standard, origins, slopes, shapes, np.array([bounds]))
    return np.asarray(np.abs(ends[:, 1] - ends[:, 0]))


def stack(
    name: str, shapes: ArrayLike, *, origins: ArrayLike, slopes: ArrayLike, bounds: tuple[float, float]
) -> Densities:
    """Place standard densities of one form on an interval.

    Parameters
    ----------
    name : str
        The form: ``mixture``, ``laplace``, ``student``, ``gamma``, ``beta``, ``logistic`` or ``lognormal``.
    shapes : array_like of shape (tasks, p)
        Shape parameters, one row a density: for a mixture of K normals its K weights, K locations and K
        scales; else ν, k, (a, b) or τ of Table 1.
    origins, slopes : array_like of shape (tasks,)
        x = origin + slope · y; a negative slope mirrors.
    bounds : (float, float)
        The interval [A, B]; infinite for the whole line.

    Raises
    ------
    InvalidParameterError
        If there is no such form, a number is not finite or out of range, a slope is zero, or a density has less than a
        thousandth of its mass inside the bounds.

    Examples
    --------
    >>> f = stack("mixture", [[1.0, 0.0, 1.0]], origins=[0.0], slopes=[1.0], bounds=(-np.inf, np.inf))
    >>> f.logpdf([0.0]).round(6)
    array([[-0.918939]])
    """
    if name not in CODES:
        raise InvalidParameterError(f"there is no standard density {name!r}; take one of {', '.join(CODES)}.")
    standard = STANDARDS[CODES[name]]
    table, origin, slope = (np.array(a, dtype=np.float64) for a in (shapes, origins, slopes))
    if not all(np.isfinite(a).all() for a in (table, origin, slope)) or (slope == 0.0).any():
        raise InvalidParameterError(f"settings of {name} must be finite, and their slopes not zero.")
    if not standard.valid(table).all():
        row = np.argmin(standard.valid(table))
        raise InvalidParameterError(
            f"density {row} has shape parameters {table[row]}, which are not those of a {name}."
        )
    masses = mass_inside(standard, table, origins=origin, slopes=slope, bounds=bounds)
    if masses.min(initial=1.0) < SMALLEST_MASS:
        raise InvalidParameterError(
            f"density {np.argmin(masses)} ({name}) has hardly any mass in {bounds}: place it inside."
        )
    return Densities(np.full(table.shape[0], CODES[name]), origin, slope, table, masses, bounds)


def join(stacks: list[Densities]) -> Densities:
    """Join stacks with the same bounds, mixtures with the same K; shorter rows are filled with zeros."""
    width = max(s.shapes.shape[1] for s in stacks)
    shapes = np.concatenate([np.pad(s.shapes, ((0, 0), (0, width - s.shapes.shape[1]))) for s in stacks])
    rest = {n: np.concatenate([getattr(s, n) for s in stacks]) for n in ("codes", "origins", "slopes", "masses")}
    return Densities(**rest, shapes=shapes, bounds=stacks[0].bounds)
