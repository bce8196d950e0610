"""What a density is made of, for all to read and for nobody to change.

Checked parts enter; their names, bandwidths, bounds and domain leave, and files of them. No density is computed.
"""

import math
import os
from functools import cached_property
from typing import Any, Self

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.sample import effective_size
from amortized_kde.data.support import working_domain
from amortized_kde.density.background import Background
from amortized_kde.density.storage import Parts, load_parts, save_parts
from amortized_kde.errors import InvalidParameterError


class Composition:
    """The parts of a density as properties; compares by identity, and can be pickled and saved."""

    _parts: Parts

    @classmethod
    def _from_parts(cls, parts: Parts) -> Self:
        made = cls.__new__(cls)
        made.__setstate__(parts)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a density does not change; make a new one instead of setting {name}.")

    def __getstate__(self) -> tuple[Any, ...]:
        return self._parts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__dict__["_parts"] = Parts(*state)
        for array in self._parts:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

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
        """How much of each point is spread by each rung's kernel, of shape (rungs, n); over the rungs they sum to 1.

        Of large samples they are kept at some hundred points only, and made anew each time they are asked for.
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
        """What is linear in rank between the anchors, at every point."""
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
            size = effective_size(self.weights, self.points.size)
            domain = working_domain(self.points, self._parts.bounds, size=size)
            return domain.lower, domain.upper
        # A single value: the bandwidth is the only scale there is.
        margin, (lower, upper) = 3.0 * self.bandwidth, self._parts.bounds
        low = float(self.points[0]) - margin if lower == -math.inf else lower
        return (low, float(self.points[0]) + margin if upper == math.inf else upper)

    def grid(self, count: int = 512) -> Array:
        """Even arguments that show the density: the data and four local bandwidths beyond, inside the bounds."""
        if not isinstance(count, (int, np.integer)) or count < 2:
            raise InvalidParameterError(f"a grid needs at least 2 points, not {count!r}.")
        low = max(self._parts.bounds.lower, -self._outermost(-1.0))
        high = min(self._parts.bounds.upper, self._outermost(1.0))
        return np.linspace(low, high, count)

    def _outermost(self, sign: float) -> float:
        """How far points and four of their local bandwidths reach, to the right or to the left."""
        shares, anchors, points = self._parts.shares, self._parts.anchors, self.points
        if shares is None:
            return float(max(sign * points[0], sign * points[-1]) + 4.0 * self.bandwidth)
        if anchors is None:
            return float(np.max(sign * points + 4.0 * self.local_bandwidths))
        ends, logs = sign * points[anchors], np.log(self.bandwidths) @ shares
        most = float(np.max(ends + 4.0 * np.exp(logs)))
        # Between two anchors neither place nor bandwidth is beyond both; most often that tells enough.
        limits = np.maximum(ends[1:], ends[:-1]) + 4.0 * np.exp(np.maximum(logs[1:], logs[:-1]))
        for k in np.flatnonzero(limits > most):
            ranks = np.arange(anchors[k], anchors[k + 1])
            local = np.exp(np.interp(ranks, anchors[k : k + 2], logs[k : k + 2]))
            most = max(most, float(np.max(sign * points[ranks] + 4.0 * local)))
        return most

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the density to a file in NumPy's npz format; no pickle is involved."""
        save_parts(self._parts, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a density that `save` wrote.

        Raises
        ------
        UnreadableFileError
            If the file is not there, not such a density, or of a newer format.
        """
        return cls._from_parts(load_parts(path))
