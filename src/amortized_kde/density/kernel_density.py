"""Frozen kernel densities: a sample with one bandwidth, or with a ladder of bandwidths and shares, between bounds."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import Nan, read_bounds, read_numbers, read_sample
from amortized_kde.data.sample import Sample, effective_size
from amortized_kde.data.support import Bounds, check_inside, working_domain
from amortized_kde.density import density_plot, html, moments, plotting, shape, units
from amortized_kde.density.background import Background
from amortized_kde.density.curve import Curve
from amortized_kde.density.entropy import check_resolved, entropy
from amortized_kde.density.extrema import FINE_BELOW, Extrema, all_extrema, prominent_extrema
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import BINNED_FROM, Ladder, SingleBandwidth
from amortized_kde.density.modes import PROMINENCE, Modes, modes_among
from amortized_kde.density.parts import Parts, check_background, check_bandwidths, check_shares, read_anchors
from amortized_kde.density.plain_data import parts_of_dict, parts_to_dict
from amortized_kde.density.scipy_names import ScipyNames
from amortized_kde.density.storage import load_parts, save_parts
from amortized_kde.density.units import in_ordinary_units, ordinary_parts
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, MissingExtraError
from amortized_kde.numerics.floats import quiet
from amortized_kde.numerics.threads import run_in_pieces

# Quantiles between which entropy is integrated: what lies farther out is worth 1e-14 nats.
_ENTROPY_TAILS = np.array([1e-16, 1e-3, 0.1, 0.3, 0.5])

# Draws or grid points in one array: 8 GB.
_MOST_NUMBERS = 1 << 30
# Points at which the search for modes starts; more would only be evaluated, fewer be added again.
_STARTS = 65


@dataclass(frozen=True, eq=False, repr=False, init=False)
class KernelDensity(ScipyNames):
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
        For a sample, bounds or a bandwidth that cannot be used; the message says why.

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

    @quiet
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
        self.__setstate__(_single_parts(sample, bandwidth, read_bounds(bounds), None, "given"))

    @classmethod
    @quiet
    def from_sample(
        cls, sample: Sample, bandwidth: float, bounds: Bounds, *, domain: Bounds | None = None, method: str = "given"
    ) -> Self:
        """Make a density from a sample and bounds that were read already; `method` names the bandwidth's origin."""
        return cls._from_parts(_single_parts(sample, bandwidth, bounds, domain, method))

    @classmethod
    @quiet
    def from_ladder(
        cls,
        sample: Sample,
        bandwidths: ArrayLike,
        shares: ArrayLike,
        *,
        bounds: Bounds,
        epsilon: float = 0.0,
        background: Background | None = None,
        domain: Bounds | None = None,
        method: str = "given",
        anchors: ArrayLike | None = None,
    ) -> Self:
        r"""Make a density with a ladder of bandwidths, of which every point has its own shares, and a background.

        .. math:: q(x) = (1 - \varepsilon) \sum_{i,k} v_i \frac{w_{ki}}{Z_{ki}} \frac{1}{h_k}
            \phi\Big(\frac{x - x_i}{h_k}\Big) + \varepsilon\, b(x) \quad (A \le x \le B),

        with v the points' weights and Z_ki the mass of that kernel between A and B: each is renormalised by itself.

        Parameters
        ----------
        bandwidths : array_like of shape (r,)
            The rungs h, ascending, in data units.
        shares : array_like of shape (r, n)
            w, not negative; for each point they sum to 1 over the rungs. Zeros cost nothing.
        epsilon, background : float and Background, optional
            Probability of the background, in [0, 1), and its density b, with the same bounds.
        anchors : array_like of int, shape (a,), optional
            Ranks of the points whose shares are given, then of shape (r, a), ascending from 0 to n - 1. In between
            shares are linear in rank. For large samples: sums need no more memory than the points do, and `pdf` is
            binned.

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
        2.189
        """
        points = sample.values
        check_inside(points, bounds)
        h = read_numbers(bandwidths, "bandwidths")
        check_bandwidths(h)
        ranks = None if anchors is None else read_anchors(anchors, points.size)
        w = _read_shares(shares, (h.size, points.size if ranks is None else ranks.size))
        check_background(epsilon, background, bounds)
        parts = Parts(
            points, _weights(sample), h, w, float(epsilon), background, bounds, domain, method, ranks, sample.name
        )
        ordinary_parts(parts)
        return cls._from_parts(parts)

    @classmethod
    def _from_parts(cls, parts: Parts) -> Self:
        made = cls.__new__(cls)
        made.__setstate__(parts)
        return made

    def __getstate__(self) -> tuple[Any, ...]:
        return self._parts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        parts = Parts(*state)
        for part in parts:
            if isinstance(part, np.ndarray):
                part.flags.writeable = False
        object.__setattr__(self, "_parts", parts)

    @quiet
    def smoothed(self, factor: float) -> Self:
        """Return the density with every bandwidth times a positive `factor`: above 1 smoother, below 1 rougher.

        Points, shares, background and bounds stay as they are; `method` becomes ``"given"``.

        Examples
        --------
        >>> KernelDensity([0.2, 0.3, 0.7], bandwidth=0.1).smoothed(2)
        KernelDensity(n=3, bandwidth=0.2, bounds=(None, None), method='given')
        """
        given = read_numbers(factor, "the factor")
        bandwidths = self.bandwidths * given
        if given.ndim or not np.all((bandwidths > 0.0) & (bandwidths < np.inf)):
            raise InvalidParameterError(f"bandwidths must stay positive and finite; they cannot be times {factor!r}.")
        return self._from_parts(self._parts._replace(bandwidths=bandwidths, method="given"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the density to a file in NumPy's npz format; no pickle is involved.

        Raises
        ------
        UnwritableFileError
            If the file cannot be written; what was there before is then unchanged.
        """
        save_parts(self._parts, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a density that `save` wrote.

        Raises
        ------
        UnreadableFileError
            If the file does not exist, is damaged, has another format, or holds parts that make no density.
        """
        return cls._from_parts(load_parts(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the density as plain Python data, which ``json.dumps`` writes without loss.

        Memory and text are several times those of `save`.

        Examples
        --------
        >>> import json
        >>> d = KernelDensity([0.2, 0.3, 0.7], bandwidth=0.1, bounds=(0, None))
        >>> twin = KernelDensity.from_dict(json.loads(json.dumps(d.to_dict())))
        >>> twin, twin.pdf(0.25) == d.pdf(0.25)
        (KernelDensity(n=3, bandwidth=0.1, bounds=(0.0, None), method='given'), True)
        """
        return parts_to_dict(self._parts)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the density that `to_dict` described, checked as a file that `load` reads.

        Raises
        ------
        InvalidParameterError
            If the data have another format, or are no parts of a density.
        """
        return cls._from_parts(parts_of_dict(data))

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
        """Standard deviations of the kernels, one for each rung, ascending, in data units."""
        return self._parts.bandwidths

    @property
    def shares(self) -> Array:
        """How each point's mass is split over the rungs, of shape (rungs, n); they sum to 1 over the rungs.

        For large samples only those at the anchors are kept, and the rest is interpolated on every access.
        """
        parts = self._parts
        if parts.shares is None:
            return np.broadcast_to(1.0, (1, self.points.size))
        if parts.anchors is None:
            return parts.shares
        shares = np.stack([self._at_points(row) for row in parts.shares])
        shares.flags.writeable = False
        return shares

    def _at_points(self, row: Array) -> Array:
        """Values at every point of what is given at the anchors."""
        anchors = self._parts.anchors
        return row if anchors is None else np.interp(np.arange(self.points.size), anchors, row)

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
            local = np.exp(self._at_points(np.log(self.bandwidths) @ self._parts.shares))
        local.flags.writeable = False
        return local

    @property
    def bandwidth(self) -> float:
        """Standard deviation of the kernel, in data units.

        With several rungs the geometric mean of the points' `local_bandwidths`, weighted by the points' weights; the
        widest kernels alone would decide an arithmetic mean.
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
        """Name of the selector that chose the bandwidth, or ``"given"``."""
        return self._parts.method

    @property
    def name(self) -> str:
        """Name of the variable, from the sample's column or series; empty if it has none."""
        return self._parts.name

    @cached_property
    def domain(self) -> tuple[float, float]:
        """The working domain: the bounds, and where a side is open, the widened range of the data."""
        if self._parts.domain is not None:
            return self._parts.domain.lower, self._parts.domain.upper
        if self.points[0] < self.points[-1]:
            size = effective_size(self.weights, self.points.size)
            domain = working_domain(self.points, self._parts.bounds, size=size)
            return domain.lower, domain.upper
        # A single distinct value: the bandwidth is the only scale there is.
        margin, (lower, upper) = 3.0 * self.bandwidth, self._parts.bounds
        low = float(self.points[0]) - margin if lower == -math.inf else lower
        return (low, float(self.points[0]) + margin if upper == math.inf else upper)

    @in_ordinary_units(units.places)
    def grid(self, count: int = 512) -> Array:
        """Return `count` even arguments that show the density: the data and four local bandwidths around them."""
        if not isinstance(count, (int, np.integer)) or not 2 <= count <= _MOST_NUMBERS:
            raise InvalidParameterError(f"a grid needs at least 2 points and at most {_MOST_NUMBERS}, not {count!r}.")
        parts, (lower, upper) = self._parts, self._parts.bounds
        if parts.shares is None:
            low, high = parts.points[[0, -1]] + 4.0 * self.bandwidth * np.array([-1.0, 1.0])
        else:
            log_bandwidths = np.log(parts.bandwidths) @ parts.shares
            low = -shape.outermost(parts.points, log_bandwidths, parts.anchors, -1.0)
            high = shape.outermost(parts.points, log_bandwidths, parts.anchors, 1.0)
        return np.linspace(max(lower, low), min(upper, high), count)

    @cached_property
    def _ordinary(self) -> tuple["KernelDensity", float] | None:
        """The density in units in which its numbers are ordinary, and these; None if the data's are."""
        found = ordinary_parts(self._parts)
        return None if found is None else (KernelDensity._from_parts(found[0]), found[1])

    @cached_property
    def _kernels(self) -> KernelSum:
        points, weights, bandwidths, shares, epsilon, background, bounds, _, _, anchors, _ = self._parts
        if shares is None:
            return KernelSum(SingleBandwidth(points, weights, float(bandwidths[0]), bounds))
        ladder = Ladder(points, weights, bandwidths, shares, bounds, 1.0 - epsilon, anchors)
        return KernelSum(ladder, epsilon, background)

    def _evaluate(self, function: Callable[[Array], Array], at: ArrayLike, threads: int | None, effort: float) -> Any:
        """Evaluate a function in pieces; `effort` is a kernel's cost relative to that of its density."""
        given = read_numbers(at, "the argument")
        flat = given.ravel()
        out = np.empty(flat.size)

        def evaluate_piece(i: int, j: int) -> None:
            out[i:j] = function(flat[i:j])

        operations = effort * flat.size * self._kernels.source.count
        if operations >= 1e5:
            # What all pieces share is cached by the first argument, not by several threads at the same time.
            evaluate_piece(0, 1)
        run_in_pieces(evaluate_piece, flat.size, operations=operations, threads=threads)
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
        >>> round(KernelDensity([0.0], bandwidth=1.0).logpdf(100.0), 4)
        -5000.9189
        """
        return self._evaluate(self._kernels.log_density, y, threads, effort=1.0)

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
        >>> KernelDensity([-1.0, 1.0], bandwidth=0.5).cdf(0.0)
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
        return self._evaluate(self._kernels.log_cdf, y, threads, effort=0.2)

    @in_ordinary_units(units.probabilities, of_places=True)
    def logsf(self, y: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the natural logarithm of `sf`, exact where `sf` underflows; parameters as in `logpdf`."""
        return self._evaluate(self._kernels.log_sf, y, threads, effort=0.2)

    @in_ordinary_units(units.places)
    def ppf(self, p: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the quantile: the x with cdf(x) = p to 1e-12, or to the spacing of float64 at x if that is coarser.

        Raises
        ------
        InvalidParameterError
            If an entry of `p` is outside [0, 1] or NaN.

        Examples
        --------
        >>> KernelDensity([2.0, 4.0], bandwidth=1.0).ppf(0.5)
        3.0
        """
        return self._evaluate(self._kernels.quantile, _read_probabilities(p), threads, effort=0.2)

    @in_ordinary_units(units.places)
    def isf(self, q: ArrayLike, *, threads: int | None = None) -> Any:
        """Return the upper quantile: the x with sf(x) = q, as accurate in the far upper tail as `ppf` in the lower.

        Errors as in `ppf`.

        Examples
        --------
        >>> round(KernelDensity([0.0], bandwidth=1.0).isf(1e-30), 4)
        11.464
        """
        return self._evaluate(self._kernels.upper_quantile, _read_probabilities(q), threads, effort=0.2)

    @in_ordinary_units(units.places)
    def sample(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator | int | None = None) -> Any:
        """Draw from the density, exactly and inside the bounds: an array of shape `size`, or a float without it.

        `rng` is a generator or a seed; the same seed gives the same draws. At most 2^30 draws at a time.

        Examples
        --------
        >>> KernelDensity([0.0, 1.0], bandwidth=0.1, bounds=(0, 1)).sample(3, rng=1).shape
        (3,)
        """
        count = _read_size(size)
        draws = self._kernels.draw(count, _read_rng(rng))
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
        >>> d = KernelDensity([0.0, 1.0], bandwidth=0.1)
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
        >>> round(KernelDensity([-3.0, 3.0], bandwidth=4.0).std(), 12)
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
        >>> round(KernelDensity([0.0], bandwidth=1.0).entropy(), 10)  # log(2 pi e) / 2
        1.4189385332
        """
        check_resolved("the entropy", self.points, self.weights, self.local_bandwidths)
        edges = np.unique([self.ppf(_ENTROPY_TAILS), self.isf(_ENTROPY_TAILS)])
        return entropy(self.logpdf, self.cdf, edges)

    @quiet
    def interval(
        self, confidence: ArrayLike, *, kind: Literal["equal-tailed", "highest-density"] = "equal-tailed"
    ) -> tuple[Any, Any]:
        """Return an interval that holds the probability `confidence`.

        ``equal-tailed`` leaves the same probability on both sides, and accepts arrays. ``highest-density`` is the
        shortest interval, of one probability inside (0, 1); with several modes `region` can be shorter still.

        Examples
        --------
        >>> d = KernelDensity([0.0], bandwidth=1.0)
        >>> tuple(round(end, 3) for end in d.interval(0.9))
        (-1.645, 1.645)
        """
        if kind == "equal-tailed":
            tail = 0.5 * (1.0 - _read_probabilities(confidence))
            return self.ppf(tail), self.isf(tail)
        if kind == "highest-density":
            return shape.shortest_interval(self.ppf, _read_mass(confidence))
        raise InvalidParameterError(f'kind must be "equal-tailed" or "highest-density", not {kind!r}.')

    @in_ordinary_units(units.places)
    def region(self, mass: float) -> Array:
        """Return the smallest set that holds the probability `mass`, as disjoint intervals of shape (k, 2).

        It is a level set: the density is at least as high at every point inside as at any outside.

        Raises
        ------
        PrecisionError
            If bandwidths are below the spacing of float64 numbers at the data, which then cannot tell a level.
        """
        check_resolved("the region", self.points, self.weights, self.local_bandwidths)
        return shape.highest_density_region(self._quick_logpdf, self.cdf, self._turning_points, _read_mass(mass))

    @in_ordinary_units(units.modes)
    def modes(self, *, prominence: float = PROMINENCE) -> Modes:
        """Return the modes: local maxima with their places, heights, prominences and masses.

        Parameters
        ----------
        prominence : float
            Report modes from which the density falls by at least this fraction of the highest density before it rises
            to a higher one, 0 to 1. The default, 0.05, leaves out ripples, which are common even with good bandwidths.
            At 0 all modes are reported, which takes longer.

        Returns
        -------
        Modes
            Arrays `places`, `heights`, `prominences` and `masses`, ascending by place, at least one of each. Maxima at
            a bound count, because the density is 0 outside. Of two equal modes the first counts as the higher one.

        Raises
        ------
        InvalidParameterError
            If `prominence` is not a number from 0 to 1.

        Examples
        --------
        >>> d = KernelDensity([1.0, 1.5, 2.0, 6.0], bandwidth=0.5)
        >>> d.modes()
        place  height  prominence  mass
          1.5  0.4414           1  0.75
            6  0.1995      0.4516  0.25
        >>> d.modes(prominence=0.5).places.round(4)
        array([1.5])
        """
        given = _read_option(prominence)
        if given.ndim != 0 or not 0.0 <= given <= 1.0:
            raise InvalidParameterError(f"the prominence must lie between 0 and 1, not {prominence!r}.")
        if given < FINE_BELOW:
            extrema = self._all_extrema
        else:
            extrema = prominent_extrema(self._curve(self._log_pdf), self._starts(), float(given))
        return modes_among(extrema, float(given), self.pdf, self.cdf)

    def _log_pdf(self, y: Array) -> Array:
        """The log-density as accurate as `pdf`, which is faster for large samples."""
        if not self._kernels.source.is_large:
            return np.asarray(self.logpdf(y))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(y)))

    def _quick_logpdf(self, y: Array) -> Array:
        """The log-density to 1e-14, from condensed kernels if there are very many."""
        if not self._kernels.source.is_large:
            # Thousands of short calls: to start threads would take longer.
            return np.asarray(self.logpdf(y, threads=1))
        return np.asarray(self._evaluate(self._kernels.condensed_log_density, y, None, effort=1.0))

    def _curve(self, log_density: Callable[[Array], Array]) -> Curve:
        return Curve(log_density, self._kernels.layers(), self.epsilon, self.background)

    def _starts(self) -> Array:
        """Ascending arguments with all modes between the first and the last: some points, and the background's."""
        ranks = np.linspace(0, self.points.size - 1, _STARTS).astype(np.int64)
        starts = self.points[ranks]
        if self.background is not None and self.epsilon > 0.0:
            starts = np.append(starts, np.clip(self.background.location, *self.support()))
        return np.unique(starts)

    @cached_property
    def _all_extrema(self) -> Extrema:
        return all_extrema(self._curve(self._log_pdf), self._starts())

    @cached_property
    def _turning_points(self) -> Array:
        """Between these the density is monotone; outside lies next to no probability."""
        lower, upper = self.support()
        low, high = self.ppf(1e-14), self.isf(1e-14)
        # A bound that is farther away than all probability is wide counts as open.
        low, high = (lower if low - lower <= high - low else low), (upper if upper - high <= high - low else high)
        found = self._all_extrema
        turning = np.concatenate([found.peaks, found.valleys])
        return np.unique([low, *turning[(turning > low) & (turning < high)], high])

    def __repr__(self) -> str:
        ladder = f"rungs={self.bandwidths.size}, epsilon={self.epsilon:.6g}, " if self._parts.shares is not None else ""
        return (
            f"KernelDensity(n={self.points.size}, bandwidth={self.bandwidth:.6g}, {ladder}bounds={self.bounds}, "
            f"method={self.method!r})"
        )

    def _repr_html_(self) -> str:
        return html.describe(self)

    def to_frame(self, points: int = 512) -> Any:
        """Return the density as a pandas DataFrame: `x` as in `grid`, and there `pdf` and `cdf`.

        Examples
        --------
        >>> KernelDensity([0.0], bandwidth=1.0).to_frame(3).round(4)
             x     pdf  cdf
        0 -4.0  0.0001  0.0
        1  0.0  0.3989  0.5
        2  4.0  0.0001  1.0
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise MissingExtraError("to_frame needs pandas; install it with: pip install pandas") from None
        grid = self.grid(points)
        return DataFrame({"x": grid, "pdf": self.pdf(grid), "cdf": self.cdf(grid)})

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the density on matplotlib axes (default: pyplot's current ones), and return these.

        Options are those of `amortized_kde.plot`, which draws several densities together: `count`, `fill`, `rug`,
        `hist`, `band`, `log`, and styles that ``Axes.plot`` takes, such as `color`, `linewidth`, `alpha` and `label`.
        """
        return density_plot.plot(self, ax, **options)

    def plot_bandwidth(self, ax: Any = None) -> Any:
        """Draw the bandwidth at each point on matplotlib axes (default: pyplot's current ones), and return these."""
        return plotting.plot_bandwidths(self, ax)


def _single_parts(sample: Sample, bandwidth: float, bounds: Bounds, domain: Bounds | None, method: str) -> Parts:
    check_inside(sample.values, bounds)
    h = read_numbers(bandwidth, "bandwidth")
    if h.ndim != 0 or not 0.0 < h < math.inf:
        raise InvalidParameterError(f"the bandwidth must be a single positive finite number, not {bandwidth!r}.")
    parts = Parts(
        sample.values, _weights(sample), h.reshape(1), None, 0.0, None, bounds, domain, method, name=sample.name
    )
    ordinary_parts(parts)
    return parts


def _weights(sample: Sample) -> Array:
    n = sample.values.size
    if sample.weights is not None:
        return sample.weights
    # Equal weights of a large sample are one number in memory.
    return np.full(n, 1.0 / n) if n < BINNED_FROM else np.broadcast_to(1.0 / n, n)


def _read_shares(shares: ArrayLike, shape: tuple[int, int]) -> Array:
    """Shares, divided by their sums."""
    w = read_numbers(shares, "shares")
    check_shares(w, shape)
    w /= w.sum(axis=0)
    return w


def _read_option(given: ArrayLike) -> Array:
    """A number; NaN for what is none."""
    try:
        return read_numbers(given, "the option")
    except InvalidSampleError:
        return np.array(math.nan)


def _read_size(size: int | tuple[int, ...] | None) -> int:
    """The number of draws in an array of this shape."""
    sides = () if size is None else (size,) if isinstance(size, (int, np.integer)) else size
    whole = isinstance(sides, (tuple, list, np.ndarray)) and all(
        isinstance(side, (int, np.integer)) and not isinstance(side, bool) and side >= 0 for side in sides
    )
    if not whole:
        raise InvalidParameterError(f"size must be a whole number or several of them, not {str(size)[:100]}.")
    count = math.prod(int(side) for side in sides)
    if count > _MOST_NUMBERS:
        raise InvalidParameterError(f"{count} draws are too many at a time; draw at most {_MOST_NUMBERS} in one call.")
    return count


def _read_rng(rng: np.random.Generator | int | None) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"rng must be a generator, or a whole number of at least 0 ({error}).") from None


def _read_probabilities(p: ArrayLike) -> Array:
    given = read_numbers(p, "a probability")
    if not np.all((given >= 0.0) & (given <= 1.0)):
        raise InvalidParameterError("probabilities must lie in [0, 1].")
    return given


def _read_mass(mass: ArrayLike) -> float:
    given = read_numbers(mass, "the probability of an interval")
    if given.ndim != 0 or not 0.0 < given < 1.0:
        raise InvalidParameterError(f"the probability of an interval must lie between 0 and 1, not {mass!r}.")
    return float(given)


def _exp(log: Any) -> Any:
    return math.exp(log) if isinstance(log, float) else np.exp(log)
