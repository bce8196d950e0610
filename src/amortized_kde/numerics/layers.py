"""The forward pass of small networks of rectified layers, in float64.

Rows pass through the layers in blocks. Each sum is taken over the inputs in their order, so that a row's output depends
neither on its neighbours nor on the number of rows; with a BLAS the last bit would.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.numerics.gaussian import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.jit import compiled, entry
from amortized_kde.numerics.simd import ROWS, TILE, largest, layer_tile
from amortized_kde.numerics.threads import run_in_pieces

# Rows that pass through a layer together: a tile of weights then stays in the fastest cache for all of them.
_BLOCK = 4 * ROWS
# Relative to the largest of a softmax, smaller ones add less than the background to any density, and cost as much.
_NEGLIGIBLE = 1e-7


class Layer(NamedTuple):
    """y = W x + b, with W (out, in) and b (out,)."""

    weight: NDArray[np.floating]
    bias: NDArray[np.floating]


class Stack(NamedTuple):
    """Layers in the memory layout of the compiled loop.

    In float64, so that an input that differs in its last bit does not change the output by a bit of float32.

    Attributes
    ----------
    weights, biases : ndarray
        All layers one after the other, flat; weights are (in, out), with `out` padded with zeros to a multiple of
        `TILE`.
    widths : ndarray of shape (layers + 1,)
        Number of inputs, then of each layer's outputs.
    limits : ndarray of shape (2, inputs)
        Inputs are clipped to these; NaN stays.
    """

    weights: Array
    biases: Array
    widths: Index
    limits: Array

    @classmethod
    def of(cls, layers: Sequence[Layer], limits: Array | None = None) -> "Stack":
        """Convert layers; without `limits` inputs are not clipped."""
        weights, biases = (np.concatenate([_padded(layer[i]) for layer in layers]) for i in range(2))
        widths = np.array([layers[0].weight.shape[1], *(layer.bias.size for layer in layers)])
        if limits is None:
            limits = np.stack([np.full(widths[0], -np.inf), np.full(widths[0], np.inf)])
        return cls(weights, biases, widths, np.ascontiguousarray(limits))


class Conditioning(NamedTuple):
    """Per-sample scale and shift of every layer's sums (FiLM).

    Attributes
    ----------
    sample_of_row : ndarray of shape (rows,)
        The sample that each row of the inputs belongs to.
    scale, shift : ndarray of shape (samples, units)
        Units are the outputs of all layers, one after the other.
    """

    sample_of_row: Index
    scale: Array
    shift: Array


def run_layers(stack: Stack, inputs: Array, *, threads: int | None = None) -> Array:
    """Return W_L relu(... relu(W_1 x + b_1) ...) + b_L for every row x of `inputs` (rows, features).

    Examples
    --------
    >>> run_layers(Stack.of([Layer(np.array([[1.0, 2.0]]), np.array([0.5]))]), np.array([[1.0, 1.0]]))
    array([[3.5]])
    """
    units = int(stack.widths[1:].sum())
    same = Conditioning(np.zeros(len(inputs), np.int64), np.ones((1, units)), np.zeros((1, units)))
    return _run(stack, inputs, same, False, np.empty((len(inputs), stack.widths[-1])), threads)


def softmax_layers(
    stack: Stack, inputs: Array, conditioning: Conditioning, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """Return the softmax of the last layer's outputs for every row of `inputs`, with all layers conditioned.

    Exponentials below 1e-7 of a row's largest are 0. The result is written to `out`, if given.

    Examples
    --------
    >>> stack = Stack.of([Layer(np.array([[1.0], [2.0]]), np.zeros(2))])
    >>> once = Conditioning(np.zeros(1, np.int64), np.ones((1, 2)), np.zeros((1, 2)))
    >>> softmax_layers(stack, np.array([[1.0]]), once).round(4)
    array([[0.2689, 0.7311]])
    """
    out = np.empty((len(inputs), stack.widths[-1])) if out is None else out
    return _run(stack, inputs, conditioning, True, out, threads)


def _run(
    stack: Stack, inputs: Array, conditioning: Conditioning, softmax: bool, out: Array, threads: int | None
) -> Array:
    # Other memory layouts are other types to the compiler.
    rows = np.ascontiguousarray(inputs)
    widest = -(-int(stack.widths.max()) // TILE) * TILE
    # Tiles reach past the last unit.
    scales, shifts = (np.append(part, np.zeros(TILE)) for part in conditioning[1:])
    given = rows, stack, conditioning.sample_of_row, scales, shifts, softmax

    def work(start: int, stop: int) -> None:
        _network_rows(*given, np.zeros(2 * _BLOCK * widest), out, start, stop)

    run_in_pieces(work, len(inputs), operations=float(len(inputs)) * stack.weights.size, threads=threads)
    return out


def _padded(part: NDArray[np.floating]) -> Array:
    wide = np.zeros((*part.shape[1:], -(-len(part) // TILE) * TILE))
    wide[..., : len(part)] = part.T
    return wide.reshape(-1)


@compiled
def _clip(features: Array, limits: Array, out: Array) -> None:
    for k in range(features.size):
        value = limits[0, k] if features[k] < limits[0, k] else features[k]
        out[k] = limits[1, k] if value > limits[1, k] else value


@compiled
def _nonzero_units(rows: Array, stride: int, width: int, flags: Index, out: Index) -> int:
    """Write the units that are not 0 in some of `ROWS` rows, which lie `stride` apart, and return their number."""
    a, b, c, d = rows[:width], rows[stride:], rows[2 * stride :], rows[3 * stride :]
    for i in range(width):
        # None is negative; NaN counts.
        flags[i] = a[i] + b[i] + c[i] + d[i] != 0.0
    count = 0
    for i in range(width):
        out[count] = i
        count += flags[i]
    return count


@compiled
def _softmax(sums: Array, out: Array) -> None:
    top, total = largest(sums, out.size), 0.0
    for i in range(out.size):
        e = exp_nonpositive(max(sums[i] - top, LOWEST_EXPONENT))
        out[i] = 0.0 if e < _NEGLIGIBLE else e
    for i in range(out.size):
        total += out[i]
    per_total = 1.0 / total
    for i in range(out.size):
        out[i] *= per_total


@entry
def _network_rows(
    inputs: Array,
    stack: Stack,
    sample_of_row: Index,
    scales: Array,
    shifts: Array,
    softmax: bool,
    scratch: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Write the outputs of rows start .. stop - 1; `scratch` holds 2 x _BLOCK x the widest layer, padded, and flat.

    Units that are 0 in `ROWS` rows, as most are after a rectified layer, are left out of the next sums.
    """
    weights, biases, widths, limits = stack
    half, last, units = scratch.size // 2, widths.size - 1, widths[1:].sum()
    stride = half // _BLOCK
    active, counts = np.empty((_BLOCK // ROWS, stride), np.int64), np.empty(_BLOCK // ROWS, np.int64)
    places, flags = np.zeros(_BLOCK, np.int64), np.empty(stride, np.int64)
    for row in range(start, stop, _BLOCK):
        block = min(_BLOCK, stop - row)
        for r in range(block):
            places[r] = units * sample_of_row[row + r]
            _clip(inputs[row + r], limits, scratch[r * stride : r * stride + widths[0]])
        weight, bias, unit = 0, 0, 0
        for layer in range(1, widths.size):
            count, padded = widths[layer - 1], (widths[layer] + TILE - 1) // TILE * TILE
            floor = 0.0 if layer < last else -np.inf
            # The two halves of the scratch change places from layer to layer.
            old, new = half * ((layer - 1) % 2), half * (layer % 2)
            for group in range((block + ROWS - 1) // ROWS):
                used = active[group]
                if layer > 1:
                    rows = scratch[old + group * ROWS * stride :]
                    counts[group] = _nonzero_units(rows, stride, count, flags, used)
                else:
                    counts[group] = count
                    for i in range(count):
                        used[i] = i
            for tile in range(0, padded, TILE):
                for group in range((block + ROWS - 1) // ROWS):
                    first = group * ROWS
                    tables = weights, biases, scratch, active[group], scales, shifts, places[first:]
                    at = weight + tile, padded, bias + tile, unit + tile
                    ends = old + first * stride, new + first * stride + tile, stride
                    layer_tile(*tables, *at, *ends, counts[group], floor)
            weight += count * padded
            bias += padded
            unit += widths[layer]
        for r in range(block):
            sums = scratch[half * (last % 2) + r * stride :]
            if softmax:
                _softmax(sums, out[row + r])
            else:
                for i in range(widths[last]):
                    out[row + r, i] = sums[i]
