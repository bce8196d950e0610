r"""The log-density of a mixture of elliptical kernels, Gaussian or Student's t, by log-sum-exp in float64.

Kernels are ordered into blocks of neighbours of similar width, and arguments into tiles of neighbours. For a tile a
block is left out if an upper bound of its sum lies so far below what has been found already at every argument of the
tile that all blocks left out are at most `RELATIVE_ERROR` of the density. With covariance C, distances are bounded by

.. math:: u^T C^{-1} u \ge \max\Big(\frac{|u|^2}{\lambda_{\max}(C)}, \max_j \frac{u_j^2}{C_{jj}}\Big).
"""

import math
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, LOWEST_LOG, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.threads import run_in_pieces

# What the blocks left out can have of the density at any argument, at most.
RELATIVE_ERROR = 1e-12
# Kernels in a block, and arguments in a tile: their exponents fit into the first cache, 32 kB.
_BLOCK, _TILE = 32, 64
# Bits of each coordinate in the order of neighbours; those of eight coordinates fit into 64.
_BITS = {1: 16, 2: 16, 3: 16, 4: 15, 5: 12, 6: 10, 7: 9, 8: 8}
_NONE = -1
# Blocks whose bounds are within this many nats of the highest come first.
_NEAR = 8.0


class Kernels(NamedTuple):
    """Kernels in blocks. Kernel c has exponent ``logs[c] - |scales[c] A (x - means[c])|^2 / 2``, A = whiteners[shape].

    Attributes
    ----------
    means : ndarray of shape (N, d)
    whiteners : ndarray of shape (S, d, d)
        Inverses of lower triangular factors, one for each shape.
    shape_of : ndarray of int, of shape (N,)
    scales, logs : ndarray of shape (N,)
        Reciprocal sizes, and logarithms of weight times the height of the kernel.
    dofs : ndarray of shape (N,)
        Degrees of freedom, infinite for Gaussian kernels; the exponent of others is
        ``logs - (dof + d)/2 log(1 + |...|^2/dof)``.
    starts : ndarray of int, of shape (B + 1,)
        Where each block begins; Gaussian and other kernels are in different blocks.
    low, high : ndarray of shape (B, d)
        Boxes around the means of each block.
    widths, sds, tops : ndarray of shape (B,), (B, d) and (B,)
        Largest standard deviation in any direction, and along each axis; logarithm of the sum of the blocks' heights,
        infinite for blocks that are never left out.
    order : ndarray of int, of shape (N,)
        Index of each kernel before it was put into its block.
    """

    means: Array
    whiteners: Array
    shape_of: Index
    scales: Array
    logs: Array
    dofs: Array
    starts: Index
    low: Array
    high: Array
    widths: Array
    sds: Array
    tops: Array
    order: Index


def kernels_in_blocks(
    weights: Array, means: Array, factors: Array, shape_of: Index, sizes: Array, dofs: Array
) -> Kernels:
    """Return the kernels of a mixture in blocks of neighbours; arguments as in `density.components.Components`."""
    d = means.shape[1]
    widths = sizes * np.linalg.norm(factors, 2, axis=(1, 2))[shape_of]
    gaussian = np.isinf(dofs)
    # Octaves of the width; kernels of Student's t come last.
    octave = np.where(gaussian, np.floor(2.0 * np.log2(widths)), math.inf)
    order = np.lexsort((neighbour_codes(means), octave))
    octave = octave[order]
    begins = np.flatnonzero(np.append(True, octave[1:] != octave[:-1]))
    ends = np.append(begins[1:], octave.size)
    starts = np.concatenate([*(np.arange(b, e, _BLOCK) for b, e in zip(begins, ends, strict=True)), [octave.size]])
    logs = np.log(weights) - d * np.log(sizes) - log_determinants(factors)[shape_of] + _log_heights(dofs, d)
    logs, means, widths = logs[order], means[order], widths[order]
    sds = (sizes[:, None] * np.linalg.norm(factors, axis=2)[shape_of])[order]
    first = starts[:-1]
    highest = np.maximum.reduceat(logs, first)
    block_of = np.repeat(np.arange(first.size), np.diff(starts))
    tops = highest + np.log(np.add.reduceat(np.exp(logs - highest[block_of]), first))
    return Kernels(
        means=np.ascontiguousarray(means),
        whiteners=np.tril(np.linalg.inv(factors)),
        shape_of=np.ascontiguousarray(shape_of[order]),
        scales=1.0 / sizes[order],
        logs=logs,
        dofs=dofs[order],
        starts=starts.astype(np.int64),
        low=np.minimum.reduceat(means, first),
        high=np.maximum.reduceat(means, first),
        widths=np.maximum.reduceat(widths, first),
        sds=np.maximum.reduceat(sds, first),
        tops=np.where(np.isinf(octave[first]), math.inf, tops),
        order=order,
    )


def log_determinants(factors: Array) -> Array:
    """Return the logarithms of the determinants of triangular factors (S, d, d)."""
    return np.asarray(np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1))


def _log_heights(dofs: Array, d: int) -> Array:
    """Logarithms of the heights of kernels with unit scatter."""
    from scipy.special import gammaln

    finite = np.where(np.isinf(dofs), 1.0, dofs)
    student = gammaln(0.5 * (finite + d)) - gammaln(0.5 * finite) - 0.5 * d * np.log(math.pi * finite)
    return np.where(np.isinf(dofs), -0.5 * d * math.log(2.0 * math.pi), student)


def neighbour_codes(points: Array) -> Index:
    """Return numbers (m,) by which points (m, d) are sorted so that neighbours are mostly together (Morton's order)."""
    bits, d = _BITS[points.shape[1]], points.shape[1]
    low, high = points.min(axis=0), points.max(axis=0)
    cells = 2.0**bits * (points - low) / np.where(high > low, high - low, 1.0)
    whole = np.clip(cells, 0.0, 2.0**bits - 1.0).astype(np.uint64)
    codes = np.zeros(len(points), np.uint64)
    for bit in range(bits):
        for j in range(d):
            codes |= ((whole[:, j] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(bit * d + j)
    return codes.astype(np.int64) if bits * d < 64 else codes.view(np.int64) ^ np.int64(-(2**63))


def log_densities(kernels: Kernels, points: Array, *, own: Index | None = None, threads: int | None = None) -> Array:
    """Return the natural log-density of the mixture at points (m, d), of shape (m,); points are finite.

    Parameters
    ----------
    own : ndarray of int, of shape (m,), optional
        The kernel to leave out at each point, as numbered before the blocks were made; for leave-one-out densities.
        Weights stay as they are.
    """
    out = np.empty(len(points))
    if out.size == 0:
        return out
    arranged = np.argsort(neighbour_codes(points), kind="stable")
    places = np.full(len(points), _NONE)
    if own is not None:
        place_of = np.empty(kernels.order.size, np.int64)
        place_of[kernels.order] = np.arange(kernels.order.size)
        places = place_of[own]
    tiles = -(-len(points) // _TILE)
    left_out = math.log(RELATIVE_ERROR) - math.log(kernels.tops.size)
    sorted_points, sorted_places = np.ascontiguousarray(points[arranged]), places[arranged]
    found = np.empty(len(points))

    def work(start: int, stop: int) -> None:
        log_density_tiles(kernels, sorted_points, sorted_places, left_out, found, start, stop)

    run_in_pieces(work, tiles, operations=float(len(points)) * kernels.logs.size, threads=threads)
    out[arranged] = found
    return out


@entry
def log_density_tiles(
    kernels: Kernels, points: Array, own: Index, left_out: float, out: Array, start: int, stop: int
) -> None:
    """Write the log-densities at the points of tiles `start` to `stop`."""
    d, blocks = points.shape[1], kernels.tops.size
    at, u, v = np.empty((d, _TILE)), np.empty((d, _TILE)), np.empty(_TILE)
    exponents, factor = np.empty((_BLOCK, _TILE)), np.empty((d, d))
    shifts, sums, highest, bounds = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(blocks)
    for tile in range(start, stop):
        first, last = tile * _TILE, min((tile + 1) * _TILE, points.shape[0])
        for p in range(_TILE):
            # A tile that is not full repeats its last point.
            row = min(first + p, last - 1)
            for j in range(d):
                at[j, p] = points[row, j]
            shifts[p], sums[p] = LOWEST_LOG, 0.0
        near = _bound_blocks(kernels, at, bounds) - _NEAR
        lowest = LOWEST_LOG
        for turn in range(2 * blocks):
            # Near blocks first: the more is found, the more can be left out.
            block = turn % blocks
            if (bounds[block] >= near) != (turn < blocks) or bounds[block] < lowest + left_out:
                continue
            begin, end = kernels.starts[block], kernels.starts[block + 1]
            _fill_exponents(kernels, begin, end, at, u, v, factor, exponents)
            for p in range(last - first):
                if begin <= own[first + p] < end:
                    exponents[own[first + p] - begin, p] = -math.inf
            lowest = _add_block(exponents, end - begin, shifts, sums, highest)
        for p in range(last - first):
            out[first + p] = max(shifts[p] + math.log(sums[p]), LOWEST_LOG)


@compiled
def _bound_blocks(kernels: Kernels, at: Array, bounds: Array) -> float:
    """Write an upper bound of the logarithm of each block's sum anywhere in the tile; return the highest."""
    d = at.shape[0]
    low, high = np.empty(d), np.empty(d)
    for j in range(d):
        low[j], high[j] = at[j, 0], at[j, 0]
        for p in range(_TILE):
            low[j], high[j] = min(low[j], at[j, p]), max(high[j], at[j, p])
    highest = -math.inf
    for block in range(bounds.size):
        square, along = 0.0, 0.0
        for j in range(d):
            gap = max(low[j] - kernels.high[block, j], kernels.low[block, j] - high[j], 0.0)
            square += gap * gap
            along = max(along, gap / kernels.sds[block, j])
        nearest = max(square / kernels.widths[block] ** 2, along * along)
        bounds[block] = kernels.tops[block] - 0.5 * nearest
        if bounds[block] < math.inf:
            highest = max(highest, bounds[block])
    return highest


@compiled
def _fill_exponents(
    kernels: Kernels, begin: int, end: int, at: Array, u: Array, v: Array, factor: Array, exponents: Array
) -> None:
    """Write the exponents of the kernels of a block at the points of a tile."""
    d = at.shape[0]
    for c in range(begin, end):
        row = exponents[c - begin]
        for j in range(d):
            for k in range(j + 1):
                factor[j, k] = kernels.scales[c] * kernels.whiteners[kernels.shape_of[c], j, k]
        if d == 2:
            a, b, e = factor[0, 0], factor[1, 0], factor[1, 1]
            x, y, log = kernels.means[c, 0], kernels.means[c, 1], kernels.logs[c]
            for p in range(_TILE):
                left, up = at[0, p] - x, at[1, p] - y
                one, two = a * left, b * left + e * up
                row[p] = one * one + two * two
        else:
            for p in range(_TILE):
                row[p] = 0.0
            for j in range(d):
                for p in range(_TILE):
                    u[j, p] = at[j, p] - kernels.means[c, j]
                    v[p] = 0.0
                for k in range(j + 1):
                    for p in range(_TILE):
                        v[p] += factor[j, k] * u[k, p]
                for p in range(_TILE):
                    row[p] += v[p] * v[p]
        log, dof = kernels.logs[c], kernels.dofs[c]
        if dof == math.inf:
            for p in range(_TILE):
                row[p] = log - 0.5 * row[p]
        else:
            for p in range(_TILE):
                row[p] = log - 0.5 * (dof + d) * math.log1p(row[p] / dof)


@compiled
def _add_block(exponents: Array, count: int, shifts: Array, sums: Array, highest: Array) -> float:
    """Add exponentials to the sums, which are relative to exp(shifts); return a lower bound of all logarithms."""
    for p in range(_TILE):
        highest[p] = shifts[p]
    for c in range(count):
        for p in range(_TILE):
            highest[p] = max(highest[p], exponents[c, p])
    for p in range(_TILE):
        sums[p] *= exp_nonpositive(max(shifts[p] - highest[p], LOWEST_EXPONENT))
        shifts[p] = highest[p]
    for c in range(count):
        for p in range(_TILE):
            sums[p] += exp_nonpositive(max(exponents[c, p] - shifts[p], LOWEST_EXPONENT))
    # In a loop of its own, since a minimum is not computed in SIMD lanes.
    lowest, least = math.inf, math.inf
    for p in range(_TILE):
        lowest, least = min(lowest, shifts[p]), min(least, sums[p])
    return lowest + math.log(least)
