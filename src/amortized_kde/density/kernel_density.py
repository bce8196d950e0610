"""Frozen kernel densities: a sample with one bandwidth, or with a ladder of bandwidths and shares, between bounds."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import Nan, read_bounds, read_numbers, read_sample
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import Bounds, check_inside
from amortized_kde.density import density_plot, html, plotting, shape, units
from amortized_kde.density.arguments import MOST_NUMBERS
from amortized_kde.density.background import Background
from amortized_kde.density.landmarks import Landmarks
from amortized_kde.density.parts import (
    Parts,
    check_background,
    check_bandwidths,
    read_anchors,
    read_shares,
    weights_of,
)
from amortized_kde.density.plain_data import parts_of_dict, parts_to_dict
from amortized_kde.density.storage import load_parts, save_parts
from amortized_kde.density.units import in_ordinary_units, ordinary_parts
from amortized_kde.errors import InvalidParameterError, MissingExtraError
from amortized_kde.numerics.floats import quiet


@dataclass(frozen=True, eq=False, repr=False, init=False)
class KernelDensity(Landmarks):
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
        w = read_shares(shares, (h.size, points.size if ranks is None else ranks.size))
        check_background(epsilon, background, bounds)
        parts = Parts(
            points, weights_of(sample), h, w, float(epsilon), background, bounds, domain, method, ranks, sample.name
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
            raise InvalidParameterError(f"the factor must keep bandwidths positive and finite; {factor!r} does not.")
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

    @in_ordinary_units(units.places)
    def grid(self, count: int = 512) -> Array:
        """Return `count` even arguments that show the density: the data and four local bandwidths around them."""
        if not isinstance(count, (int, np.integer)) or not 2 <= count <= MOST_NUMBERS:
            raise InvalidParameterError(f"a grid needs at least 2 points and at most {MOST_NUMBERS}, not {count!r}.")
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
    if isinstance(bandwidth, str):
        raise InvalidParameterError(f"a bandwidth is a number; pass the name of a method to fit, method={bandwidth!r}.")
    h = read_numbers(bandwidth, "bandwidth")
    if h.ndim != 0 or not 0.0 < h < math.inf:
        raise InvalidParameterError(f"the bandwidth must be a single positive finite number, not {bandwidth!r}.")
    parts = Parts(
        sample.values, weights_of(sample), h.reshape(1), None, 0.0, None, bounds, domain, method, name=sample.name
    )
    ordinary_parts(parts)
    return parts
