import math

import numba
import numpy as np

from amortized_kde.numerics.sort import first_at_least


@numba.njit
def search(ascending, x):
    return first_at_least(ascending, x)


def test_search_is_that_of_numpy():
    ascending = np.array([-2.0, 0.0, 0.0, 1.0, 5.0])
    for x in [-3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 5.0, 6.0, math.inf, -math.inf]:
        assert search(ascending, x) == np.searchsorted(ascending, x)
    assert search(ascending[:0], 1.0) == 0
