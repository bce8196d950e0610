"""Bounds, the working domain, and the map of it to [-1, 1] and back. Location and scale live only here.

What enters: bounds as people write them, and ascending values. What leaves: `Bounds` (floats, infinite where open) and
`Domain` (a finite interval with its affine map). It knows nothing of features, bandwidth rules or densities.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array, Flags
from amortized_kde.data.sample import LARGEST_VALUE, Samples, read_sample
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError


class Bounds(NamedTuple):
    """Hard limits of a density; minus or plus infinity where a side is open."""

    lower: float = -math.inf
    upper: float = math.inf

    @property
    def is_open(self) -> bool:
        """Whether neither side is bounded."""
        return self.lower == -math.inf and self.upper == math.inf


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
        """Give m + a y, the inverse of T."""
        return np.asarray(self.middle + self.half_width * y)

    def bandwidth_from_unit(self, h: float) -> float:
        """h_[A,B] = a h (paper, eq. 11)."""
        return self.half_width * h


def read_bounds(bounds: Sequence[float | None] | None) -> Bounds:
    """Read ``(A, B)``, either of which may be None (open).

    Raises
    ------
    InvalidBoundsError
        If it is not a pair of numbers or None with A < B.

    Examples
    --------
    >>> read_bounds((0, None))
    Bounds(lower=0.0, upper=inf)
    """
    if bounds is None:
        return OPEN
    try:
        lower, upper = bounds
        if isinstance(lower, str) or isinstance(upper, str):
            raise TypeError
        a = -math.inf if lower is None else float(lower)
        b = math.inf if upper is None else float(upper)
    except (TypeError, ValueError):
        raise InvalidBoundsError(
            f"bounds must be a pair (A, B) of numbers or None, such as (0, None); got {bounds!r}."
        ) from None
    for end in (a, b):
        if math.isnan(end) or LARGEST_VALUE < abs(end) < math.inf:
            raise InvalidBoundsError(f"{end} cannot be a bound; leave a side open with None.")
    if not a < b:
        raise InvalidBoundsError(f"the lower bound {a:g} must be below the upper bound {b:g}.")
    return Bounds(a, b)


def check_inside(values: Array, bounds: Bounds) -> None:
    """Raise `InvalidBoundsError` if an ascending sample reaches beyond the bounds."""
    if bounds.lower <= values[0] and values[-1] <= bounds.upper:
        return
    below, above = int(np.sum(values < bounds.lower)), int(np.sum(values > bounds.upper))
    if below or above:
        worst = values[0] if below else values[-1]
        side = f"below the lower bound {bounds.lower:g}" if below else f"above the upper bound {bounds.upper:g}"
        raise InvalidBoundsError(
            f"{below + above} of {values.size} values lie outside the bounds (for example {worst:g}, {side}); "
            "widen the bounds or remove these values."
        )


def rows_outside(samples: Samples, bounds: Bounds) -> Flags:
    """Return which samples have a value outside the bounds."""
    outside, values = np.zeros(len(samples), bool), samples.values
    # Most batches lie inside as a whole, which two quick passes show.
    if bounds.is_open or (
        values.min(initial=math.inf) >= bounds.lower and values.max(initial=-math.inf) <= bounds.upper
    ):
        return outside
    nonempty = samples.sizes > 0
    # reduceat reads the next sample's first value for an empty one, so empty samples are left out.
    value_outside = (values < bounds.lower) | (values > bounds.upper)
    outside[nonempty] = np.logical_or.reduceat(value_outside, samples.offsets[:-1][nonempty])
    return outside


def rank_margin(values: Array, size: float | None = None) -> float:
    """Widening on each side by which a uniform density leaves the range with probability 2/(n + 1).

    A new observation falls outside the range of n with probability 2/(n + 1) (paper, section 2.3); for a uniform
    density on the range widened by w on each side that is 2w/(range + 2w), hence w = range/(n - 1). `size` is n where
    weights make it less than the number of values; w is never more than the range.
    """
    if values.size < 2 or values[-1] == values[0]:
        raise DegenerateSampleError(
            "a sample with a single distinct value has no working domain; give both bounds or reference data."
        )
    n = values.size if size is None else size
    return float((values[-1] - values[0]) / max(n - 1, 1))


def working_domain(
    values: Array, bounds: Bounds = OPEN, *, size: float | None = None, reference: ArrayLike | None = None
) -> Domain:
    """Find the interval that is mapped to [-1, 1]: the bounds, and where a side is open, the data's or reference's.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The sample, ascending.
    bounds : Bounds
        Hard limits; a finite one is the domain's end.
    size : float, optional
        The sample's effective size, where weights make it less than n.
    reference : array_like, optional
        Historical data that give the open ends instead of the sample: their range, widened by the same rank identity
        and, where the sample reaches further, to the sample's range.

    Raises
    ------
    DegenerateSampleError
        If a side is open and neither sample nor reference has two distinct values.

    Examples
    --------
    >>> working_domain(np.array([0.0, 1.0, 4.0]))
    Domain(lower=-2.0, upper=6.0)
    """
    if bounds.lower > -math.inf and bounds.upper < math.inf:
        return Domain(bounds.lower, bounds.upper)
    source, margin = values, 0.0
    if reference is None:
        margin = rank_margin(values, size)
    else:
        source = read_sample(reference, what="reference").values
        margin = rank_margin(source)
    lower = min(float(source[0]) - margin, float(values[0]))
    upper = max(float(source[-1]) + margin, float(values[-1]))
    return Domain(
        bounds.lower if bounds.lower > -math.inf else lower,
        bounds.upper if bounds.upper < math.inf else upper,
    )
