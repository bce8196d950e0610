"""Log-densities and probabilities of many sums of Gaussian kernels at once, each at arguments of its own.

All kernels are summed: ensembles have tens of members, and a loop without branches runs in SIMD lanes.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, central_mass, exp_nonpositive, lower_tail
from amortized_kde.numerics.jit import compiled, entry

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# In sums above this, exponents cut at -708 do not matter; smaller sums are shifted by their nearest kernel.
_SAFE_SUM = 1e-250
# Below this, a probability next to a bound is a difference of numbers that cancel.
_CANCELLING = 1e-3
# Gauss-Legendre on [0, 1] with five nodes.
_NODES, _WEIGHTS = (
    0.5 * (part + shift) for part, shift in zip(np.polynomial.legendre.leggauss(5), (1.0, 0.0), strict=True)
)


class Kernels(NamedTuple):
    """Kernels of many densities; density t has kernels ``starts[t]`` to ``stops[t] - 1``.

    `rates` are 1 / bandwidth; `masses` are those of whole kernels, the part outside the bounds included. Both have one
    entry per kernel if `each`, else one per density. A density without kernels, or with NaN masses, evaluates to NaN.
    """

    places: Array
    rates: Array
    masses: Array
    starts: Index
    stops: Index
    each: bool

    def spread(self) -> "Kernels":
        """Return the same kernels with one rate and one mass per kernel."""
        if self.each:
            return self
        counts = np.diff(np.append(self.starts, self.places.size))
        return self._replace(rates=np.repeat(self.rates, counts), masses=np.repeat(self.masses, counts), each=True)


class Arguments(NamedTuple):
    """Rows of arguments: row r, ``at[edges[r]:edges[r + 1]]``, is evaluated under density ``density[r]``."""

    at: Array
    density: Index
    edges: Index


@entry
def inverse_mass_cells(
    values: Array, offsets: Index, bandwidths: Array, lower: float, upper: float, out: Array, start: int, stop: int
) -> None:
    """Write 1 / sum_i Z_i of samples start .. stop - 1, with Z_i the mass of kernel i between the bounds."""
    for t in range(start, stop):
        total = 0.0
        for x in values[offsets[t] : offsets[t + 1]]:
            total += central_mass((lower - x) / bandwidths[t], (upper - x) / bandwidths[t])
        out[t] = 1.0 / total


@compiled
def _longest(kernels: Kernels, density: Index, start: int, stop: int) -> int:
    """Return the largest number of kernels among the densities of rows start .. stop - 1."""
    longest = 0
    for r in range(start, stop):
        longest = max(longest, kernels.stops[density[r]] - kernels.starts[density[r]])
    return longest


@compiled
def _copy(source: Array, first: int, t: int, each: bool, out: Array) -> None:
    """Write one number per kernel of density t."""
    if each:
        for i in range(out.size):
            out[i] = source[first + i]
    else:
        out[:] = source[t]


@compiled
def _log_sum(points: Array, rate: Array, weight: Array, x: float) -> float:
    """Return log sum_i w_i exp(-u_i^2 / 2), with u_i = (x - x_i) r_i."""
    total = 0.0
    for i in range(points.size):
        u = (x - points[i]) * rate[i]
        total += weight[i] * exp_nonpositive(max(-0.5 * u * u, LOWEST_EXPONENT))
    if total > _SAFE_SUM:
        return math.log(total)
    nearest, total = math.inf, 0.0
    for i in range(points.size):
        nearest = min(nearest, abs((x - points[i]) * rate[i]))
    for i in range(points.size):
        u = abs((x - points[i]) * rate[i])
        total += weight[i] * math.exp(-0.5 * (u - nearest) * (u + nearest))
    return math.log(total) - 0.5 * nearest * nearest


@entry
def log_density_cells(kernels: Kernels, arguments: Arguments, out: Array, start: int, stop: int) -> None:
    """Write the logarithm of sum_i m_i r_i phi((x - x_i) r_i) at every argument of rows start .. stop - 1."""
    places, rates, masses, starts, stops, each = kernels
    at, density, edges = arguments
    scratch = _longest(kernels, density, start, stop)
    # Weights are relative to the largest, so that no unit of the data makes a sum too small.
    rate_scratch, weight_scratch = np.empty(scratch), np.ones(scratch)
    for r in range(start, stop):
        t = density[r]
        points = places[starts[t] : stops[t]]
        rate, weight = rate_scratch[: points.size], weight_scratch[: points.size]
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
    """Return Phi(u) - Phi(u - width), to a relative error of 1e-16 if width * max(1, -u) < 1/10."""
    total = 0.0
    for j in range(_NODES.size):
        v = u - _NODES[j] * width
        total += _WEIGHTS[j] * math.exp(-0.5 * v * v)
    return width * total / math.sqrt(2.0 * math.pi)


@compiled
def _careful_mass(points: Array, rate: Array, mass: Array, sign: float, x: float, bound: float) -> float:
    """Return the sum of the masses between the bound and x, each to a small relative error."""
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
    kernels: Kernels, arguments: Arguments, bound: float, sign: float, out: Array, start: int, stop: int
) -> None:
    """Write the probability between the bound and every argument of rows start .. stop - 1.

    With `sign` 1 the bound is the lower one, with `sign` -1 the upper one; it is infinite if that side is open. No
    argument lies outside it.
    """
    places, rates, masses, starts, stops, each = kernels
    at, density, edges = arguments
    scratch = _longest(kernels, density, start, stop)
    rate_scratch, mass_scratch = np.empty(scratch), np.empty(scratch)
    for r in range(start, stop):
        t = density[r]
        points = places[starts[t] : stops[t]]
        rate, mass = rate_scratch[: points.size], mass_scratch[: points.size]
        _copy(rates, starts[t], t, each, rate)
        _copy(masses, starts[t], t, each, mass)
        outside = 0.0
        for j in range(edges[r] - (abs(bound) < math.inf), edges[r + 1]):
            # The first round sums the mass outside the bound, which is no part of the density.
            x = bound if j < edges[r] else at[j]
            total = 0.0
            for i in range(points.size):
                total += mass[i] * lower_tail(sign * (x - points[i]) * rate[i])
            if j < edges[r]:
                outside = total
                continue
            total -= outside
            if total < _CANCELLING and abs(bound) < math.inf:
                total = _careful_mass(points, rate, mass, sign, x, bound)
            out[j] = min(total, 1.0) if points.size > 0 and not math.isnan(x) else math.nan
