"""Bandwidths for ``KDEUnivariate.fit(bw=...)`` of statsmodels, which is not imported.

For its Gaussian kernel the bandwidth is the standard deviation, as in this package.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.errors import InvalidParameterError
from amortized_kde.estimate import DEFAULT_METHOD, bandwidth

__all__ = ["BandwidthRule", "bandwidth_rule"]

Kernel = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class BandwidthRule:
    """The callable that `bandwidth_rule` returns; it can be compared and pickled."""

    method: str = DEFAULT_METHOD
    bounds: Bounds = OPEN

    def __call__(self, x: ArrayLike, kernel: Kernel) -> float:
        """Return the bandwidth for values of shape (n,) and a kernel object of statsmodels."""
        # The kernel is known by its values, since statsmodels keeps the class in its sandbox.
        at = np.array([0.0, 1.0, 2.0])
        if not np.allclose(kernel(at), np.exp(-0.5 * at * at) / np.sqrt(2.0 * np.pi)):
            raise InvalidParameterError(
                "the bandwidth is the standard deviation of a Gaussian kernel; "
                'use kernel="gau", or a bw of another kind.'
            )
        return float(bandwidth(x, method=self.method, bounds=self.bounds))


def bandwidth_rule(method: str = DEFAULT_METHOD, *, bounds: Sequence[float | None] | None = None) -> BandwidthRule:
    """Return a ``bw`` for ``KDEUnivariate.fit``, whose ``adjust=`` multiplies it as any other.

    Parameters
    ----------
    method : str
        One of `amortized_kde.selectors()`.
    bounds : (float or None, float or None), optional
        Hard limits of the variable, which may change the bandwidth. statsmodels does not truncate its density there;
        its ``clip=`` only drops values.

    Returns
    -------
    BandwidthRule
        A callable that takes the values and the kernel of statsmodels, and returns a float in data units.

    Raises
    ------
    InvalidBoundsError
        If the bounds are not an interval. The following are raised when the callable is called.
    InvalidParameterError
        If the kernel is not Gaussian.
    As `amortized_kde.bandwidth`
        For a sample without a scale, or not finite.

    Notes
    -----
    statsmodels does not pass its weights to a callable: with ``weights=`` the bandwidth is chosen without them.

    Examples
    --------
    >>> from statsmodels.nonparametric.kde import KDEUnivariate
    >>> x = [1.0, 2.0, 4.0, 7.0]
    >>> kde = KDEUnivariate(x).fit(bw=bandwidth_rule("silverman"))
    >>> float(kde.bw) == bandwidth(x, method="silverman")
    True
    """
    return BandwidthRule(method, read_bounds(bounds))
