"""Frozen densities: the Gaussian kernel estimate and its truncated-and-renormalised form.

A sample, a bandwidth and bounds enter; log-density, density, distribution function, quantiles and draws leave. How the
bandwidth was chosen is not known here.
"""

import math
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde import figures, shape
from amortized_kde.domain import Bounds, Domain, check_inside, read_bounds, working_domain
from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.kernels import KernelSum, central_mass
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.sample import Nan, Sample, read_numbers, read_sample

__all__ = ["KernelDensity"]

Array = NDArray[np.float64]
Loop = Callable[[Array, Array, int, int], None]

FORMAT = 1
_STATE = ("_kernels", "_weights", "_bounds", "_domain", "_method")
_SAVED = {"points", "weights", "bandwidth", "bounds", "domain", "method"}


class KernelDensity:
    r"""A Gaussian kernel density, truncated to its bounds and renormalised.

    .. math:: q(x) = \frac{1}{Z} \sum_i w_i \frac{1}{h} \phi\Big(\frac{x - x_i}{h}\Big) \quad (A \le x \le B),

    with Z the mass of the sum between A and B (paper, eqs. 2 and 8). Without bounds Z = 1.

    Parameters
    ----------
    x : array_like of shape (n,)
        The sample, in data units.
    bandwidth : float
        Standard deviation h of the kernel, in data units, positive and finite.
    bounds : (float or None, float or None), optional
        Hard limits (A, B); None leaves a side open.
    weights : array_like of shape (n,), optional
        Importance weights; only their ratios matter.
    nan : {"raise", "omit"}
        What to do with missing values in `x`.

    Raises
    ------
    InvalidSampleError, InvalidBoundsError, InvalidParameterError
        For a sample, bounds or a bandwidth that cannot be used; the sentence says why.

    Notes
    -----
    Memory is linear in n. `logpdf` sums directly over the points that matter at each argument, so its cost is between
    O(log n) and O(n) for each; it is finite hundreds of bandwidths away from all points. Instances do not change; they
    compare by identity, and can be pickled, saved and shared between threads. Arguments that are NaN give NaN.

    Examples
    --------
    >>> d = KernelDensity([0.2, 0.3, 0.7], bandwidth=0.1, bounds=(0, 1))
    >>> round(d.pdf(0.25), 4)
    2.3672
    >>> d.cdf([0.0, 1.0])
    array([0., 1.])
    """

    _kernels: KernelSum
    _weights: Array
    _bounds: Bounds
    _domain: Domain | None
    _method: str

    def __init__(
        self,
        x: ArrayLike,
        bandwidth: float,
        *,
        bounds: Sequence[float | None] | None = None,
        weights: ArrayLike | None = None,
        nan: Nan = "raise",
    ) -> None:
        self._build(read_sample(x, weights=weights, nan=nan), bandwidth, read_bounds(bounds), None, "given")

    @classmethod
    def from_sample(
        cls,
        sample: Sample,
        bandwidth: float,
        bounds: Bounds,
        *,
        domain: Domain | None = None,
        method: str = "given",
    ) -> "KernelDensity":
        """Make a density from parts that were read already; `method` names the bandwidth's origin."""
        density = cls.__new__(cls)
        density._build(sample, bandwidth, bounds, domain, method)
        return density

    def _build(self, sample: Sample, bandwidth: float, bounds: Bounds, domain: Domain | None, method: str) -> None:
        check_inside(sample.values, bounds)
        h = _read_bandwidth(bandwidth)
        n = sample.values.size
        weights = np.full(n, 1.0 / n) if sample.weights is None else sample.weights
        inside = central_mass((bounds.lower - sample.values) / h, (bounds.upper - sample.values) / h)
        # One row a bandwidth: the core takes several bandwidths with a coefficient for each point.
        coefficients = (weights / math.fsum(weights * inside))[None, :]
        kernels = KernelSum(sample.values, np.array([h]), coefficients, bounds.lower, bounds.upper)
        self.__setstate__((kernels, weights, bounds, domain, method))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a KernelDensity does not change; make a new one instead of setting {name}.")

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in _STATE)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__dict__.update(zip(_STATE, state, strict=True))
        self._weights.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"KernelDensity(n={self.points.size}, bandwidth={self.bandwidth:.6g}, bounds={self.bounds}, "
            f"method={self.method!r})"
        )

    @property
    def points(self) -> Array:
        """The sample, ascending, without points of weight zero."""
        return self._kernels.points

    @property
    def weights(self) -> Array:
        """The points' weights, which sum to 1."""
        return self._weights

    @property
    def bandwidth(self) -> float:
        """Standard deviation of the kernel, in data units."""
        return float(self._kernels.bandwidths[0])

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The hard limits (A, B), None where a side is open."""
        lower, upper = self._bounds
        return (None if lower == -math.inf else lower, None if upper == math.inf else upper)

    @property
    def method(self) -> str:
        """Name of the selector that gave the bandwidth, or ``"given"``."""
        return self._method

    @cached_property
    def domain(self) -> tuple[float, float]:
        """The working domain: the bounds, and where a side is open, the widened range of the data."""
        if self._domain is not None:
            return self._domain.lower, self._domain.upper
        if self.points[0] < self.points[-1]:
            domain = working_domain(self.points, self._bounds)
            return domain.lower, domain.upper
        # A single value: the bandwidth is the only scale there is.
        margin, (lower, upper) = 3.0 * self.bandwidth, self._bounds
        low = float(self.points[0]) - margin if lower == -math.inf else lower
        return (low, float(self.points[0]) + margin if upper == math.inf else upper)

    def _evaluate(self, loop: Loop, at: ArrayLike, threads: int | None) -> Any:
        """Run a compiled loop over the arguments, in any shape; a single number gives a float."""
        given = read_numbers(at, "the argument")
        flat = given.ravel()
        out = np.empty(flat.size)
        operations = float(flat.size) * self._kernels.coefficients.size
        run_in_pieces(lambda i, j: loop(flat, out, i, j), flat.size, operations=operations, threads=threads)
        return float(out[0]) if given.ndim == 0 else out.reshape(given.shape)

    def logpdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Natural logarithm of the density at `y`, in the shape of `y`; minus infinity outside the bounds.

        Parameters
        ----------
        y : array_like
            Where to evaluate, in data units.
        threads : int, optional
            At most so many threads; by default all cores.

        Examples
        --------
        >>> round(KernelDensity([0.0], bandwidth=1.0).logpdf(100.0), 4)
        -5000.9189
        """
        return self._evaluate(self._kernels.log_density, y, threads)

    def pdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Density at `y`, in the shape of `y`: the exponential of `logpdf`."""
        return _exp(self.logpdf(y, threads=threads))

    def cdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Probability of values up to `y`, in the shape of `y`.

        Examples
        --------
        >>> KernelDensity([-1.0, 1.0], bandwidth=0.5).cdf(0.0)
        0.5
        """
        return _exp(self.logcdf(y, threads=threads))

    def sf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Probability of values above `y`, accurate where it is tiny."""
        return _exp(self.logsf(y, threads=threads))

    def logcdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Natural logarithm of `cdf`, exact where `cdf` underflows."""
        return self._evaluate(self._kernels.log_cdf, y, threads)

    def logsf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Natural logarithm of the probability above `y`, exact where that underflows."""
        return self._evaluate(self._kernels.log_sf, y, threads)

    def ppf(self, p: ArrayLike, *, threads: int | None = None) -> Any:
        """Quantile: the x with cdf(x) = p to 1e-12, or to the spacing of float64 numbers at x if that is coarser.

        Raises
        ------
        InvalidParameterError
            If an entry of `p` is outside [0, 1] or NaN.

        Examples
        --------
        >>> KernelDensity([2.0, 4.0], bandwidth=1.0).ppf(0.5)
        3.0
        """
        given = read_numbers(p, "p")
        if not np.all((given >= 0.0) & (given <= 1.0)):
            raise InvalidParameterError("probabilities must lie in [0, 1].")
        return self._evaluate(self._kernels.quantile, given, threads)

    def sample(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator | int | None = None) -> Any:
        """Draw from the density, exactly and inside the bounds.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the draws; a single float without it.
        rng : numpy.random.Generator or int, optional
            Where randomness comes from; the same seed gives the same draws.

        Raises
        ------
        InvalidParameterError
            If `size` is negative or not whole.

        Examples
        --------
        >>> KernelDensity([0.0, 1.0], bandwidth=0.1, bounds=(0, 1)).sample(3, rng=1).shape
        (3,)
        """
        sides = () if size is None else np.atleast_1d(size)
        if not all(isinstance(side, np.integer) and side >= 0 for side in sides):
            raise InvalidParameterError(f"size must be a whole number or several of them, not {size!r}.")
        count = int(np.prod(sides))
        draws = self._kernels.draw(count, np.random.default_rng(rng))
        return float(draws[0]) if size is None else draws.reshape(size)

    def mean(self) -> float:
        """Expectation of the density, exactly: the kernels' truncated means, weighted by their masses."""
        return self._kernels.mean()

    def interval(
        self, mass: float, *, kind: Literal["equal-tailed", "highest-density"] = "equal-tailed"
    ) -> tuple[float, float]:
        """Interval that holds the probability `mass`.

        ``equal-tailed`` leaves the same probability on both sides. ``highest-density`` is the shortest interval; where
        the density has several modes, `region` may be shorter still.

        Examples
        --------
        >>> d = KernelDensity([0.0], bandwidth=1.0)
        >>> tuple(round(end, 3) for end in d.interval(0.9))
        (-1.645, 1.645)
        """
        _check_mass(mass)
        tail = 0.5 * (1.0 - mass)
        if kind == "equal-tailed":
            return self.ppf(tail), self.ppf(1.0 - tail)
        if kind == "highest-density":
            return shape.shortest_interval(self.ppf, mass)
        raise InvalidParameterError(f'kind must be "equal-tailed" or "highest-density", not {kind!r}.')

    def region(self, mass: float) -> Array:
        """Smallest set that holds the probability `mass`, as disjoint intervals of shape (k, 2).

        Its edges are those of a level of the density, so every point inside is at least as dense as any outside.
        """
        _check_mass(mass)
        return shape.highest_density_region(self.logpdf, self.cdf, self._turning_points, mass)

    def modes(self, *, prominence: float = 0.0) -> Array:
        """Local maxima, ascending; maxima at a bound count.

        Parameters
        ----------
        prominence : float
            Leave out maxima that rise less than this share of the highest one above the valley to a higher one.

        Examples
        --------
        >>> KernelDensity([5.0, 20.0], bandwidth=1.0).modes().round(6)
        array([ 5., 20.])
        """
        return shape.modes(self.logpdf, self._turning_points, prominence)

    @cached_property
    def _turning_points(self) -> Array:
        lower, upper = self._bounds
        low = self.ppf(1e-14) if lower == -math.inf else lower
        high = self.ppf(1.0 - 1e-14) if upper == math.inf else upper
        grid = shape.critical_grid(self.points, float(self._kernels.bandwidths.min()), low, high)
        return shape.turning_points(self.logpdf, grid)

    def grid(self, count: int = 512) -> Array:
        """Equally spaced arguments that show the density: the data and four bandwidths beyond, within the bounds."""
        if not isinstance(count, (int, np.integer)) or count < 2:
            raise InvalidParameterError(f"a grid needs at least 2 points, not {count!r}.")
        margin = 4.0 * float(self._kernels.bandwidths.max())
        low = max(self._bounds.lower, float(self.points[0]) - margin)
        high = min(self._bounds.upper, float(self.points[-1]) + margin)
        return np.linspace(low, high, count)

    def plot(self, ax: Any = None, *, count: int = 512, rug: bool = True, label: str | None = None) -> Any:
        """Draw the density with its rug and bounds on matplotlib axes, which are returned.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        grid = self.grid(count)
        return figures.draw_density(
            ax, grid, self.pdf(grid), points=self.points if rug else None, bounds=self.bounds, label=label
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the density to a file in NumPy's npz format; no pickle is involved."""
        with open(path, "wb") as file:
            np.savez(
                file,
                format=FORMAT,
                points=self.points,
                weights=self._weights,
                bandwidth=self.bandwidth,
                bounds=np.array(self._bounds),
                domain=np.array(self._domain if self._domain is not None else ()),
                method=self._method,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "KernelDensity":
        """Read a density that `save` wrote.

        Raises
        ------
        UnreadableFileError
            If the file is not there, not such a density, or of a newer format.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                stored = {name: file[name] for name in file.files}
            saved_format = int(stored["format"])
        except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile) as error:
            raise UnreadableFileError(f"{os.fspath(path)} cannot be read as a saved density ({error}).") from None
        if saved_format != FORMAT or not stored.keys() >= _SAVED:
            raise UnreadableFileError(f"{os.fspath(path)} is not a density saved in format {FORMAT}.")
        sample = Sample(stored["points"], stored["weights"])
        domain = Domain(*map(float, stored["domain"])) if stored["domain"].size else None
        bounds = Bounds(*map(float, stored["bounds"]))
        return cls.from_sample(sample, float(stored["bandwidth"]), bounds, domain=domain, method=str(stored["method"]))


def _read_bandwidth(bandwidth: float) -> float:
    h = read_numbers(bandwidth, "bandwidth")
    if h.ndim != 0 or not 0.0 < h < math.inf:
        raise InvalidParameterError(f"the bandwidth must be a single positive finite number, not {bandwidth!r}.")
    return float(h)


def _check_mass(mass: float) -> None:
    if not 0.0 < mass < 1.0:
        raise InvalidParameterError(f"the probability of an interval must lie between 0 and 1, not {mass!r}.")


def _exp(log: Any) -> Any:
    return math.exp(log) if isinstance(log, float) else np.exp(log)
