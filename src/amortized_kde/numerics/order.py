"""Scale statistics of one ascending row of numbers."""

import math

from amortized_kde._types import Array
from amortized_kde.numerics.jit import compiled


@compiled
def first_at_least(ascending: Array, x: float) -> int:
    """Give the first index whose value is >= x (as np.searchsorted, which takes far longer to compile)."""
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def standard_deviation(ascending: Array) -> float:
    """Give the standard deviation with divisor n - 1, in two passes from the smallest value."""
    origin = ascending[0]
    mean = 0.0
    for x in ascending:
        # max() changes nothing, but keeps the compiler from adding the origin and the mean first.
        mean += max(x - origin, 0.0)
    mean /= ascending.size
    largest = max(ascending[-1] - origin, 1e-300)
    total = 0.0
    for x in ascending:
        # Relative to the range, so that no square overflows or underflows.
        d = (max(x - origin, 0.0) - mean) / largest
        total += d * d
    return largest * math.sqrt(total / (ascending.size - 1))


@compiled
def interquartile_range(ascending: Array) -> float:
    """Give the distance of the quartiles, each by linear interpolation at (n - 1) p (type 7, as R and NumPy)."""
    # From the middle, where an outlier is not: then no offset and no outlier rounds the quartiles.
    distance, origin = 0.0, ascending[ascending.size // 2]
    for sign in (-1.0, 1.0):
        position = (ascending.size - 1) * (0.5 + 0.25 * sign)
        i = int(position)
        following = min(i + 1, ascending.size - 1)
        distance += sign * (ascending[i] - origin + (position - i) * (ascending[following] - ascending[i]))
    return distance
