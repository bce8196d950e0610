r"""The improved Sheather-Jones selector of Botev, Grotowski and Kroese (Annals of Statistics 38 (2010) 2916).

With u = (x - min) / (2 range) + 1/4, so that the data fill the middle half of [0, 1], and the cosine coefficients
a_k = sum_i w_i cos(k pi u_i), the squared norm of the s-th derivative of the density smoothed to the time t is

.. math:: F_s(t) = 2 \pi^{2s} \sum_k k^{2s} a_k^2 \exp(-k^2 \pi^2 t).

From F_7(t) each norm gives the time at which the next lower one is estimated, down to F_2, and this the optimal time
gamma(t); the bandwidth is 2 range sqrt(t) where t = gamma(t) (the paper's Algorithm 1). N is the number of distinct
values, as in the authors' code, or the effective size where weights make that smaller.

Coefficients are exact for up to 5000 distinct values; more of them are binned linearly to 16,384 nodes. The search for
the solution begins at a quarter of Silverman's bandwidth, and ends at the range and at the bandwidth that 16,384
coefficients resolve; without a solution, as for many samples of fewer than ten values, it falls back on Silverman's.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._outcome import NO_SOLUTION, OK
from amortized_kde._types import Array, Index
from amortized_kde.numerics.jit import compiled, entry, in_numpy
from amortized_kde.numerics.leave_one_out import distinct_values
from amortized_kde.numerics.pairs import LARGEST_EXACT
from amortized_kde.numerics.roots import ROOT, SEARCH, advance
from amortized_kde.selection.rules import Rows, counts_of, silverman_of, size_of, values_of

# Derivatives in the recursion: five stages, as the paper recommends.
FIRST_DERIVATIVE, LAST_DERIVATIVE = 7, 2
# Most coefficients: enough for a bandwidth of range / 2900. Bins attenuate those that matter there by 0.3 %.
MOST_COEFFICIENTS = 16_384
NODES = 16_384
# Where k^2 pi^2 t exceeds this, k^14 exp(-k^2 pi^2 t) is below 1e-22 of its largest value.
NEGLIGIBLE_EXPONENT = 80.0


class _Spectrum(NamedTuple):
    """Squared cosine coefficients, of which the first `known[0]` are computed, and the state that computes the next."""

    masses: Array  # Of the places, sum 1.
    first: Array  # (2, places): cosine and sine of pi u.
    last: Array  # (2, places): the same of the last known multiple of pi u.
    squares: Array
    known: Index


@compiled
def _extend(spectrum: _Spectrum, wanted: int) -> None:
    """Compute coefficients up to the wanted one, by rotation from each to the next."""
    masses, (first, last) = spectrum.masses, (spectrum.first, spectrum.last)
    for k in range(spectrum.known[0], wanted):
        total = 0.0
        for i in range(masses.size):
            cosine = last[0, i] * first[0, i] - last[1, i] * first[1, i]
            last[1, i] = last[1, i] * first[0, i] + last[0, i] * first[1, i]
            last[0, i] = cosine
            total += masses[i] * cosine
        spectrum.squares[k] = total * total
    spectrum.known[0] = max(spectrum.known[0], wanted)


@in_numpy(_extend)
def _extend_in_numpy(spectrum: _Spectrum, wanted: int) -> None:
    (cosine, sine), last = spectrum.first, spectrum.last
    for k in range(spectrum.known[0], wanted):
        last[:] = last[0] * cosine - last[1] * sine, last[1] * cosine + last[0] * sine
        spectrum.squares[k] = np.sum(spectrum.masses * last[0]) ** 2
    spectrum.known[0] = max(spectrum.known[0], wanted)


@compiled
def _norm(squares: Array, count: int, s: int, t: float) -> float:
    """F_s(t) from the first coefficients."""
    norm = 0.0
    for k in range(1, count + 1):
        frequency = math.pi * math.pi * k * k
        norm += 2.0 * frequency**s * squares[k - 1] * math.exp(-frequency * t)
    return norm


@in_numpy(_norm)
def _norm_in_numpy(squares: Array, count: int, s: int, t: float) -> float:
    frequency = (math.pi * np.arange(1.0, count + 1.0)) ** 2
    # NumPy's number, which divides by 0 as a compiled one does.
    return np.float64(np.sum(2.0 * frequency**s * squares[:count] * np.exp(-frequency * t)))


@compiled
def _optimal_time(spectrum: _Spectrum, n: float, t: float) -> float:
    """gamma(t) of the paper; infinite where a norm underflows."""
    norm = 0.0
    for s in range(FIRST_DERIVATIVE, LAST_DERIVATIVE - 1, -1):
        wanted = math.sqrt(NEGLIGIBLE_EXPONENT / t) / math.pi if t > 0.0 else math.inf
        count = int(min(wanted, MOST_COEFFICIENTS))
        _extend(spectrum, count)
        norm = _norm(spectrum.squares, count, s, t)
        if s > LAST_DERIVATIVE:
            odd = 1.0
            for j in range(1, s):
                odd *= 2.0 * j - 1.0
            constant = 2.0 * (1.0 + 0.5 ** (s - 0.5)) / 3.0 * odd / math.sqrt(2.0 * math.pi)
            t = (constant / (n * norm)) ** (2.0 / (2.0 * s + 1.0))
    return (2.0 * n * math.sqrt(math.pi) * norm) ** -0.4


@compiled
def _solve(spectrum: _Spectrum, n: float, start: float) -> float:
    """The fixed point as sqrt(t), in units of twice the range; NaN if there is none."""
    h, low, high = start, 0.0, 0.0
    finest = math.sqrt(NEGLIGIBLE_EXPONENT) / math.pi / MOST_COEFFICIENTS
    search = np.zeros(SEARCH)
    while not math.isnan(h):
        excess = math.sqrt(_optimal_time(spectrum, n, h * h)) - h
        if low == 0.0 or high == 0.0:
            # Below the solution the optimal time is the larger one.
            if excess > 0.0:
                low = h
            else:
                high = h
            if low == 0.0 or high == 0.0:
                h = 2.0 * h if excess > 0.0 else 0.5 * h
                # From here on the bandwidth would be as wide as the data, or too narrow for the coefficients.
                h = h if finest <= h <= 0.5 else math.nan
                continue
            search[0], search[1], search[2] = low, high, 1e-14 * low
        h = advance(search, excess)
    return search[ROOT] if low > 0.0 and high > 0.0 else math.nan


@compiled
def _bin(places: Array, masses: Array) -> tuple[Array, Array]:
    """Places between 0 and 1, and their masses, split linearly between the nodes on either side."""
    nodes, empty = np.zeros(NODES), 0
    for i in range(places.size):
        position = places[i] * (NODES - 1.0)
        node = min(int(position), NODES - 2)
        nodes[node] += masses[i] * (node + 1.0 - position)
        nodes[node + 1] += masses[i] * (position - node)
    for node in range(NODES):
        empty += nodes[node] == 0.0
    found, kept = np.empty((2, NODES - empty)), 0
    for node in range(NODES):
        if nodes[node] != 0.0:
            found[0, kept], found[1, kept] = node / (NODES - 1.0), nodes[node]
            kept += 1
    return found[0], found[1]


@compiled
def _spectrum(places: Array, masses: Array) -> _Spectrum:
    """The spectrum of places between 0 and 1, which move to the middle half of that."""
    first, last = np.empty((2, places.size)), np.zeros((2, places.size))
    for i in range(places.size):
        angle = math.pi * (0.25 + 0.5 * places[i])
        first[0, i], first[1, i], last[0, i] = math.cos(angle), math.sin(angle), 1.0
    return _Spectrum(masses / masses.sum(), first, last, np.empty(MOST_COEFFICIENTS), np.zeros(1, np.int64))


@compiled
def _isj(ascending: Array, counts: Array | None, n: float, reference: float) -> float:
    """The bandwidth, or NaN if the equation has no solution."""
    span = ascending[-1] - ascending[0]
    places, masses = distinct_values((ascending - ascending[0]) / span, counts)
    size = min(n, float(places.size))
    if places.size > LARGEST_EXACT:
        places, masses = _bin(places, masses)
    finest = math.sqrt(NEGLIGIBLE_EXPONENT) / math.pi / MOST_COEFFICIENTS
    start = min(max(reference / span / 8.0, finest), 0.5)
    return 2.0 * span * _solve(_spectrum(places, masses), size, start)


@entry
def isj_rows(rows: Rows, start: int, stop: int) -> None:
    """Write the improved Sheather-Jones bandwidth of every row."""
    for row in range(start, stop):
        ascending = values_of(rows, row)
        reference, code = silverman_of(ascending, rows.spreads, row)
        rows.bandwidths[row], rows.codes[row] = math.nan, code
        if code >= OK:
            n, _ = size_of(ascending, rows.spreads, row)
            h = _isj(ascending, counts_of(rows.counts, rows.offsets, row), n, reference)
            rows.bandwidths[row] = reference if math.isnan(h) else h
            rows.codes[row] = NO_SOLUTION if math.isnan(h) else OK
