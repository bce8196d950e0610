"""Frozen densities: the Gaussian kernel estimate with one bandwidth, or with a ladder of them and a share of each for
every point.

A sample, bandwidths and bounds enter; log-density, density, distribution function, quantiles and draws leave. How the
bandwidths were chosen is not known here.
"""

import math
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde import figures, shape
from amortized_kde.background import Background
from amortized_kde.domain import Bounds, Domain, read_bounds, working_domain
from amortized_kde.errors import InvalidParameterError
from amortized_kde.kernels import KernelSum, ladder_sum, truncated_sum
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.parts import Parts, ladder_parts, load_parts, one_bandwidth_parts, save_parts
from amortized_kde.sample import Nan, Sample, read_numbers, read_sample

__all__ = ["KernelDensity"]

Array = NDArray[np.float64]
Loop = Callable[[Array, Array, int, int], None]


class KernelDensity:
    r"""A Gaussian kernel density, truncated to its bounds and renormalised.

    .. math:: q(x) = \frac{1}{Z} \sum_i w_i \frac{1}{h} \phi\Big(\frac{x - x_i}{h}\Big) \quad (A \le x \le B),

    with Z the mass of the sum between A and B (paper, eqs. 2 and 8). Without bounds Z = 1. `from_ladder` makes one with
    several bandwidths, of which every point has its own shares, and a background.

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
    Memory is linear in n times the number of bandwidths. With one bandwidth `logpdf` sums directly over the points that
    matter at each argument, so its cost is between O(log n) and O(n) for each. With several, and for probabilities,
    points that are close together for a bandwidth are condensed first, which changes the sums by 1e-14 of themselves.
    All logarithms are finite and exact hundreds of bandwidths away from all points. Instances do not change; they
    compare by identity, and can be pickled, saved and shared between threads. Arguments that are NaN give NaN.

    Examples
    --------
    >>> d = KernelDensity([0.2, 0.3, 0.7], bandwidth=0.1, bounds=(0, 1))
    >>> round(d.pdf(0.25), 4)
    2.3672
    >>> d.cdf([0.0, 1.0])
    array([0., 1.])
    """

    _parts: Parts

    def __init__(
        self,
        x: ArrayLike,
        bandwidth: float,
        *,
        bounds: Sequence[float | None] | None = None,
        weights: ArrayLike | None = None,
        nan: Nan = "raise",
    ) -> None:
        sample = read_sample(x, weights=weights, nan=nan)
        self.__setstate__(one_bandwidth_parts(sample, bandwidth, read_bounds(bounds), None, "given"))

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
        return cls._from_parts(one_bandwidth_parts(sample, bandwidth, bounds, domain, method))

    @classmethod
    def from_ladder(
        cls,
        sample: Sample,
        bandwidths: ArrayLike,
        shares: ArrayLike,
        *,
        bounds: Bounds,
        epsilon: float = 0.0,
        background: Background | None = None,
        domain: Domain | None = None,
        method: str = "given",
    ) -> "KernelDensity":
        r"""Make a density with a ladder of bandwidths, of which every point takes its own shares, and a background.

        .. math:: q(x) = (1 - \varepsilon) \sum_{i,k} v_i \frac{w_{ki}}{Z_{ki}} \frac{1}{h_k}
            \phi\Big(\frac{x - x_i}{h_k}\Big) + \varepsilon\, b(x) \quad (A \le x \le B),

        with v the points' weights and Z_ki the mass of that kernel between A and B: each is renormalised by itself.

        Parameters
        ----------
        sample : Sample
            The points and their weights.
        bandwidths : array_like of shape (r,)
            The rungs h, ascending, in data units.
        shares : array_like of shape (r, n)
            w, not negative; for each point they sum to 1 over the rungs. Zeros cost nothing.
        bounds : Bounds
            Hard limits (A, B).
        epsilon : float
            Probability of the background, in [0, 1).
        background : Background
            The density b, with the same bounds; None only if `epsilon` is 0.
        domain, method
            As in `from_sample`.

        Raises
        ------
        InvalidParameterError
            If these do not fit each other; the sentence says how.

        Examples
        --------
        >>> d = KernelDensity.from_ladder(
        ...     read_sample([0.2, 0.3, 0.7]), [0.1, 0.2], [[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]],
        ...     bounds=Bounds(0.0, 1.0), epsilon=0.01, background=Background(0.0, 1.0, location=0.3, scale=0.2),
        ... )
        >>> d
        KernelDensity(n=3, bandwidth=0.141421, rungs=2, epsilon=0.01, bounds=(0.0, 1.0), method='given')
        >>> d.local_bandwidths.round(4)
        array([0.1   , 0.1414, 0.2   ])
        >>> round(d.pdf(0.25), 4)
        2.1786
        """
        parts = ladder_parts(
            sample,
            bandwidths,
            shares,
            epsilon=epsilon,
            background=background,
            bounds=bounds,
            domain=domain,
            method=method,
        )
        return cls._from_parts(parts)

    @classmethod
    def _from_parts(cls, parts: Parts) -> "KernelDensity":
        density = cls.__new__(cls)
        density.__setstate__(parts)
        return density

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a KernelDensity does not change; make a new one instead of setting {name}.")

    def __getstate__(self) -> tuple[Any, ...]:
        return self._parts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__dict__["_parts"] = Parts(*state)
        for array in self._parts:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @cached_property
    def _kernels(self) -> KernelSum:
        parts = self._parts
        if parts.shares is None:
            return truncated_sum(parts.points, parts.weights, float(parts.bandwidths[0]), *parts.bounds)
        return ladder_sum(
            parts.points,
            parts.weights,
            parts.bandwidths,
            parts.shares,
            limits=parts.bounds,
            epsilon=parts.epsilon,
            background=parts.background,
        )

    def __repr__(self) -> str:
        ladder = f"rungs={self.bandwidths.size}, epsilon={self.epsilon:.6g}, " if self._parts.shares is not None else ""
        return (
            f"KernelDensity(n={self.points.size}, bandwidth={self.bandwidth:.6g}, {ladder}bounds={self.bounds}, "
            f"method={self.method!r})"
        )

    @property
    def points(self) -> Array:
        """The sample, ascending, without points of weight zero."""
        return self._parts.points

    @property
    def weights(self) -> Array:
        """The points' weights, which sum to 1."""
        return self._parts.weights

    @property
    def bandwidths(self) -> Array:
        """Standard deviations of the kernels, one a rung, ascending, in data units."""
        return self._parts.bandwidths

    @property
    def shares(self) -> Array:
        """How much of each point is spread by each rung's kernel, of shape (rungs, n); over the rungs they sum to 1."""
        if self._parts.shares is None:
            return np.broadcast_to(1.0, (1, self.points.size))
        return self._parts.shares

    @property
    def epsilon(self) -> float:
        """Probability of the background."""
        return self._parts.epsilon

    @property
    def background(self) -> Background | None:
        """The broad density that has the probability `epsilon`, or None."""
        return self._parts.background

    @cached_property
    def local_bandwidths(self) -> Array:
        """Bandwidth at each point, of shape (n,): the geometric mean of the rungs, weighted by the point's shares."""
        if self._parts.shares is None:
            local = np.full(self.points.size, self.bandwidth)
        else:
            local = np.exp(np.log(self.bandwidths) @ self.shares)
        local.flags.writeable = False
        return local

    @property
    def bandwidth(self) -> float:
        """Standard deviation of the kernel, in data units.

        With several rungs the geometric mean of the points' `local_bandwidths`, weighted by the points' weights: an
        arithmetic mean would say only how wide the widest kernels are.
        """
        if self._parts.shares is None:
            return float(self.bandwidths[0])
        return float(np.exp(self.weights @ np.log(self.local_bandwidths)))

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The hard limits (A, B), None where a side is open."""
        lower, upper = self._parts.bounds
        return (None if lower == -math.inf else lower, None if upper == math.inf else upper)

    @property
    def method(self) -> str:
        """Name of the selector that gave the bandwidth, or ``"given"``."""
        return self._parts.method

    @cached_property
    def domain(self) -> tuple[float, float]:
        """The working domain: the bounds, and where a side is open, the widened range of the data."""
        if self._parts.domain is not None:
            return self._parts.domain.lower, self._parts.domain.upper
        if self.points[0] < self.points[-1]:
            domain = working_domain(self.points, self._parts.bounds)
            return domain.lower, domain.upper
        # A single value: the bandwidth is the only scale there is.
        margin, (lower, upper) = 3.0 * self.bandwidth, self._parts.bounds
        low = float(self.points[0]) - margin if lower == -math.inf else lower
        return (low, float(self.points[0]) + margin if upper == math.inf else upper)

    def _evaluate(self, loop: Loop, at: ArrayLike, threads: int | None, *, effort: float) -> Any:
        """Run a loop over the arguments, in any shape; a single number gives a float.

        `effort` is what a kernel costs at an argument, relative to a kernel's density.
        """
        given = read_numbers(at, "the argument")
        flat = given.ravel()
        out = np.empty(flat.size)
        operations = effort * flat.size * self.bandwidths.size * self.points.size
        if operations >= 1e5:
            # What all pieces share is made once, by the first argument, and not by several threads at a time.
            loop(flat, out, 0, 1)
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
        return self._evaluate(self._kernels.log_density, y, threads, effort=1.0)

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
        return self._evaluate(self._kernels.log_cdf, y, threads, effort=0.2)

    def logsf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Natural logarithm of the probability above `y`, exact where that underflows."""
        return self._evaluate(self._kernels.log_sf, y, threads, effort=0.2)

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
        return self._evaluate(self._kernels.quantile, given, threads, effort=0.2)

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
        lower, upper = self._parts.bounds
        low = self.ppf(1e-14) if lower == -math.inf else lower
        high = self.ppf(1.0 - 1e-14) if upper == math.inf else upper
        return shape.turning_points(self.logpdf, shape.critical_grid(self._scales(), low, high))

    def _scales(self) -> list[tuple[Array, float]]:
        """Where structure of which width may be: the kernels of each rung, and the background."""
        rungs, background = self._kernels.rungs, self.background
        places = np.split(rungs.places, rungs.offsets[1:-1])
        scales = list(zip(places, rungs.bandwidths.tolist(), strict=True))
        if background is not None and self.epsilon > 0.0 and None in self.bounds:
            scales.append((np.array([background.location]), background.scale))
        return scales

    def grid(self, count: int = 512) -> Array:
        """Even arguments that show the density: the data and four local bandwidths beyond, inside the bounds."""
        if not isinstance(count, (int, np.integer)) or count < 2:
            raise InvalidParameterError(f"a grid needs at least 2 points, not {count!r}.")
        low = max(self._parts.bounds.lower, float(np.min(self.points - 4.0 * self.local_bandwidths)))
        high = min(self._parts.bounds.upper, float(np.max(self.points + 4.0 * self.local_bandwidths)))
        return np.linspace(low, high, count)

    def plot(self, ax: Any = None, *, count: int = 512, rug: bool = True, label: str | None = None) -> Any:
        """Draw the density with its rug and bounds on matplotlib axes, which are returned.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        grid = self.grid(count)
        if self.bandwidths.size > 1:
            # A peak may be narrower than the steps of an even grid, but not than those of the quantiles.
            inside = self.ppf(np.linspace(0.0, 1.0, count + 2)[1:-1])
            grid = np.union1d(grid, inside[(inside > grid[0]) & (inside < grid[-1])])
        return figures.draw_density(
            ax, grid, self.pdf(grid), points=self.points if rug else None, bounds=self.bounds, label=label
        )

    def plot_bandwidth(self, ax: Any = None) -> Any:
        """Draw the bandwidth at each point on matplotlib axes, which are returned; raises as `plot`."""
        return figures.draw_bandwidths(
            ax, self.points, self.local_bandwidths, overall=self.bandwidth, bounds=self.bounds
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the density to a file in NumPy's npz format; no pickle is involved."""
        save_parts(self._parts, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "KernelDensity":
        """Read a density that `save` wrote.

        Raises
        ------
        UnreadableFileError
            If the file is not there, not such a density, or of a newer format.
        """
        return cls._from_parts(load_parts(path))


def _check_mass(mass: float) -> None:
    if not 0.0 < mass < 1.0:
        raise InvalidParameterError(f"the probability of an interval must lie between 0 and 1, not {mass!r}.")


def _exp(log: Any) -> Any:
    return math.exp(log) if isinstance(log, float) else np.exp(log)
