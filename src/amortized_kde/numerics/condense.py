"""Replace many kernels of one bandwidth by few with the same sum.

Across a cell a quarter of a bandwidth wide, a kernel seen from x is a smooth function of its place: between sixteen
Chebyshev nodes its interpolation errs by 1e-17 of it where x is nine bandwidths away, 1e-13 where x is fourteen. So
sixteen kernels at the nodes can replace those of a cell, each with the sum of the coefficients times the node's
interpolation weight. Some of these are negative: such kernels serve for sums, not for draws.
"""

import math

import numpy as np

from amortized_kde._types import Array
from amortized_kde.numerics.jit import entry

# Sums below exp(-60) of the largest possible one come from places about fourteen bandwidths away or farther.
FAITHFUL = -60.0
# Below this many kernels a direct sum is quick, and nothing has to be compiled.
_CONDENSED_FROM = 8192
# Nodes are rounded to float64. Below this many spacings of it, a bandwidth would notice.
_LEAST_SPACINGS = 4096.0
CELLS_PER_BANDWIDTH = 4.0
NODES_PER_CELL = 16
# Kernels summed at a time.
_LANES = 64

_ANGLES = (np.arange(NODES_PER_CELL)[::-1] + 0.5) * (math.pi / NODES_PER_CELL)
NODES = np.cos(_ANGLES)
# Column j holds 2/16 T_j at the nodes (1/16 for j = 0): it turns Chebyshev moments into coefficients at the nodes.
FROM_MOMENTS = np.cos(_ANGLES[:, None] * np.arange(NODES_PER_CELL)) * (
    np.where(np.arange(NODES_PER_CELL) == 0, 1.0, 2.0) / NODES_PER_CELL
)


def finest_bandwidth(places: Array) -> float:
    """Return the smallest bandwidth for which kernels at ascending places can be condensed."""
    return _LEAST_SPACINGS * float(np.spacing(max(abs(places[0]), abs(places[-1]))))


def condense(places: Array, coefficients: Array, bandwidth: float) -> tuple[Array, Array]:
    """Return fewer kernels with the same sum if they are many and close together, otherwise the same arrays."""
    if places.size < _CONDENSED_FROM or bandwidth < finest_bandwidth(places):
        return places, coefficients
    out = np.empty((2, places.size))
    count = _condense(places, coefficients, bandwidth / CELLS_PER_BANDWIDTH, NODES, FROM_MOMENTS, out)
    return (places, coefficients) if 2 * count > places.size else (out[0, :count].copy(), out[1, :count].copy())


@entry
def _condense(places: Array, coefficients: Array, width: float, nodes: Array, from_moments: Array, out: Array) -> int:
    """Write places and coefficients of fewer kernels to `out` (2, n), and return their number."""
    t, now, before, moments = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES), np.empty(NODES_PER_CELL)
    count = i = 0
    while i < places.size:
        centre = places[0] + (math.floor((places[i] - places[0]) / width) + 0.5) * width
        stop = i + 1
        while stop < places.size and places[stop] - centre < 0.5 * width:
            stop += 1
        if stop - i <= NODES_PER_CELL:
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
            for q in range(NODES_PER_CELL):
                moment = 0.0
                for j in range(size):
                    moment += now[j]
                    following = 2.0 * t[j] * now[j] - before[j]
                    before[j] = now[j]
                    now[j] = following
                moments[q] += moment
            i += size
        for node in range(NODES_PER_CELL):
            out[0, count], out[1, count] = centre + 0.5 * width * nodes[node], 0.0
            for q in range(NODES_PER_CELL):
                out[1, count] += from_moments[node, q] * moments[q]
            count += 1
    return count
