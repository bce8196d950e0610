"""The kernels of adaptive estimates, written out: shares of rungs at anchors enter, rates and masses leave."""

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import central_mass
from amortized_kde.numerics.jit import entry

# At more than so many bandwidths from a bound a kernel has all its mass inside, to the last bit.
_INSIDE = 8.5


@entry
def ladder_kernel_rows(
    values: Array,
    offsets: Index,
    lower: float,
    upper: float,
    bandwidths: Array,
    anchors: Index,
    anchor_offsets: Index,
    shares: Array,
    epsilons: Array,
    places: Array,
    rates: Array,
    masses: Array,
    starts: Index,
    stops: Index,
    start: int,
    stop: int,
) -> None:
    """Write the kernels of samples start .. stop - 1 from ``starts[t]`` on, and where they end to ``stops[t]``.

    A kernel's mass is (1 - epsilon) w / (n Z), with Z its part between the bounds. Shares w lie between those at
    anchors linearly in rank.
    """
    rungs = bandwidths.shape[1]
    for t in range(start, stop):
        first, last, written = anchor_offsets[t], anchor_offsets[t + 1] - 1, starts[t]
        n = offsets[t + 1] - offsets[t]
        a = first
        for i in range(n):
            x = values[offsets[t] + i]
            while a < last and anchors[a + 1] <= i:
                a += 1
            part, following = 0.0, a
            if anchors[a] < i and a < last:
                part, following = (i - anchors[a]) / (anchors[a + 1] - anchors[a]), a + 1
            for k in range(rungs):
                share = (1.0 - part) * shares[a, k] + part * shares[following, k]
                if share == 0.0:
                    continue
                h = bandwidths[t, k]
                inside = 1.0
                if x - lower < _INSIDE * h or upper - x < _INSIDE * h:
                    inside = central_mass((lower - x) / h, (upper - x) / h)
                places[written], rates[written] = x, 1.0 / h
                masses[written] = (1.0 - epsilons[t]) * share / (n * inside)
                written += 1
        stops[t] = written
