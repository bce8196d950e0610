r"""Methods for samples of several variables, by name. A method joins by a row in `METHODS`.

The classical ones are estimates with the kernel covariance :math:`h_i^2 \Sigma`, with :math:`\Sigma` the covariance of
the sample, or a mixture of few normal components. Where a variable has bounds they estimate the density of the normal
scores of all variables instead, in which bounds are infinitely far away.
"""

import difflib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.multivariate import MultivariateSample
from amortized_kde.density import KernelDensity
from amortized_kde.density.components import Components, Part
from amortized_kde.errors import InvalidParameterError, MissingExtraError
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import ARCHITECTURES, load_model
from amortized_kde.selection.registry import SELECTORS, own_model

Margins = tuple[KernelDensity, ...] | None
Estimate = Callable[[MultivariateSample, Margins, int | None], tuple[Part, ...]]

# Leave-one-out likelihood is summed over at most this many points.
_MOST_POINTS = 2048
# Scales that are tried first, relative to Scott's, a factor of sqrt(2) apart; then golden section to this accuracy.
_SCALES = 2.0 ** np.arange(-5.0, 2.01, 0.5)
_ACCURACY = 1e-4
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
# Largest size of a kernel of normal scores.
_WIDEST_OF_SCORES = 0.95
# Components of a mixture, and starts of each by k-means.
_MOST_COMPONENTS, _STARTS, _PATIENCE = 9, 2, 2
# The variance that scikit-learn adds to that of a component, in parts of the sample's.
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class MultivariateMethod:
    """A way to estimate a density of several variables.

    Attributes
    ----------
    name : str
        For ``method=``.
    summary : str
        One sentence.
    estimate : callable
        Takes the sample, the margins and a number of threads, and returns the parts of the density. Margins are
        one-dimensional densities of the columns; None, if there are no bounds and the method does not need them.
    needs_margins : bool
        Whether it has margins also without bounds.
    """

    name: str
    summary: str
    estimate: Estimate
    needs_margins: bool = False


def _scott(sample: MultivariateSample, margins: Margins, threads: int | None) -> tuple[Part, ...]:
    return (Part(1.0, _Kernels.of(sample, margins).components(_scott_scale(sample)), margins),)


def _silverman(sample: MultivariateSample, margins: Margins, threads: int | None) -> tuple[Part, ...]:
    d = sample.values.shape[1]
    scale = (4.0 / (d + 2.0)) ** (1.0 / (d + 4.0)) * _scott_scale(sample)
    return (Part(1.0, _Kernels.of(sample, margins).components(scale), margins),)


def _lcv(sample: MultivariateSample, margins: Margins, threads: int | None) -> tuple[Part, ...]:
    kernels = _Kernels.of(sample, margins)
    scale = _best_scale(kernels, 1.0, _scott_scale(sample), threads)
    return (Part(1.0, kernels.components(scale), margins),)


def _abramson(sample: MultivariateSample, margins: Margins, threads: int | None) -> tuple[Part, ...]:
    kernels, start = _Kernels.of(sample, margins), _scott_scale(sample)
    pilot = kernels.components(_best_scale(kernels, 1.0, start, threads))
    logs = pilot.log_density(kernels.points, threads=threads)
    sizes = np.exp(-0.5 * (logs - kernels.weights @ logs))
    return (Part(1.0, kernels.components(_best_scale(kernels, sizes, start, threads) * sizes), margins),)


def _mixture(sample: MultivariateSample, margins: Margins, threads: int | None) -> tuple[Part, ...]:
    try:
        from sklearn.mixture import GaussianMixture
    except ImportError:
        raise MissingExtraError(
            "method 'mixture' needs scikit-learn; install it with: pip install 'amortized-kde[sklearn]'"
        ) from None
    if sample.weights is not None:
        raise InvalidParameterError("method 'mixture' takes no weights, as scikit-learn; leave them out or take 'lcv'.")
    make: Any = GaussianMixture
    points = _coordinates(sample, margins)
    centre, scale = points.mean(axis=0), points.std(axis=0)
    # Starts of k-means are rows; in this order they do not depend on the order of rows and columns.
    units = ((points - centre) / scale)[_inner_first(points, sample.every_weight)]
    n, d = units.shape
    found = []
    with warnings.catch_warnings():
        # A run that has not converged has a worse criterion, and is not chosen for it.
        warnings.simplefilter("ignore")
        for kind in ("full", "tied", "diag", "spherical"):
            of_kind: list[float] = []
            for k in range(1, min(_MOST_COMPONENTS, n // (d + 1)) + 1):
                model = make(
                    k, covariance_type=kind, n_init=_STARTS, reg_covar=_LEAST_VARIANCE, random_state=0, max_iter=200
                ).fit(units)
                of_kind.append(model.bic(units))
                found.append((of_kind[-1], model))
                # Twice no better than the best: more components are not needed.
                if k - 1 - int(np.argmin(of_kind)) >= _PATIENCE:
                    break
    best = min(found, key=lambda pair: pair[0])[1]
    return (Part(1.0, _components_of(best, centre, scale), margins),)


def _components_of(model: Any, centre: Array, scale: Array) -> Components:
    """The components of a fitted mixture of scikit-learn, in the units of the data."""
    k, d = model.means_.shape
    given = np.asarray(model.covariances_)
    if model.covariance_type in ("diag", "spherical"):
        given = given.reshape(k, -1, 1) * np.eye(d)
    covariances = np.broadcast_to(given, (k, d, d))
    factors = scale[:, None] * np.linalg.cholesky(covariances)
    kept = model.weights_ > 1e-12
    weights = model.weights_[kept] / model.weights_[kept].sum()
    number = int(kept.sum())
    return Components(
        weights,
        centre + scale * model.means_[kept],
        np.ascontiguousarray(factors[kept]),
        np.arange(number),
        np.ones(number),
        np.full(number, math.inf),
    )


def _amortized(sample: MultivariateSample, margins: Margins, threads: int | None) -> tuple[Part, ...]:
    return _weighed(load_model("multivariate"), sample, margins, threads)


def _weighed(model: Model, sample: MultivariateSample, margins: Margins, threads: int | None) -> tuple[Part, ...]:
    """Candidates, weighed by a model's network."""
    from amortized_kde.learned.multivariate.prediction import predict

    assert margins is not None
    bounded = any(end is not None for margin in margins for end in margin.bounds)
    return predict(sample.values, sample.every_weight, margins, raw=not bounded, arrays=model.arrays)


METHODS: dict[str, MultivariateMethod] = {
    method.name: method
    for method in (
        MultivariateMethod(
            "amortized",
            "Candidate densities, weighed by a trained network. The default.",
            _amortized,
            needs_margins=True,
        ),
        MultivariateMethod(
            "scott", "Scott's rule, n^(-1/(d+4)) times the sample's covariance; SciPy's default.", _scott
        ),
        MultivariateMethod("silverman", "Silverman's rule, (n(d+2)/4)^(-1/(d+4)).", _silverman),
        MultivariateMethod("lcv", "One scale of the sample's covariance by leave-one-out likelihood.", _lcv),
        MultivariateMethod(
            "abramson", "Scales by the square root of a pilot density; both by leave-one-out likelihood.", _abramson
        ),
        MultivariateMethod("mixture", "A mixture of normal components by BIC, fitted by scikit-learn.", _mixture),
    )
}
DEFAULT_METHOD = "amortized"


def find_method(name: str | None) -> MultivariateMethod:
    """Return the method of this name, or the default; ``amortized:FOLDER`` reads a model of your own.

    Raises
    ------
    InvalidParameterError
        If there is no such method for several variables.
    """
    if name is None:
        return METHODS[DEFAULT_METHOD]
    if isinstance(name, str) and name in METHODS:
        return METHODS[name]
    model = own_model(name) if isinstance(name, str) else None
    if model is not None and model.architecture is ARCHITECTURES["candidates"]:
        return MultivariateMethod(name, "A model of your own.", partial(_weighed, model), needs_margins=True)
    shown, listing = str(name)[:100], ", ".join(METHODS)
    if isinstance(name, str) and (name in SELECTORS or name.startswith("amortized:")):
        raise InvalidParameterError(f"method {shown!r} is for one variable; for several take one of {listing}.")
    near = difflib.get_close_matches(shown.lower(), METHODS, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InvalidParameterError(
        f"there is no method {shown!r}.{hint} The methods for several variables are: {listing}."
    )


@dataclass(frozen=True)
class _Kernels:
    """Distinct points with their weights, the factor of their covariance, and whether they are normal scores.

    Equal rows are one, since a point must not be predicted by its equals.
    """

    points: Array
    weights: Array
    factor: Array
    scores: bool

    @classmethod
    def of(cls, sample: MultivariateSample, margins: Margins) -> "_Kernels":
        points, weights = _coordinates(sample, margins), sample.every_weight
        factor = np.asarray(np.linalg.cholesky(_covariance(points, weights)), np.float64)
        rows, place = np.unique(points, axis=0, return_inverse=True)
        masses = np.bincount(place.ravel(), weights, len(rows)).astype(np.float64)
        return cls(rows, masses, factor, margins is not None)

    def components(self, sizes: Array | float) -> Components:
        """Return kernels of these sizes, in units of the covariance."""
        means = self.points
        if self.scores:
            # Scores with a larger variance than 1 would have an infinite density at a bound. So the centres are drawn
            # in until kernels and centres together have the variance of the points.
            sizes, centre = np.minimum(sizes, _WIDEST_OF_SCORES), self.weights @ self.points
            means = centre + (means - centre) * np.sqrt(np.maximum(1.0 - np.square(sizes), 0.0)).reshape(-1, 1)
        return Components.gaussian(self.weights, means, self.factor, sizes)


def _coordinates(sample: MultivariateSample, margins: Margins) -> Array:
    """The sample (n, d), as normal scores if there are margins."""
    if margins is None:
        return sample.values
    from scipy.special import ndtri

    scores = np.stack([_scores(margin, sample.values[:, j]) for j, margin in enumerate(margins)], axis=1)
    # A value at a bound has an infinite score; it counts as the first or last of n values.
    farthest = -ndtri(0.25 / len(scores))
    return np.clip(scores, -farthest, farthest)


def _scores(margin: KernelDensity, x: Array) -> Array:
    from scipy.special import ndtri_exp

    values, place = np.unique(x, return_inverse=True)
    below, above = margin.logcdf(values), margin.logsf(values)
    return np.where(below <= above, ndtri_exp(below), -ndtri_exp(above))[place]


def _scott_scale(sample: MultivariateSample) -> float:
    return float(sample.effective_size ** (-1.0 / (sample.values.shape[1] + 4.0)))


def _covariance(points: Array, weights: Array) -> Array:
    """The unbiased covariance, as NumPy's and SciPy's with importance weights."""
    away = points - weights @ points
    return np.asarray((weights[:, None] * away).T @ away / (1.0 - weights @ weights))


def _inner_first(points: Array, weights: Array) -> Index:
    """The order by distance from the centre, which does not depend on that of rows and columns."""
    factor = np.linalg.cholesky(_covariance(points, weights))
    away = np.linalg.solve(factor, (points - weights @ points).T)
    return np.argsort(np.sum(away * away, axis=0), kind="stable")


def _best_scale(kernels: _Kernels, sizes: Array | float, start: float, threads: int | None) -> float:
    """The scale of all kernels with the highest leave-one-out likelihood."""
    points, weights = kernels.points, kernels.weights
    order = _inner_first(points, weights)
    judged = order[np.linspace(0, len(order) - 1, min(len(order), _MOST_POINTS)).astype(np.int64)]
    mass = weights[judged]

    def likelihood(log_scale: float) -> float:
        mixture = kernels.components(math.exp(log_scale) * sizes)
        return float(mass @ mixture.log_density(points[judged], own=judged, threads=threads))

    tried = np.log(start * _SCALES)
    found = [likelihood(log_scale) for log_scale in tried]
    best = int(np.argmax(found))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, tried.size - 1)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = likelihood(left), likelihood(right)
    while high - low > _ACCURACY:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = likelihood(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = likelihood(right)
    return math.exp(0.5 * (low + high))
