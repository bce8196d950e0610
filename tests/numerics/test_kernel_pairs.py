"""Sums of kernels with the shapes of groups, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.numerics.kernel_pairs import KernelGroup, sum_kernels


@pytest.mark.parametrize("left_out", [False, True])
def test_sums_equal_scipy(left_out):
    rng = np.random.default_rng(0)
    n, d = 12, 3
    points, label = rng.standard_normal((n, d)), rng.integers(2, size=n)
    weights = rng.dirichlet(np.ones(n))
    centres = rng.standard_normal((2, d))
    shapes = rng.standard_normal((2, d, d))
    covariances = shapes @ shapes.transpose(0, 2, 1) + np.eye(d)
    factors = np.linalg.cholesky(covariances)
    log_dets = np.linalg.slogdet(covariances)[1]
    sizes, pulls = np.array([0.3, 0.8]), np.array([1.0, 0.6])
    places = points[:5] if left_out else rng.standard_normal((5, d))
    skip = np.arange(5) if left_out else np.full(5, -1)
    out = np.empty((5, 2))
    group = KernelGroup(points, weights, label, centres, np.linalg.inv(factors), log_dets, sizes, pulls)
    sum_kernels(places, skip, group, out)
    for m in range(5):
        for j, (h, a) in enumerate(zip(sizes, pulls, strict=True)):
            expected = sum(
                weights[i]
                * stats.multivariate_normal(
                    centres[label[i]] + a * (points[i] - centres[label[i]]), h * h * covariances[label[i]]
                ).pdf(places[m])
                for i in range(n)
                if i != skip[m]
            )
            assert out[m, j] == pytest.approx(expected, rel=1e-10)
