"""Search sorted values in compiled loops."""

from amortized_kde._types import Array
from amortized_kde.numerics.jit import compiled


@compiled
def first_at_least(ascending: Array, x: float) -> int:
    """Return the first index whose value is >= x (as np.searchsorted, which takes far longer to compile)."""
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low
