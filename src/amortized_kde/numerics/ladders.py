"""The kernels of adaptive estimates of many samples."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.cells import Kernels
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import entry_in_order
from amortized_kde.numerics.registers import Memory, Real, Whole
from amortized_kde.numerics.simd import WORD, Code, instructions, nonzero_bits

# Farther than this many bandwidths from a bound, a kernel's mass inside it is 1 to the last bit.
_FAR_INSIDE = 8.5


class Ladders(NamedTuple):
    """Adaptive estimates of many samples; sample t has the anchors ``offsets[t]`` to ``offsets[t + 1] - 1``.

    `bandwidths` are (samples, rungs) and `shares` (anchors, rungs); `anchors` are ranks of values in their sample, and
    `epsilons` (samples,) the probabilities of the backgrounds.
    """

    bandwidths: Array
    shares: Array
    anchors: Index
    offsets: Index
    epsilons: Array


@instructions
def _mix_shares(code: Code, shares: Memory, here: Whole, there: Whole, part: Real, rungs: Whole, out: Memory) -> None:
    """Write (1 - part) shares[here:] + part shares[there:] to `out`."""

    def mix(k: Whole, load: Callable[[Memory, Whole], Real]) -> None:
        fraction = part if load is Memory.lanes else part.first()
        out.put(k, (1.0 - fraction) * load(shares, here + k) + fraction * load(shares, there + k))

    code.each(rungs, mix)


@instructions
def _write_kernels(
    code: Code,
    shares: Memory,
    rungs: Whole,
    x: Real,
    whole: Real,
    rate: Memory,
    places: Memory,
    rates: Memory,
    masses: Memory,
    stops: Memory,
    t: Whole,
) -> None:
    """Write the kernels of a point, one for each share that is not 0, from stops[t] on, and move stops[t]."""
    with code.loop(rungs, 0, WORD) as word:
        bits, at = nonzero_bits(code, [(shares, word)], rungs - word), stops.whole(t)
        with code.ones(bits) as (count, k):
            places.put(at + count, x.first())
            rates.put(at + count, rate.number(word + k))
            masses.put(at + count, whole.first() * shares.number(word + k))
        stops.put(t, at + bits.ones())


@entry_in_order
def ladder_kernels(
    values: Array,
    offsets: Index,
    bounds: tuple[float, float],
    ladders: Ladders,
    out: Kernels,
    widest: Array,
    start: int,
    stop: int,
) -> None:
    """Write the kernels of samples start .. stop - 1, one after the other, and where they begin and end.

    A kernel's mass is (1 - epsilon) share / (n Z), with Z its mass between the bounds. Between anchors, shares are
    interpolated linearly in rank. The largest bandwidth of a kernel is written to ``widest[t]``, 0 if there is none.
    """
    lower, upper = bounds
    bandwidths, anchors = ladders.bandwidths, ladders.anchors
    rungs = bandwidths.shape[1]
    rate, mixed, written = np.empty(rungs), np.zeros(rungs + WORD), offsets[start] * rungs
    for t in range(start, stop):
        last, a, lowest = ladders.offsets[t + 1] - 1, ladders.offsets[t], math.inf
        n, out.starts[t], out.stops[t] = offsets[t + 1] - offsets[t], written, written
        whole = (1.0 - ladders.epsilons[t]) / max(n, 1)
        for k in range(rungs):
            rate[k] = 1.0 / bandwidths[t, k]
        for i in range(n):
            x, first = values[offsets[t] + i], out.stops[t]
            while a < last and anchors[a + 1] <= i:
                a += 1
            part, following = 0.0, a
            if anchors[a] < i and a < last:
                part, following = (i - anchors[a]) / (anchors[a + 1] - anchors[a]), a + 1
            _mix_shares(ladders.shares, a * rungs, following * rungs, part, rungs, mixed)
            _write_kernels(mixed, rungs, x, whole, rate, out.places, out.rates, out.masses, out.stops, t)
            near = min(x - lower, upper - x)
            # Kernels of a point are from wide to narrow.
            for j in range(first, out.stops[t]):
                if near * out.rates[j] >= _FAR_INSIDE:
                    break
                out.masses[j] /= central_mass((lower - x) * out.rates[j], (upper - x) * out.rates[j])
            if out.stops[t] > first:
                lowest = min(lowest, out.rates[first])
        written, widest[t] = out.stops[t], 0.0
        for k in range(rungs):
            widest[t] = bandwidths[t, k] if rate[k] == lowest else widest[t]
