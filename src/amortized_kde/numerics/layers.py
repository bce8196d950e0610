"""A small network of rectified layers on many rows: weights and inputs enter, one positive number a row leaves.

Rows go through in blocks of four. A unit that is zero in the whole block is left out of the next layer's sums, which
saves about a third of the products. Each sum is taken unit after unit, in their order, so that an answer depends
neither on the row's neighbours nor on the number of rows: what is left out would have added 0.
"""

import math

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.jit import ROWS, TILE, compiled, entry, weighted_sums

__all__ = ["ROWS", "TILE", "forward_rows", "linear_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@compiled
def _keep_active(sums: Array, outputs: int, tile: int, units: Index, given: Array, found: int) -> int:
    """Write the rectified sums of those of the tile's outputs that are not zero in the whole block from `found` on."""
    for i in range(outputs):
        units[found] = tile + i
        total = 0.0
        for r in range(ROWS):
            value = sums[r * TILE + i]
            # So written, a NaN stays.
            value = 0.0 if value < 0.0 else value
            given[found * ROWS + r] = value
            total += value
        found += total != 0.0
    return found


@entry
def forward_rows(
    inputs: Array,
    weights: Array,
    biases: Array,
    widths: Index,
    units: Index,
    given: Array,
    sums: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write softplus(W_L relu(... relu(W_1 x + b_1) ...) + b_L) of rows start .. stop - 1 of `inputs`.

    `widths` counts the inputs and then each layer's outputs. `weights` has the layers one after the other, each
    (in, out) with `out` filled up with zeros to a multiple of `TILE`, and flat; so has `biases`. The rest is room to
    work in: `units` 2 x widest, `given` 2 x widest x ROWS, `sums` ROWS x TILE, all flat.
    """
    half = units.size // 2
    for row in range(start, stop, ROWS):
        block = min(ROWS, stop - row)
        count = widths[0]
        for k in range(count):
            units[k] = k
            for r in range(block):
                given[k * ROWS + r] = inputs[row + r, k]
        first_weight, first_bias = 0, 0
        for layer in range(1, widths.size):
            stride = (widths[layer] + TILE - 1) // TILE * TILE
            # The two halves of the room change places from layer to layer.
            old, new = half * ((layer - 1) % 2), half * (layer % 2)
            found = new
            for tile in range(0, stride, TILE):
                weight, bias = first_weight + tile, first_bias + tile
                weighted_sums(weights, biases, units, given, sums, weight, stride, bias, old, count)
                found = _keep_active(sums, min(TILE, widths[layer] - tile), tile, units, given, found)
            first_weight += widths[layer - 1] * stride
            first_bias += stride
            count = found - new
        for r in range(block):
            z = sums[r * TILE]
            out[row + r] = max(z, 0.0) + math.log1p(math.exp(-abs(z)))


@entry
def linear_rows(
    inputs: Array,
    weights: Array,
    biases: Array,
    units: Index,
    given: Array,
    sums: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write W x + b of rows start .. stop - 1 of `inputs` to `out`; inputs that are zero in a whole block are left out.

    `weights` is (in, out) with `out` filled up with zeros to a multiple of `TILE`, and flat; so is `biases`. The rest
    is room to work in: `units` (in,), `given` (in x ROWS,), `sums` (ROWS x TILE,).
    """
    outputs, stride = out.shape[1], biases.size
    for row in range(start, stop, ROWS):
        block, count = min(ROWS, stop - row), 0
        for k in range(inputs.shape[1]):
            units[count] = k
            active = 0
            for r in range(ROWS):
                given[count * ROWS + r] = inputs[row + min(r, block - 1), k]
                active += given[count * ROWS + r] != 0.0
            count += active > 0
        for tile in range(0, stride, TILE):
            weighted_sums(weights, biases, units, given, sums, tile, stride, tile, 0, count)
            for r in range(block):
                for i in range(min(TILE, outputs - tile)):
                    out[row + r, tile + i] = sums[r * TILE + i]
