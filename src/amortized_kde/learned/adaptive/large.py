"""How the answers for 4096 described values are carried over to all values of a larger sample.

A batch of one sample and the shares at its anchors enter; smoother shares leave, and one factor for all bandwidths.
Both grow in from nothing where a sample is just larger than what is described of it. The models are not known here.
"""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples, evened_among_ties
from amortized_kde.density.kernels import mass_between
from amortized_kde.learned.adaptive.anchors import middles_of

# Shares are means over so many anchors to both sides, above all those whose local bandwidths differ by less than a
# factor e. Of reaches from 3 to 48 that was best on twelve densities: it divides the excess at n = 10^6 by four.
_NEIGHBOURS, _ALIKE = 24, 1.0
# From samples so many times as large as what is described of them on, means and factor count wholly; below in
# proportion to the logarithm.
_EVENED_FROM, _FACTOR_FROM = 64.0, 4.0
# Factors are tried in half octaves, of which these are the numbers.
_TRIED = np.arange(2, -7, -1)
# Nodes that stand for equally many values each; more where the narrowest bandwidths that they can tell are best.
_NODES = (512, 1024, 2048)
# The score is taken between these shares of the nodes: beyond, nodes are too far apart to stand for the values.
_TAIL = 1 / 32
# A factor of half an octave must gain 5 nats, this times ln 2, one of three octaves 25: in repeated samples the scores
# of half-octave steps about the best go up and down by some nats.
_DOUBT = 7.0


def evened(shares: Array, bandwidths: Array, beyond: float) -> Array:
    """Means of shares (anchors, rungs) over neighbours whose local bandwidths are alike; at the ends over fewer.

    The answers go up and down with the few values that are described. Kernels whose widths do so push the density
    about, and would do so however large the sample is. `beyond` says how many times larger it is.
    """
    most = _NEIGHBOURS * min(math.log(beyond) / math.log(_EVENED_FROM), 1.0)
    place, local = np.arange(len(shares)), shares @ np.log(bandwidths)
    reach = np.minimum(most, np.minimum(place, place[::-1])) + 1.0
    total, weights = np.zeros_like(shares), np.zeros((place.size, 1))
    for step in range(-math.ceil(most), math.ceil(most) + 1):
        other = np.clip(place + step, 0, place.size - 1)
        alike = np.exp(-0.5 * ((local[other] - local) / _ALIKE) ** 2)
        weight = (np.maximum(1.0 - abs(step) / reach, 0.0) * alike)[:, None]
        total += weight * shares[other]
        weights += weight
    return np.asarray(total / weights)


def common_factor(sample: Samples, bounds: tuple[float, float], anchors: Index, local: Array, beyond: float) -> float:
    """Give the factor of all bandwidths that all values of a sample speak for, most often near 1.

    What is described of a sample cannot show the detail that its other values would. `local` are logarithms of the
    bandwidths at the anchors. The factor has the best score of values left out (`_scores`), less a doubt; between half
    octaves a parabola tells. It is not less than what nodes can tell; nor than 1 where nodes are tied, for what is left
    out is then still there, and rounding would draw bandwidths to zero. Where one value weighs more than a node, nodes
    tell nothing.
    """
    best, widest, n = 0.0, int(_TRIED[0]), float(sample.effective_sizes[0])
    heaviest = float(sample.counts.max()) if sample.unequal[0] else 1.0
    for count in _NODES:
        if count * heaviest > n:
            break
        nodes, h = _at_nodes(sample, anchors, local, count)
        tried = _TRIED[(widest >= _TRIED) & (2.0 ** (0.5 * _TRIED) * _resolution(nodes, h) >= 1.0)]
        if not tried.size or tried[-1] > best:
            break
        scores = n * _scores(nodes, h, bounds, n, tried) - _DOUBT * np.log1p(tried**2)
        at = int(np.argmax(scores))
        best = float(tried[at])
        if 0 < at < tried.size - 1:
            before, here, after = scores[at - 1 : at + 2]
            best += 0.5 * (before - after) / (2.0 * here - before - after)
        if at < tried.size - 1:
            break
        widest = int(tried[at]) + 1
    return float(2.0 ** (0.5 * best * min(math.log(beyond) / math.log(_FACTOR_FROM), 1.0)))


def _at_nodes(sample: Samples, anchors: Index, local: Array, count: int) -> tuple[Array, Array]:
    """Quantiles at the middles of so many equal parts, and the bandwidths there."""
    x = sample.values
    if not sample.unequal[0]:
        places = (np.arange(count) + 0.5) * (x.size / count) - 0.5
        below = places.astype(np.int64)
        part = places - below
        return x[below] + part * (x[below + 1] - x[below]), np.exp(np.interp(places, anchors, local))
    middles = middles_of(evened_among_ties(x, sample.counts, sample.offsets))
    places = (np.arange(count) + 0.5) * (sample.effective_sizes[0] / count)
    return np.interp(places, middles, x), np.exp(np.interp(places, middles[anchors], local))


def _resolution(nodes: Array, h: Array) -> float:
    """How many times wider than the distance to the nearest other value bandwidths are at least, but for the tails.

    Where nodes are tied not more than 1.
    """
    middle = _middle(nodes.size)
    apart, own = np.unique(nodes, return_inverse=True)
    gaps = np.minimum(np.diff(apart, prepend=-math.inf), np.diff(apart, append=math.inf))
    tied = np.any(np.diff(nodes[middle]) == 0.0)
    return float(np.min((h / gaps[own])[middle], initial=1.0 if tied else math.inf))


def _middle(count: int) -> slice:
    return slice(int(_TAIL * count), count - int(_TAIL * count))


def _scores(nodes: Array, h: Array, bounds: tuple[float, float], n: float, tried: Index) -> Array:
    r"""Give :math:`\sum \ln q(x_i) / m - \int q` over the middle of m nodes, the own value left out of each q(x_i).

    For bandwidths times each factor tried. The integral, over what the nodes of the middle stand for, makes it a proper
    score though the tails are left out. Nodes stand for all values wherever they are closer than a bandwidth.
    """
    middle = _middle(nodes.size)
    low, high = (0.5 * (nodes[k - 1] + nodes[k]) for k in (middle.start, middle.stop))
    kernel = nodes[middle, None] - nodes
    kernel /= 2.0 ** (0.5 * tried[0]) * h
    kernel *= kernel
    kernel *= -0.5
    np.exp(kernel, out=kernel)
    scores = np.empty(tried.size)
    for k, step in enumerate(tried):
        width = 2.0 ** (0.5 * step) * h
        inside = mass_between((bounds[0] - nodes) / width, (bounds[1] - nodes) / width)
        height = 1.0 / (math.sqrt(2.0 * math.pi) * width * inside)
        density = np.einsum("ij,j->i", kernel, height) / nodes.size - height[middle] / n
        mass = mass_between((low - nodes) / width, (high - nodes) / width) / inside
        # Where hardly more than the own value is near, rounding may leave nothing.
        density = np.maximum(density, 1e-9 * height[middle])
        scores[k] = np.sum(np.log(density)) / nodes.size - np.mean(mass)
        # The square of a kernel is the one half an octave narrower.
        kernel *= kernel
    return scores
