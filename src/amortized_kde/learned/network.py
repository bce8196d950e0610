"""The forward pass of small networks of rectified layers, in float64, and a softplus for answers that are positive.

Weights and inputs enter, the last layer's sums leave. What the inputs mean is not known here.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.numerics.jit import TILE
from amortized_kde.numerics.layers import BLOCK, network_rows
from amortized_kde.numerics.threads import run_in_pieces


class Layer(NamedTuple):
    """y = W x + b, with W (out, in) and b (out,)."""

    weight: NDArray[np.floating]
    bias: NDArray[np.floating]


class Stack(NamedTuple):
    """Layers one after the other, as the loop reads them: by input, outputs filled up with zeros, flat, in float64.

    Inputs are held inside their `limits`, (2, inputs). In float64, for an input that differs in its last bit must not
    become an answer that differs by a float32's.
    """

    weights: Array
    biases: Array
    widths: NDArray[np.int64]
    limits: Array

    @classmethod
    def of(cls, layers: Sequence[Layer], limits: Array | None = None) -> "Stack":
        """Put layers into that form; without `limits` inputs may be any."""
        weights, biases = (np.concatenate([_filled_up(layer[i]) for layer in layers]) for i in range(2))
        widths = np.array([layers[0].weight.shape[1], *(layer.bias.size for layer in layers)])
        if limits is None:
            limits = np.stack([np.full(widths[0], -np.inf), np.full(widths[0], np.inf)])
        return cls(weights, biases, widths, np.ascontiguousarray(limits))


class Told(NamedTuple):
    """What rows of one kind share: every layer's sums are multiplied by its gates and moved by its shifts.

    Row i of the inputs gets row ``own[i]`` of both, which are (kinds, all layers' outputs).
    """

    own: NDArray[np.int64]
    gates: Array
    shifts: Array


_NOTHING_TOLD = Told(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros((0, 0)))


def run_layers(
    stack: Stack,
    inputs: Array,
    *,
    told: Told = _NOTHING_TOLD,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Give W_L relu(... relu(W_1 x + b_1) ...) + b_L for every row x of `inputs` (rows, features).

    If gates and shifts are `told`, each row leaves relative to its largest answer. An answer does not depend on the
    other rows: a BLAS would let their number decide about the last bit. It is written to `out`, if given.
    """
    widths = stack.widths
    # Other memory layouts are other types to the compiler.
    rows = np.ascontiguousarray(inputs)
    answers = np.empty((len(inputs), widths[-1])) if out is None else out
    room = -(-int(widths.max()) // TILE) * TILE

    def work(start: int, stop: int) -> None:
        network_rows(rows, *stack, *told, np.zeros(2 * BLOCK * room), answers, start, stop)

    run_in_pieces(work, len(inputs), operations=float(len(inputs)) * stack.weights.size, threads=threads)
    return answers


def forward(layers: Sequence[Layer], inputs: Array, *, threads: int | None = None) -> Array:
    """Give softplus(W_L relu(... relu(W_1 x + b_1) ...) + b_L), one number a row of `inputs` (rows, features).

    Examples
    --------
    >>> layer = Layer(np.ones((1, 2), np.float32), np.zeros(1, np.float32))
    >>> forward([layer], np.array([[0.0, 0.0]])).round(4)
    array([0.6931])
    """
    z = run_layers(Stack.of(layers), inputs, threads=threads)[:, 0]
    return np.asarray(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))


def _filled_up(part: NDArray[np.floating]) -> Array:
    wide = np.zeros((*part.shape[1:], -(-len(part) // TILE) * TILE))
    wide[..., : len(part)] = part.T
    return wide.reshape(-1)
