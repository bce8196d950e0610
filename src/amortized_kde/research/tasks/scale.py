"""The scale at which a density has a wanted mass in [-1, 1].

Standard densities, locations and masses enter, scales leave. With x = μ + s (Y - E Y) the event -1 <= x <= 1
is (-1 - μ)/s <= Y - E Y <= (1 - μ)/s, and for μ inside (-1, 1) this interval shrinks as s grows. So the mass
falls from 1 to 0 without turning, whatever the shape: there is exactly one scale for every c between 0 and 1.
"""

import numpy as np

from amortized_kde._types import Array
from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks.densities import mass_inside
from amortized_kde.research.tasks.standard import Standard

# Natural logarithms between which the scale is sought: 2e-9 and 2981. The widest scale of Table 1 is 8.3; a
# Student-t with three degrees of freedom needs the smallest one only when 1 - c is below 1e-24.
_LOWEST, _HIGHEST = -20.0, 8.0
# Halvings that take the width of that interval, 28, to one unit in the last place of its logarithm.
_HALVINGS = 58


def place(standard: Standard, shapes: Array, *, locations: Array, slopes: Array) -> Array:
    """Give the origins (rows,) that put the mean of each density at its location: μ - slope · E Y."""
    return np.asarray(locations - slopes * standard.mean(shapes))


def solve_slopes(
    standard: Standard,
    shapes: Array,
    *,
    locations: Array,
    masses: Array,
    signs: Array,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Array:
    """Give the slopes (rows,), of the given signs, at which the mass inside the bounds is the one wanted.

    Raises
    ------
    InvalidParameterError
        If a wanted mass is not strictly between 0 and 1, or a location is not inside the bounds.
    """
    if not ((masses > 0.0) & (masses < 1.0) & (locations > bounds[0]) & (locations < bounds[1])).all():
        raise InvalidParameterError("Masses must lie strictly between 0 and 1, and locations inside the bounds.")
    low, high = np.full(masses.shape, _LOWEST), np.full(masses.shape, _HIGHEST)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        slopes = signs * np.exp(middle)
        origins = place(standard, shapes, locations=locations, slopes=slopes)
        enough = mass_inside(standard, shapes, origins=origins, slopes=slopes, bounds=bounds) >= masses
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.asarray(signs * np.exp(0.5 * (low + high)))
