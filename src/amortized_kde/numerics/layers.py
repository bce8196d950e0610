"""Small networks of rectified layers on many rows: weights and inputs enter, the last layer's sums leave.

Rows go through in blocks. Each sum is taken unit after unit, in their order, so that an answer depends neither
on the row's neighbours nor on the number of rows.
"""

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.numerics.jit import ROWS, TILE, entry, weighted_sums

# Rows that go through a layer together: a tile of weights then stays in the fastest cache for all of them.
BLOCK = 4 * ROWS


@entry
def network_rows(
    inputs: Array,
    weights: Array,
    biases: Array,
    widths: Index,
    limits: Array,
    own: Index,
    gates: Array,
    shifts: Array,
    given: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write W_L relu(... relu(W_1 x + b_1) ...) + b_L of rows start .. stop - 1 of `inputs` to `out`.

    Inputs are held inside their `limits` (2, inputs) first; a NaN stays. If there are gates and shifts, (kinds, all
    layers' outputs) each, every layer's sums are multiplied by the one and moved by the other, by those of row
    ``own[row]``; then of each row its largest answer is taken off, so that exponentials cannot overflow. `widths`
    counts the inputs and then each layer's outputs. `weights` has the layers one after the other, each (in, out) with
    `out` filled up with zeros to a multiple of `TILE`, and flat; so has `biases`. `given` is room to work in, 2 x BLOCK
    x the widest layer, also so filled up, and flat.
    """
    half, last = given.size // 2, widths.size - 1
    room, told = half // BLOCK, gates.shape[0] > 0
    for row in range(start, stop, BLOCK):
        block = BLOCK if row + BLOCK < stop else stop - row
        for r in range(block):
            features, held = inputs[row + r], given[r * room : r * room + widths[0]]
            for k in range(widths[0]):
                value = limits[0, k] if features[k] < limits[0, k] else features[k]
                held[k] = limits[1, k] if value > limits[1, k] else value
        weight, bias, unit = 0, 0, 0
        for layer in range(1, widths.size):
            count, wide, stride = widths[layer - 1], widths[layer], (widths[layer] + TILE - 1) // TILE * TILE
            # The two halves of the room change places from layer to layer.
            old, new = half * ((layer - 1) % 2), half * (layer % 2)
            for tile in range(0, stride, TILE):
                for r in range(0, block, ROWS):
                    begin, end = old + r * room, new + r * room + tile
                    weighted_sums(weights, biases, given, weight + tile, stride, bias + tile, begin, end, room, count)
            weight += count * stride
            bias += stride
            for r in range(block):
                # Slices, for the compiler does not see that an index with an offset is never negative.
                sums = given[new + r * room : new + r * room + wide]
                if told:
                    gate, shift = gates[own[row + r], unit : unit + wide], shifts[own[row + r], unit : unit + wide]
                    for i in range(wide):
                        sums[i] = gate[i] * sums[i] + shift[i]
                if layer < last:
                    for i in range(wide):
                        # So written, a NaN stays.
                        sums[i] = 0.0 if sums[i] < 0.0 else sums[i]
                    continue
                largest = -np.inf if told else 0.0
                if told:
                    for i in range(wide):
                        largest = sums[i] if sums[i] > largest else largest
                answer = out[row + r]
                for i in range(wide):
                    answer[i] = sums[i] - largest
            unit += wide
