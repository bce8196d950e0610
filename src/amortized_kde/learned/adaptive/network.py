"""The networks of `adaptive` and `single`, in float64.

    e = relu(W2 relu(W1 s + b1) + b2)                                 for the sample's features s
    y = relu(g1 (V1 p + c1) + d1), z = relu(g2 (V2 y + c2) + d2)      for a point's features p
    shares = softmax(g3 (V3 z + c3) + d3),  eps = sigmoid(u e + u0 - 2 - ln n)
    ln(h / scale) = w e + w0                                          for `single`

Scale g and shift d of every unit are functions of the sample (FiLM): G e + g0 and D e + d0. Features are first clipped
to the range of the training tasks; standardising them is part of the first layers' weights.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.learned.adaptive.features import USUAL_POINT
from amortized_kde.numerics.layers import Conditioning, Layer, Stack, run_layers, softmax_layers
from amortized_kde.numerics.threads import Scratch

# Before training the background has the probability 1 / (1 + e^2 n).
BACKGROUND_OFFSET = 2.0


@dataclass(frozen=True, eq=False)
class Standards:
    """Location, spread, minimum and maximum of the training tasks' features, (4, features) each."""

    whole: Array
    point: Array

    @classmethod
    def of(cls, of_samples: Array, of_points: Array) -> "Standards":
        """Compute them from the features of many tasks."""
        # Rounded, so that they are the same on every machine.
        return cls(*(np.stack([*_rounded(f), f.min(axis=0), f.max(axis=0)]) for f in (of_samples, of_points)))

    def standardise_samples(self, features: Array) -> Array:
        """Standardise features of samples: clip to the range, subtract the location, divide by the spread."""
        return _standardised(features, self.whole)

    def standardise_points(self, features: Array) -> Array:
        """Standardise features of points."""
        return _standardised(features, self.point)


def _standardised(features: Array, standard: Array) -> Array:
    location, spread, low, high = standard
    return np.asarray((np.clip(features, low, high) - location) / spread)


def _of_raw(layer: Layer, standard: Array) -> Layer:
    """The layer that does with raw features what the given one does with standardised features."""
    location, spread = standard[:2]
    weight = layer.weight / spread
    return Layer(weight, layer.bias - weight @ location)


def _rounded(features: Array) -> tuple[Array, Array]:
    return features.mean(axis=0).round(3), np.maximum(features.std(axis=0).round(3), 1e-3)


@dataclass(frozen=True, eq=False)
class LadderNetwork:
    """The network of `adaptive`, or of `single` if it has no `point` layers.

    Attributes
    ----------
    standards : Standards
        Of the features.
    whole : Stack
        Layers of the sample; the last has the outputs of several heads side by side.
    heads : ndarray
        Where the second and later heads begin.
    point : Stack or None
        Layers of a point.
    """

    standards: Standards
    whole: Stack
    heads: Index
    point: Stack | None

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> "LadderNetwork":
        """Convert the arrays of a model."""

        def layers(*names: str) -> list[Layer]:
            return [Layer(arrays[f"{name}.weight"].T, arrays[f"{name}.bias"]) for name in names]

        standards = Standards(arrays["standard.whole"], arrays["standard.point"])
        adaptive = "shares.weight" in arrays
        heads = layers("gates", "shifts", "background") if adaptive else layers("bandwidth")
        joined = Layer(*(np.concatenate(parts) for parts in zip(*heads, strict=True)))
        return cls(
            standards,
            Stack.of([_of_raw(layers("whole1")[0], standards.whole), *layers("whole2"), joined], standards.whole[2:]),
            np.cumsum([layer.bias.size for layer in heads])[:-1],
            Stack.of(
                [_of_raw(layers("point1")[0], standards.point), *layers("point2", "shares")],
                standards.point[2:],
                USUAL_POINT,
            )
            if adaptive
            else None,
        )

    def shares_and_background(
        self,
        of_samples: Array,
        sizes: Array,
        of_points: Iterable[tuple[int, Array]],
        sample_of_point: Index,
        *,
        scratch: Scratch | None = None,
    ) -> tuple[Array, Array]:
        """Return the shares (points, rungs) and the background's probability (samples,), given raw features.

        Negligible shares are 0. `of_samples` and `sizes` have one row per sample, `sample_of_point` one number per
        point. The points' features come in blocks of rows, each with the number of its first row. With `scratch` the
        shares are written there.
        """
        if self.point is None:
            raise ValueError("a network with one bandwidth has no shares.")
        outputs = run_layers(self.whole, of_samples, threads=1)
        scale, shift, odds = (np.ascontiguousarray(part) for part in np.split(outputs, self.heads, axis=1))
        out = (scratch or Scratch()).take("shares", len(sample_of_point), int(self.point.widths[-1]))
        shares = softmax_layers(self.point, of_points, Conditioning(sample_of_point, scale, shift), out=out)
        return shares, np.asarray(1.0 / (1.0 + np.exp(BACKGROUND_OFFSET + np.log(sizes) - odds[:, 0])))

    def log_bandwidths(self, of_samples: Array) -> Array:
        """Return ln(h / scale) of every sample."""
        return run_layers(self.whole, of_samples, threads=1)[:, 0]
