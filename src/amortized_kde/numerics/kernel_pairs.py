"""Sums of Gaussian kernels of several sizes and shapes over a sample in several dimensions."""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.jit import entry


@entry
def sum_kernels(
    places: Array,
    skip: Index,
    points: Array,
    weights: Array,
    label: Index,
    centres: Array,
    inverses: Array,
    log_dets: Array,
    sizes: Array,
    pulls: Array,
    out: Array,
) -> None:
    """Write sums of kernels at places (m, d), of shape (m, sizes).

    The kernel of point x in group g is N(c + a (x - c), h^2 C), with h of `sizes` and a of `pulls`, c and C the group's
    centre and covariance: `centres` (G, d), `inverses` (G, d, d), inverse lower Cholesky factors of C, `log_dets` (G,).
    `label` (n,) is the group of each point, and `skip` (m,) the point that is left out at a place, or -1.
    """
    n, d = points.shape
    groups, rungs = centres.shape[0], sizes.size
    half = -0.5 * d * math.log(2.0 * math.pi)
    projected = np.empty((n, d))
    lengths = np.empty(n)
    for i in range(n):
        g = label[i]
        lengths[i] = 0.0
        for a in range(d):
            part = 0.0
            for b in range(a + 1):
                part += inverses[g, a, b] * (points[i, b] - centres[g, b])
            projected[i, a] = part
            lengths[i] += part * part
    heights = np.empty((groups, rungs))
    for g in range(groups):
        for j in range(rungs):
            heights[g, j] = math.exp(half - 0.5 * log_dets[g] - d * math.log(sizes[j]))
    v = np.empty((groups, d))
    q = np.empty(groups)
    for m in range(places.shape[0]):
        for g in range(groups):
            q[g] = 0.0
            for a in range(d):
                part = 0.0
                for b in range(a + 1):
                    part += inverses[g, a, b] * (places[m, b] - centres[g, b])
                v[g, a] = part
                q[g] += part * part
        for j in range(rungs):
            out[m, j] = 0.0
        for i in range(n):
            if i == skip[m]:
                continue
            g = label[i]
            cross = 0.0
            for a in range(d):
                cross += v[g, a] * projected[i, a]
            for j in range(rungs):
                length = q[g] - 2.0 * pulls[j] * cross + pulls[j] * pulls[j] * lengths[i]
                power = -0.5 * max(length, 0.0) / (sizes[j] * sizes[j])
                if power > -700.0:
                    out[m, j] += weights[i] * heights[g, j] * math.exp(power)
