"""What densities of SciPy do, under its names: those of `gaussian_kde` and of the distributions in `scipy.stats`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from amortized_kde._types import Array
from amortized_kde.data.reading import read_numbers
from amortized_kde.data.sample import effective_size
from amortized_kde.density.expectation import TAILS, expectation
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.floats import quiet

# Powers above this overflow for values above 1e3.
_HIGHEST_ORDER = 100


class ScipyNames:
    """Methods of a density that SciPy has too; `KernelDensity` inherits them."""

    def __call__(self: Any, y: ArrayLike) -> Any:
        """Return the density at `y`, as `pdf` and SciPy's `gaussian_kde` do.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([0.0], bandwidth=1.0)
        >>> d(0.0) == d.pdf(0.0)
        True
        """
        return self.pdf(y)

    def evaluate(self: Any, y: ArrayLike) -> Any:
        """Return the density at `y`, as `pdf`."""
        return self.pdf(y)

    @quiet
    def integrate_box_1d(self: Any, low: ArrayLike, high: ArrayLike) -> Any:
        """Return the probability between `low` and `high`, negative if `low` is the larger one.

        Accurate relative to itself in both tails, where a difference of `cdf` is not in the upper one.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([0.0], bandwidth=1.0)
        >>> round(d.integrate_box_1d(-1.0, 1.0), 4)
        0.6827
        >>> float(f"{d.integrate_box_1d(10.0, 11.0):.4g}")
        7.62e-24
        """
        a, b = np.broadcast_arrays(read_numbers(low, "the lower end"), read_numbers(high, "the upper end"))
        below, above = self.cdf([a, b]), self.sf([a, b])
        upper = (below[0] > 0.5) & (below[1] > 0.5)
        found = np.where(upper, above[0] - above[1], below[1] - below[0])
        return float(found) if found.ndim == 0 else found

    def resample(self: Any, size: int | None = None, seed: Any = None) -> Array:
        """Draw from the density, as `gaussian_kde.resample` does: an array of shape (1, size).

        `size` is by default the effective number of points. `sample` and `rvs` return arrays of any shape.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> akde.KernelDensity([0.0, 1.0], bandwidth=0.1).resample(5, seed=1).shape
        (1, 5)
        """
        count = int(effective_size(self.weights, self.points.size)) if size is None else size
        return np.asarray(self.rvs(count, random_state=seed)).reshape(1, -1)

    @quiet
    def expect(
        self: Any,
        func: Callable[[Any], Any] | None = None,
        *,
        lb: float | None = None,
        ub: float | None = None,
        conditional: bool = False,
    ) -> float:
        """Return the expectation of a function of the variable, by quadrature to about 1e-10.

        Parameters
        ----------
        func : callable, optional
            Takes a number, or an array of them; default: the variable itself.
        lb, ub : float, optional
            Integrate between these values only; default: everywhere.
        conditional : bool
            Divide by the probability between `lb` and `ub`.

        Raises
        ------
        InvalidParameterError
            If `func` does not return a number for each value, or `lb` and `ub` are not an interval that has a
            probability.
        PrecisionError
            If the integral does not converge, or would need too much work.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([-3.0, 3.0], bandwidth=4.0)
        >>> round(d.expect(lambda x: x**2), 9)
        25.0
        >>> round(d.expect(lambda x: 1.0, lb=0.0), 9)
        0.5
        """
        lower, upper = _interval(lb, ub, self.support())
        low, high = max(lower, float(self.ppf(TAILS[0]))), min(upper, float(self.isf(TAILS[0])))
        mass = float(self.cdf(upper)) - float(self.cdf(lower))
        if not (low < high and mass > 0.0):
            raise InvalidParameterError(f"there is no probability between lb = {lower:g} and ub = {upper:g}.")
        edges = np.unique(np.clip([*self.ppf([*TAILS, 0.5]), *self.isf(TAILS), low, high], low, high))
        function = func if func is not None else lambda x: x
        found = expectation(function, self.pdf, self.cdf, edges, tails=(lower < low, high < upper))
        return found / mass if conditional else found

    def moment(self: Any, order: int) -> float:
        """Return the moment of this order about 0, the expectation of x**order.

        Exact for orders up to 2; above, by quadrature. An adaptive density with an open side has no moments above the
        second, because its background falls like the fourth power there: the result is infinite, or NaN if both sides
        are open and the order is odd.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([0.0], bandwidth=1.0)
        >>> [round(d.moment(order), 9) for order in (0, 1, 2, 4)]
        [1.0, 0.0, 1.0, 3.0]
        """
        whole = isinstance(order, (int, np.integer)) and not isinstance(order, bool)
        if not whole or not 0 <= order <= _HIGHEST_ORDER:
            raise InvalidParameterError(
                f"the order of a moment is a whole number, 0 to {_HIGHEST_ORDER}, not {order!r}."
            )
        if order <= 2:
            return (1.0, self.mean(), math.hypot(self.std(), self.mean()) ** 2)[order]
        open_below, open_above = (math.isinf(end) for end in self.support())
        if self.background is not None and self.epsilon > 0.0 and (open_below or open_above):
            if open_below and open_above:
                return math.nan if order % 2 else math.inf
            return -math.inf if open_below and order % 2 else math.inf
        return float(self.expect(lambda x: x ** float(order)))

    def to_scipy(self) -> Any:
        """Return the density as a distribution of `scipy.stats`.

        With SciPy 1.15 and later it is a random variable of the new infrastructure (`scipy.stats.make_distribution`),
        which can be shifted, scaled, truncated and transformed; before that it is an `rv_continuous`.

        Examples
        --------
        >>> import amortized_kde as akde
        >>> d = akde.KernelDensity([2.0, 4.0], bandwidth=1.0)
        >>> X = d.to_scipy()
        >>> bool(X.pdf(2.5) == d.pdf(2.5)), round(float(X.mean()), 9)
        (True, 3.0)
        """
        # Imported here because SciPy's distributions take half a second.
        from amortized_kde.density.scipy_distribution import random_variable

        return random_variable(self)


def _interval(lb: float | None, ub: float | None, support: tuple[float, float]) -> tuple[float, float]:
    ends = [
        support[k] if end is None else read_numbers(end, name) for k, (end, name) in enumerate(((lb, "lb"), (ub, "ub")))
    ]
    if any(np.ndim(end) != 0 or np.isnan(end) for end in ends) or not ends[0] < ends[1]:
        raise InvalidParameterError(f"lb must be a number below ub, not {lb!r} and {ub!r}.")
    return max(float(ends[0]), support[0]), min(float(ends[1]), support[1])
