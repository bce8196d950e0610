"""The networks of `adaptive` and `single` in float64: features enter, shares or a bandwidth's logarithm leave.

    e = relu(W2 relu(W1 s + b1) + b2)                      for the sample's features s
    y = relu(V2 relu(V1 p + c1 + U1 e + a1) + c2)          for a point's features p
    shares = softmax(V3 y + c3 + U3 e + a3),  eps = sigmoid(u e + u0 - 2 - ln n)
    ln(h / scale) = w e + w0                               for `single`

Features are held inside the range of the training tasks first, and standardised, which the first layers' weights do.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from amortized_kde.network import Layer, Shifts, Stack, run_layers
from amortized_kde.numerics.room import Room

__all__ = ["FAINTEST", "LadderNetwork", "Standards"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Before training the background has the probability 1 / (1 + e^2 n).
FAINTEST = 2.0
# A share that is so small beside the point's largest adds less than the background to any density, and costs as much as
# a large one.
_UNUSED = 1e-7


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
        """Standardise features of samples: held inside their range, less the location, in units of the spread."""
        return _standardised(features, self.whole)

    def points(self, features: Array) -> Array:
        """Standardise features of points."""
        return _standardised(features, self.point)


def _standardised(features: Array, standard: Array) -> Array:
    location, spread = standard[:2]
    return np.asarray((_held(features, standard) - location) / spread)


def _held(features: Array, standard: Array, out: Array | None = None) -> Array:
    """Features inside their range; a NaN stays."""
    held = np.maximum(features, standard[2], out=out)
    return np.asarray(np.minimum(held, standard[3], out=held))


def _of_raw(layer: Layer, standard: Array) -> Layer:
    """The layer that does with features what the given one does with standardised ones."""
    location, spread = standard[:2]
    weight = layer.weight / spread
    return Layer(weight, layer.bias - weight @ location)


def _rounded(features: Array) -> tuple[Array, Array]:
    return features.mean(axis=0).round(3), np.maximum(features.std(axis=0).round(3), 1e-3)


@dataclass(frozen=True, eq=False)
class LadderNetwork:
    """Trained arrays as the loops read them; `ends` says which outputs of the sample's layers serve what."""

    standards: Standards
    whole: Stack
    ends: Index
    point: Stack | None

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> "LadderNetwork":
        """Put the arrays of a model into that form."""

        def layers(*names: str) -> list[Layer]:
            return [Layer(arrays[f"{name}.weight"].T, arrays[f"{name}.bias"]) for name in names]

        standards = Standards(arrays["standard.whole"], arrays["standard.point"])
        adaptive = "shares.weight" in arrays
        asked = layers("whole_to_point", "whole_to_shares", "background") if adaptive else layers("bandwidth")
        # One layer with the outputs of several.
        beside = Layer(*(np.concatenate(parts) for parts in zip(*asked, strict=True)))
        return cls(
            standards,
            Stack.of([_of_raw(layers("whole1")[0], standards.whole), *layers("whole2"), beside]),
            np.cumsum([layer.bias.size for layer in asked])[:-1],
            Stack.of([_of_raw(layers("point1")[0], standards.point), *layers("point2", "shares")])
            if adaptive
            else None,
        )

    def shares_and_background(
        self, wholes: Array, sizes: Index, points: Array, own: Index, *, room: Room | None = None
    ) -> tuple[Array, Array]:
        """Give the shares (points, rungs) and the background's probability (samples,) of features as they were read.

        Shares that do not matter are 0. `own` (points,) says to which sample a point belongs. With a `room` the shares
        lie there, and the points' features, which lie there too, are spent.
        """
        if self.point is None:
            raise ValueError("a network with one bandwidth has no shares.")
        told = run_layers(self.whole, _held(wholes, self.standards.whole), threads=1)
        to_point, to_shares, odds = (np.ascontiguousarray(part) for part in np.split(told, self.ends, axis=1))
        shifts = Shifts(own, to_point, to_shares)
        inputs = _held(points, self.standards.point, out=None if room is None else points)
        out = (room or Room()).take("shares", len(points), int(self.point.widths[-1]))
        shares = run_layers(self.point, inputs, shifts=shifts, out=out, threads=1)
        np.exp(shares, out=shares)
        shares *= shares >= _UNUSED
        shares /= shares.sum(axis=1, keepdims=True)
        return shares, np.asarray(1.0 / (1.0 + np.exp(FAINTEST + np.log(sizes) - odds[:, 0])))

    def log_bandwidths(self, wholes: Array) -> Array:
        """Give ln(h / scale) of every sample."""
        return run_layers(self.whole, _held(wholes, self.standards.whole), threads=1)[:, 0]
