"""Where a density is high: its modes, and the smallest region that holds a probability."""

from functools import cached_property

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density import shape, units
from amortized_kde.density.arguments import read_mass, read_option
from amortized_kde.density.curve import Curve, Function
from amortized_kde.density.distribution import Distribution
from amortized_kde.density.entropy import check_resolved
from amortized_kde.density.extrema import FINE_BELOW, Extrema, all_extrema, prominent_extrema
from amortized_kde.density.modes import PROMINENCE, Modes, modes_among
from amortized_kde.density.units import in_ordinary_units
from amortized_kde.errors import InvalidParameterError

# Points at which the search for modes starts; more would only be evaluated, fewer be added again.
_STARTS = 65


class Landmarks(Distribution):
    """Methods of a distribution that search for its extrema; `KernelDensity` inherits them."""

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
        return shape.highest_density_region(self._quick_logpdf, self.cdf, self._turning_points, read_mass(mass))

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
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([1.0, 1.5, 2.0, 6.0], bandwidth=0.5)
        >>> d.modes()
        place  height  prominence  mass
          1.5  0.4414           1  0.75
            6  0.1995      0.4516  0.25
        >>> d.modes(prominence=0.5).places.round(4)
        array([1.5])
        """
        given = read_option(prominence)
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

    def _curve(self, log_density: Function) -> Curve:
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
