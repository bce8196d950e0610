"""The networks of `adaptive` and `single` in float64: features enter, shares or a bandwidth's logarithm leave.

    e = relu(W2 relu(W1 s + b1) + b2)                      for the sample's features s
    y = relu(g1 (V1 p + c1) + d1), z = relu(g2 (V2 y + c2) + d2)     for a point's features p
    shares = softmax(g3 (V3 z + c3) + d3),  eps = sigmoid(u e + u0 - 2 - ln n)
    ln(h / scale) = w e + w0                               for `single`

Gates g and shifts d, one for each unit, are told by the sample: G e + g0 and D e + d0.
Features are held inside the range of the training tasks first, and standardised, which the first layers' weights do.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.learned.network import Layer, Stack, Told, run_layers
from amortized_kde.numerics.scratch import Scratch

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
    location, spread, low, high = standard
    return np.asarray((np.clip(features, low, high) - location) / spread)


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
        asked = layers("gates", "shifts", "background") if adaptive else layers("bandwidth")
        # One layer with the outputs of several.
        beside = Layer(*(np.concatenate(parts) for parts in zip(*asked, strict=True)))
        return cls(
            standards,
            Stack.of([_of_raw(layers("whole1")[0], standards.whole), *layers("whole2"), beside], standards.whole[2:]),
            np.cumsum([layer.bias.size for layer in asked])[:-1],
            Stack.of([_of_raw(layers("point1")[0], standards.point), *layers("point2", "shares")], standards.point[2:])
            if adaptive
            else None,
        )

    def shares_and_background(
        self, wholes: Array, sizes: Index, points: Array, own: Index, *, scratch: Scratch | None = None
    ) -> tuple[Array, Array]:
        """Give the shares (points, rungs) and the background's probability (samples,) of features as they were read.

        Shares that do not matter are 0. `own` (points,) says to which sample a point belongs. With
        `scratch` the shares lie there.
        """
        if self.point is None:
            raise ValueError("a network with one bandwidth has no shares.")
        told = run_layers(self.whole, wholes, threads=1)
        gates, shifts, odds = (np.ascontiguousarray(part) for part in np.split(told, self.ends, axis=1))
        out = (scratch or Scratch()).take("shares", len(points), int(self.point.widths[-1]))
        shares = run_layers(self.point, points, told=Told(own, gates, shifts), out=out, threads=1)
        np.exp(shares, out=shares)
        shares *= shares >= _UNUSED
        shares /= shares.sum(axis=1, keepdims=True)
        return shares, np.asarray(1.0 / (1.0 + np.exp(FAINTEST + np.log(sizes) - odds[:, 0])))

    def log_bandwidths(self, wholes: Array) -> Array:
        """Give ln(h / scale) of every sample."""
        return run_layers(self.whole, wholes, threads=1)[:, 0]
