"""A density with a bound of how far it can be from its chords.

Between two arguments a and b a density q differs from the straight line between q(a) and q(b) by at most

    sum over rungs k of  min((b - a)^2 / (8 h_k^2), 1) * sum_i c_ki E(u_ki) / (h_k sqrt(2 pi)),

with u the distance of a kernel from [a, b] in bandwidths, and E(u) at least |phi''(v)| / phi(0) and phi(v) / phi(0) for
every v >= u. So kernels that are narrow, but low beside the highest density, need no fine grid, and nothing prominent
can hide between two arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.background import Background

Function = Callable[[Array], Array]

# Distances in bandwidths, and E(u) up to each: the largest of |v^2 - 1| exp(-v^2/2) and exp(-v^2/2) from 0, 1.5 and 4
# on. Beyond the last it is 2e-14.
_DISTANCES = np.array([1.5, 4.0, 8.5])
_ENVELOPE = np.array([1.0, 0.447, 0.0051])
# Weights of the masses within each distance, not between two.
_DROPS = _ENVELOPE - np.append(_ENVELOPE[1:], 0.0)


class Layer(NamedTuple):
    """Kernels of one bandwidth: ascending places, sums of peak heights before each and of all, and the bandwidth."""

    places: Array
    cumulative: Array
    bandwidth: float


@dataclass(frozen=True, eq=False)
class Curve:
    """A log-density and what it is made of: layers, by ascending bandwidth, and a background of mass epsilon."""

    log_density: Function
    layers: list[Layer]
    epsilon: float
    background: Background | None

    def chord_errors(self, a: Array, b: Array, *, finest: float = 0.0, most: float = 1.0) -> Array:
        """Return bounds of |density - chord| between each of `a` and `b`.

        Kernels do not count in cells that are narrower than `finest` bandwidths. With ``most=inf`` these are bounds of
        (b - a)^2 |density''| / 8.
        """
        width = b - a
        errors = self._background_errors(a, b, finest, most)
        for places, cumulative, h in self.layers:
            coarse = np.flatnonzero(width > finest * h)
            if coarse.size == 0:
                break
            starts = np.searchsorted(places, a[coarse, None] - h * _DISTANCES)
            stops = np.searchsorted(places, b[coarse, None] + h * _DISTANCES, side="right")
            near = (cumulative[stops] - cumulative[starts]) @ _DROPS
            errors[coarse] += near * np.minimum(0.125 * (width[coarse] / h) ** 2, most)
        return errors

    def _background_errors(self, a: Array, b: Array, finest: float, most: float) -> Array:
        """Errors of Student's t with three degrees of freedom, of which |b''| <= 20 b / (3 scale^2 + t^2)."""
        back = self.background
        if back is None or self.epsilon == 0.0:
            return np.zeros(a.size)
        nearest = np.clip(back.location, a, b)
        height = self.epsilon * np.exp(back.log_density(nearest)) * (b - a > finest * back.scale)
        bend = 2.5 * (b - a) ** 2 / (3.0 * back.scale * back.scale + (nearest - back.location) ** 2)
        return np.asarray(height * np.minimum(bend, most))
