"""The forward pass of a small network: rectified layers, then a softplus so that the answer is positive.

Weights and inputs enter, one positive number a row leaves. What the inputs mean is not known here.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.layers import ROWS, TILE, forward_rows
from amortized_kde.numerics.threads import run_in_pieces

__all__ = ["Layer", "forward"]


class Layer(NamedTuple):
    """y = W x + b, with W (out, in) and b (out,), float32."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]


def forward(layers: Sequence[Layer], inputs: NDArray[np.float64], *, threads: int | None = None) -> NDArray[np.float64]:
    """Give softplus(W_L relu(... relu(W_1 x + b_1) ...) + b_L), one number a row of `inputs` (rows, features).

    Examples
    --------
    >>> layer = Layer(np.ones((1, 2), np.float32), np.zeros(1, np.float32))
    >>> forward([layer], np.array([[0.0, 0.0]])).round(4)
    array([0.6931])
    """
    # In float64: an input that differs in its last bit must not become an answer that differs by a float32's.
    weights, biases = (np.concatenate([_filled_up(layer[i]) for layer in layers]) for i in range(2))
    widths = np.array([inputs.shape[1], *(layer.bias.size for layer in layers)])
    # Other memory layouts are other types to the compiler.
    rows, out, room = np.ascontiguousarray(inputs), np.empty(len(inputs)), 2 * int(widths.max())

    def work(start: int, stop: int) -> None:
        units, given, sums = np.zeros(room, np.int64), np.zeros(room * ROWS), np.zeros(TILE * ROWS)
        forward_rows(rows, weights, biases, widths, units, given, sums, out, start, stop)

    run_in_pieces(work, len(inputs), operations=float(len(inputs)) * weights.size, threads=threads)
    return out


def _filled_up(part: NDArray[np.float32]) -> NDArray[np.float64]:
    """Weights (out, in) or biases (out,) as the loop reads them: by input, outputs filled up with zeros, and flat."""
    wide = np.zeros((*part.shape[1:], -(-len(part) // TILE) * TILE))
    wide[..., : len(part)] = part.T
    return wide.reshape(-1)
