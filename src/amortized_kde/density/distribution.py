"""What people expect of a distribution, under the names that SciPy's frozen distributions have.

Arguments as people write them enter, in any shape, and are checked; numbers in that shape leave. All that is computed
is asked of a core, `KernelSum`; what the density is made of, is not known here.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_numbers
from amortized_kde.density import shape
from amortized_kde.density.entropy import entropy
from amortized_kde.density.kernels import KernelSum
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.threads import run_in_pieces

Loop = Callable[[Array, Array, int, int], None]

# Where entropy is integrated: up to the bounds, or if there are none, to where what is left is worth 1e-14 nats.
_TAILS = np.array([0.0, 1e-16, 1e-3, 0.1, 0.3, 0.5])


class Distribution(ABC):
    """The methods of a density over the core that a subclass provides."""

    @property
    @abstractmethod
    def _kernels(self) -> KernelSum:
        """The core."""

    def _evaluate(self, loop: Loop, at: ArrayLike, threads: int | None, *, effort: float) -> Any:
        """Run a loop over the arguments, in any shape; a single number gives a float.

        `effort` is what a kernel costs at an argument, relative to a kernel's density.
        """
        given = read_numbers(at, "the argument")
        flat = given.ravel()
        out = np.empty(flat.size)
        operations = effort * flat.size * self._kernels.count
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
        >>> from amortized_kde import KernelDensity
        >>> round(KernelDensity([0.0], bandwidth=1.0).logpdf(100.0), 4)
        -5000.9189
        """
        return self._evaluate(self._kernels.log_density, y, threads, effort=1.0)

    def pdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Density at `y`, in the shape of `y`: the exponential of `logpdf`.

        Of large samples (65,536 points and more) it is computed from binned kernels, with a relative error of at most
        1e-6 everywhere, and most often 1e-12; `logpdf` is not.
        """
        kernels = self._kernels
        if kernels.crowd is None:
            return _exp(self.logpdf(y, threads=threads))
        given = read_numbers(y, "the argument")
        kernels.prepare_bins(threads)
        found = np.asarray(self._evaluate(kernels.binned_density, given, threads, effort=0.01))
        untold = np.isnan(found) & ~np.isnan(given)
        if untold.any():
            logs = self._evaluate(kernels.condensed_log_density, given[untold], threads, effort=1.0)
            found[untold] = np.exp(logs)
        return float(found) if given.ndim == 0 else found

    def cdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Probability of values up to `y`, in the shape of `y`.

        Examples
        --------
        >>> from amortized_kde import KernelDensity
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
        >>> from amortized_kde import KernelDensity
        >>> KernelDensity([2.0, 4.0], bandwidth=1.0).ppf(0.5)
        3.0
        """
        return self._evaluate(self._kernels.quantile, _probabilities(p), threads, effort=0.2)

    def isf(self, q: ArrayLike, *, threads: int | None = None) -> Any:
        """Upper quantile: the x with sf(x) = q, as accurate in the far upper tail as `ppf` in the lower; raises as it.

        Examples
        --------
        >>> from amortized_kde import KernelDensity
        >>> round(KernelDensity([0.0], bandwidth=1.0).isf(1e-30), 4)
        11.464
        """
        return self._evaluate(self._kernels.upper_quantile, _probabilities(q), threads, effort=0.2)

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
        >>> from amortized_kde import KernelDensity
        >>> KernelDensity([0.0, 1.0], bandwidth=0.1, bounds=(0, 1)).sample(3, rng=1).shape
        (3,)
        """
        sides = () if size is None else np.atleast_1d(size)
        if not all(isinstance(side, np.integer) and side >= 0 for side in sides):
            raise InvalidParameterError(f"size must be a whole number or several of them, not {size!r}.")
        count = int(np.prod(sides))
        draws = self._kernels.draw(count, np.random.default_rng(rng))
        return float(draws[0]) if size is None else draws.reshape(size)

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | np.random.RandomState | int | None = None,
    ) -> Any:
        """Draw as `sample` does, under SciPy's names.

        An old `numpy.random.RandomState` gives the seed of a new generator. NumPy's global state is not looked at:
        without `random_state` no two calls are alike, whatever `numpy.random.seed` was told.

        Examples
        --------
        >>> from amortized_kde import KernelDensity
        >>> d = KernelDensity([0.0, 1.0], bandwidth=0.1)
        >>> bool((d.rvs(size=3, random_state=1) == d.sample(3, rng=1)).all())
        True
        """
        if isinstance(random_state, np.random.RandomState):
            random_state = np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
        return self.sample(size, rng=random_state)

    def support(self) -> tuple[float, float]:
        """The bounds, infinite where a side is open."""
        return self._kernels.lower, self._kernels.upper

    def mean(self) -> float:
        """Expectation of the density, exactly: the kernels' truncated means, weighted by their masses."""
        return self._kernels.mean()

    def std(self) -> float:
        """Standard deviation of the density, exactly, with the kernels' width in it and without what bounds cut off.

        It may be well above the sample's. An adaptive density keeps a little probability far out, in wide kernels and
        the background, for what the sample has not shown; squares make much of that, and `interval` does not.

        Examples
        --------
        >>> from amortized_kde import KernelDensity
        >>> round(KernelDensity([-3.0, 3.0], bandwidth=4.0).std(), 12)
        5.0
        """
        return self._kernels.std()

    def var(self) -> float:
        """Variance of the density: the square of `std`."""
        return self.std() ** 2

    def median(self) -> float:
        """Median of the density, its quantile at 1/2."""
        return float(self.ppf(0.5))

    def entropy(self) -> float:
        r"""Differential entropy :math:`-\int q \log q`, in nats as SciPy's; divide by log 2 for bits.

        It is what the density expects to score itself. By quadrature to 1e-9, which asks for the density at some ten
        thousand arguments, and at more if there are thousands of separate peaks. Where float64 numbers are a
        noticeable part of a bandwidth apart, it is as good as they allow; NaN if that is no good.

        Examples
        --------
        >>> from amortized_kde import KernelDensity
        >>> round(KernelDensity([0.0], bandwidth=1.0).entropy(), 10)  # log(2 pi e) / 2
        1.4189385332
        """
        edges = np.unique([self.ppf(_TAILS), self.isf(_TAILS)])
        return entropy(self.logpdf, self.cdf, edges[np.isfinite(edges)])

    def interval(
        self, confidence: ArrayLike, *, kind: Literal["equal-tailed", "highest-density"] = "equal-tailed"
    ) -> tuple[Any, Any]:
        """Interval that holds the probability `confidence`.

        ``equal-tailed`` leaves the same probability on both sides, and takes arrays too. ``highest-density`` is the
        shortest interval; where the density has several modes, `region` may be shorter still.

        Raises
        ------
        InvalidParameterError
            If a probability is outside [0, 1], or for the shortest interval not a single one inside (0, 1).

        Examples
        --------
        >>> from amortized_kde import KernelDensity
        >>> d = KernelDensity([0.0], bandwidth=1.0)
        >>> tuple(round(end, 3) for end in d.interval(0.9))
        (-1.645, 1.645)
        """
        if kind == "equal-tailed":
            tail = 0.5 * (1.0 - _probabilities(confidence))
            return self.ppf(tail), self.isf(tail)
        if kind == "highest-density":
            return shape.shortest_interval(self.ppf, _mass(confidence))
        raise InvalidParameterError(f'kind must be "equal-tailed" or "highest-density", not {kind!r}.')

    def region(self, mass: float) -> Array:
        """Smallest set that holds the probability `mass`, as disjoint intervals of shape (k, 2).

        Its edges are those of a level of the density, so every point inside is at least as dense as any outside.
        """
        return shape.highest_density_region(self.logpdf, self.cdf, self._turning_points, _mass(mass))

    def modes(self, *, prominence: float = 0.0) -> Array:
        """Local maxima, ascending; maxima at a bound count.

        Parameters
        ----------
        prominence : float
            Leave out maxima that rise less than this share of the highest one above the valley to a higher one.

        Examples
        --------
        >>> from amortized_kde import KernelDensity
        >>> KernelDensity([5.0, 20.0], bandwidth=1.0).modes().round(6)
        array([ 5., 20.])
        """
        return shape.modes(self.logpdf, self._turning_points, prominence)

    @cached_property
    def _turning_points(self) -> Array:
        lower, upper = self.support()
        low = self.ppf(1e-14) if lower == -math.inf else lower
        high = self.isf(1e-14) if upper == math.inf else upper
        return shape.turning_points(self.logpdf, shape.critical_grid(self._kernels.scales(), low, high))


def _probabilities(p: ArrayLike) -> Array:
    given = read_numbers(p, "a probability")
    if not np.all((given >= 0.0) & (given <= 1.0)):
        raise InvalidParameterError("probabilities must lie in [0, 1].")
    return given


def _mass(mass: ArrayLike) -> float:
    given = read_numbers(mass, "the probability of an interval")
    if given.ndim != 0 or not 0.0 < given < 1.0:
        raise InvalidParameterError(f"the probability of an interval must lie between 0 and 1, not {mass!r}.")
    return float(given)


def _exp(log: Any) -> Any:
    return math.exp(log) if isinstance(log, float) else np.exp(log)
