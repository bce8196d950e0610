"""What a density is as a probability distribution: densities, probabilities, quantiles, draws, moments, entropy."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde.data.reading import read_numbers
from amortized_kde.density import moments, shape, units
from amortized_kde.density.arguments import read_mass, read_probabilities, read_rng, read_size
from amortized_kde.density.composition import Composition
from amortized_kde.density.curve import Function
from amortized_kde.density.entropy import check_resolved, entropy
from amortized_kde.density.scipy_names import ScipyNames
from amortized_kde.density.tabulated import TABULATED_FROM
from amortized_kde.density.units import in_ordinary_units
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.floats import quiet
from amortized_kde.numerics.threads import available_threads, run_in_pieces

# Quantiles between which entropy is integrated: what lies farther out is worth 1e-14 nats.
_ENTROPY_TAILS = np.array([1e-16, 1e-3, 0.1, 0.3, 0.5])
# Operations, some milliseconds, from which several threads are worth their start.
_SHARED_FROM = 4e6


class Distribution(Composition, ScipyNames):
    """Methods of a distribution; `KernelDensity` inherits them."""

    def _evaluate(
        self, function: Function, at: ArrayLike, threads: int | None, effort: float, tabulated: Function | None = None
    ) -> Any:
        """Evaluate a function; `effort` is a kernel's cost relative to that of its density.

        Many arguments are read from a table, if the function has one, and where that is NaN computed in pieces.
        """
        given = read_numbers(at, "the argument")
        flat = given.ravel()
        many = tabulated is not None and flat.size >= TABULATED_FROM
        out = tabulated(flat) if tabulated is not None and many else np.full(flat.size, math.nan)
        left = np.flatnonzero(np.isnan(out) & ~np.isnan(flat)) if many else np.arange(flat.size)

        def evaluate_piece(i: int, j: int) -> None:
            out[left[i:j]] = function(flat[left[i:j]])

        operations, limit = effort * left.size * self._kernels.source.count, available_threads(threads)
        if operations >= _SHARED_FROM:
            # What all pieces share is cached by the first argument, not by several threads at the same time.
            evaluate_piece(0, 1)
        if left.size:
            limit = limit if operations >= _SHARED_FROM else 1
            run_in_pieces(evaluate_piece, left.size, operations=operations, threads=limit)
        return float(out[0]) if given.ndim == 0 else out.reshape(given.shape)

    @in_ordinary_units(units.log_densities, of_places=True)
    def logpdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the natural logarithm of the density, minus infinity outside the bounds.

        Inside it is finite: where it is below -1.8e308, the lowest float64, it is that.

        Parameters
        ----------
        y : array_like
            Where to evaluate, in data units.
        threads : int, optional
            At most this many threads; default: all cores.

        Returns
        -------
        float or ndarray in the shape of `y`

        Examples
        --------
        >>> import amortized_kde as akde
        >>> round(akde.KernelDensity([0.0], bandwidth=1.0).logpdf(100.0), 4)
        -5000.9189
        """
        kernels = self._kernels
        tabulated = None if kernels.source.direct else kernels.tabulated.log_density
        return self._evaluate(kernels.log_density, y, threads, effort=1.0, tabulated=tabulated)

    @in_ordinary_units(units.densities, of_places=True)
    def pdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the density, the exponential of `logpdf`; parameters as there.

        For large samples (65,536 points and more) it is computed from binned kernels, with a relative error of at most
        1e-6 everywhere, and usually 1e-12; `logpdf` is not.
        """
        kernels = self._kernels
        if not kernels.source.is_large:
            return _exp(self.logpdf(y, threads=threads))
        given, bins = read_numbers(y, "the argument"), kernels.bins(threads)
        found = np.asarray(self._evaluate(lambda x: kernels.binned_density(bins, x), given, threads, effort=0.01))
        missing = np.isnan(found) & ~np.isnan(given)
        if missing.any():
            logs = self._evaluate(kernels.condensed_log_density, given[missing], threads, effort=1.0)
            found[missing] = np.exp(logs)
        return float(found) if given.ndim == 0 else found

    @quiet
    def cdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the probability of values up to `y`; parameters as in `logpdf`.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> akde.KernelDensity([-1.0, 1.0], bandwidth=0.5).cdf(0.0)
        0.5
        """
        return _exp(self.logcdf(y, threads=threads))

    @quiet
    def sf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the probability of values above `y`, accurate where it is tiny; parameters as in `logpdf`."""
        return _exp(self.logsf(y, threads=threads))

    @in_ordinary_units(units.probabilities, of_places=True)
    def logcdf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the natural logarithm of `cdf`, exact where `cdf` underflows; parameters as in `logpdf`."""
        kernels = self._kernels
        return self._evaluate(kernels.log_cdf, y, threads, effort=0.2, tabulated=kernels.tabulated.log_cdf)

    @in_ordinary_units(units.probabilities, of_places=True)
    def logsf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the natural logarithm of `sf`, exact where `sf` underflows; parameters as in `logpdf`."""
        kernels = self._kernels
        return self._evaluate(kernels.log_sf, y, threads, effort=0.2, tabulated=kernels.tabulated.log_sf)

    @in_ordinary_units(units.places)
    def ppf(self, p: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the quantile: the x with cdf(x) = p to 1e-12, or to the spacing of float64 at x if that is coarser.

        Raises
        ------
        InvalidParameterError
            If an entry of `p` is outside [0, 1] or NaN.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> akde.KernelDensity([2.0, 4.0], bandwidth=1.0).ppf(0.5)
        3.0
        """
        kernels, given = self._kernels, read_probabilities(p)
        return self._evaluate(kernels.quantile, given, threads, effort=0.2, tabulated=kernels.tabulated.quantile)

    @in_ordinary_units(units.places)
    def isf(self, q: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the upper quantile: the x with sf(x) = q, as accurate in the far upper tail as `ppf` in the lower.

        Errors as in `ppf`.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> round(akde.KernelDensity([0.0], bandwidth=1.0).isf(1e-30), 4)
        11.464
        """
        kernels, given, upper = self._kernels, read_probabilities(q), self._kernels.upper_quantile
        return self._evaluate(upper, given, threads, effort=0.2, tabulated=kernels.tabulated.upper_quantile)

    @in_ordinary_units(units.places)
    def sample(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator | int | None = None) -> Any:
        """Draw from the density, exactly and inside the bounds: an array of shape `size`, or a float without it.

        `rng` is a generator or a seed; the same seed gives the same draws. At most 2^30 draws at a time.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> akde.KernelDensity([0.0, 1.0], bandwidth=0.1, bounds=(0, 1)).sample(3, rng=1).shape
        (3,)
        """
        count = read_size(size)
        draws = self._kernels.draw(count, read_rng(rng))
        return float(draws[0]) if size is None else draws.reshape(size)

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | np.random.RandomState | int | None = None,
    ) -> Any:
        """Draw as `sample` does, under SciPy's names.

        A legacy `numpy.random.RandomState` seeds a new generator. NumPy's global state is not used: without
        `random_state` no two calls agree, regardless of `numpy.random.seed`.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([0.0, 1.0], bandwidth=0.1)
        >>> bool((d.rvs(size=3, random_state=1) == d.sample(3, rng=1)).all())
        True
        """
        if isinstance(random_state, np.random.RandomState):
            random_state = np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
        return self.sample(size, rng=random_state)

    def support(self) -> tuple[float, float]:
        """Return the bounds, infinite where a side is open."""
        return self._parts.bounds.lower, self._parts.bounds.upper

    @in_ordinary_units(units.places)
    def mean(self) -> float:
        """Return the expectation of the density, exactly: the kernels' truncated means, weighted by their masses."""
        return moments.mean(self._kernels.for_moments)

    @in_ordinary_units(units.lengths)
    def std(self) -> float:
        """Return the standard deviation of the density, exactly: with the kernels' width and truncated at the bounds.

        It can be well above the sample's. An adaptive density keeps a little probability far out, in wide kernels and
        the background, for what the sample has not shown; squares give it much weight, and `interval` does not.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> round(akde.KernelDensity([-3.0, 3.0], bandwidth=4.0).std(), 12)
        5.0
        """
        return moments.std(self._kernels.for_moments)

    def var(self) -> float:
        """Return the variance of the density: the square of `std`, infinite if that is above 1.3e154."""
        std = self.std()
        return std * std

    def median(self) -> float:
        """Return the median of the density, its quantile at 1/2."""
        return float(self.ppf(0.5))

    @in_ordinary_units(units.entropies)
    def entropy(self) -> float:
        r"""Return the differential entropy :math:`-\int q \log q`, in nats as SciPy's; divide by log 2 for bits.

        It is the density's expected score of itself. By quadrature to 1e-9, from the density at some ten thousand
        arguments, and at more if there are thousands of separate peaks. Where the spacing of float64 numbers is a
        noticeable part of a bandwidth it is less accurate.

        Raises
        ------
        PrecisionError
            If no digit would be right, or if there are too many separate peaks to integrate.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> round(akde.KernelDensity([0.0], bandwidth=1.0).entropy(), 10)  # log(2 pi e) / 2
        1.4189385332
        """
        check_resolved("the entropy", self.points, self.weights, self.local_bandwidths)
        cells = self._kernels.tabulated.edges
        tails = _ENTROPY_TAILS[:1] if cells.size else _ENTROPY_TAILS
        low, high = self.ppf(tails), self.isf(tails)
        return entropy(self.logpdf, self.cdf, np.unique([*low, *np.clip(cells, low[0], high[0]), *high]))

    @quiet
    def interval(
        self, confidence: ArrayLike, *, kind: Literal["equal-tailed", "highest-density"] = "equal-tailed"
    ) -> tuple[Any, Any]:
        """Return an interval that holds the probability `confidence`.

        ``equal-tailed`` leaves the same probability on both sides, and accepts arrays. ``highest-density`` is the
        shortest interval, of one probability inside (0, 1); with several modes `region` can be shorter still.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([0.0], bandwidth=1.0)
        >>> tuple(round(end, 3) for end in d.interval(0.9))
        (-1.645, 1.645)
        """
        if kind == "equal-tailed":
            tail = 0.5 * (1.0 - read_probabilities(confidence))
            return self.ppf(tail), self.isf(tail)
        if kind == "highest-density":
            return shape.shortest_interval(self.ppf, read_mass(confidence))
        raise InvalidParameterError(f'kind must be "equal-tailed" or "highest-density", not {kind!r}.')


def _exp(log: Any) -> Any:
    return math.exp(log) if isinstance(log, float) else np.exp(log)
