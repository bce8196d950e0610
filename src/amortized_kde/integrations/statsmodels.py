"""For ``statsmodels``' ``KDEUnivariate.fit(bw=...)``.

The values that statsmodels smooths and its kernel enter; the bandwidth leaves, which for its Gaussian kernel is the
standard deviation, as here. No host is imported here.
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
    """What `bandwidth_rule` gives: a callable that can be compared, pickled and used again."""

    method: str = DEFAULT_METHOD
    bounds: Bounds = OPEN

    def __call__(self, x: ArrayLike, kernel: Kernel) -> float:
        """Give the bandwidth for values of shape (n,) and a kernel object of statsmodels'."""
        _check_gaussian(kernel)
        return float(bandwidth(x, method=self.method, bounds=self.bounds))


def bandwidth_rule(method: str = DEFAULT_METHOD, *, bounds: Sequence[float | None] | None = None) -> BandwidthRule:
    """Make a ``bw`` for ``KDEUnivariate.fit``; ``adjust=`` multiplies it there, as it does any other.

    Parameters
    ----------
    method : str
        One of `amortized_kde.selectors()`.
    bounds : (float or None, float or None), optional
        Hard limits of the variable, which may change the choice. statsmodels does not cut its density there, and its
        ``clip=`` only drops values.

    Returns
    -------
    BandwidthRule
        Its arguments are the values and statsmodels' kernel; its answer a float in data units.

    Raises
    ------
    InvalidBoundsError
        If the bounds are not an interval. What follows is raised when statsmodels asks for the bandwidth.
    InvalidParameterError
        If the kernel is not Gaussian.
    As `amortized_kde.bandwidth`
        For a sample that has no answer.

    Notes
    -----
    statsmodels does not show its weights to a callable: with ``weights=`` the choice is made without them.

    Examples
    --------
    >>> from statsmodels.nonparametric.kde import KDEUnivariate
    >>> x = [1.0, 2.0, 4.0, 7.0]
    >>> kde = KDEUnivariate(x).fit(bw=bandwidth_rule("silverman"))
    >>> float(kde.bw) == bandwidth(x, method="silverman")
    True
    """
    return BandwidthRule(method, read_bounds(bounds))


def _check_gaussian(kernel: Kernel) -> None:
    # Asked for values, not for its class, which statsmodels keeps in its sandbox.
    at = np.array([0.0, 1.0, 2.0])
    if not np.allclose(kernel(at), np.exp(-0.5 * at * at) / np.sqrt(2.0 * np.pi)):
        raise InvalidParameterError(
            'the bandwidth is the standard deviation of a Gaussian kernel; use kernel="gau", or a bw of another kind.'
        )
