"""What the CRPS of a sum of Gaussian kernels needs: the closed form for one bandwidth, and panels for quadrature.

    CRPS = integral (F(t) - 1{y <= t})^2 dt = E|X - y| - E|X - X'| / 2

For kernels of one bandwidth without bounds both expectations are sums of A(m, s) = E|N(m, s^2)| over points and pairs
(Grimit et al. 2006). Otherwise the integral is taken over panels that are narrow where a kernel is.
"""

import math

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.exponential import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.normal import lower_tail

# Gauss-Legendre on [0, 1]. On a panel of three bandwidths the square of a kernel's
# distribution function is integrated to 1e-9 of the panel's width.
_NODES, _WEIGHTS = (
    0.5 * (part + shift) for part, shift in zip(np.polynomial.legendre.leggauss(8), (1.0, 0.0), strict=True)
)
_PANEL = 3.0
# Farther from a kernel than this many bandwidths its distribution function is 0 or 1 to 1e-9.
_ZONE = 6.0
# A kernel with less mass than this does not widen the range: its square adds less than 1e-9.
_SLIGHT = 1e-6
# Student's t with three degrees of freedom: beyond, the square of its tail adds 1e-9 of its scale, times epsilon^2.
_BROAD = 50.0
# Panels grow with the distance from a Student's t by this part of it.
_GROWTH = 0.7
# After so many panels they grow, lest a cell takes for ever.
_MANY = 2000
_SQRT_3 = math.sqrt(3.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


@compiled
def _mean_distance(points: Array, x: float, rate: float) -> float:
    """Sum over points of A(x - x_i, 1/rate), in units of 1/rate."""
    total = 0.0
    for i in range(points.size):
        z = abs(x - points[i]) * rate
        density = exp_nonpositive(max(-0.5 * z * z, LOWEST_EXPONENT)) / _SQRT_2PI
        total += z + 2.0 * (density - z * lower_tail(-z))
    return total


@entry
def crps_pair_cells(
    places: Array, rates: Array, starts: Index, stops: Index, y: Array, out: Array, start: int, stop: int
) -> None:
    """Write the CRPS of equal kernels with one bandwidth, without bounds, at one outcome each."""
    for t in range(start, stop):
        points, pairs = places[starts[t] : stops[t]], 0.0
        n, wide = points.size, rates[t] / math.sqrt(2.0)
        for i in range(n + 1):
            # The last round is the outcome's; one place in the code, for each compiles again.
            last = i == n
            found = _mean_distance(
                points if last else points[:i], y[t] if last else points[i], rates[t] if last else wide
            )
            if last:
                out[t] = found / (n * rates[t])
            else:
                pairs += found
        # Twice the pairs i < j, and each point with itself: A(0, s) = 2 s phi(0).
        out[t] -= 0.5 * (2.0 * pairs + n * 2.0 / _SQRT_2PI) / (wide * n * n)


@compiled
def _student(y: float) -> float:
    """Distribution function of Student's t with three degrees of freedom at sqrt(3) y, to 1e-16."""
    y = max(min(y, 1e8), -1e8)
    return 0.5 + (math.atan(y) + y / (1.0 + y * y)) / math.pi


@compiled
def _background(x: float, lower: float, upper: float, location: float, scale: float) -> float:
    """Distribution function of the background between the bounds, of which a Student's t has at most one."""
    x = max(min(x, upper), lower)
    if upper - lower < math.inf:
        return (x - lower) / (upper - lower)
    unit = _SQRT_3 * scale
    below = _student((lower - location) / unit)
    return (_student((x - location) / unit) - below) / (_student((upper - location) / unit) - below)


@compiled
def _retire(kernels: Array, alive: int, t: float) -> tuple[int, float]:
    """Put kernels that lie wholly below t behind the others; give how many are left and the mass of those."""
    passed, i = 0.0, 0
    while i < alive:
        if kernels[0, i] + _ZONE * kernels[1, i] > t:
            i += 1
            continue
        alive -= 1
        passed += kernels[2, i]
        for part in range(3):
            kernels[part, i], kernels[part, alive] = kernels[part, alive], kernels[part, i]
    return alive, passed


@compiled
def _step(kernels: Array, alive: int, slack: float, t: float) -> float:
    """How wide a panel may be that begins at t, for the kernels' sake."""
    width = math.inf
    for i in range(alive):
        h = kernels[1, i]
        width = min(width, max(max(_PANEL * h, slack / kernels[2, i]), kernels[0, i] - _ZONE * h - t))
    return width


@compiled
def _begun(kernels: Array, alive: int, end: float, out: Array) -> int:
    """Copy the kernels that begin before the panel's end, bandwidths turned into rates, and give how many."""
    count = 0
    for i in range(alive):
        if kernels[0, i] - _ZONE * kernels[1, i] < end:
            out[0, count], out[1, count], out[2, count] = kernels[0, i], 1.0 / kernels[1, i], kernels[2, i]
            count += 1
    return count


@compiled
def _distribution(places: Array, rates: Array, masses: Array, x: float) -> float:
    total = 0.0
    for i in range(places.size):
        total += masses[i] * lower_tail((x - places[i]) * rates[i])
    return total


@compiled
def _next_edge(t: float, width: float, high: float, cuts: Array) -> float:
    """The panel's end: at most the next cut, and no sliver is left before it."""
    end = high
    for cut in cuts:
        if t < cut < end:
            end = cut
    if t + width >= end:
        return end
    return t + (0.5 * (end - t) if t + 1.5 * width >= end else width)


@compiled
def _ends(kernels: Array, limits: tuple[float, float], broad: Array, cuts: Array) -> tuple[float, float, float]:
    """Give the ends between which to integrate, and the mass of the kernels below the lower bound."""
    low, high, beyond = math.inf, -math.inf, 0.0
    for i in range(kernels.shape[1]):
        place, h, mass = kernels[0, i], kernels[1, i], kernels[2, i]
        if mass > _SLIGHT:
            low, high = min(low, place - _ZONE * h), max(high, place + _ZONE * h)
        if limits[0] > -math.inf:
            beyond += mass * lower_tail((limits[0] - place) / h)
    if broad[0] > 0.0:
        low, high = min(low, broad[1] - _BROAD * broad[2]), max(high, broad[1] + _BROAD * broad[2])
    low, high = max(low, limits[0]), min(high, limits[1])
    for cut in cuts:
        low, high = min(low, cut), max(high, cut)
    return low, high, beyond


@entry
def crps_panel_cells(
    places: Array,
    rates: Array,
    masses: Array,
    starts: Index,
    stops: Index,
    each: bool,
    own: Index,
    limits: tuple[float, float],
    broad: Array,
    slack: Array,
    cuts: Array,
    shares: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the CRPS of rows start .. stop - 1 by quadrature.

    Row r of `cuts` (rows, 1 + a) is its outcome, and the atoms, whose probabilities are ``shares[r]``; the density has
    what is left. `broad` (densities, 3) is a background's probability, location and scale. Steps that a kernel of the
    mass m makes may go unresolved over ``slack / m``.
    """
    for r in range(start, stop):
        d, y, left = own[r], cuts[r, 0], 1.0
        size, epsilon = stops[d] - starts[d], broad[d, 0]
        out[r] = math.nan
        if size == 0 or math.isnan(y):
            continue
        for a in range(shares.shape[1]):
            left -= shares[r, a]
        kernels, near = np.empty((3, size)), np.empty((3, size))
        for i in range(size):
            k = starts[d] + i if each else d
            kernels[0, i], kernels[1, i], kernels[2, i] = places[starts[d] + i], 1.0 / rates[k], masses[k]
        t, high, beyond = _ends(kernels, limits, broad[d], cuts[r])
        total, passed, alive, panels, widest = 0.0, 0.0, size, 0, 0.01 * (high - t)
        while t < high:
            alive, more = _retire(kernels, alive, t)
            passed += more
            width = _step(kernels, alive, slack[d], t)
            if epsilon > 0.0:
                width = min(width, max(broad[d, 2], _GROWTH * abs(t - broad[d, 1])))
            panels += 1
            end = _next_edge(t, width if panels < _MANY else max(width, widest), high, cuts[r])
            count = _begun(kernels, alive, end, near)
            for j in range(_NODES.size):
                x, f = t + (end - t) * _NODES[j], 0.0
                if x >= limits[1]:
                    f = 1.0 - epsilon
                elif x > limits[0]:
                    f = passed - beyond + _distribution(near[0, :count], near[1, :count], near[2, :count], x)
                if epsilon > 0.0:
                    f += epsilon * _background(x, limits[0], limits[1], broad[d, 1], broad[d, 2])
                f *= left
                for a in range(shares.shape[1]):
                    f += shares[r, a] if cuts[r, a + 1] < x else 0.0
                f -= 1.0 if y < x else 0.0
                total += (end - t) * _WEIGHTS[j] * f * f
            t = end
        out[r] = total
