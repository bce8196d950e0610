"""Where a variable can lie: hard bounds, and the working domain with its affine map to [-1, 1]."""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError


class Bounds(NamedTuple):
    """Hard limits of a density; minus or plus infinity where a side is open."""

    lower: float = -math.inf
    upper: float = math.inf


OPEN = Bounds()


class Domain(NamedTuple):
    """A finite interval [A, B] and its affine map to [-1, 1] (paper, section 2.3).

    Examples
    --------
    >>> domain = Domain(0.0, 10.0)
    >>> domain.to_unit(np.array([0.0, 7.5]))
    array([-1. ,  0.5])
    >>> domain.bandwidth_from_unit(0.1)
    0.5
    """

    lower: float
    upper: float

    @property
    def middle(self) -> float:
        """m = (A + B)/2."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def half_width(self) -> float:
        """a = (B - A)/2."""
        return 0.5 * self.upper - 0.5 * self.lower

    def to_unit(self, x: Array) -> Array:
        """T(x) = (x - m)/a (paper, eq. 10)."""
        # From the nearer end: at a large offset m itself would be rounded.
        return np.asarray(((x - self.lower) - (self.upper - x)) / (self.upper - self.lower))

    def from_unit(self, y: Array) -> Array:
        """m + a y, the inverse of T."""
        return np.asarray(self.middle + self.half_width * y)

    def bandwidth_from_unit(self, h: float) -> float:
        """h_[A,B] = a h (paper, eq. 11)."""
        return self.half_width * h


def check_inside(values: Array, bounds: Bounds) -> None:
    """Raise `InvalidBoundsError` if an ascending sample has a value outside the bounds."""
    if bounds.lower <= values[0] and values[-1] <= bounds.upper:
        return
    below, above = int(np.sum(values < bounds.lower)), int(np.sum(values > bounds.upper))
    worst = values[0] if below else values[-1]
    side = f"below the lower bound {bounds.lower:g}" if below else f"above the upper bound {bounds.upper:g}"
    raise InvalidBoundsError(
        f"{below + above} of {values.size} values lie outside the bounds (for example {worst:g}, {side}); "
        "widen the bounds or remove these values."
    )


def rank_margin(values: Array, size: float | None = None) -> float:
    """Return the width w by which the range is extended on each side.

    A new observation falls outside the range of n with probability 2/(n + 1) (paper, section 2.3). A uniform density
    on the range extended by w on each side leaves the range with probability 2w/(range + 2w), hence
    w = range/(n - 1), and at most the range. `size` is the effective n of weighted values.
    """
    if values.size < 2 or values[-1] == values[0]:
        raise DegenerateSampleError(
            "a sample with a single distinct value has no working domain; give both bounds or reference data."
        )
    n = values.size if size is None else size
    return float((values[-1] - values[0]) / max(n - 1, 1))


def working_domain(
    values: Array, bounds: Bounds = OPEN, *, size: float | None = None, reference: Array | None = None
) -> Domain:
    """Return the interval that is mapped to [-1, 1]: the bounds, or on an open side the extended range of the data.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The sample, ascending.
    bounds : Bounds
        Hard limits; a finite one is an end of the domain.
    size : float, optional
        Effective size of the sample; default: n.
    reference : ndarray of shape (m,), optional
        Historical data, ascending, whose range is extended instead (`rank_margin`), and widened to hold the sample.

    Raises
    ------
    DegenerateSampleError
        If a side is open and the data that should set it have no two distinct values.

    Examples
    --------
    >>> working_domain(np.array([0.0, 1.0, 4.0]))
    Domain(lower=-2.0, upper=6.0)
    """
    if bounds.lower > -math.inf and bounds.upper < math.inf:
        return Domain(bounds.lower, bounds.upper)
    source, margin = (values, rank_margin(values, size)) if reference is None else (reference, rank_margin(reference))
    lower = min(float(source[0]) - margin, float(values[0]))
    upper = max(float(source[-1]) + margin, float(values[-1]))
    return Domain(
        bounds.lower if bounds.lower > -math.inf else lower,
        bounds.upper if bounds.upper < math.inf else upper,
    )
