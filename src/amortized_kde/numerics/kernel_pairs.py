"""Sums of Gaussian kernels of several sizes and shapes over a sample in several dimensions."""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry


class KernelGroup(NamedTuple):
    """Kernels of several sizes at points (n, d), which share the shapes of their groups.

    The kernel of point x in group g is N(c + a (x - c), h^2 C), with h of `sizes` and a of `pulls`, c and C the group's
    centre and covariance: `centres` (G, d), `inverses` (G, d, d), inverse lower Cholesky factors of C, `log_dets` (G,).
    `label` (n,) is the group of each point.
    """

    points: Array
    weights: Array
    label: Index
    centres: Array
    inverses: Array
    log_dets: Array
    sizes: Array
    pulls: Array


@compiled
def _project(group: KernelGroup, g: int, points: Array, i: int, out: Array) -> float:
    """Write inverse (x - c) of one point for the shape of a group; return its squared length."""
    length = 0.0
    for a in range(out.size):
        part = 0.0
        for b in range(a + 1):
            part += group.inverses[g, a, b] * (points[i, b] - group.centres[g, b])
        out[a] = part
        length += part * part
    return length


@entry
def sum_kernels(places: Array, skip: Index, group: KernelGroup, out: Array) -> None:
    """Write sums of kernels at places (m, d), of shape (m, sizes); `skip` (m,) is a point to leave out, or -1.

    Where all kernels are far away a sum is exp(-708) of what it could be, not 0.
    """
    n, d = group.points.shape
    projected, lengths, heights = np.empty((d, n)), np.empty(n), np.empty(n)
    one, cross, base = np.empty(d), np.empty(n), np.empty(n)
    for i in range(n):
        g = group.label[i]
        lengths[i] = _project(group, g, group.points, i, one)
        for a in range(d):
            projected[a, i] = one[a]
        heights[i] = group.weights[i] * math.exp(-0.5 * d * math.log(2.0 * math.pi) - 0.5 * group.log_dets[g])
    v, q = np.empty((group.centres.shape[0], d)), np.empty(group.centres.shape[0])
    for m in range(places.shape[0]):
        for g in range(q.size):
            q[g] = _project(group, g, places, m, v[g])
        for i in range(n):
            cross[i], base[i] = 0.0, q[group.label[i]]
        for a in range(d):
            for i in range(n):
                cross[i] += v[group.label[i], a] * projected[a, i]
        own, height = skip[m], 0.0
        if own >= 0:
            # Subtracting its kernel afterwards would leave nothing but rounding where it is the only one.
            height, heights[own] = heights[own], 0.0
        for j in range(group.sizes.size):
            pull, power = group.pulls[j], -0.5 / group.sizes[j] ** 2
            total = 0.0
            for i in range(n):
                length = max(base[i] - 2.0 * pull * cross[i] + pull * pull * lengths[i], 0.0)
                total += heights[i] * exp_nonpositive(max(power * length, LOWEST_EXPONENT))
            out[m, j] = total * math.exp(-d * math.log(group.sizes[j]))
        if own >= 0:
            heights[own] = height
