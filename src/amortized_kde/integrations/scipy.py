"""Bandwidths for ``scipy.stats.gaussian_kde(bw_method=...)``, and for pandas, seaborn and matplotlib, which pass it on.

A *factor* is the bandwidth divided by the standard deviation of the data as these libraries compute it (with divisor
n - 1; weighted, if there are weights). None of them is imported.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.errors import DegenerateSampleError, InvalidSampleError
from amortized_kde.estimate import DEFAULT_METHOD, bandwidth

__all__ = ["BandwidthFactor", "SingularSampleError", "bandwidth_factor"]


class SingularSampleError(DegenerateSampleError, LinAlgError):
    """A sample without a scale; also the ``LinAlgError`` that seaborn catches to leave such a group out."""


@dataclass(frozen=True)
class BandwidthFactor:
    """The callable that `bandwidth_factor` returns; it can be compared and pickled."""

    method: str = DEFAULT_METHOD
    bounds: Bounds = OPEN

    def __call__(self, kde: Any) -> float:
        """Return the factor for a density object with a `dataset` of shape (1, n) and, optionally, `weights`."""
        dataset, weights = np.atleast_2d(kde.dataset), getattr(kde, "weights", None)
        if dataset.shape[0] != 1:
            raise InvalidSampleError(
                f"this bw_method is for one variable, but the data have {dataset.shape[0]}; "
                "give one sample of shape (n,), such as x.ravel(), or another bw_method."
            )
        values = dataset[0]
        try:
            h = bandwidth(values, weights=weights, method=self.method, bounds=self.bounds)
        except DegenerateSampleError as error:
            raise SingularSampleError(str(error)) from None
        variance = float(np.cov(values, aweights=weights))
        if not 0.0 < variance < math.inf:
            raise SingularSampleError(f"the data have the variance {variance:g}, so that no factor gives a bandwidth.")
        return float(h / math.sqrt(variance))


def bandwidth_factor(method: str = DEFAULT_METHOD, *, bounds: Sequence[float | None] | None = None) -> BandwidthFactor:
    r"""Return a ``bw_method`` for SciPy, pandas, seaborn and matplotlib.

    These multiply the variance s² of the data by the square of the factor h / s, so that their kernel has the standard
    deviation h = `amortized_kde.bandwidth` of the same data and, if there are any, weights.

    Parameters
    ----------
    method : str
        One of `amortized_kde.selectors()`.
    bounds : (float or None, float or None), optional
        Hard limits of the variable, which may change h. None of these libraries truncates its density there; `fit`
        does. On a logarithmic axis seaborn smooths decimal logarithms, and bounds are bounds of these.

    Returns
    -------
    BandwidthFactor
        A callable that takes SciPy's ``gaussian_kde`` or matplotlib's ``GaussianKDE`` and returns a float.

    Raises
    ------
    InvalidBoundsError
        If the bounds are not an interval. The following are raised when the callable is called.
    InvalidSampleError
        If the data have more than one dimension, or are not finite.
    SingularSampleError
        If the data have no scale. It is also NumPy's ``LinAlgError``.

    Examples
    --------
    >>> from scipy.stats import gaussian_kde
    >>> x = [1.0, 2.0, 4.0, 7.0]
    >>> kde = gaussian_kde(x, bw_method=bandwidth_factor("silverman"))
    >>> round(float(kde.covariance[0, 0] ** 0.5), 4), round(bandwidth(x, method="silverman"), 4)
    (1.527, 1.527)
    """
    return BandwidthFactor(method, read_bounds(bounds))
