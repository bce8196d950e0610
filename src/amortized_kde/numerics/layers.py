"""The forward pass of small networks of rectified layers, in float64.

Rows pass through the layers in blocks. Each sum is taken over the inputs in their order, so that a row's output depends
neither on its neighbours nor on the number of rows; with a BLAS the last bit would.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array, Index
from amortized_kde.numerics import uncompiled
from amortized_kde.numerics.jit import entry_in_order, in_numpy
from amortized_kde.numerics.layer_tiles import ROWS, clip_row, layer_tile, nonzero_units, softmax_rows, tile_width
from amortized_kde.numerics.simd import WORD, copy_row
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.numerics.uncompiled import PADDED

# Rows that pass through a layer together: a tile of weights then stays in the fastest cache for all of them. More where
# there are too many weights for the second cache, so that they are read less often.
_BLOCK, _LARGE_BLOCK, _MANY_WEIGHTS = 4 * ROWS, 16 * ROWS, 50_000


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
        `PADDED`.
    widths : ndarray of shape (layers + 1,)
        Number of inputs, then of each layer's outputs.
    limits : ndarray of shape (3, inputs)
        Inputs are clipped to the first two, NaN stays; then the third, their usual values, is subtracted.
    """

    weights: Array
    biases: Array
    widths: Index
    limits: Array

    @classmethod
    def of(cls, layers: Sequence[Layer], limits: Array | None = None, usual: Array | None = None) -> "Stack":
        """Convert layers; without `limits` inputs are not clipped, and their usual values are 0.

        An input that has its usual value costs no time.
        """
        widths = np.array([layers[0].weight.shape[1], *(layer.bias.size for layer in layers)])
        usual = np.zeros(widths[0]) if usual is None else usual
        first = layers[0]._replace(bias=layers[0].bias + layers[0].weight @ usual)
        weights, biases = (np.concatenate([_padded(layer[i]) for layer in (first, *layers[1:])]) for i in range(2))
        if limits is None:
            limits = np.stack([np.full(widths[0], -np.inf), np.full(widths[0], np.inf)])
        return cls(weights, biases, widths, np.concatenate([limits, usual[None]]))


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
    # Other memory layouts are other types to the compiler.
    rows, out = np.ascontiguousarray(inputs), np.empty((len(inputs), stack.widths[-1]))
    given = stack, *_conditioned(same), False
    run_in_pieces(
        lambda start, stop: _network_rows(rows[start:stop], *given, *_scratch(stack), out[start:stop], 0),
        len(rows),
        operations=float(len(rows)) * stack.weights.size,
        threads=threads,
    )
    return out


def softmax_layers(
    stack: Stack, blocks: Iterable[tuple[int, Array]], conditioning: Conditioning, *, out: Array | None = None
) -> Array:
    """Return the softmax of the last layer's outputs for every row of the inputs, with all layers conditioned.

    Inputs come in blocks of rows, each with the number of its first row. Exponentials below 1e-7 of a row's largest are
    0. The result is written to `out`, if given.

    Examples
    --------
    >>> stack = Stack.of([Layer(np.array([[1.0], [2.0]]), np.zeros(2))])
    >>> once = Conditioning(np.zeros(1, np.int64), np.ones((1, 2)), np.zeros((1, 2)))
    >>> softmax_layers(stack, [(0, np.array([[1.0]]))], once).round(4)
    array([[0.2689, 0.7311]])
    """
    out = np.empty((len(conditioning.sample_of_row), stack.widths[-1])) if out is None else out
    given = stack, *_conditioned(conditioning), True, *_scratch(stack), out
    for first, rows in blocks:
        _network_rows(np.ascontiguousarray(rows), *given, first)
    return out


def _conditioned(conditioning: Conditioning) -> tuple[Index, Array, Array]:
    """Where the scales and shifts of every row begin, and these, flat."""
    places = np.zeros(len(conditioning.sample_of_row) + ROWS, np.int64)
    np.multiply(conditioning.sample_of_row, conditioning.scale.shape[1], out=places[:-ROWS])
    # Tiles reach past the last unit.
    end = np.zeros(PADDED)
    return places, np.append(conditioning.scale, end), np.append(conditioning.shift, end)


def _scratch(stack: Stack) -> tuple[Array, Index, Index]:
    """Memory for two blocks of rows; for every group of rows, which units are not 0, and how many."""
    widest = -(-int(stack.widths.max()) // PADDED) * PADDED
    shape = _BLOCK if stack.weights.size < _MANY_WEIGHTS else _LARGE_BLOCK, widest
    return np.zeros(2 * shape[0] * shape[1] + WORD), np.empty(shape, np.int64), np.empty(shape[0], np.int64)


def _padded(part: NDArray[np.floating]) -> Array:
    wide = np.zeros((*part.shape[1:], -(-len(part) // PADDED) * PADDED))
    wide[..., : len(part)] = part.T
    return wide.reshape(-1)


@entry_in_order
def _network_rows(
    inputs: Array,
    stack: Stack,
    places: Index,
    scales: Array,
    shifts: Array,
    is_softmax: bool,
    scratch: Array,
    active: Index,
    counts: Index,
    out: Array,
    first_row: int,
) -> None:
    """Write the outputs of all rows, whose numbers in `places` and `out` begin with `first_row`.

    Units that are 0 in `ROWS` rows, as most are after a rectified layer, are left out of the next sums.
    """
    # Positions in flat arrays instead of slices, which take several times as long to compile.
    weights, biases, widths, limits = stack
    half, stride, last = active.size, active.shape[1], widths.size - 1
    for row in range(0, len(inputs), len(counts)):
        block = min(len(counts), len(inputs) - row)
        for r in range(block):
            clip_row(inputs, (row + r) * widths[0], limits, widths[0], scratch, r * stride)
        weight, bias, unit, old, new = 0, 0, 0, 0, half
        for layer in range(1, widths.size):
            count, padded = widths[layer - 1], (widths[layer] + PADDED - 1) // PADDED * PADDED
            floor = 0.0 if layer < last else -np.inf
            for first in range(0, block, ROWS):
                nonzero_units(scratch, old + first * stride, stride, count, active, first * stride, counts, first)
            for tile in range(0, widths[layer], tile_width()):
                for first in range(0, block, ROWS):
                    at = first * stride
                    tables = weights, biases, scratch, active, scales, shifts, places
                    at_tables = at, first_row + row + first, weight + tile, padded, bias + tile, unit + tile
                    layer_tile(*tables, *at_tables, old + at, new + at + tile, stride, counts[first], floor)
            weight += count * padded
            bias += padded
            unit += widths[layer]
            # The two halves of the scratch change places from layer to layer.
            old, new = new, old
        if is_softmax:
            for first in range(0, block, ROWS):
                softmax_rows(scratch, old + first * stride, stride, widths[last])
        for r in range(block):
            copy_row(scratch, old + r * stride, widths[last], out, (first_row + row + r) * widths[last])


in_numpy(_network_rows)(uncompiled.network_rows)
