"""Small networks of rectified layers on many rows: weights and inputs enter, the last layer's sums leave.

Rows go through in blocks of four. A unit that is zero in the whole block is left out of the next layer's sums, which
saves about a third of the products. Each sum is taken unit after unit, in their order, so that an answer depends
neither on the row's neighbours nor on the number of rows: what is left out would have added 0.
"""

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.jit import ROWS, TILE, compiled, entry, weighted_sums

__all__ = ["ROWS", "TILE", "network_rows"]

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


@compiled
def _load(inputs: Array, standard: Array, row: int, block: int, units: Index, given: Array) -> None:
    """Write the inputs of a block, held between their lowest and highest, less a location, times a factor."""
    location, factor, low, high = standard[0], standard[1], standard[2], standard[3]
    for k in range(inputs.shape[1]):
        units[k] = k
        for r in range(block):
            value = inputs[row + r, k]
            # So written, a NaN stays.
            held = low[k] if value < low[k] else value
            held = high[k] if held > high[k] else held
            given[k * ROWS + r] = (held - location[k]) * factor[k]


@entry
def network_rows(
    inputs: Array,
    standard: Array,
    weights: Array,
    biases: Array,
    widths: Index,
    own: Index,
    first_shifts: Array,
    last_shifts: Array,
    units: Index,
    given: Array,
    sums: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write W_L relu(... relu(W_1 z + b_1 + c) ...) + b_L + d of rows start .. stop - 1 of `inputs` to `out`.

    z are the inputs as `standard` (location, factor, lowest and highest of each) says. c and d are the row number
    ``own[row]`` of the shifts, so that rows of one kind share them; shifts without rows are none. `widths` counts the
    inputs and then each layer's outputs. `weights` has the layers one after the other, each (in, out) with `out` filled
    up with zeros to a multiple of `TILE`, and flat; so has `biases`. The rest is room to work in: `units` 2 x widest,
    `given` 2 x widest x ROWS, `sums` ROWS x TILE, all flat.
    """
    half, last = units.size // 2, widths.size - 1
    shifted = first_shifts.shape[0] > 0
    for row in range(start, stop, ROWS):
        block = min(ROWS, stop - row)
        count = widths[0]
        _load(inputs, standard, row, block, units, given)
        first_weight, first_bias = 0, 0
        for layer in range(1, widths.size):
            stride = (widths[layer] + TILE - 1) // TILE * TILE
            # The two halves of the room change places from layer to layer.
            old, new = half * ((layer - 1) % 2), half * (layer % 2)
            found = new
            for tile in range(0, stride, TILE):
                weight, bias, wide = first_weight + tile, first_bias + tile, min(TILE, widths[layer] - tile)
                weighted_sums(weights, biases, units, given, sums, weight, stride, bias, old, count)
                if shifted and layer == 1:
                    for r in range(block):
                        for i in range(wide):
                            sums[r * TILE + i] += first_shifts[own[row + r], tile + i]
                if layer < last:
                    found = _keep_active(sums, wide, tile, units, given, found)
                    continue
                for r in range(block):
                    for i in range(wide):
                        out[row + r, tile + i] = sums[r * TILE + i]
                    for i in range(wide if shifted else 0):
                        out[row + r, tile + i] += last_shifts[own[row + r], tile + i]
            first_weight += widths[layer - 1] * stride
            first_bias += stride
            count = found - new
