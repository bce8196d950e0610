import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.ensembles.estimates import estimate_runs
from amortized_kde.ensembles.options import Options, read_ensembles


# Up to 256 points, all are anchors; above, shares are interpolated between anchors.
@pytest.mark.parametrize("n", [1, 2, 40, 300, 1000])
@pytest.mark.parametrize("bounds", [(0, None), (0, 9)])
def test_kernels_are_those_of_the_density(n, bounds):
    x = np.random.default_rng(n).uniform(0.0, 9.0, (2, n))
    kernels = []
    options = Options.read(bounds=bounds, threads=1)
    estimate_runs(read_ensembles(x, options), lambda estimates, _: kernels.append(estimates.kernels))
    # Large samples make runs of one.
    rows = [(part, t) for part in kernels for t in range(part.starts.size)]
    for row, (part, t) in zip(x, rows, strict=True):
        rungs = akde.fit(row, bounds=bounds)._kernels.complete.rungs
        found = np.stack([a[part.starts[t] : part.stops[t]] for a in part[:3]])
        expected = np.stack([rungs.places, 1.0 / rungs.spread, rungs.coefficients])
        order, other = np.lexsort(found[:2]), np.lexsort(expected[:2])
        np.testing.assert_allclose(found[:, order], expected[:, other], rtol=1e-12)
