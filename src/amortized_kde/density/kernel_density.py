"""Frozen densities: the Gaussian kernel estimate with one bandwidth, or with a ladder of them and a share of each for
every point.

A sample, bandwidths and bounds enter; a density leaves, which tells what it is made of (`composition.py`), answers as
distributions do (`distribution.py`) and shows itself. How the bandwidths were chosen is not known here.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import Nan, read_bounds, read_numbers, read_sample
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import Bounds, Domain
from amortized_kde.density import html, plotting
from amortized_kde.density.background import Background
from amortized_kde.density.composition import Composition
from amortized_kde.density.distribution import Distribution
from amortized_kde.density.kernels import KernelSum
from amortized_kde.density.storage import ladder_parts, one_bandwidth_parts
from amortized_kde.density.sums import ladder_sum, truncated_sum
from amortized_kde.errors import InvalidParameterError, MissingExtraError


class KernelDensity(Composition, Distribution):
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
        anchors: ArrayLike | None = None,
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
        anchors : array_like of int, shape (a,), optional
            Ranks of the points whose shares are given, then of shape (r, a), ascending from 0 to n - 1. In between
            shares lie linearly in rank. For large samples: sums take no more memory than the points do, and `pdf` is
            binned.

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
            anchors=anchors,
        )
        return cls._from_parts(parts)

    def smoothed(self, factor: float) -> "KernelDensity":
        """Give the same density with every bandwidth times `factor`: above 1 smoother, below 1 rougher.

        Points, shares, background and bounds stay as they are; `method` becomes ``"given"``.

        Raises
        ------
        InvalidParameterError
            If the factor is not positive and finite, or a bandwidth would not be.

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
            anchors=parts.anchors,
        )

    def __repr__(self) -> str:
        ladder = f"rungs={self.bandwidths.size}, epsilon={self.epsilon:.6g}, " if self._parts.shares is not None else ""
        return (
            f"KernelDensity(n={self.points.size}, bandwidth={self.bandwidth:.6g}, {ladder}bounds={self.bounds}, "
            f"method={self.method!r})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the curve, shaded inside the central 90 % interval, and a table."""
        low, median, high = self.ppf([0.05, 0.5, 0.95])
        grid = np.union1d(self._curve(), np.clip([low, high], *self.grid(2)))
        facts = {
            "n": self.points.size,
            "method": self.method,
            "bandwidth": self.bandwidth,
            "bounds": self.bounds,
            "mean": self.mean(),
            "standard deviation": self.std(),
            "median": median,
            "90 % interval": (low, high),
        }
        return html.density_html(
            repr(self), facts, grid=grid, density=self.pdf(grid), band=(low, high), bounds=self.bounds
        )

    def _curve(self) -> Array:
        """Some two hundred arguments for a small picture: even ones, and around points, where narrow peaks may be."""
        grid, some = self.grid(100), np.linspace(0, self.points.size - 1, 33).astype(int)
        near = self.points[some, None] + self.local_bandwidths[some, None] * np.array([-1.5, 0.0, 1.5])
        return np.union1d(grid, np.clip(near, grid[0], grid[-1]))

    def to_frame(self, points: int = 512) -> Any:
        """Give the density as a pandas DataFrame: `x` as in `grid`, and there `pdf` and `cdf`.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

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

    def plot(
        self,
        ax: Any = None,
        *,
        count: int = 512,
        rug: bool = True,
        band: float | None = None,
        label: str | None = None,
    ) -> Any:
        """Draw the density with its rug and bounds on matplotlib axes, which are returned.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on pyplot's current axes.
        count : int
            How many arguments the curve has at least.
        rug : bool
            Draw a tick at each point, of very many at a thousand of them.
        band : float, optional
            Shade the central interval with this probability.
        label : str, optional
            The curve's name in a legend.

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
        ends = None
        if band is not None:
            ends = np.clip(self.interval(float(band)), grid[0], grid[-1])
            grid = np.union1d(grid, ends)
        return plotting.draw_density(
            ax,
            grid,
            self.pdf(grid),
            points=self.points if rug else None,
            bounds=self.bounds,
            band=ends,
            label=label,
        )

    def plot_bandwidth(self, ax: Any = None) -> Any:
        """Draw the bandwidth at each point on matplotlib axes, which are returned; raises as `plot`."""
        return plotting.draw_bandwidths(
            ax, self.points, self.local_bandwidths, overall=self.bandwidth, bounds=self.bounds
        )
