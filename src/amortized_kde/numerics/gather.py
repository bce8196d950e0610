"""Condense the points of a large sample to few places, once for all bandwidths and for any shares.

As in `condense.py`, sixteen kernels at Chebyshev nodes stand for all of a cell that is narrow beside the bandwidth.
Here a node keeps two masses instead of a coefficient, because shares are linear in rank between anchors: a point at the
fraction t of the way from one anchor to the next leaves 1 - t of its weight as mass `low`, which takes the shares of
the first anchor, and t as mass `high`, which takes those of the second. Condensing nodes again is exact, so wider cells
are made from narrower ones.
"""

from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.condense import FROM_MOMENTS, NODES, NODES_PER_CELL
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.threads import run_in_pieces

# Entries summed at a time, padded to a multiple of a few SIMD registers: a remainder would be summed one by one.
_LANES, _PADDING = 128, 32
# Points are gathered in this many runs for any number of threads, so that threads do not change the result.
_RUNS = 16
# Operations for each point, from which the number of threads follows.
_OPERATIONS = 50.0


class Gathered(NamedTuple):
    """Cells of places, ascending, and entries with the masses there.

    Cell c has the places ``cells[c, 0]:cells[c + 1, 0]`` and the entries ``cells[c, 1]:cells[c + 1, 1]``. Entry e holds
    the masses `low` and `high`, at the place number ``place[e]``, of points between the anchors number ``anchor[e]``,
    ascending, and ``anchor[e] + 1``. A place can have several entries.
    """

    cells: Index
    places: Array
    place: Index
    anchor: Index
    low: Array
    high: Array


class _Block(NamedTuple):
    """Scratch for up to `_LANES` entries of one cell and anchor, and the Chebyshev moments (2, 16) of both masses."""

    t: Array
    low: Array
    high: Array
    now: Array
    before: Array
    moments: Array


def gather(points: Array, weights: Array, anchors: Index, width: float, *, threads: int | None = None) -> Gathered:
    """Gather ascending points (n,) in cells at most `width` wide.

    `weights` are (n,), or (1,) if they are all the same. The first anchor has the rank 0 and the last n - 1.
    """
    edges = (points.size * np.arange(_RUNS + 1) // _RUNS).tolist()
    runs = {}

    def gather_runs(first: int, last: int) -> None:
        for run in range(first, last):
            runs[run] = wider(_each_point(points, weights, anchors, edges[run], edges[run + 1]), width)

    run_in_pieces(gather_runs, _RUNS, operations=_OPERATIONS * points.size, threads=threads)
    return _joined([runs[run] for run in range(_RUNS)])


def wider(gathered: Gathered, width: float) -> Gathered:
    """Return cells at most `width` wide, each made of whole cells of those given."""
    out = _empty(gathered.place.size)
    cells, places, entries = _gather(gathered, width, NODES, FROM_MOMENTS, _new_block(), out)
    # Copies of the used parts, because views would keep the whole arrays in memory.
    return Gathered(
        out.cells[: cells + 1].copy(),
        _read_only(out.places[:places].copy()),
        out.place[:entries].copy(),
        out.anchor[:entries].copy(),
        out.low[:entries].copy(),
        out.high[:entries].copy(),
    )


def kernels_of(gathered: Gathered, shares: Array) -> tuple[Array, Array]:
    """Return places and coefficients of the kernels with these shares at the anchors, without those that have none."""
    masses = gathered.low * shares[gathered.anchor] + gathered.high * shares[gathered.anchor + 1]
    coefficients = np.asarray(np.bincount(gathered.place, masses, minlength=gathered.places.size), float)
    used = coefficients != 0.0
    return (gathered.places, coefficients) if used.all() else (gathered.places[used], coefficients[used])


def _each_point(points: Array, weights: Array, anchors: Index, start: int, stop: int) -> Gathered:
    """The points start .. stop - 1, each in its own cell with one place and one entry."""
    numbers = np.arange(stop - start + 1)
    edges = np.concatenate([[start], np.clip(anchors[1:-1], start, stop), [stop]])
    anchor = np.repeat(np.arange(anchors.size - 1), np.diff(edges))
    fraction = (numbers[:-1] + start - anchors[anchor]) * (1.0 / np.diff(anchors))[anchor]
    weights = weights if weights.size == 1 else weights[start:stop]
    cells, places = np.stack([numbers, numbers], axis=1), _read_only(points[start:stop])
    return Gathered(cells, places, numbers[:-1], anchor, weights * (1.0 - fraction), weights * fraction)


def _new_block() -> _Block:
    t, low, high, now, before = np.empty((5, _LANES))
    return _Block(t, low, high, now, before, np.empty((2, NODES_PER_CELL)))


def _empty(entries: int) -> Gathered:
    """Uninitialised arrays for at most this many entries."""
    place, anchor = np.empty((2, entries), np.int64)
    places, low, high = np.empty((3, entries))
    return Gathered(np.empty((entries + 1, 2), np.int64), places, place, anchor, low, high)


def _read_only(places: Array) -> Array:
    """Read-only arrays are another type to the compiler, and the points of a density are read-only."""
    places.flags.writeable = False
    return places


def _joined(runs: list[Gathered]) -> Gathered:
    """The runs one after the other."""
    before = np.cumsum([[0, 0], *(run.cells[-1] for run in runs)], axis=0)
    cells = [run.cells[:-1] + start for run, start in zip(runs, before[:-1], strict=True)]
    return Gathered(
        np.concatenate([*cells, before[-1:]]),
        _read_only(np.concatenate([run.places for run in runs])),
        np.concatenate([run.place + start for run, start in zip(runs, before[:-1, 0], strict=True)]),
        np.concatenate([run.anchor for run in runs]),
        np.concatenate([run.low for run in runs]),
        np.concatenate([run.high for run in runs]),
    )


@entry
def _gather(
    given: Gathered, width: float, nodes: Array, from_moments: Array, block: _Block, out: Gathered
) -> tuple[int, int, int]:
    """Gather whole cells, and return the numbers of cells, places and entries written to `out`.

    The entries of a cell are kept as they are if nodes would not be fewer.
    """
    made, used, count, c, stop = 0, 0, 0, 0, given.cells.shape[0] - 1
    while c < stop:
        d = _cells_within(given.cells, given.places, c, stop, width)
        first, last = given.cells[c, 0], given.cells[d, 0]
        e, end = given.cells[c, 1], given.cells[d, 1]
        a, z = given.anchor[e], given.anchor[end - 1]
        half = 0.5 * (given.places[last - 1] - given.places[first])
        centre = given.places[first] + half
        # For ties one place is enough.
        number = NODES_PER_CELL if half > 0.0 else 1
        kept = number * (z - a + 1) >= end - e
        out.cells[made, 0] = used
        out.cells[made, 1] = count
        made += 1
        for i in range(e, end if kept else e):
            place = used + given.place[i] - first
            out.places[place] = given.places[given.place[i]]
            out.place[count] = place
            out.anchor[count] = given.anchor[i]
            out.low[count] = given.low[i]
            out.high[count] = given.high[i]
            count += 1
        for s in range(a, a if kept else z + 1):
            e = _add_entries(given, e, end, s, centre, half, block)
            for k in range(number):
                out.places[used + k] = centre + half * nodes[k]
                out.place[count] = used + k
                out.anchor[count] = s
                low, high = block.moments[0, 0], block.moments[1, 0]
                if number > 1:
                    low, high = 0.0, 0.0
                    for q in range(NODES_PER_CELL):
                        low += from_moments[k, q] * block.moments[0, q]
                        high += from_moments[k, q] * block.moments[1, q]
                out.low[count] = low
                out.high[count] = high
                count += 1
        used += last - first if kept else number
        c = d
    out.cells[made, 0] = used
    out.cells[made, 1] = count
    return made, used, count


@compiled
def _cells_within(cells: Index, places: Array, c: int, stop: int, width: float) -> int:
    """The first cell after c that ends farther than `width` from where c begins."""
    first, d, step = places[cells[c, 0]], c + 1, 1
    # Steps double while they succeed, then halve until not even one does.
    while step > 0:
        ahead = d + step
        if ahead <= stop and places[cells[ahead, 0] - 1] - first <= width:
            d, step = ahead, 2 * step
        else:
            step //= 2
    return d


@compiled
def _add_entries(given: Gathered, e: int, end: int, anchor: int, centre: float, half: float, block: _Block) -> int:
    """Sum the moments of the entries from e on that belong to an anchor, and return the first that does not."""
    per_half = 1.0 / half if half > 0.0 else 0.0
    for q in range(NODES_PER_CELL):
        block.moments[0, q] = 0.0
        block.moments[1, q] = 0.0
    while e < end and given.anchor[e] == anchor:
        size = 0
        while size < _LANES and e < end and given.anchor[e] == anchor:
            block.t[size] = (given.places[given.place[e]] - centre) * per_half
            block.low[size] = given.low[e]
            block.high[size] = given.high[e]
            size += 1
            e += 1
        padded = (size + _PADDING - 1) // _PADDING * _PADDING
        for j in range(size, padded):
            block.t[j] = 0.0
            block.low[j] = 0.0
            block.high[j] = 0.0
        _add_moments(block.t, block.low, block.high, block.now, block.before, padded, block.moments)
    return e


@compiled
def _add_moments(t: Array, low: Array, high: Array, now: Array, before: Array, size: int, moments: Array) -> None:
    """Add the sums of T_q(t) times both masses to moments[0, q] and moments[1, q]."""
    for j in range(size):
        now[j] = 1.0
        before[j] = t[j]
    # T_q = 2 t T_(q-1) - T_(q-2), begun with T_0 and T_(-1) = T_1. Four at a time, because memory is slower than sums.
    for q in range(0, NODES_PER_CELL, 4):
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
