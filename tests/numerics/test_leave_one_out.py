import math

import numba
import numpy as np
import pytest
from scipy.special import erf, logsumexp

from amortized_kde.numerics.leave_one_out import log_score_and_slope


@numba.njit
def fast(values, counts, h, low, high):
    return log_score_and_slope(values, counts, h, low, high)


def slow_score(sample, h, low, high):
    """Mean over i of log q_-i(x_i), where every value equal to x_i is left out, truncated to the bounds."""
    scores = []
    for x in sample:
        others = sample[sample != x]
        mass = 0.5 * (erf((high - others) / (h * math.sqrt(2.0))) - erf((low - others) / (h * math.sqrt(2.0))))
        log_kernels = -0.5 * ((x - others) / h) ** 2 - math.log(h * math.sqrt(2.0 * math.pi))
        scores.append(logsumexp(log_kernels) - math.log(mass.sum()))
    return np.mean(scores)


SAMPLES = {
    "normal": np.random.default_rng(1).standard_normal(80),
    "ties": np.random.default_rng(2).integers(0, 12, 80) * 0.5,
    "outlier": np.append(np.random.default_rng(3).standard_normal(60), 300.0),
    "two": np.array([0.0, 1.0]),
    "two and a tie": np.array([0.0, 1.0, 1.0]),
}
BOUNDS = {"open": (-math.inf, math.inf), "lower": (-5.0, math.inf), "upper": (-math.inf, 301.0), "both": (-5.0, 301.0)}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("sides", BOUNDS)
@pytest.mark.parametrize("h", [0.02, 0.3, 4.0, 1e3])
@pytest.mark.parametrize("way", [fast, log_score_and_slope], ids=["compiled", "NumPy"])
def test_score_and_slope_against_leaving_out_one_by_one(name, sides, h, way):
    low, high = BOUNDS[sides]
    values, counts = np.unique(SAMPLES[name], return_counts=True)
    score, slope = way(values, counts.astype(float), h, low, high)
    assert score == pytest.approx(slow_score(SAMPLES[name], h, low, high), rel=1e-12, abs=1e-12)
    step = 1e-5
    up, down = (slow_score(SAMPLES[name], h * math.exp(s), low, high) for s in (step, -step))
    assert slope == pytest.approx((up - down) / (2.0 * step), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("sides", BOUNDS)
@pytest.mark.parametrize("counts", [[1.0, 2.5, 1.0, 4.0], [1.0, 1e18, 1.0, 3.0], [1e40, 1.0, 2.0, 1e3]])
def test_counts_of_any_size(counts, sides):
    # Where one value has nearly all the mass, what the others have is no difference of large numbers.
    values, counts, (low, high) = np.array([-1.0, 0.2, 0.5, 3.0]), np.array(counts), BOUNDS[sides]
    for h in (0.1, 1.0, 30.0):
        expected = 0.0
        for i in range(4):
            others = np.arange(4) != i
            mass = 0.5 * (erf((high - values) / (h * math.sqrt(2.0))) - erf((low - values) / (h * math.sqrt(2.0))))
            log_kernels = -0.5 * ((values[i] - values) / h) ** 2 - math.log(h * math.sqrt(2.0 * math.pi))
            log_sum = logsumexp(log_kernels[others], b=counts[others])
            expected += counts[i] / counts.sum() * (log_sum - math.log(np.sum((counts * mass)[others])))
        assert fast(values, counts, h, low, high)[0] == pytest.approx(expected, rel=1e-12)


def test_an_outlier_keeps_its_nearest_neighbour():
    # Rounding of 1e7^2 must neither push the neighbour out of the window nor cancel its term.
    values = np.append(np.sort(np.random.default_rng(4).standard_normal(100)), 1e7)
    for h in 2.0 ** np.arange(-12.0, 30.0):
        score, slope = fast(values, np.ones(101), h, -math.inf, math.inf)
        assert score == pytest.approx(slow_score(values, h, -math.inf, math.inf), rel=1e-9)
        assert math.isfinite(slope)
