"""The logarithmic score in bits, its expectation, and paired differences.

Lower is better: one bit less is twice the density at the outcomes, as a geometric mean (paper, section 2.2).
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_numbers, read_weights, relative_weights
from amortized_kde.data.sample import effective_size
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.numerics.floats import quiet

__all__ = [
    "HasLogDensity",
    "Mean",
    "expected_score_by_draws",
    "expected_score_under_normal",
    "gauss_hermite",
    "log_score",
    "paired_difference",
]

LN2 = math.log(2.0)
# The paper's order (Appendix C.1).
NODES = 256


class HasLogDensity(Protocol):
    """Anything with a natural log-density."""

    def logpdf(self, y: ArrayLike, /) -> Any:
        """Natural logarithm of the density, in the shape of `y`."""


@dataclass(frozen=True)
class Mean:
    """A mean over `count` values, and its standard error (NaN for a single value)."""

    value: float
    standard_error: float
    count: int


@quiet
def log_score(density: HasLogDensity, outcomes: ArrayLike) -> Any:
    r"""Return the score :math:`-\log_2 q(x)` of a density at outcomes, in bits; lower is better (paper, eq. 5).

    Parameters
    ----------
    density : KernelDensity, or any object with `logpdf`
    outcomes : array_like
        Observed values, in data units. NaN gives NaN; a value outside the bounds gives infinity.

    Returns
    -------
    float or ndarray in the shape of `outcomes`

    Examples
    --------
    >>> from amortized_kde.density import KernelDensity
    >>> round(log_score(KernelDensity([0.0], bandwidth=1.0), 0.0), 4)
    1.3257
    """
    if not hasattr(density, "logpdf"):
        raise InvalidParameterError(f"the first argument must be a density, not of type {type(density).__name__}.")
    values = density.logpdf(read_numbers(outcomes, "outcomes"))
    return -values / LN2


@cache
def gauss_hermite(order: int) -> tuple[Array, Array]:
    """Return nodes and weights, which sum to 1, of Gauss-Hermite quadrature under the standard normal density."""
    from scipy.special import roots_hermitenorm

    nodes, weights = roots_hermitenorm(order)
    return nodes, weights / math.fsum(weights)


def expected_score_under_normal(
    density: HasLogDensity, *, mean: float = 0.0, sd: float = 1.0, nodes: int = NODES
) -> float:
    r"""Return the expected score under a normal density, by Gauss-Hermite quadrature (paper, Appendix C.1).

    .. math:: \sum_j \omega_j \{-\log_2 q(\mu + \sigma t_j)\}, \qquad \omega_j, t_j \text{ for weight } \phi.

    The sum approximates the integral only where the log-density is smooth on the scale of the nodes' spacing, which it
    is not for bandwidths far below 0.1 sd.

    Examples
    --------
    >>> from amortized_kde.density import KernelDensity
    >>> round(expected_score_under_normal(KernelDensity([0.0], bandwidth=1.0)), 6)
    2.047096
    """
    t, weights = gauss_hermite(nodes)
    return math.fsum(weights * log_score(density, mean + sd * t))


def expected_score_by_draws(density: HasLogDensity, draws: ArrayLike) -> Mean:
    """Return the mean score over independent draws from the true density (paper, eq. 9).

    Raises
    ------
    InvalidSampleError
        If there are no draws, or one is missing.
    """
    values = read_numbers(draws, "draws").ravel()
    if values.size == 0 or np.isnan(values).any():
        raise InvalidSampleError("an expected score needs at least one draw, and none of them missing.")
    return _mean(np.asarray(log_score(density, values)))


def paired_difference(scores: ArrayLike, others: ArrayLike, *, weights: ArrayLike | None = None) -> Mean:
    r"""Return the mean of ``scores - others``, paired entry by entry, with its standard error.

    A negative mean says that `scores` are better. With weights w, normalised to sum 1, it is the weighted mean d, with

    .. math:: \mathrm{se}^2 = \frac{n}{n - 1} \sum_i w_i^2 (d_i - d)^2, \qquad n = 1 / \sum_i w_i^2,

    which reduces to the unweighted formula for equal weights.

    Examples
    --------
    >>> paired_difference([1.0, 2.0, 3.0], [1.5, 2.5, 3.5])
    Mean(value=-0.5, standard_error=0.0, count=3)
    """
    a, b = read_numbers(scores, "scores"), read_numbers(others, "others")
    if a.shape != b.shape or a.size == 0:
        raise InvalidSampleError(f"paired scores need one shape with at least one entry, not {a.shape} and {b.shape}.")
    if weights is not None:
        return _weighted_mean((a - b).ravel(), read_weights(weights, a.shape).ravel())
    return _mean((a - b).ravel())


def _weighted_mean(values: Array, weights: Array) -> Mean:
    kept = relative_weights(weights)
    n = effective_size(kept, kept.size)
    w = kept / kept.sum()
    mean = float(np.sum(w * values))
    squares = float(np.sum((w * (values - mean)) ** 2))
    return Mean(mean, math.sqrt(squares * n / (n - 1.0)) if n > 1.0 else math.nan, values.size)


def _mean(values: Array) -> Mean:
    n = values.size
    error = float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return Mean(float(np.mean(values)), error, n)
