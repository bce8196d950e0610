"""The forward pass of small networks of rectified layers, in float64.

Rows pass through the layers in blocks. Each sum is taken over the inputs in their order, so that a row's output depends
neither on its neighbours nor on the number of rows; with a BLAS the last bit would.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.numerics.jit import ROWS, TILE, entry, weighted_sums
from amortized_kde.numerics.threads import run_in_pieces

# Rows that pass through a layer together: a tile of weights then stays in the fastest cache for all of them.
_BLOCK = 4 * ROWS


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


_UNCONDITIONED = Conditioning(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros((0, 0)))


def run_layers(
    stack: Stack,
    inputs: Array,
    *,
    conditioning: Conditioning = _UNCONDITIONED,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Return W_L relu(... relu(W_1 x + b_1) ...) + b_L for every row x of `inputs` (rows, features).

    With `conditioning` each row is returned relative to its largest output, so that exponentials cannot overflow. The
    result is written to `out`, if given.

    Examples
    --------
    >>> run_layers(Stack.of([Layer(np.array([[1.0, 2.0]]), np.array([0.5]))]), np.array([[1.0, 1.0]]))
    array([[3.5]])
    """
    widths = stack.widths
    # Other memory layouts are other types to the compiler.
    rows = np.ascontiguousarray(inputs)
    outputs = np.empty((len(inputs), widths[-1])) if out is None else out
    widest = -(-int(widths.max()) // TILE) * TILE

    def work(start: int, stop: int) -> None:
        _network_rows(rows, stack, conditioning, np.zeros(2 * _BLOCK * widest), outputs, start, stop)

    run_in_pieces(work, len(inputs), operations=float(len(inputs)) * stack.weights.size, threads=threads)
    return outputs


def _padded(part: NDArray[np.floating]) -> Array:
    wide = np.zeros((*part.shape[1:], -(-len(part) // TILE) * TILE))
    wide[..., : len(part)] = part.T
    return wide.reshape(-1)


@entry
def _network_rows(
    inputs: Array, stack: Stack, conditioning: Conditioning, scratch: Array, out: Array, start: int, stop: int
) -> None:
    """Write the outputs of rows start .. stop - 1; `scratch` holds 2 x _BLOCK x the widest layer, padded, and flat."""
    weights, biases, widths, limits = stack
    sample_of_row, scales, shifts = conditioning
    half, last = scratch.size // 2, widths.size - 1
    stride, conditioned = half // _BLOCK, scales.shape[0] > 0
    for row in range(start, stop, _BLOCK):
        block = _BLOCK if row + _BLOCK < stop else stop - row
        for r in range(block):
            features, clipped = inputs[row + r], scratch[r * stride : r * stride + widths[0]]
            for k in range(widths[0]):
                value = limits[0, k] if features[k] < limits[0, k] else features[k]
                clipped[k] = limits[1, k] if value > limits[1, k] else value
        weight, bias, unit = 0, 0, 0
        for layer in range(1, widths.size):
            count, wide, padded = widths[layer - 1], widths[layer], (widths[layer] + TILE - 1) // TILE * TILE
            # The two halves of the scratch change places from layer to layer.
            old, new = half * ((layer - 1) % 2), half * (layer % 2)
            for tile in range(0, padded, TILE):
                for r in range(0, block, ROWS):
                    begin, end = old + r * stride, new + r * stride + tile
                    weighted_sums(
                        weights, biases, scratch, weight + tile, padded, bias + tile, begin, end, stride, count
                    )
            weight += count * padded
            bias += padded
            for r in range(block):
                # Slices, because the compiler does not see that an index with an offset is never negative.
                sums = scratch[new + r * stride : new + r * stride + wide]
                if conditioned:
                    sample = sample_of_row[row + r]
                    scale, shift = scales[sample, unit : unit + wide], shifts[sample, unit : unit + wide]
                    for i in range(wide):
                        sums[i] = scale[i] * sums[i] + shift[i]
                if layer < last:
                    for i in range(wide):
                        # Written so that NaN stays.
                        sums[i] = 0.0 if sums[i] < 0.0 else sums[i]
                    continue
                largest = -np.inf if conditioned else 0.0
                if conditioned:
                    for i in range(wide):
                        largest = sums[i] if sums[i] > largest else largest
                outputs = out[row + r]
                for i in range(wide):
                    outputs[i] = sums[i] - largest
            unit += wide
