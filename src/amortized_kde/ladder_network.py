"""The networks of `adaptive` and `single` in float64: features enter, shares or a bandwidth's logarithm leave.

    e = relu(W2 relu(W1 s + b1) + b2)                      for the sample's features s
    y = relu(V2 relu(V1 p + c1 + U1 e + a1) + c2)          for a point's features p
    shares = softmax(V3 y + c3 + U3 e + a3),  eps = sigmoid(u e + u0 - 2 - ln n)
    ln(h / scale) = w e + w0                               for `single`

Features are standardised and held inside the range of the training tasks first.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from amortized_kde.numerics.layers import ROWS, TILE, linear_rows

__all__ = ["FAINTEST", "Standards", "log_bandwidths", "shares_and_background"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Before training the background has the probability 1 / (1 + e^2 n).
FAINTEST = 2.0


@dataclass(frozen=True, eq=False)
class Standards:
    """Location, spread, lowest and highest of the training tasks' features, (4, features) each."""

    whole: Array
    point: Array

    @classmethod
    def of(cls, wholes: Array, points: Array) -> "Standards":
        """Take them from features of many tasks."""
        # Rounded, so that they are the same on every machine.
        return cls(*(np.stack([*_rounded(f), f.min(axis=0), f.max(axis=0)]) for f in (wholes, points)))

    def wholes(self, features: Array) -> Array:
        """Standardise features of samples."""
        return _standardised(features, self.whole)

    def points(self, features: Array) -> Array:
        """Standardise features of points."""
        return _standardised(features, self.point)


def _standardised(features: Array, standard: Array) -> Array:
    location, spread, low, high = standard
    held = np.clip(features, low, high)
    held -= location
    held /= spread
    return held


def _rounded(features: Array) -> tuple[Array, Array]:
    return features.mean(axis=0).round(3), np.maximum(features.std(axis=0).round(3), 1e-3)


def _linear(arrays: Mapping[str, Array], layer: str, x: Array) -> Array:
    """W x + b for every row, in an order of its own: a BLAS would let the number of rows decide about the last bit."""
    weight, bias = arrays[f"{layer}.weight"], arrays[f"{layer}.bias"]
    inputs, outputs = weight.shape
    stride = -(-outputs // TILE) * TILE
    wide, biases = np.zeros((inputs, stride)), np.zeros(stride)
    wide[:, :outputs], biases[:outputs] = weight, bias
    out = np.empty((len(x), outputs))
    room = np.empty(inputs, np.int64), np.empty(inputs * ROWS), np.empty(ROWS * TILE)
    linear_rows(np.ascontiguousarray(x), wide.reshape(-1), biases, *room, out, 0, len(x))
    return out


def _embed(arrays: Mapping[str, Array], wholes: Array) -> Array:
    return np.maximum(_linear(arrays, "whole2", np.maximum(_linear(arrays, "whole1", wholes), 0.0)), 0.0)


def shares_and_background(
    arrays: Mapping[str, Array], wholes: Array, sizes: Index, points: Array, own: Index
) -> tuple[Array, Array]:
    """Give the shares (points, rungs) and the background's probability (samples,) of standardised features.

    `own` (points,) says to which sample a point belongs.
    """
    whole = _embed(arrays, wholes)
    hidden = _linear(arrays, "point1", points)
    hidden += _linear(arrays, "whole_to_point", whole)[own]
    np.maximum(hidden, 0.0, out=hidden)
    hidden = _linear(arrays, "point2", hidden)
    np.maximum(hidden, 0.0, out=hidden)
    logits = _linear(arrays, "shares", hidden)
    logits += _linear(arrays, "whole_to_shares", whole)[own]
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    log_odds = _linear(arrays, "background", whole)[:, 0] - FAINTEST - np.log(sizes)
    return logits, np.asarray(1.0 / (1.0 + np.exp(-log_odds)))


def log_bandwidths(arrays: Mapping[str, Array], wholes: Array) -> Array:
    """Give ln(h / scale) of every sample."""
    return _linear(arrays, "bandwidth", _embed(arrays, wholes))[:, 0]
