"""The points of a large sample gathered to few places, once for all bandwidths and whatever shares of them are asked.

Seen from a distance that is large beside a cell, a kernel is a smooth function of its place, so that sixteen kernels at
Chebyshev nodes can stand for all of the cell (`condense.py`). Here a node keeps two masses instead of a coefficient.
Shares lie linearly in rank between two anchors: a point that is the part t of the way from one to the next leaves 1 - t
of its weight as mass `low`, which takes the first anchor's shares, and t as mass `high`, which takes the second's.
Nodes of nodes are nodes again, exactly, so wider cells are made from narrower ones.
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.threads import run_in_pieces

_NODES = 16
# Points that are added at a time; fewer are filled up to a multiple of a few registers, for single ones are slow.
_LANES, _FILL = 128, 32
# Points are gathered in so many runs, however many threads take them, so that their number changes nothing.
_RUNS = 16
# Operations a point, for the threads.
_WORK = 50.0

_ANGLES = (np.arange(_NODES)[::-1] + 0.5) * (math.pi / _NODES)
_AT = np.cos(_ANGLES)
# Column j holds 2/16 T_j at the nodes (1/16 for j = 0): what turns Chebyshev moments into weights at the nodes.
_FROM_MOMENTS = np.cos(_ANGLES[:, None] * np.arange(_NODES)) * (np.where(np.arange(_NODES) == 0, 1.0, 2.0) / _NODES)


class Gathered(NamedTuple):
    """Cells, each a run of places and of entries that say which masses are there.

    Cell c has the places ``cells[c, 0]:cells[c + 1, 0]`` and the entries ``cells[c, 1]:cells[c + 1, 1]``. Places
    ascend. Entry e is about the place number ``place[e]`` and the points from anchor number ``after[e]`` to the next;
    these ascend too, and a place may have several entries.
    """

    cells: Index
    places: Array
    place: Index
    after: Index
    low: Array
    high: Array


def gather(points: Array, weights: Array, anchors: Index, width: float, *, threads: int | None = None) -> Gathered:
    """Gather ascending points (n,) in cells not wider than `width`.

    `weights` are (n,), or (1,) if they are all the same. The first anchor has the rank 0 and the last n - 1.
    """
    n, none = points.size, np.zeros(0, np.int64)
    alone = Gathered(np.zeros((0, 2), np.int64), _read_only(points.view()), none, none, np.zeros(0), np.zeros(0))
    edges = (n * np.arange(_RUNS + 1) // _RUNS).tolist()
    runs = {}

    def work(start: int, stop: int) -> None:
        for run in range(start, stop):
            runs[run] = _gathered(alone, weights, anchors, width, edges[run], edges[run + 1])

    run_in_pieces(work, _RUNS, operations=_WORK * n, threads=threads)
    return _joined([runs[run] for run in range(_RUNS)])


def wider(gathered: Gathered, width: float) -> Gathered:
    """Give the same in cells not wider than `width`, made of whole ones of those that it has."""
    return _gathered(gathered, np.ones(1), np.zeros(2, np.int64), width, 0, len(gathered.cells) - 1)


def kernels_of(gathered: Gathered, shares: Array) -> tuple[Array, Array]:
    """Give places and coefficients of kernels with these shares at the anchors, without those that have none."""
    masses = gathered.low * shares[gathered.after] + gathered.high * shares[gathered.after + 1]
    coefficients = np.asarray(np.bincount(gathered.place, masses, minlength=gathered.places.size), float)
    used = coefficients != 0.0
    return (gathered.places, coefficients) if used.all() else (gathered.places[used], coefficients[used])


def _gathered(given: Gathered, weights: Array, anchors: Index, width: float, start: int, stop: int) -> Gathered:
    """Run the loop, with room for as many entries as there are."""
    most = given.place.size or stop - start
    cells, places = np.empty((most + 1, 2), np.int64), np.empty(most)
    index, after, low, high = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most), np.empty(most)
    made, used, count = _gather(
        *given, weights, anchors, width, start, stop, _AT, _FROM_MOMENTS, cells, places, index, after, low, high
    )
    # Copies, for a part of an array keeps the whole.
    return Gathered(
        cells[: made + 1].copy(),
        _read_only(places[:used].copy()),
        index[:count].copy(),
        after[:count].copy(),
        low[:count].copy(),
        high[:count].copy(),
    )


def _read_only(places: Array) -> Array:
    """Such arrays are another type to the compiler, and the points of a density are of it."""
    places.flags.writeable = False
    return places


def _joined(runs: list[Gathered]) -> Gathered:
    """One after the other."""
    before = np.cumsum([[0, 0], *(run.cells[-1] for run in runs)], axis=0)
    cells = [run.cells[:-1] + start for run, start in zip(runs, before[:-1], strict=True)]
    index = [run.place + start for run, start in zip(runs, before[:-1, 0], strict=True)]
    places, after, low, high = (np.concatenate([run[k] for run in runs]) for k in (1, 3, 4, 5))
    return Gathered(np.concatenate([*cells, before[-1:]]), _read_only(places), np.concatenate(index), after, low, high)


@compiled
def _cell_end(cells: Index, places: Array, c: int, stop: int, width: float, raw: bool) -> int:
    """Give the first cell after c that lies farther than `width` from where that begins."""
    first, d, step = places[c if raw else cells[c, 0]], c + 1, 1
    # Longer steps as long as they succeed, then shorter ones until not even one does.
    while step > 0:
        ahead = d + step
        if ahead <= stop and places[ahead - 1 if raw else cells[ahead, 0] - 1] - first <= width:
            d, step = ahead, 2 * step
        else:
            step //= 2
    return d


@compiled
def _add_moments(t: Array, low: Array, high: Array, now: Array, before: Array, size: int, moments: Array) -> None:
    """Add the sums of T_q(t) times either mass to moments[0, q] and moments[1, q]."""
    for j in range(size):
        now[j] = 1.0
        before[j] = t[j]
    # T_q = 2 t T_(q-1) - T_(q-2), begun with T_0 and T_(-1) = T_1. Four at a time, for memory is slower than sums.
    for q in range(0, _NODES, 4):
        low_0, low_1, low_2, low_3 = 0.0, 0.0, 0.0, 0.0
        high_0, high_1, high_2, high_3 = 0.0, 0.0, 0.0, 0.0
        for j in range(size):
            twice, t_0 = 2.0 * t[j], now[j]
            t_1 = twice * t_0 - before[j]
            t_2 = twice * t_1 - t_0
            t_3 = twice * t_2 - t_1
            before[j] = t_3
            now[j] = twice * t_3 - t_2
            low_0 += t_0 * low[j]
            low_1 += t_1 * low[j]
            low_2 += t_2 * low[j]
            low_3 += t_3 * low[j]
            high_0 += t_0 * high[j]
            high_1 += t_1 * high[j]
            high_2 += t_2 * high[j]
            high_3 += t_3 * high[j]
        moments[0, q] += low_0
        moments[0, q + 1] += low_1
        moments[0, q + 2] += low_2
        moments[0, q + 3] += low_3
        moments[1, q] += high_0
        moments[1, q + 1] += high_1
        moments[1, q + 2] += high_2
        moments[1, q + 3] += high_3


@entry
def _gather(
    cells: Index,
    places: Array,
    index: Index,
    after: Index,
    low: Array,
    high: Array,
    weights: Array,
    anchors: Index,
    width: float,
    start: int,
    stop: int,
    at: Array,
    from_moments: Array,
    out_cells: Index,
    out_places: Array,
    out_index: Index,
    out_after: Index,
    out_low: Array,
    out_high: Array,
) -> tuple[int, int, int]:
    """Write wider cells made of cells start .. stop - 1, and give how many cells, places and entries these have.

    Without entries the places are the points of a sample: each is a cell with one entry, of which the anchors tell. The
    entries of a cell stay as they are if they would not become fewer.
    """
    raw, equal, most = index.size == 0, weights.size == 1, anchors.size - 2
    t, below, above = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    now, before, moments = np.empty(_LANES), np.empty(_LANES), np.empty((2, _NODES))
    made, used, count, a, c = 0, 0, 0, 0, start
    while c < stop:
        d = _cell_end(cells, places, c, stop, width, raw)
        first, last = c, d
        e, end = c, d
        if not raw:
            first, last, e, end = cells[c, 0], cells[d, 0], cells[c, 1], cells[d, 1]
        while raw and a < most and anchors[a + 1] <= e:
            a += 1
        a = a if raw else after[e]
        z = a if raw else after[end - 1]
        while raw and z < most and anchors[z + 1] < end:
            z += 1
        half = 0.5 * (places[last - 1] - places[first])
        centre, per_half = places[first] + half, 1.0 / half if half > 0.0 else 0.0
        # Of ties one place is enough.
        nodes = _NODES if half > 0.0 else 1
        stays = nodes * (z - a + 1) >= end - e
        out_cells[made, 0] = used
        out_cells[made, 1] = count
        made += 1
        for s in range(a, z + 1):
            f = (anchors[s + 1] if s < z else end) if raw else e
            while not raw and f < end and after[f] == s:
                f += 1
            per_rank = 1.0 / (anchors[s + 1] - anchors[s]) if raw else 0.0
            for q in range(_NODES):
                moments[0, q] = 0.0
                moments[1, q] = 0.0
            while e < f:
                size = min(_LANES, f - e)
                for j in range(size if raw else 0):
                    weight, part = weights[0 if equal else e + j], (e + j - anchors[s]) * per_rank
                    t[j] = places[e + j]
                    below[j] = weight * (1.0 - part)
                    above[j] = weight * part
                for j in range(0 if raw else size):
                    t[j] = places[index[e + j]]
                    below[j] = low[e + j]
                    above[j] = high[e + j]
                for j in range(size if stays else 0):
                    place = used - first + (e + j if raw else index[e + j])
                    out_places[place] = t[j]
                    out_index[count] = place
                    out_after[count] = s
                    out_low[count] = below[j]
                    out_high[count] = above[j]
                    count += 1
                if not stays:
                    filled = (size + _FILL - 1) // _FILL * _FILL
                    for j in range(size, filled):
                        t[j] = centre
                        below[j] = 0.0
                        above[j] = 0.0
                    for j in range(filled):
                        t[j] = (t[j] - centre) * per_half
                    _add_moments(t, below, above, now, before, filled, moments)
                e += size
            for k in range(0 if stays else nodes):
                out_places[used + k] = centre + half * at[k]
                out_index[count] = used + k
                out_after[count] = s
                out_low[count], out_high[count] = moments[0, 0], moments[1, 0]
                if nodes > 1:
                    one, two = 0.0, 0.0
                    for q in range(_NODES):
                        one += from_moments[k, q] * moments[0, q]
                        two += from_moments[k, q] * moments[1, q]
                    out_low[count], out_high[count] = one, two
                count += 1
        used += last - first if stays else nodes
        c = d
    out_cells[made, 0] = used
    out_cells[made, 1] = count
    return made, used, count
