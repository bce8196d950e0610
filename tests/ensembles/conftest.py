"""What the tests of ensembles share: forecasts with missing members, and one density per cell as the slow way."""

import numpy as np
import pytest

import amortized_kde as akde

METHODS = ["amortized", "silverman", "amortized:gmm32", "given"]
BOUNDS = [None, (0.0, None), (None, 40.0), (0.0, 40.0)]


class Forecasts:
    """Members (2, 4, 21), some missing, observations, and one density per cell made by `fit` or `KernelDensity`."""

    def __init__(self, method, bounds):
        self.adaptive = method == "amortized"
        rng = np.random.default_rng(5)
        self.members = rng.gamma(1.5, 2.0, (2, 4, 21))
        self.members[0, 1, 3:15] = np.nan
        self.members[1, 3, ::2] = np.nan
        self.obs = rng.gamma(1.5, 2.0, (2, 4))
        h = rng.uniform(0.2, 1.0, (2, 4))
        self.options = {"bounds": bounds, **({"bandwidth": h} if method == "given" else {"method": method})}
        self.densities = np.empty((2, 4), object)
        for cell in np.ndindex(2, 4):
            present = self.members[cell][~np.isnan(self.members[cell])]
            if method == "given":
                self.densities[cell] = akde.KernelDensity(present, h[cell], bounds=bounds)
            else:
                self.densities[cell] = akde.fit(present, bounds=bounds, method=method)

    def each(self, evaluate):
        """Return ``evaluate(density, observation)`` of every cell."""
        cells = [evaluate(self.densities[cell], self.obs[cell]) for cell in np.ndindex(2, 4)]
        return np.array(cells).reshape(2, 4, *np.shape(cells[0]))


@pytest.fixture(scope="session", params=[(m, b) for m in METHODS for b in BOUNDS], ids=str)
def forecasts(request):
    return Forecasts(*request.param)
