"""Root finding by bracketing, one step at a time, so that a compiled caller evaluates its function in one place.

    search = np.zeros(SEARCH)
    search[:4] = low, high, tolerance, expansions
    x = advance(search, math.nan)
    while not math.isnan(x):
        x = advance(search, function(x))
    root = search[ROOT]              # NaN if no bracket was found

The function is evaluated at both ends first. While it has the same sign there, the upper and the lower end move outward
by a factor of 1.2 in turn, at most `expansions` times, as in R's bw.SJ. Then Chandrupatla's method (Adv. Eng. Softw. 28
(1997) 145) shrinks the bracket until it is narrower than twice the tolerance. The variable can be h or log h.
"""

import math

from amortized_kde._types import Array
from amortized_kde.numerics.jit import compiled

# Indices into the state: what the caller sets, what it reads, the rest.
_LOW, _HIGH, _TOLERANCE, _EXPANSIONS, ROOT, _STAGE, _TRIAL, _F_LOW, _X1, _F1, _X2, _F2, _X3, _F3, _COUNT = range(15)
SEARCH = 15
_BEGIN, _AT_LOW, _AT_HIGH, _INSIDE = 0.0, 1.0, 2.0, 3.0


@compiled
def advance(search: Array, value: float) -> float:
    """Return the next argument, given the function's value at the last one; NaN when the search is over."""
    stage = search[_STAGE]
    if stage == _BEGIN:
        search[ROOT], search[_F1] = math.nan, math.nan
        search[_STAGE] = _AT_LOW
        return search[_LOW]
    if stage == _AT_LOW:
        search[_F_LOW] = value
    elif stage == _AT_HIGH:
        search[_F1] = value
    if stage == _AT_LOW and math.isnan(search[_F1]):
        search[_STAGE] = _AT_HIGH
        return search[_HIGH]
    if stage != _INSIDE:
        if search[_F_LOW] * search[_F1] > 0.0 and search[_COUNT] < search[_EXPANSIONS]:
            search[_COUNT] += 1.0
            odd = search[_COUNT] % 2.0 == 1.0
            end = _HIGH if odd else _LOW
            search[end] *= 1.2 if odd else 1.0 / 1.2
            search[_STAGE] = _AT_HIGH if odd else _AT_LOW
            return search[end]
        if not search[_F_LOW] * search[_F1] <= 0.0:
            return math.nan
        search[_STAGE] = _INSIDE
        search[_X1], search[_X2], search[_F2] = search[_HIGH], search[_LOW], search[_F_LOW]
        search[_X3], search[_F3] = search[_X2], search[_F2]
    else:
        if (value > 0.0) == (search[_F1] > 0.0):
            search[_X3], search[_F3] = search[_X1], search[_F1]
        else:
            search[_X3], search[_F3] = search[_X2], search[_F2]
            search[_X2], search[_F2] = search[_X1], search[_F1]
        search[_X1], search[_F1] = search[_TRIAL], value
    x1, f1, x2, f2, x3, f3 = search[_X1], search[_F1], search[_X2], search[_F2], search[_X3], search[_F3]
    search[ROOT] = x1 if abs(f1) <= abs(f2) else x2
    width = abs(x2 - x1)
    if f1 == 0.0 or f2 == 0.0 or width < 2.0 * search[_TOLERANCE]:
        return math.nan
    t = 0.5
    if x3 != x2 and f3 != f2 and f3 != f1:
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
            # Inverse quadratic interpolation, where it is certain to stay inside the bracket.
            t = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    limit = search[_TOLERANCE] / width
    search[_TRIAL] = x1 + min(max(t, limit), 1.0 - limit) * (x2 - x1)
    return search[_TRIAL]
