"""Many kernels of one bandwidth replaced by few that make the same sum.

Across a cell a quarter of a bandwidth wide, a kernel seen from x is a smooth function of its place: between sixteen
Chebyshev nodes its interpolation errs by 1e-17 of it where x is nine bandwidths away, 1e-13 where x is fourteen. So the
kernels of a cell may be exchanged for sixteen at the nodes, each with the sum of the coefficients times the node's
interpolation weight. Some of those are negative: such kernels serve for sums, not for draws.
"""

import math

import numpy as np

from amortized_kde._types import Array
from amortized_kde.numerics.jit import entry

# Sums that are smaller than exp(-60) of the largest there can be see places fourteen bandwidths away.
FAITHFUL = -60.0
# Below this a direct sum is quick, and nothing has to be compiled.
_FEW = 8192
# So many cells make a bandwidth.
CELLS_PER_BANDWIDTH = 4.0
_NODES = 16
_LANES = 64

_ANGLES = (np.arange(_NODES)[::-1] + 0.5) * (math.pi / _NODES)
# Column j holds 2/16 T_j at the nodes (1/16 for j = 0): what turns Chebyshev moments into weights at the nodes.
_FROM_MOMENTS = np.cos(_ANGLES[:, None] * np.arange(_NODES)) * (np.where(np.arange(_NODES) == 0, 1.0, 2.0) / _NODES)


def condense(places: Array, coefficients: Array, bandwidth: float) -> tuple[Array, Array]:
    """Give the kernels as they are, or if they are many and close together, fewer with the same sum."""
    if places.size < _FEW:
        return places, coefficients
    out = np.empty((2, places.size))
    count = _condense(places, coefficients, bandwidth / CELLS_PER_BANDWIDTH, np.cos(_ANGLES), _FROM_MOMENTS, out)
    return (places, coefficients) if 2 * count > places.size else (out[0, :count].copy(), out[1, :count].copy())


@entry
def _condense(places: Array, coefficients: Array, width: float, nodes: Array, weights: Array, out: Array) -> int:
    """Write places and coefficients of fewer kernels to `out` (2, n), and give how many."""
    t, now, before, moments = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES), np.empty(_NODES)
    count = i = 0
    while i < places.size:
        centre = places[0] + (math.floor((places[i] - places[0]) / width) + 0.5) * width
        stop = i + 1
        while stop < places.size and places[stop] - centre < 0.5 * width:
            stop += 1
        if stop - i <= _NODES:
            for j in range(i, stop):
                out[0, count], out[1, count] = places[j], coefficients[j]
                count += 1
            i = stop
            continue
        moments[:] = 0.0
        while i < stop:
            size = min(_LANES, stop - i)
            for j in range(size):
                t[j] = (places[i + j] - centre) * (2.0 / width)
                now[j] = coefficients[i + j]
                before[j] = t[j] * now[j]
            # T_j = 2 t T_(j-1) - T_(j-2), begun with T_0 and T_(-1) = T_1, and times the coefficient throughout.
            for q in range(_NODES):
                moment = 0.0
                for j in range(size):
                    moment += now[j]
                    following = 2.0 * t[j] * now[j] - before[j]
                    before[j] = now[j]
                    now[j] = following
                moments[q] += moment
            i += size
        for node in range(_NODES):
            out[0, count], out[1, count] = centre + 0.5 * width * nodes[node], 0.0
            for q in range(_NODES):
                out[1, count] += weights[node, q] * moments[q]
            count += 1
    return count
