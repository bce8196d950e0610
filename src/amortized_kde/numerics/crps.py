"""The continuous ranked probability score of sums of Gaussian kernels: in closed form, and by quadrature.

    CRPS = integral (F(t) - 1{y <= t})^2 dt = E|X - y| - E|X - X'| / 2

or, threshold-weighted, the integral over a window of t. For kernels of one bandwidth without bounds and window, both
expectations are sums of A(m, s) = E|N(m, s^2)| over points and pairs (Grimit et al. 2006). Otherwise the integral is
computed on panels that are narrow where a kernel is narrow.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.cells import Kernels
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive, lower_tail
from amortized_kde.numerics.jit import compiled, entry

# Gauss-Legendre on [0, 1] with eight nodes: on a panel of three bandwidths the square of a kernel's distribution
# function is integrated to 1e-9 of the panel's width.
_NODES, _WEIGHTS = (
    0.5 * (part + shift) for part, shift in zip(np.polynomial.legendre.leggauss(8), (1.0, 0.0), strict=True)
)
_PANEL = 3.0
# Farther than this many bandwidths from a kernel, its distribution function is 0 or 1 to 1e-9.
_ZONE = 6.0
# A kernel of less mass than this does not widen the range: its square adds less than 1e-9.
_SLIGHT_MASS = 1e-6
# Farther than this many scales from Student's t with three degrees of freedom, the square of its tail adds less than
# 1e-9 of the scale, times epsilon^2.
_STUDENT_REACH = 50.0
# Width of a panel per distance from the centre of a Student's t.
_GROWTH = 0.7
# After this many panels of a cell they are widened, which limits its cost.
_MANY_PANELS = 2000
_SQRT_3 = math.sqrt(3.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


class Outcomes(NamedTuple):
    """Outcomes of many cells; cell r has the density ``density[r]``.

    Row r of `jumps` (cells, 1 + atoms) holds the outcome and the atoms, at which the integrand jumps, and row r of
    `probabilities` (cells, atoms) those of the atoms.
    """

    density: Index
    jumps: Array
    probabilities: Array


@compiled
def _mean_distance(points: Array, x: float, rate: float) -> float:
    """Return the sum over points of A(x - x_i, 1/rate), in units of 1/rate."""
    total = 0.0
    for i in range(points.size):
        z = abs(x - points[i]) * rate
        density = exp_nonpositive(max(-0.5 * z * z, LOWEST_EXPONENT)) / _SQRT_2PI
        total += z + 2.0 * (density - z * lower_tail(-z))
    return total


@entry
def crps_pair_cells(kernels: Kernels, y: Array, out: Array, start: int, stop: int) -> None:
    """Write the CRPS of densities start .. stop - 1 with one bandwidth each, without bounds, at one outcome each."""
    places, rates, _, starts, stops, _ = kernels
    for t in range(start, stop):
        points, pairs = places[starts[t] : stops[t]], 0.0
        n, wide = points.size, rates[t] / math.sqrt(2.0)
        for i in range(n + 1):
            # The last round is the outcome's. One call site, since every one is compiled again.
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
    """Return the distribution function of Student's t with three degrees of freedom at sqrt(3) y, to 1e-16."""
    y = max(min(y, 1e8), -1e8)
    return 0.5 + (math.atan(y) + y / (1.0 + y * y)) / math.pi


@compiled
def _background(x: float, lower: float, upper: float, location: float, scale: float) -> float:
    """Return the distribution function of the background, a Student's t between the bounds."""
    x = max(min(x, upper), lower)
    unit = _SQRT_3 * scale
    below = _student((lower - location) / unit)
    return (_student((x - location) / unit) - below) / (_student((upper - location) / unit) - below)


@compiled
def _retire(kernels: Array, alive: int, t: float) -> tuple[int, float]:
    """Move kernels wholly below t behind the others; return the number of the others and the mass of those moved."""
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
    """Return the largest width of a panel from t on that resolves the kernels."""
    width = math.inf
    for i in range(alive):
        h = kernels[1, i]
        width = min(width, max(max(_PANEL * h, slack / kernels[2, i]), kernels[0, i] - _ZONE * h - t))
    return width


@compiled
def _begun(kernels: Array, alive: int, end: float, out: Array) -> int:
    """Copy the kernels that begin before the panel's end, with rates for bandwidths; return their number."""
    count = 0
    for i in range(alive):
        if kernels[0, i] - _ZONE * kernels[1, i] < end:
            out[0, count], out[1, count], out[2, count] = kernels[0, i], 1.0 / kernels[1, i], kernels[2, i]
            count += 1
    return count


@compiled
def _distribution(places: Array, rates: Array, masses: Array, x: float) -> float:
    """Return the mass of the kernels below x."""
    total = 0.0
    for i in range(places.size):
        total += masses[i] * lower_tail((x - places[i]) * rates[i])
    return total


@compiled
def _next_edge(t: float, width: float, high: float, bounds: tuple[float, float], jumps: Array) -> float:
    """Return the panel's end, at most the next jump or bound, without leaving a sliver before it."""
    end = high
    for jump in jumps:
        if t < jump < end:
            end = jump
    # Beyond the bounds the distribution function is constant, so it has a kink there.
    for bound in bounds:
        if t < bound < end:
            end = bound
    if t + width >= end:
        return end
    return t + (0.5 * (end - t) if t + 1.5 * width >= end else width)


@compiled
def _ends(kernels: Array, bounds: tuple[float, float], background: Array, jumps: Array) -> tuple[float, float, float]:
    """Return the ends between which to integrate, and the mass of the kernels below the lower bound."""
    low, high, outside = math.inf, -math.inf, 0.0
    for i in range(kernels.shape[1]):
        place, h, mass = kernels[0, i], kernels[1, i], kernels[2, i]
        if mass > _SLIGHT_MASS:
            low, high = min(low, place - _ZONE * h), max(high, place + _ZONE * h)
        if bounds[0] > -math.inf:
            outside += mass * lower_tail((bounds[0] - place) / h)
    if background[0] > 0.0:
        low, high = (
            min(low, background[1] - _STUDENT_REACH * background[2]),
            max(high, background[1] + _STUDENT_REACH * background[2]),
        )
    low, high = max(low, bounds[0]), min(high, bounds[1])
    for jump in jumps:
        low, high = min(low, jump), max(high, jump)
    return low, high, outside


@entry
def crps_panel_cells(
    kernels: Kernels,
    outcomes: Outcomes,
    bounds: tuple[float, float],
    window: tuple[float, float],
    backgrounds: Array,
    slack: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the CRPS of cells start .. stop - 1, with thresholds in the window only, by quadrature.

    `backgrounds` (densities, 3) are probabilities, locations and scales. The step of a kernel of mass m may stay
    unresolved over a width of ``slack / m``.
    """
    density, jumps, probabilities = outcomes
    for r in range(start, stop):
        d, y, elsewhere = density[r], jumps[r, 0], 1.0
        first, size, epsilon = kernels.starts[d], kernels.stops[d] - kernels.starts[d], backgrounds[d, 0]
        out[r] = math.nan
        if size == 0 or math.isnan(y):
            continue
        for a in range(probabilities.shape[1]):
            elsewhere -= probabilities[r, a]
        waiting, near = np.empty((3, size)), np.empty((3, size))
        for i in range(size):
            k = first + i if kernels.each else d
            waiting[0, i], waiting[1, i] = kernels.places[first + i], 1.0 / kernels.rates[k]
            waiting[2, i] = kernels.masses[k]
        t, high, outside = _ends(waiting, bounds, backgrounds[d], jumps[r])
        t, high = max(t, window[0]), min(high, window[1])
        total, passed, alive, panels, widest = 0.0, 0.0, size, 0, 0.01 * (high - t)
        while t < high:
            alive, more = _retire(waiting, alive, t)
            passed += more
            width = _step(waiting, alive, slack[d], t)
            if epsilon > 0.0:
                width = min(width, max(backgrounds[d, 2], _GROWTH * abs(t - backgrounds[d, 1])))
            panels += 1
            end = _next_edge(t, width if panels < _MANY_PANELS else max(width, widest), high, bounds, jumps[r])
            count = _begun(waiting, alive, end, near)
            for j in range(_NODES.size):
                x, f = t + (end - t) * _NODES[j], 0.0
                if x >= bounds[1]:
                    f = 1.0 - epsilon
                elif x > bounds[0]:
                    f = passed - outside + _distribution(near[0, :count], near[1, :count], near[2, :count], x)
                if epsilon > 0.0:
                    f += epsilon * _background(x, bounds[0], bounds[1], backgrounds[d, 1], backgrounds[d, 2])
                f *= elsewhere
                for a in range(probabilities.shape[1]):
                    f += probabilities[r, a] if jumps[r, a + 1] < x else 0.0
                f -= 1.0 if y < x else 0.0
                total += (end - t) * _WEIGHTS[j] * f * f
            t = end
        out[r] = total
