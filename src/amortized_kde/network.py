"""The forward pass of a small network, in NumPy: rectified layers, then a softplus so that the answer is positive.

Weights and inputs enter, one positive number a row leaves. What the inputs mean is not known here.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Layer", "forward"]

# Rows at a time: two hidden layers of 128 then take 4 MB, which stays in the cache.
_ROWS = 2_048


class Layer(NamedTuple):
    """y = W x + b, with W (out, in) and b (out,), float32."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]


def forward(layers: Sequence[Layer], inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give softplus(W_L relu(... relu(W_1 x + b_1) ...) + b_L), one number a row of `inputs` (rows, features).

    Examples
    --------
    >>> layer = Layer(np.ones((1, 2), np.float32), np.zeros(1, np.float32))
    >>> forward([layer], np.array([[0.0, 0.0]])).round(4)
    array([0.6931])
    """
    # In float64: an input that differs in its last bit must not become an answer that differs by a float32's.
    wide = [(layer.weight.T.astype(np.float64), layer.bias.astype(np.float64)) for layer in layers]
    rooms = [np.empty((min(_ROWS, len(inputs)), bias.size)) for _, bias in wide]
    out = np.empty(len(inputs))
    for start in range(0, len(inputs), _ROWS):
        x = inputs[start : start + _ROWS]
        for i, ((weight, bias), room) in enumerate(zip(wide, rooms, strict=True)):
            x = np.matmul(x, weight, out=room[: len(x)])
            x += bias
            if i + 1 < len(wide):
                np.maximum(x, 0.0, out=x)
        out[start : start + _ROWS] = np.logaddexp(x[:, 0], 0.0)
    return out
