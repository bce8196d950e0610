"""Small networks of rectified layers on many rows: weights and inputs enter, the last layer's sums leave.

Rows go through in blocks of four. Each sum is taken unit after unit, in their order, so that an answer depends neither
on the row's neighbours nor on the number of rows.
"""

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.jit import ROWS, TILE, entry, weighted_sums

__all__ = ["ROWS", "TILE", "network_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@entry
def network_rows(
    inputs: Array,
    weights: Array,
    biases: Array,
    widths: Index,
    own: Index,
    first_shifts: Array,
    last_shifts: Array,
    given: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write W_L relu(... relu(W_1 x + b_1 + c) ...) + b_L + d of rows start .. stop - 1 of `inputs` to `out`.

    c and d are the row number ``own[row]`` of the shifts, so that rows of one kind share them; shifts without rows are
    none. Of a shifted row its largest sum is taken off, so that exponentials cannot overflow. `widths` counts the
    inputs and then each layer's outputs. `weights` has the layers one after the other, each (in, out) with `out` filled
    up with zeros to a multiple of `TILE`, and flat; so has `biases`. `given` is room to work in, 2 x ROWS x the widest
    layer, also so filled up, and flat.
    """
    half, last = given.size // 2, widths.size - 1
    room, shifted = half // ROWS, first_shifts.shape[0] > 0
    for row in range(start, stop, ROWS):
        block = ROWS if row + ROWS < stop else stop - row
        for r in range(block):
            for k in range(widths[0]):
                given[r * room + k] = inputs[row + r, k]
        weight, bias = 0, 0
        for layer in range(1, widths.size):
            count, wide, stride = widths[layer - 1], widths[layer], (widths[layer] + TILE - 1) // TILE * TILE
            # The two halves of the room change places from layer to layer.
            old, new = half * ((layer - 1) % 2), half * (layer % 2)
            for tile in range(0, stride, TILE):
                weighted_sums(weights, biases, given, weight + tile, stride, bias + tile, old, new + tile, room, count)
            weight += count * stride
            bias += stride
            for r in range(block):
                begin = new + r * room
                if shifted and layer == 1:
                    for i in range(wide):
                        given[begin + i] += first_shifts[own[row + r], i]
                if layer < last:
                    for i in range(wide):
                        # So written, a NaN stays.
                        given[begin + i] = 0.0 if given[begin + i] < 0.0 else given[begin + i]
                    continue
                if not shifted:
                    for i in range(wide):
                        out[row + r, i] = given[begin + i]
                    continue
                largest = -np.inf
                for i in range(wide):
                    given[begin + i] += last_shifts[own[row + r], i]
                    largest = given[begin + i] if given[begin + i] > largest else largest
                for i in range(wide):
                    out[row + r, i] = given[begin + i] - largest
