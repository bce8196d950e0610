"""What a density is made of: points, weights, bandwidths and shares, a background, bounds."""

import math
from functools import cached_property

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.sample import effective_size
from amortized_kde.data.support import working_domain
from amortized_kde.density.background import Background
from amortized_kde.density.kernel_sum import KernelSum
from amortized_kde.density.kernels import Ladder, SingleBandwidth
from amortized_kde.density.parts import Parts


class Composition:
    """Properties of a density that are its parts or follow from them; `KernelDensity` inherits them."""

    _parts: Parts

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

    @cached_property
    def _kernels(self) -> KernelSum:
        points, weights, bandwidths, shares, epsilon, background, bounds, _, _, anchors, _ = self._parts
        if shares is None:
            return KernelSum(SingleBandwidth(points, weights, float(bandwidths[0]), bounds))
        ladder = Ladder(points, weights, bandwidths, shares, bounds, 1.0 - epsilon, anchors)
        return KernelSum(ladder, epsilon, background)
