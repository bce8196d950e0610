"""Where a variable can lie: hard bounds, and the working domain."""

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
) -> Bounds:
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
    Bounds(lower=-2.0, upper=6.0)
    """
    if bounds.lower > -math.inf and bounds.upper < math.inf:
        return Bounds(bounds.lower, bounds.upper)
    source, margin = (values, rank_margin(values, size)) if reference is None else (reference, rank_margin(reference))
    lower = min(float(source[0]) - margin, float(values[0]))
    upper = max(float(source[-1]) + margin, float(values[-1]))
    return Bounds(
        bounds.lower if bounds.lower > -math.inf else lower,
        bounds.upper if bounds.upper < math.inf else upper,
    )
