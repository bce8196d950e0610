"""Narrow the kernels at sharp ends of samples larger than the network was trained on (n > 4096).

Where a density ends with a jump and no bound is given, kernels put probability outside, and the best widths shrink
faster than n^(-1/5). At each open end, bandwidths are limited by the distance from it, down to a factor that is chosen
by leave-one-out score on quantiles of the outer values.
"""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples
from amortized_kde.learned.adaptive.large import PHASED_IN, peak_offset, quantile_nodes

# Kernels are narrowed where their bandwidth is above this times the distance from the end.
_SLOPE = 0.2
# The fraction of the values at an end of which quantiles are taken.
_ZONE = 1 / 8
# The quantiles of the zone; the outer half of them is scored.
_NODES = 512
# The narrowest factor, in half octaves, and the gain in nats that every half octave must have. Narrower kernels would
# score better still, but draw ripples, and a spike where widths change quickly.
_NARROWEST, _LEAST_GAIN = 2, 4.0


def narrowed_ends(
    shares: Array,
    exponents: Array,
    sample: Samples,
    bounds: tuple[float, float],
    anchors: Index,
    local: Array,
    size_ratio: float,
) -> Array:
    """Return the shares (anchors, rungs) of one sample with narrower kernels at open ends, if that scores better.

    Parameters
    ----------
    shares : ndarray of shape (anchors, rungs)
    exponents : ndarray of shape (rungs,)
        Binary logarithms of the bandwidths, descending.
    sample : Samples
        A batch of one.
    bounds : (float, float)
        Infinite where open.
    anchors, local : ndarray of shape (anchors,)
        Ranks of the anchors, and the log-bandwidths there.
    size_ratio : float
        n over the number of values that the network saw.
    """
    octaves, x = np.zeros(anchors.size), sample.values
    for side, end in ((-1, x[0]), (1, x[-1])):
        if math.isinf(bounds[max(side, 0)]):
            most = _most_octaves(sample, side, anchors, local)
            octaves -= _octaves(np.abs(x[anchors] - end), np.exp(local), most)
    return moved_shares(shares, exponents, octaves * min(math.log(size_ratio) / math.log(PHASED_IN), 1.0))


def moved_shares(shares: Array, exponents: Array, octaves: Array) -> Array:
    """Return shares with bandwidths multiplied by 2^octaves at each anchor, split between the two nearest rungs."""
    ladder, last = exponents[::-1], exponents.size - 1
    target = np.clip(exponents + octaves[:, None], ladder[0], ladder[-1])
    above = np.clip(np.searchsorted(ladder, target), 1, last)
    part = (target - ladder[above - 1]) / (ladder[above] - ladder[above - 1])
    moved, rows = np.zeros_like(shares), np.arange(len(shares))[:, None]
    np.add.at(moved, (rows, last - above), part * shares)
    np.add.at(moved, (rows, last - above + 1), (1.0 - part) * shares)
    return moved


def _octaves(distance: Array, h: Array, most: float) -> Array:
    """How much narrower kernels are at a distance from the end, at most `most`; 0 from five bandwidths on."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log2(h / (_SLOPE * distance)), 0.0, most)


def _most_octaves(sample: Samples, side: int, anchors: Index, local: Array) -> float:
    """The best limit at the lower end (side -1) or the upper (1), in octaves; 0 where nodes are tied."""
    n = float(sample.effective_sizes[0])
    heaviest = float(sample.counts.max()) if sample.unequal[0] else 1.0
    count = 2 * int(min(_NODES, _ZONE * n / heaviest) / 2)
    if count == 0:
        return 0.0
    outside_in = (np.arange(count) + 0.5) / count * _ZONE
    nodes, h = quantile_nodes(sample, anchors, local, n * (outside_in if side < 0 else 1.0 - outside_in))
    nodes = -side * nodes
    end = -side * sample.values[0 if side < 0 else -1]
    distance, gaps = nodes - end, np.diff(nodes[: count // 2 + 1])
    if np.any(gaps == 0.0):
        return 0.0
    scores: list[float] = []
    for step in range(_NARROWEST + 1):
        width = h * 2.0 ** -_octaves(distance, h, 0.5 * step)
        if np.any(width[: count // 2] < gaps):
            break
        scores.append(n * _outer_score(nodes, width, n) - _LEAST_GAIN * step)
    at = int(np.argmax(scores)) if scores else 0
    return 0.5 * (at + (peak_offset(np.array(scores[at - 1 : at + 2])) if 0 < at < len(scores) - 1 else 0.0))


def _outer_score(nodes: Array, width: Array, n: float) -> float:
    r"""Return :math:`\sum \ln q_{-i}(x_i) / m - \int q` over the outer half of the zone, q from the zone alone."""
    half, share = nodes.size // 2, _ZONE / nodes.size
    kernel = (nodes[:half, None] - nodes) / width
    height = 1.0 / (math.sqrt(2.0 * math.pi) * width)
    density = share * (np.exp(-0.5 * kernel * kernel) @ height) - height[:half] / n
    from scipy.special import ndtr

    mass = share * np.sum(ndtr((0.5 * (nodes[half - 1] + nodes[half]) - nodes) / width))
    # Where hardly more than the value itself is near, rounding can leave nothing.
    return float(share * np.sum(np.log(np.maximum(density, 1e-9 * height[:half]))) - mass)
