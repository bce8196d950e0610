"""Features of whole samples, from a table of functions of their statistics.

Features are the same for a sample and its mirror image: what changes sign enters by magnitude and in products.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from amortized_kde._types import Array
from amortized_kde.learned.adaptive.anchors import LARGEST_TRAINED

# Bandwidths are 2^8 to 2^-16 times the sample's scale: a far outlier needs the first, data over decades the last.
FEATURE_EXPONENTS = np.arange(8.0, -16.5, -1.0)
PROBABILITIES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4])
# Exponents between which the bandwidth that is best by likelihood cross-validation is sought, and a weak prior for it,
# normal in octaves, which decides where a sample says little.
_SOUGHT = np.arange(3.0, -8.1, -0.25)
_LIKELY, _LIKELY_SD = -1.5, 2.5
# In units of the scale: a distance d to a bound counts as d / (1 + d / FAR) + NEAREST, so that a bound fades out as
# it recedes, and no bound is the limit.
NEAREST, FAR = 1e-5, 20.0


@dataclass(frozen=True, eq=False)
class Summary:
    """Statistics of samples, from which their features are computed; the first axis is the sample.

    Attributes
    ----------
    n, mean, sd, skewness, kurtosis, median : ndarray of shape (samples,)
        With weights, n is the effective size.
    low, high : ndarray of shape (samples, probabilities)
        Quantiles at p and at 1 - p.
    unit : ndarray of shape (samples,)
        The scale.
    lower, upper : ndarray of shape (samples,)
        Bounds, infinite where open.
    spacings : ndarray of shape (samples, 4)
        Mean, standard deviation and skewness of log-spacings, and the fraction of ties.
    density_mean, density_variance : ndarray of shape (samples, rungs)
        Of the points' log local densities; `gaps` and `signed`, which the points' features need, do without.
    """

    n: Array
    mean: Array
    sd: Array
    skewness: Array
    kurtosis: Array
    median: Array
    low: Array
    high: Array
    unit: Array
    lower: Array
    upper: Array
    spacings: Array
    density_mean: Array
    density_variance: Array

    @cached_property
    def trained_n(self) -> Array:
        """The size, clipped to the sizes of the training tasks."""
        return np.clip(self.n, 1.0, LARGEST_TRAINED)

    @cached_property
    def gaps(self) -> tuple[Array, Array]:
        """Log-distances from the sample's ends to the lower and the upper bound."""
        # The ends are the quantiles at 0 and 1; with weights, an end that hardly counts hardly moves these.
        low, high = self.low[:, 0], self.high[:, 0]
        return _log_distance((low - self.lower) / self.unit), _log_distance((self.upper - high) / self.unit)

    @cached_property
    def cross_validated(self) -> Array:
        """Mean and log sd of log2 h, (samples, 2), if the leave-one-out likelihood is taken for a likelihood.

        At large n it is the bandwidth with the best leave-one-out score; here, unlike that, it is smooth in the values.
        """
        # Not by matrix products, whose last bits depend on the number of samples.
        log_score = np.einsum("tk,kj->tj", self.density_mean, _INTERPOLATION) - math.log(2.0) * _SOUGHT
        log = self.trained_n[:, None] * log_score - 0.5 * ((_SOUGHT - _LIKELY) / _LIKELY_SD) ** 2
        weight = np.exp(log - log.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        mean = np.sum(weight * _SOUGHT, axis=1)
        variance = np.sum(weight * (_SOUGHT - mean[:, None]) ** 2, axis=1)
        return np.stack([mean, 0.5 * np.log(variance + 1e-3)], axis=1)

    @cached_property
    def signed(self) -> Array:
        """The columns of `SIGNED`."""
        return np.column_stack([feature(self) for feature in SIGNED.values()])


def _interpolation() -> Array:
    """Weights (rungs, sought) of the cubic through the four rungs around each exponent that is sought."""
    out = np.zeros((FEATURE_EXPONENTS.size, _SOUGHT.size))
    for j, exponent in enumerate(_SOUGHT):
        first = int(np.searchsorted(-FEATURE_EXPONENTS, -exponent, side="right")) - 2
        knots = FEATURE_EXPONENTS[first : first + 4]
        for k in range(4):
            others = np.delete(knots, k)
            out[first + k, j] = np.prod((exponent - others) / (knots[k] - others))
    return out


_INTERPOLATION = _interpolation()

# Names of columns, and the function that computes them, (samples,) or (samples, columns).
Features = dict[tuple[str, ...], Callable[[Summary], Array]]


def names(features: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the names of all columns."""
    return tuple(chain.from_iterable(features))


def _asymmetry(s: Summary) -> Array:
    middle = s.median[:, None]
    return np.asarray(np.arcsinh(((s.high - middle) - (middle - s.low)) / s.unit[:, None]))


# Quantities that change sign under reflection. Features are their magnitudes and products.
SIGNED: Features = {
    ("skewness",): lambda s: np.arcsinh(s.skewness),
    ("mean",): lambda s: np.arcsinh((s.mean - s.median) / s.unit),
    ("bounds",): lambda s: 0.25 * (s.gaps[0] - s.gaps[1]),
    tuple(f"asymmetry at {p:g}" for p in PROBABILITIES): _asymmetry,
}
SIGNED_NAMES = names(SIGNED)
RUNGS = tuple(f"2^{exponent:g}" for exponent in FEATURE_EXPONENTS)

OF_SAMPLE: Features = {
    ("log n",): lambda s: np.log(s.trained_n),
    ("1/n",): lambda s: 1.0 / s.trained_n,
    ("1/sqrt n",): lambda s: s.trained_n**-0.5,
    ("log sd",): lambda s: np.log(s.sd / s.unit + 1e-6),
    ("log kurtosis",): lambda s: np.log(s.kurtosis),
    tuple(f"log spread at {p:g}" for p in PROBABILITIES): lambda s: np.log((s.high - s.low) / s.unit[:, None] + 1e-4),
    ("spacing mean", "spacing sd", "spacing skewness", "ties"): lambda s: s.spacings,
    ("nearer bound", "farther bound"): lambda s: np.sort(np.stack(s.gaps, axis=1), axis=1),
    tuple(f"|{name}|" for name in SIGNED_NAMES): lambda s: np.abs(s.signed),
    tuple(f"{name} x skewness" for name in SIGNED_NAMES[1:]): lambda s: s.signed[:, 1:] * s.signed[:, :1],
    tuple(f"{name} x bounds" for name in SIGNED_NAMES[3:]): lambda s: s.signed[:, 3:] * s.signed[:, 2:3],
    ("cross-validated bandwidth", "its log sd"): lambda s: s.cross_validated,
    tuple(f"mean local density at {rung}" for rung in RUNGS): lambda s: s.density_mean,
    tuple(f"sd of local density at {rung}" for rung in RUNGS): lambda s: np.sqrt(s.density_variance + 1e-6),
}


def _log_distance(distance: Array) -> Array:
    near = np.minimum(np.maximum(distance, 0.0), 1e100)
    return np.asarray(np.log(near / (1.0 + near / FAR) + NEAREST))
