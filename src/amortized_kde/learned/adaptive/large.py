"""Extend predictions to samples larger than the networks were trained on (n > 4096).

Corrections are phased in with log(n / 4096). `adaptive`: average shares over neighbouring anchors, and multiply all
bandwidths by one factor chosen by leave-one-out score on quantiles. `single`: move the bandwidth most of the way to the
best leave-one-out score of all values.
"""

import math
from functools import cache

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples, evened_among_ties
from amortized_kde.density.kernels import mass_between
from amortized_kde.learned.adaptive.anchors import midpoints
from amortized_kde.numerics.leave_one_out import leave_one_out_slope

# Shares are averaged over this many anchors on either side, with a Gaussian weight in the difference of their log local
# bandwidths. Of reaches from 3 to 48 this was best on twelve densities: it divides the excess at n = 10^6 by four.
_NEIGHBOURS, _LOG_BANDWIDTH_SD = 24, 1.0
# Size ratios from which averages and multiplier apply in full; below, in proportion to the logarithm of the ratio.
_AVERAGED_FROM, PHASED_IN = 64.0, 4.0
# Candidate multipliers, in half octaves.
_CANDIDATES = np.arange(2, -7, -1)
# Numbers of quantile nodes; more where the narrowest bandwidths that fewer nodes can resolve are best.
_NODES = (512, 1024, 2048)
# Fraction of the nodes in each tail that is not scored: there, nodes are too far apart to represent the values.
_TAIL = 1 / 32
# A multiplier of half an octave must gain 5 nats, this times ln 2, one of three octaves 25: in repeated samples the
# scores of half-octave steps about the best vary by some nats.
_PENALTY = 7.0
# The part of the way that `single` moves towards the best leave-one-out score, and the size ratio from which it does so
# in full. All the way, a few outliers could widen the bandwidth of thousands of values.
_MOVE, _MOVED_FROM = 0.75, 2.0
# The maximum of the score is sought in steps of this many octaves, up to this distance.
_STEP, _FARTHEST = 0.5, 6.0


def averaged_shares(shares: Array, bandwidths: Array, size_ratio: float) -> Array:
    """Return shares (anchors, rungs) averaged over neighbours with similar local bandwidths; over fewer at the ends.

    Predictions vary with the few values that the network sees. Kernels whose widths vary so distort the density, and
    would do so however large the sample is. `size_ratio` is n over the number of values seen.
    """
    most = _NEIGHBOURS * min(math.log(size_ratio) / math.log(_AVERAGED_FROM), 1.0)
    place, local = np.arange(len(shares)), shares @ np.log(bandwidths)
    reach = np.minimum(most, np.minimum(place, place[::-1])) + 1.0
    total, weights = np.zeros_like(shares), np.zeros((place.size, 1))
    for step in range(-math.ceil(most), math.ceil(most) + 1):
        other = np.clip(place + step, 0, place.size - 1)
        similar = np.exp(-0.5 * ((local[other] - local) / _LOG_BANDWIDTH_SD) ** 2)
        weight = (np.maximum(1.0 - abs(step) / reach, 0.0) * similar)[:, None]
        total += weight * shares[other]
        weights += weight
    return np.asarray(total / weights)


def bandwidth_multiplier(
    sample: Samples, bounds: tuple[float, float], anchors: Index, local: Array, size_ratio: float
) -> float:
    """Return one multiplier for all bandwidths, chosen by a penalised leave-one-out log score on quantile nodes.

    The network sees 4096 values; this uses all of them. Candidates are half octaves, refined by a parabola through the
    best three. Multiplied bandwidths are no narrower than the nodes can resolve. The multiplier is at least 1 where
    nodes are tied, since rounding would otherwise drive bandwidths to zero, and 1 where a single value outweighs a
    node.

    Parameters
    ----------
    sample : Samples
        A batch of one.
    bounds : (float, float)
        Infinite where open.
    anchors, local : ndarray of shape (anchors,)
        Ranks of the anchors, and the log-bandwidths there.
    size_ratio : float
        n over the number of values that the network saw.
    """
    best, widest, n = 0.0, int(_CANDIDATES[0]), float(sample.effective_sizes[0])
    heaviest = float(sample.counts.max()) if sample.unequal[0] else 1.0
    for count in _NODES:
        if count * heaviest > n:
            break
        positions = np.asarray((np.arange(count) + 0.5) * (n / count))
        nodes, h = quantile_nodes(sample, anchors, local, positions)
        steps = _CANDIDATES[(widest >= _CANDIDATES) & (2.0 ** (0.5 * _CANDIDATES) * _resolution(nodes, h) >= 1.0)]
        if not steps.size or steps[-1] > best:
            break
        scores = n * _scores(nodes, h, bounds, n, steps) - _PENALTY * np.log1p(steps**2)
        at = int(np.argmax(scores))
        best = float(steps[at])
        if 0 < at < steps.size - 1:
            best -= peak_offset(scores[at - 1 : at + 2])
        if at < steps.size - 1:
            break
        widest = int(steps[at]) + 1
    return float(2.0 ** (0.5 * best * min(math.log(size_ratio) / math.log(PHASED_IN), 1.0)))


def peak_offset(scores: Array) -> float:
    """Return how far from the middle of three even places the parabola through their scores is highest, in places."""
    before, here, after = scores
    return float(0.5 * (after - before) / (2.0 * here - before - after))


def moved_bandwidth(sample: Samples, bounds: tuple[float, float], h: float, size_ratio: float) -> float:
    """Return the bandwidth h of one sample, moved towards the nearest maximum of the leave-one-out score.

    The score is that of all values; tied values are left out together.
    """
    from scipy.optimize import brentq

    x, origin = sample.values, float(sample.values[sample.values.size // 2])
    unit, counts = (x - origin) / h, sample.counts if sample.unequal[0] else None
    low, high = ((end - origin) / h for end in bounds)

    @cache
    def slope(octaves: float) -> float:
        return float(leave_one_out_slope(unit, counts, 2.0**octaves, low, high))

    step = math.copysign(_STEP, slope(0.0))
    end = step
    while abs(end) < _FARTHEST and slope(end) * step > 0.0:
        end += step
    # Without a maximum on the way, as far as the search goes.
    found = brentq(slope, end - step, end, xtol=0.02) if slope(end) * step <= 0.0 else end
    return float(h * 2.0 ** (_MOVE * found * min(math.log(size_ratio) / math.log(_MOVED_FROM), 1.0)))


def quantile_nodes(sample: Samples, anchors: Index, local: Array, positions: Array) -> tuple[Array, Array]:
    """Quantiles with these numbers of values below them, counted in weight, and the bandwidths there."""
    x = sample.values
    if not sample.unequal[0]:
        places = positions - 0.5
        below = np.clip(places.astype(np.int64), 0, x.size - 2)
        part = np.clip(places - below, 0.0, 1.0)
        return x[below] + part * (x[below + 1] - x[below]), np.exp(np.interp(places, anchors, local))
    middles = midpoints(evened_among_ties(x, sample.counts, sample.offsets))
    return np.interp(positions, middles, x), np.exp(np.interp(positions, middles[anchors], local))


def _resolution(nodes: Array, h: Array) -> float:
    """The smallest ratio of bandwidth to the distance of the nearest node, tails excepted; at most 1 with ties."""
    middle = _middle(nodes.size)
    distinct, which = np.unique(nodes, return_inverse=True)
    gaps = np.minimum(np.diff(distinct, prepend=-math.inf), np.diff(distinct, append=math.inf))
    tied = np.any(np.diff(nodes[middle]) == 0.0)
    return float(np.min((h / gaps[which])[middle], initial=1.0 if tied else math.inf))


def _middle(count: int) -> slice:
    return slice(int(_TAIL * count), count - int(_TAIL * count))


def _scores(nodes: Array, h: Array, bounds: tuple[float, float], n: float, steps: Index) -> Array:
    r"""Return :math:`\sum \ln q_{-i}(x_i) / m - \int q` over the middle of m nodes, for bandwidths 2^(steps / 2) h.

    The integral, over the range of the middle nodes, makes this a proper score although the tails are left out. Nodes
    represent all values where they are closer than a bandwidth.
    """
    middle = _middle(nodes.size)
    low, high = (0.5 * (nodes[k - 1] + nodes[k]) for k in (middle.start, middle.stop))
    kernel = nodes[middle, None] - nodes
    kernel /= 2.0 ** (0.5 * steps[0]) * h
    kernel *= kernel
    kernel *= -0.5
    np.exp(kernel, out=kernel)
    scores = np.empty(steps.size)
    for k, step in enumerate(steps):
        width = 2.0 ** (0.5 * step) * h
        inside = mass_between((bounds[0] - nodes) / width, (bounds[1] - nodes) / width)
        height = 1.0 / (math.sqrt(2.0 * math.pi) * width * inside)
        density = np.einsum("ij,j->i", kernel, height) / nodes.size - height[middle] / n
        mass = mass_between((low - nodes) / width, (high - nodes) / width) / inside
        # Where hardly more than the value itself is near, rounding can leave nothing.
        density = np.maximum(density, 1e-9 * height[middle])
        scores[k] = np.sum(np.log(density)) / nodes.size - np.mean(mass)
        # The square of a kernel is the one half an octave narrower.
        kernel *= kernel
    return scores
