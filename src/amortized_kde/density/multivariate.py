"""Frozen densities of two to eight variables."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.multivariate import find_axis
from amortized_kde.data.reading import read_numbers
from amortized_kde.data.support import Bounds
from amortized_kde.density import multivariate_plot
from amortized_kde.density.arguments import read_rng, read_size
from amortized_kde.density.axis_density import AxisDensity
from amortized_kde.density.box_probability import box_probability
from amortized_kde.density.components import Part
from amortized_kde.density.draws import MOST_DRAWS, draw_from_parts
from amortized_kde.density.mixture_moments import mean_and_covariance
from amortized_kde.density.modes import PROMINENCE
from amortized_kde.density.multivariate_modes import MultivariateModes, find_modes
from amortized_kde.density.multivariate_storage import load_density, save_density
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.numerics.floats import quiet

# Draws behind levels and entropy: the probability of a region has a standard error of at most 0.0028. With more
# components than 65,536 there are fewer draws, at least 8192, with a standard error of 0.0055.
_DRAWS, _FEWEST_DRAWS, _MOST_PAIRS = 1 << 15, 1 << 13, 1 << 31


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateDensity:
    r"""A density of two to eight variables: a mixture of elliptical kernels, in data units or of normal scores.

    .. math:: q(x) = \sum_f \pi_f \sum_c w_c K_c(z_f(x)) \prod_j z_{fj}'(x_j),

    with K Gaussian or Student's t, and z the identity, or the normal score of every variable,
    :math:`\Phi^{-1}(F_j(x_j))`. Functions `fit` and `load` make instances; they do not change, compare by identity, and
    can be pickled, saved and shared between threads.

    Attributes
    ----------
    parts : tuple of Part
        The mixtures; their weights sum to 1.
    points : ndarray of shape (n, d)
        The sample, sorted by its columns, without rows of weight zero; without rows for a conditional density.
    weights : ndarray of shape (n,)
        The points' weights, which sum to 1.
    names : tuple of str
        Names of the variables; ``x0``, ``x1`` ... if they have none.
    box : tuple of Bounds
        Bounds of every variable, infinite where a side is open.
    method : str
        The method by which it was estimated.

    Notes
    -----
    Log-densities are accurate to 1e-12. Arguments that are NaN give NaN.

    Examples
    --------
    >>> import amortized_kde as akde
    >>> X = np.random.default_rng(1).normal(size=(200, 2))
    >>> d = akde.fit(X, method="scott")
    >>> d
    MultivariateDensity(n=200, names=('x0', 'x1'), bounds=((None, None), (None, None)), method='scott')
    >>> round(d.logpdf([0.0, 0.0]), 1)
    -1.7
    >>> d.conditional({"x0": 1.0}).cdf(0.0) < 1.0
    True
    """

    parts: tuple[Part, ...]
    points: Array
    weights: Array
    names: tuple[str, ...]
    box: tuple[Bounds, ...]
    method: str

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the density to a file in NumPy's npz format; no pickle is involved.

        Raises
        ------
        UnwritableFileError
            If the file cannot be written; what was there before is then unchanged.
        """
        save_density(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a density that `save` wrote.

        Raises
        ------
        UnreadableFileError
            If the file does not exist, is damaged, has another format, or holds parts that make no density.
        """
        return cls(*load_density(path))

    @property
    def dimension(self) -> int:
        """The number d of variables."""
        return len(self.names)

    @property
    def bounds(self) -> tuple[tuple[float | None, float | None], ...]:
        """The hard limits of every variable, None where a side is open."""
        return tuple((a if math.isfinite(a) else None, b if math.isfinite(b) else None) for a, b in self.box)

    def _read_points(self, x: Any) -> Array:
        """Arguments of shape (..., d); the columns of a table by their names."""
        if getattr(x, "columns", None) is not None and hasattr(x, "to_numpy"):
            missing = [name for name in self.names if name not in list(map(str, x.columns))]
            if missing:
                raise InvalidSampleError(f"the table has no column {missing[0]!r}; it needs {', '.join(self.names)}.")
            by_name = {str(column): x[column] for column in x.columns}
            return np.stack([read_numbers(by_name[name], name) for name in self.names], axis=-1)
        points = read_numbers(x, "the argument")
        if points.ndim == 0 or points.shape[-1] != self.dimension:
            raise InvalidSampleError(
                f"the argument has shape {points.shape}; this density has {self.dimension} variables, so its last axis "
                f"must have length {self.dimension}."
            )
        return points

    @quiet
    def logpdf(self, x: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the natural logarithm of the density, minus infinity outside the bounds.

        Parameters
        ----------
        x : array_like of shape (..., d), or a table that has a column of each name
            Where to evaluate, in data units.
        threads : int, optional
            At most this many threads; default: all cores.

        Returns
        -------
        float or ndarray of shape (...)
        """
        points = self._read_points(x)
        flat = points.reshape(-1, self.dimension)
        lower, upper = np.array(self.box).T
        out = np.where(np.isnan(flat).any(axis=1), np.nan, -math.inf)
        inside = np.all((flat >= lower) & (flat <= upper) & np.isfinite(flat), axis=1)
        if inside.any():
            at = flat[inside]
            logs = [math.log(part.weight) + part.log_density(at, threads=threads) for part in self.parts]
            out[inside] = np.logaddexp.reduce(logs, axis=0)
        return float(out[0]) if points.ndim == 1 else out.reshape(points.shape[:-1])

    @quiet
    def pdf(self, x: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the density, the exponential of `logpdf`; parameters as there."""
        found = np.exp(self.logpdf(x, threads=threads))
        return float(found) if np.ndim(found) == 0 else found

    def __call__(self, x: ArrayLike) -> Any:
        """Return the density at `x`, as `pdf`."""
        return self.pdf(x)

    @quiet
    def sample(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator | int | None = None) -> Any:
        """Draw from the density, inside the bounds: an array of shape ``(*size, d)``, or (d,) without a size.

        `rng` is a generator or a seed; the same seed gives the same draws.
        """
        draws = draw_from_parts(self.parts, read_size(size, MOST_DRAWS), read_rng(rng))
        # The map of normal scores rounds; a draw must not pass a bound by that.
        draws = np.clip(draws, *np.array(self.box).T)
        shape = () if size is None else (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        return draws.reshape(*shape, self.dimension)

    @quiet
    def marginal(self, axes: int | str | Sequence[int | str]) -> "MultivariateDensity | AxisDensity":
        """Return the density of some of the variables, exactly, in the order in which they are named.

        Parameters
        ----------
        axes : int, str, or sequence of them
            Numbers from 0, or names. One variable gives an `AxisDensity`, with `cdf`, `ppf` and others.
        """
        single = isinstance(axes, (int, np.integer, str))
        chosen = [find_axis(axis, self.names) for axis in ([axes] if single else axes)]  # type: ignore[union-attr]
        if not chosen or len(set(chosen)) < len(chosen):
            raise InvalidParameterError("name each variable of a marginal density once, and at least one.")
        parts = tuple(part.marginal(chosen) for part in self.parts)
        return self._of(parts, chosen, self.points[:, chosen], self.weights)

    @quiet
    def conditional(self, given: Mapping[int | str, float]) -> "MultivariateDensity | AxisDensity":
        """Return the density of the other variables where some have known values, exactly.

        Parameters
        ----------
        given : mapping from names or numbers of variables to values
            For example ``{"x": 3.0}``. At least one variable must be left; a single one gives an `AxisDensity`.

        Raises
        ------
        InvalidParameterError
            If a variable is unknown, none is left, or the density is zero at the values.
        """
        if not isinstance(given, Mapping):
            raise InvalidParameterError('give values by variable, such as conditional({"x0": 1.5}).')
        values = {find_axis(axis, self.names): read_numbers(value, f"{axis}") for axis, value in given.items()}
        axes = sorted(values)
        rest = [axis for axis in range(self.dimension) if axis not in values]
        if not axes or not rest or len(values) < len(given):
            raise InvalidParameterError(f"give between 1 and {self.dimension - 1} of the variables a value, each once.")
        at = np.array([self._inside(axis, values[axis]) for axis in axes])
        found = [part.conditional(axes, at) for part in self.parts]
        heights = np.array([height for height, _ in found])
        if not np.isfinite(heights.max()):
            raise InvalidParameterError("the density is zero at these values; nothing can be said given them.")
        weights = np.exp(heights - heights.max())
        weights /= weights.sum()
        # Parts without weight at the values are left out.
        kept = [
            part.with_weight(float(weight)) for weight, (_, part) in zip(weights, found, strict=True) if weight > 1e-300
        ]
        return self._of(tuple(kept), rest, np.empty((0, len(rest))), np.empty(0))

    def _inside(self, axis: int, value: Array) -> float:
        lower, upper = self.box[axis]
        if value.ndim or not (np.isfinite(value) and lower <= value <= upper):
            limits = "" if math.isinf(lower) and math.isinf(upper) else f" inside its bounds {self.bounds[axis]}"
            raise InvalidParameterError(f"{self.names[axis]!r} must be given one finite number{limits}.")
        return float(value)

    def _of(
        self, parts: tuple[Part, ...], axes: list[int], points: Array, weights: Array
    ) -> "MultivariateDensity | AxisDensity":
        """A density of some of the variables."""
        if len(axes) == 1:
            return AxisDensity(parts, self.names[axes[0]], self.box[axes[0]], self.method)
        names, box = tuple(self.names[axis] for axis in axes), tuple(self.box[axis] for axis in axes)
        return MultivariateDensity(parts, points, weights, names, box, self.method)

    @quiet
    def cdf(self, x: ArrayLike, *, lower_limit: ArrayLike | None = None, error: float = 1e-3) -> Any:
        """Return the probability that every variable is at most `x`, and above `lower_limit` if that is given.

        Parameters
        ----------
        x, lower_limit : array_like of shape (..., d)
            Upper and lower ends of boxes; infinite where a side is open.
        error : float
            Largest absolute error, as estimated (3.5 standard errors of a randomised lattice rule).

        Raises
        ------
        PrecisionError
            If the error would be larger.
        """
        upper = self._read_points(x)
        lower = np.full(self.dimension, -math.inf) if lower_limit is None else self._read_points(lower_limit)
        lower, upper = np.broadcast_arrays(lower, upper)
        flat = zip(lower.reshape(-1, self.dimension), upper.reshape(-1, self.dimension), strict=True)
        found = np.array([math.nan if np.isnan([a, b]).any() else self._probability(a, b, error) for a, b in flat])
        return float(found[0]) if upper.ndim == 1 else found.reshape(upper.shape[:-1])

    def _probability(self, lower: Array, upper: Array, error: float) -> float:
        """The probability of a box; variables that it does not limit are left out, which is exact."""
        ends = zip(lower, upper, self.box, strict=True)
        limited = [axis for axis, (a, b, (low, high)) in enumerate(ends) if a > low or b < high]
        if not limited:
            return 1.0
        if len(limited) == 1 < self.dimension:
            margin, axis = self.marginal(limited), limited[0]
            return max(float(margin.cdf(upper[axis]) - margin.cdf(lower[axis])), 0.0)
        parts = self.parts if len(limited) == self.dimension else self.marginal(limited).parts
        return box_probability(parts, lower[limited], upper[limited], error)

    @cached_property
    def _draws(self) -> tuple[Array, Array]:
        """Draws, the same for every call, and the log-density there, ascending."""
        pairs_of_one = sum(len(part.components) for part in self.parts)
        count = min(max(_FEWEST_DRAWS, _MOST_PAIRS // pairs_of_one), _DRAWS)
        draws = draw_from_parts(self.parts, count, np.random.default_rng(0), even=True)
        return draws, np.sort(self.logpdf(np.clip(draws, *np.array(self.box).T)))

    @quiet
    def hdr_level(self, mass: ArrayLike) -> Any:
        """Return the level above which the density holds the probability `mass`, inside (0, 1).

        The region where the density is at least as high is the smallest with this probability (highest-density region).
        From 32,768 draws: the region's true probability differs from `mass` by less than 0.01; by less than 0.02 with
        more than 65,536 components, where there are fewer draws.
        """
        found = np.exp(self._log_level(mass))
        return float(found) if found.ndim == 0 else found

    def _log_level(self, mass: ArrayLike) -> Array:
        given = read_numbers(mass, "the probability of a region")
        if not np.all((given > 0.0) & (given < 1.0)):
            raise InvalidParameterError(f"the probability of a region must lie between 0 and 1, not {mass!r}.")
        return np.asarray(np.quantile(self._draws[1], 1.0 - given))

    @quiet
    def contains(self, x: ArrayLike, mass: float) -> Any:
        """Return whether points lie in the highest-density region with the probability `mass`, of shape (...)."""
        found = np.asarray(self.logpdf(x)) >= self._log_level(mass)
        return bool(found) if np.ndim(found) == 0 else found

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        return mean_and_covariance(self.parts)

    @quiet
    def mean(self) -> Array:
        """Return the expectation, of shape (d,): exact for parts in data units, by quadrature for normal scores."""
        return self._moments[0].copy()

    @quiet
    def cov(self) -> Array:
        """Return the covariance matrix (d, d).

        It is exact for parts in data units. If a component of Student's t in them has none, as of few observations,
        variances are infinite and covariances NaN. For parts of normal scores variances are integrals, and correlations
        come from 65,536 draws, accurate to about 0.005.
        """
        return self._moments[1].copy()

    @quiet
    def entropy(self) -> float:
        """Return the differential entropy in nats, the mean of -`logpdf` over the draws behind `hdr_level`.

        Its standard error is about 0.004 times the square root of d, and twice that with fewer draws.
        """
        return -float(np.mean(self._draws[1]))

    @quiet
    def modes(self, *, prominence: float = PROMINENCE) -> MultivariateModes:
        """Return the modes, the highest first.

        Parameters
        ----------
        prominence : float
            Report modes from which the density falls by at least this fraction of the highest density on the straight
            line to every higher mode, 0 to 1.
        """
        given = read_numbers(prominence, "the prominence")
        if given.ndim or not 0.0 <= given <= 1.0:
            raise InvalidParameterError(f"the prominence must lie between 0 and 1, not {prominence!r}.")
        candidates = self.points if len(self.points) else self._draws[0][:1000]
        return find_modes(lambda x: np.asarray(self.logpdf(x)), candidates, float(given))

    def __repr__(self) -> str:
        return (
            f"MultivariateDensity(n={len(self.points)}, names={self.names}, bounds={self.bounds}, "
            f"method={self.method!r})"
        )

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the density with matplotlib.

        With two variables: contours of the regions that hold 25, 50, 75 and 95 % of the probability, and the points, on
        `ax` (default: pyplot's current axes), which are returned. With more: a corner plot on a new figure, of which
        the axes are returned as an array (d, d). Options are those of `multivariate_plot.plot`: `levels`, `points`,
        `count`, `fill` and `color`.
        """
        return multivariate_plot.plot(self, ax, **options)
