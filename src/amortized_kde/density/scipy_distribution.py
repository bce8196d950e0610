"""A density as SciPy's `rv_continuous`. Only `to_scipy` imports this: SciPy's distributions take time."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats


class DensityDistribution(stats.rv_continuous):  # type: ignore[misc]
    """A distribution without shape parameters, all of whose functions are those of a density.

    SciPy writes into the arrays that they return, also into those of one number.
    """

    def __init__(self, density: Any, **options: Any) -> None:
        self.density = density
        lower, upper = density.support()
        super().__init__(a=lower, b=upper, name="kernel_density", **options)

    def _updated_ctor_param(self) -> dict[str, Any]:
        # SciPy copies a distribution by its constructor when it is frozen.
        return {"density": self.density}

    def _shape_info(self) -> list[Any]:
        return []

    def _pdf(self, x: Any) -> Any:
        return np.asarray(self.density.pdf(x))

    def _logpdf(self, x: Any) -> Any:
        return np.asarray(self.density.logpdf(x))

    def _cdf(self, x: Any) -> Any:
        return np.asarray(self.density.cdf(x))

    def _sf(self, x: Any) -> Any:
        return np.asarray(self.density.sf(x))

    def _logcdf(self, x: Any) -> Any:
        return np.asarray(self.density.logcdf(x))

    def _logsf(self, x: Any) -> Any:
        return np.asarray(self.density.logsf(x))

    def _ppf(self, q: Any) -> Any:
        return _quantiles(self.density.ppf, q)

    def _isf(self, q: Any) -> Any:
        return _quantiles(self.density.isf, q)

    def _entropy(self) -> Any:
        return self.density.entropy()

    def _munp(self, n: int) -> Any:
        return self.density.moment(int(n))

    def _rvs(self, size: Any = None, random_state: Any = None) -> Any:
        return self.density.rvs(size, random_state=random_state)


def _quantiles(function: Callable[[Any], Any], q: Any) -> Any:
    """The quantiles, NaN outside [0, 1], where the new infrastructure asks for some and drops them."""
    inside = (q >= 0.0) & (q <= 1.0)
    return np.where(inside, function(np.where(inside, q, 0.5)), np.nan)


def random_variable(density: Any) -> Any:
    """Return the density as a random variable of SciPy's new infrastructure, or as an `rv_continuous` before 1.15."""
    distribution = DensityDistribution(density)
    if not hasattr(stats, "make_distribution"):
        return distribution
    made = stats.make_distribution(distribution)

    def central_moment(self: Any, order: int, **shapes: Any) -> Any:
        return density.var() if order == 2 else None

    # From moments about 0 SciPy would compute a variance without accurate digits if the mean is large.
    made._moment_central_formula = central_moment
    return made()
