"""Gaussian mixtures of scikit-learn, fitted to one sample: a Dirichlet-process prior, or components counted by BIC."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr

from amortized_kde._types import Array
from amortized_kde.data.support import Bounds

# As in R's mclust.
MOST_COMPONENTS = 9
_STARTS = 5
# Added to every variance, relative to the sample's. With less, two neighbours among ten values pay, by BIC, for a
# component of their own.
VARIANCE_FLOOR = 1e-3


class Mixture(NamedTuple):
    """Weights (k,), means (k,) and standard deviations (k,) of Gaussian components."""

    weights: Array
    means: Array
    sds: Array

    def log_density(self, x: Array) -> Array:
        """Return the natural log-density at each point, without underflow."""
        z = (x[:, None] - self.means) / self.sds
        terms = np.log(self.weights) - np.log(self.sds) - 0.5 * (np.log(2.0 * np.pi) + z**2)
        return np.asarray(logsumexp(terms, axis=1))

    def mass(self, bounds: Bounds) -> float:
        """Return the probability between the bounds."""
        lower, upper = ((end - self.means) / self.sds for end in bounds)
        return float(self.weights @ (ndtr(upper) - ndtr(lower)))


def dirichlet_mixture(sample: Array) -> Mixture:
    """Fit at most ten components with a Dirichlet-process prior, by variational inference with scikit-learn's priors.

    The density is the one that its ``sample`` draws from. Its ``score_samples`` is no log-density: it adds expected
    logarithms of weights and precisions, and at n = 5 the exponential has the mass 0.8.
    """
    from sklearn.mixture import BayesianGaussianMixture

    with _quiet_on_one_thread():
        return _mixture(
            BayesianGaussianMixture(
                n_components=min(10, sample.size - 1),
                weight_concentration_prior_type="dirichlet_process",
                max_iter=1000,
                random_state=0,
            ).fit(sample[:, None])
        )


def bic_mixture(sample: Array) -> Mixture:
    """Fit 1 to 9 components by maximum likelihood from several starts, and keep the number with the lowest BIC."""
    from sklearn.mixture import GaussianMixture

    column = sample[:, None]
    with _quiet_on_one_thread():
        fits = [
            GaussianMixture(
                k,
                n_init=_STARTS,
                init_params="k-means++",
                max_iter=1000,
                reg_covar=VARIANCE_FLOOR * float(np.var(sample)),
                random_state=0,
            ).fit(column)
            for k in range(1, min(MOST_COMPONENTS, sample.size) + 1)
        ]
        return _mixture(min(fits, key=lambda fit: float(fit.bic(column))))


def standardised(fit: Callable[[Array], Mixture], sample: Array) -> Mixture:
    """Fit a mixture to the sample with mean 0 and variance 1, so that scikit-learn's constants have no unit."""
    location, scale = float(np.mean(sample)), float(np.std(sample))
    if scale == 0.0:
        raise ValueError("all values are equal")
    found = fit((sample - location) / scale)
    return Mixture(found.weights, location + scale * found.means, scale * found.sds)


def _mixture(model: Any) -> Mixture:
    return Mixture(model.weights_, model.means_[:, 0], np.sqrt(model.covariances_[:, 0, 0]))


@contextmanager
def _quiet_on_one_thread() -> Iterator[None]:
    """Ignore a stop at the largest number of iterations; more threads only wait for each other on such small arrays."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
