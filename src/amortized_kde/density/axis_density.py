"""The density of one variable of a multivariate density: a margin, or what is left when the others are given."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_numbers
from amortized_kde.data.support import Bounds
from amortized_kde.density import plotting, shape
from amortized_kde.density.arguments import read_rng, read_size
from amortized_kde.density.components import Part
from amortized_kde.density.draws import MOST_DRAWS, draw_from_parts
from amortized_kde.density.entropy import entropy
from amortized_kde.density.extrema import Extrema
from amortized_kde.density.mixture_moments import mean_and_covariance
from amortized_kde.density.modes import PROMINENCE, Modes, modes_among
from amortized_kde.density.scipy_names import ScipyNames
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.floats import quiet

# Numbers in one array of components and arguments.
_CHUNK = 1 << 22
# Arguments at which a margin is tabulated to bracket quantiles, fewer if there are many components: tables have at most
# this many products of both.
_TABLE, _FEWEST, _MOST_PAIRS = 512, 16, 1 << 22
# Arguments at which modes are sought.
_FINE = 4096
# A quantile is found when the probability agrees this closely, or when its bracket cannot be halved.
_CLOSE = 1e-13
_TAILS = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.5])


@dataclass(frozen=True, eq=False, repr=False)
class AxisDensity:
    """A one-dimensional density, as `MultivariateDensity.marginal` and `conditional` return it.

    Attributes
    ----------
    parts : tuple of Part
        Mixtures of one variable; their weights sum to 1.
    name : str
        Name of the variable.
    limits : Bounds
        Its bounds, infinite where a side is open.
    method : str
        The method of the density that it comes from.
    """

    parts: tuple[Part, ...]
    name: str
    limits: Bounds
    method: str

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The hard limits (A, B), None where a side is open."""
        return tuple(end if math.isfinite(end) else None for end in self.limits)  # type: ignore[return-value]

    def support(self) -> tuple[float, float]:
        """Return the bounds, infinite where a side is open."""
        return self.limits.lower, self.limits.upper

    @quiet
    def logpdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the natural logarithm of the density, minus infinity outside the bounds."""

        def inside(x: Array) -> Array:
            logs = [math.log(part.weight) + part.log_density(x[:, None], threads=threads) for part in self.parts]
            return np.asarray(np.logaddexp.reduce(logs, axis=0))

        return self._evaluate(inside, y, -math.inf, -math.inf)

    @quiet
    def pdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the density, the exponential of `logpdf`."""
        found = np.exp(self.logpdf(y, threads=threads))
        return float(found) if np.ndim(found) == 0 else found

    @quiet
    def cdf(self, y: ArrayLike) -> Any:
        """Return the probability of values up to `y`."""
        return self._evaluate(lambda x: self._tail(x, 1.0), y, 0.0, 1.0)

    @quiet
    def sf(self, y: ArrayLike) -> Any:
        """Return the probability of values above `y`, accurate where it is tiny."""
        return self._evaluate(lambda x: self._tail(x, -1.0), y, 1.0, 0.0)

    @quiet
    def logcdf(self, y: ArrayLike) -> Any:
        """Return the natural logarithm of `cdf`."""
        found = np.log(self.cdf(y))
        return float(found) if found.ndim == 0 else found

    @quiet
    def logsf(self, y: ArrayLike) -> Any:
        """Return the natural logarithm of `sf`."""
        found = np.log(self.sf(y))
        return float(found) if found.ndim == 0 else found

    def _evaluate(self, function: Callable[[Array], Array], y: ArrayLike, below: float, above: float) -> Any:
        """Values of a function inside the bounds, and numbers below and above; NaN for NaN."""
        given = read_numbers(y, "the argument")
        flat = given.ravel()
        lower, upper = self.limits
        out = np.where(flat <= lower, below, np.where(flat >= upper, above, np.nan))
        inside = np.isfinite(flat) & (flat >= lower) & (flat <= upper)
        if below != above:
            # A probability is 0 or 1 at a bound; a density is what it is inside.
            inside &= (flat > lower) & (flat < upper)
        if inside.any():
            out[inside] = function(flat[inside])
        return float(out[0]) if given.ndim == 0 else out.reshape(given.shape)

    def _tail(self, x: Array, side: float) -> Array:
        """Probability below (side 1) or above (side -1) each value."""
        out = np.zeros(x.size)
        for part in self.parts:
            at = part.inner(x[:, None])[0][:, 0]
            step = max(1, _CHUNK // len(part.components))
            tail = np.concatenate([_mixture_tail(part, at[i : i + step], side) for i in range(0, x.size, step)])
            if part.margins is not None:
                tail *= _beyond(part, x, side)
            out += part.weight * tail
        return np.minimum(out, 1.0)

    @quiet
    def ppf(self, p: ArrayLike) -> Any:
        """Return the quantile: the x with cdf(x) = p to 1e-12.

        Raises
        ------
        InvalidParameterError
            If an entry of `p` is outside [0, 1] or NaN.
        """
        return self._quantiles(p, 1.0)

    @quiet
    def isf(self, q: ArrayLike) -> Any:
        """Return the upper quantile: the x with sf(x) = q; errors as in `ppf`."""
        return self._quantiles(q, -1.0)

    @cached_property
    def _table(self) -> Array:
        """Ascending values that hold nearly all probability."""
        found = []
        for part in self.parts:
            mixture = part.components
            scale = mixture.sizes * mixture.factors[mixture.shape_of, 0, 0]
            at = mixture.means[:, 0] + scale * np.array([-8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0])[:, None]
            if part.margins is not None:
                at = np.append(at, part.maps[0].scores)
            count = min(max(_FEWEST, _MOST_PAIRS // len(mixture)), _TABLE)
            inner = np.quantile(at, np.linspace(0.0, 1.0, count))
            found.append(part.outer(inner[:, None])[:, 0])
        return np.unique(np.clip(np.concatenate(found), *self.limits))

    @cached_property
    def _tails_below(self) -> Array:
        return np.maximum.accumulate(self._tail(self._table, 1.0))

    @cached_property
    def _tails_above(self) -> Array:
        return np.maximum.accumulate(self._tail(self._table, -1.0)[::-1])

    def _quantiles(self, p: ArrayLike, side: float) -> Any:
        given = read_numbers(p, "a probability")
        if not np.all((given >= 0.0) & (given <= 1.0)):
            raise InvalidParameterError("probabilities must lie in [0, 1].")
        flat = given.ravel()
        # The smaller tail is the accurate one.
        lower = flat <= 0.5 if side > 0.0 else flat > 0.5
        out = np.empty(flat.size)
        for below in (True, False):
            chosen = lower if below else ~lower
            wanted = flat[chosen] if below == (side > 0.0) else 1.0 - flat[chosen]
            out[chosen] = self._solve(wanted, 1.0 if below else -1.0)
        return float(out[0]) if given.ndim == 0 else out.reshape(given.shape)

    def _solve(self, p: Array, side: float) -> Array:
        """Values with this tail probability, by Newton's method inside of brackets."""
        out = np.full(p.size, self.limits.lower if side > 0.0 else self.limits.upper)
        todo = np.flatnonzero(p > 0.0)
        low, high = self._brackets(p[todo], side)
        x = 0.5 * (low + high)
        for _ in range(200):
            if todo.size == 0:
                break
            off = side * (self._tail(x, side) - p[todo])
            low, high = np.where(off <= 0.0, x, low), np.where(off >= 0.0, x, high)
            out[todo] = x
            left = (np.abs(off) > _CLOSE * p[todo]) & (np.nextafter(low, high) < high)
            todo, low, high, x, off = todo[left], low[left], high[left], x[left], off[left]
            step = x - off / self.pdf(x)
            x = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        return out

    def _brackets(self, p: Array, side: float) -> tuple[Array, Array]:
        table = self._table
        place = np.searchsorted(self._tails_below if side > 0.0 else self._tails_above, p)
        ordered = table if side > 0.0 else table[::-1]
        near = ordered[np.maximum(place - 1, 0)]
        far = ordered[np.minimum(place, table.size - 1)]
        # What lies beyond the table is sought in steps that double.
        reach, beyond = float(table[-1] - table[0]), place == 0
        while beyond.any():
            near = np.where(beyond, np.clip(near - side * reach, *self.limits), near)
            beyond &= (self._tail(near, side) > p) & (near > self.limits.lower) & (near < self.limits.upper)
            reach *= 2.0
        return np.minimum(near, far), np.maximum(near, far)

    @quiet
    def sample(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator | int | None = None) -> Any:
        """Draw from the density: an array of shape `size`, or a float without it."""
        draws = draw_from_parts(self.parts, read_size(size, MOST_DRAWS), read_rng(rng))[:, 0]
        return float(draws[0]) if size is None else draws.reshape(size)

    @quiet
    def mean(self) -> float:
        """Return the expectation; infinite or NaN if a part in data units has none."""
        return float(mean_and_covariance(self.parts)[0][0])

    @quiet
    def std(self) -> float:
        """Return the standard deviation; infinite if a part in data units has none."""
        return math.sqrt(mean_and_covariance(self.parts)[1][0, 0])

    def var(self) -> float:
        """Return the variance, the square of `std`."""
        return self.std() ** 2

    def median(self) -> float:
        """Return the median, the quantile at 1/2."""
        return float(self.ppf(0.5))

    def interval(self, confidence: ArrayLike, *, kind: str = "equal-tailed") -> tuple[Any, Any]:
        """Return an interval that holds the probability `confidence`; `kind` as in `KernelDensity.interval`."""
        if kind == "highest-density":
            given = read_numbers(confidence, "the probability of an interval")
            if given.ndim or not 0.0 < given < 1.0:
                raise InvalidParameterError(
                    f"the probability of an interval must lie between 0 and 1, not {confidence!r}."
                )
            return shape.shortest_interval(self.ppf, float(given))
        if kind != "equal-tailed":
            raise InvalidParameterError(f'kind must be "equal-tailed" or "highest-density", not {kind!r}.')
        tail = 0.5 * (1.0 - read_numbers(confidence, "the probability of an interval"))
        return self.ppf(tail), self.isf(tail)

    @quiet
    def entropy(self) -> float:
        """Return the differential entropy in nats, by quadrature."""
        return entropy(self.logpdf, self.cdf, np.unique([self.ppf(_TAILS), self.isf(_TAILS)]))

    @quiet
    def modes(self, *, prominence: float = PROMINENCE) -> Modes:
        """Return the modes with at least this prominence, from the density at some thousand arguments."""
        grid = self.grid(_FINE)
        logs = np.asarray(self.logpdf(grid))
        rises = np.diff(logs) > 0.0
        peaks = np.flatnonzero(np.append(rises, False) < np.append(True, rises))
        valleys = [i + int(np.argmin(logs[i:j])) for i, j in pairwise(peaks)]
        extrema = Extrema(grid[peaks], logs[peaks], grid[valleys], logs[valleys])
        return modes_among(extrema, float(prominence), self.pdf, self.cdf)

    @quiet
    def grid(self, count: int = 512) -> Array:
        """Return about `count` ascending arguments that show the density."""
        ends = self.ppf(1e-4), self.isf(1e-4)
        inside = self._table[(self._table > ends[0]) & (self._table < ends[1])]
        even = np.linspace(*ends, max(2, count - inside.size // 2))
        return np.union1d(even, inside[::2])

    def __repr__(self) -> str:
        count = sum(len(part.components) for part in self.parts)
        return f"AxisDensity(name={self.name!r}, components={count}, bounds={self.bounds}, method={self.method!r})"

    def plot(self, ax: Any = None, *, count: int = 512, **style: Any) -> Any:
        """Draw the density on matplotlib axes (default: pyplot's current ones), and return these."""
        ax = plotting.current_axes() if ax is None else ax
        grid = self.grid(count)
        ax.plot(grid, self.pdf(grid), **{"linewidth": 1.8, **style})
        plotting.draw_ground(ax, None, self.bounds)
        if not ax.get_xlabel():
            ax.set_xlabel(self.name, parse_math=False)
        return ax

    __call__ = ScipyNames.__call__
    evaluate = ScipyNames.evaluate
    integrate_box_1d = ScipyNames.integrate_box_1d
    expect = ScipyNames.expect


def _beyond(part: Part, x: Array, side: float) -> Array:
    """Factors by which tails beyond the ends of the map are smaller than at them: those of the margin."""
    out, map_ = np.ones(x.size), part.maps[0]
    end = map_.knots[0] if side > 0.0 else map_.knots[-1]
    far = side * (end - x) > 0.0
    if far.any():
        tail = map_.margin.cdf if side > 0.0 else map_.margin.sf
        out[far] = np.asarray(tail(x[far])) / tail(end)
    return out


def _mixture_tail(part: Part, at: Array, side: float) -> Array:
    """Probability of a mixture below or above each coordinate."""
    from scipy.special import ndtr, stdtr

    mixture = part.components
    scale = mixture.sizes * mixture.factors[mixture.shape_of, 0, 0]
    steps = side * (at[:, None] - mixture.means[:, 0]) / scale
    student = np.isfinite(mixture.dofs)
    tails = ndtr(steps)
    if student.any():
        tails[:, student] = stdtr(mixture.dofs[student], steps[:, student])
    return np.asarray(tails @ mixture.weights)
