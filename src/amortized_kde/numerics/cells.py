"""Sums of Gaussian kernels of many densities at once, each at its own arguments: log-densities and probabilities.

Row r of the arguments, ``at[edges[r]:edges[r + 1]]``, is asked of density ``own[r]``. All kernels are summed: ensembles
have tens of members, and a loop without branches runs in SIMD lanes.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.exponential import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.normal import lower_tail

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Sums above this do not notice that exponents end at -708; others are shifted by their nearest kernel.
_SAFE = 1e-250
# Below this a probability next to a bound is the difference of numbers that cancel.
_CAREFUL = 1e-3
# Gauss-Legendre on [0, 1] with five nodes.
_NODES, _WEIGHTS = (
    0.5 * (part + shift) for part, shift in zip(np.polynomial.legendre.leggauss(5), (1.0, 0.0), strict=True)
)


class Kernels(NamedTuple):
    """Many densities: t has the kernels ``starts[t]`` to ``stops[t] - 1``, each with a place, a rate and a mass.

    The rate is one over the bandwidth, the mass what the whole kernel counts, its part beyond a bound included. Rates
    and masses are one a kernel (`each`) or one a density. A density without kernels, or with masses NaN, answers NaN.
    """

    places: Array
    rates: Array
    masses: Array
    starts: Index
    stops: Index
    each: bool

    def spread(self) -> "Kernels":
        """Give the same with one rate and one mass a kernel."""
        if self.each:
            return self
        counts = np.diff(np.append(self.starts, self.places.size))
        return self._replace(rates=np.repeat(self.rates, counts), masses=np.repeat(self.masses, counts), each=True)


@entry
def inverse_mass_cells(
    values: Array, offsets: Index, bandwidths: Array, lower: float, upper: float, out: Array, start: int, stop: int
) -> None:
    """Write 1 / sum_i Z_i, with Z_i the part of the kernel at x_i between the bounds, of samples start .. stop - 1."""
    for t in range(start, stop):
        total = 0.0
        for x in values[offsets[t] : offsets[t + 1]]:
            total += central_mass((lower - x) / bandwidths[t], (upper - x) / bandwidths[t])
        out[t] = 1.0 / total


@compiled
def _longest(starts: Index, stops: Index, own: Index, start: int, stop: int) -> int:
    longest = 0
    for r in range(start, stop):
        longest = max(longest, stops[own[r]] - starts[own[r]])
    return longest


@compiled
def _copy(source: Array, first: int, t: int, each: bool, out: Array) -> None:
    """Write one number a kernel of density t."""
    if each:
        for i in range(out.size):
            out[i] = source[first + i]
    else:
        out[:] = source[t]


@compiled
def _log_sum(points: Array, rate: Array, weight: Array, x: float) -> float:
    total = 0.0
    for i in range(points.size):
        u = (x - points[i]) * rate[i]
        total += weight[i] * exp_nonpositive(max(-0.5 * u * u, LOWEST_EXPONENT))
    if total > _SAFE:
        return math.log(total)
    nearest, total = math.inf, 0.0
    for i in range(points.size):
        nearest = min(nearest, abs((x - points[i]) * rate[i]))
    for i in range(points.size):
        u = abs((x - points[i]) * rate[i])
        total += weight[i] * math.exp(-0.5 * (u - nearest) * (u + nearest))
    return math.log(total) - 0.5 * nearest * nearest


@entry
def log_density_cells(
    places: Array,
    rates: Array,
    masses: Array,
    starts: Index,
    stops: Index,
    each: bool,
    own: Index,
    at: Array,
    edges: Index,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the logarithm of sum_i m_i r_i phi((x - x_i) r_i) at every argument of rows start .. stop - 1."""
    room = _longest(starts, stops, own, start, stop)
    # Weights are shares of the largest, so that no unit of the data makes a sum too small.
    rate_room, weight_room = np.empty(room), np.ones(room)
    for r in range(start, stop):
        t = own[r]
        points = places[starts[t] : stops[t]]
        rate, weight = rate_room[: points.size], weight_room[: points.size]
        _copy(rates, starts[t], t, each, rate)
        top = 0.0
        if each:
            for i in range(points.size):
                weight[i] = masses[starts[t] + i] * rate[i]
                top = weight[i] if weight[i] > top else top
            for i in range(points.size):
                weight[i] /= top
        elif points.size > 0:
            top = masses[t] * rates[t]
        for j in range(edges[r], edges[r + 1]):
            out[j] = math.nan
            if top > 0.0 and abs(at[j]) < math.inf:
                out[j] = _log_sum(points, rate, weight, at[j]) + math.log(top) - _LOG_SQRT_2PI
            elif top > 0.0 and not math.isnan(at[j]):
                out[j] = -math.inf


@compiled
def _narrow_mass(u: float, width: float) -> float:
    """Phi(u) - Phi(u - width), to 1e-16 of it if width * max(1, -u) < 1/10."""
    total = 0.0
    for j in range(_NODES.size):
        v = u - _NODES[j] * width
        total += _WEIGHTS[j] * math.exp(-0.5 * v * v)
    return width * total / math.sqrt(2.0 * math.pi)


@compiled
def _careful_mass(points: Array, rate: Array, mass: Array, sign: float, x: float, bound: float) -> float:
    """Sum of the masses between the bound and x, each accurate relative to itself."""
    total = 0.0
    for i in range(points.size):
        u, a = sign * (x - points[i]) * rate[i], sign * (bound - points[i]) * rate[i]
        width = sign * (x - bound) * rate[i]
        if u >= 0.0:
            total += mass[i] * central_mass(a, u)
        elif width * max(1.0, -u) < 0.1:
            total += mass[i] * _narrow_mass(u, width)
        else:
            total += mass[i] * (lower_tail(u) - lower_tail(a))
    return total


@entry
def probability_cells(
    places: Array,
    rates: Array,
    masses: Array,
    starts: Index,
    stops: Index,
    each: bool,
    own: Index,
    at: Array,
    edges: Index,
    bound: float,
    sign: float,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the probability between the bound and every argument of rows start .. stop - 1.

    The bound is below (infinite if open) and `sign` 1, or it is above and `sign` -1. Every argument lies beyond it.
    """
    room = _longest(starts, stops, own, start, stop)
    rate_room, mass_room = np.empty(room), np.empty(room)
    for r in range(start, stop):
        t = own[r]
        points = places[starts[t] : stops[t]]
        rate, mass = rate_room[: points.size], mass_room[: points.size]
        _copy(rates, starts[t], t, each, rate)
        _copy(masses, starts[t], t, each, mass)
        beyond = 0.0
        for j in range(edges[r] - (abs(bound) < math.inf), edges[r + 1]):
            # First what lies beyond the bound, which is no part of the density.
            x = bound if j < edges[r] else at[j]
            total = 0.0
            for i in range(points.size):
                total += mass[i] * lower_tail(sign * (x - points[i]) * rate[i])
            if j < edges[r]:
                beyond = total
                continue
            total -= beyond
            if total < _CAREFUL and abs(bound) < math.inf:
                total = _careful_mass(points, rate, mass, sign, x, bound)
            out[j] = min(total, 1.0) if points.size > 0 and not math.isnan(x) else math.nan
