"""KDEpy needs no drop-in: its bw is our bandwidth."""

import numpy as np
import pytest
from KDEpy import FFTKDE, NaiveKDE, TreeKDE
from numpy.testing import assert_allclose

import amortized_kde as akde

X = np.random.default_rng(1).gamma(2.0, 3.0, 60)


@pytest.mark.parametrize("method", ["amortized", "silverman", "lcv"])
@pytest.mark.parametrize(("host", "tolerance"), [(NaiveKDE, 1e-6), (TreeKDE, 2e-3), (FFTKDE, 1e-4)])
def test_kdepy_with_our_bandwidth_is_our_density(host, tolerance, method):
    h = akde.bandwidth(X, method=method)
    grid, density = host(kernel="gaussian", bw=h).fit(X).evaluate(2**10)
    ours = akde.KernelDensity(X, h).pdf(grid)
    assert_allclose(density, ours, rtol=0, atol=tolerance * ours.max())
