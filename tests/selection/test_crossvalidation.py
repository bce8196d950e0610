"""Cross-validation against criteria that are written as the paper writes them."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from amortized_kde import bandwidth
from amortized_kde.errors import DegenerateSampleError, FallbackWarning


def silverman(x):
    sd, iqr = np.std(x, ddof=1), np.subtract(*np.percentile(x, [75, 25]))
    return 0.9 * (min(sd, iqr / 1.34) if iqr > 0.0 else sd) * x.size**-0.2


def samples():
    rng = np.random.default_rng(21)
    yield "two", np.array([1.0, 2.0])
    yield "three", np.array([0.0, 0.1, 5.0])
    for n in (5, 12, 60, 200):
        yield f"normal {n}", rng.standard_normal(n)
    yield "bimodal", np.concatenate([rng.normal(-3.0, 0.2, 40), rng.normal(2.0, 1.0, 40)])
    yield "skewed", rng.lognormal(0.0, 1.2, 90)
    yield "uniform", rng.uniform(0.0, 1.0, 80)
    yield "ties", np.round(rng.standard_normal(120), 1)
    yield "integers", rng.poisson(8.0, 100).astype(float)
    yield "outlier", np.append(rng.standard_normal(60), 300.0)
    yield "offset", 1e6 + rng.standard_normal(50)


SAMPLES = [pytest.param(x, id=name) for name, x in samples()]


def least_squares_criterion(x, h):
    """CV(h; S) of the paper, Appendix A.3, with both double sums."""
    n, wide, narrow = x.size, 0.0, 0.0
    for part in np.array_split(x, 1 + n // 500):
        d = ((part[:, None] - x[None, :]) / h) ** 2
        wide += np.sum(np.exp(-0.25 * d)) / math.sqrt(4.0 * math.pi)
        narrow += (np.sum(np.exp(-0.5 * d)) - part.size) / math.sqrt(2.0 * math.pi)
    return wide / (n * n * h) - 2.0 * narrow / (n * (n - 1) * h)


def grid(x):
    return 0.2 * silverman(x) * 25.0 ** (np.arange(60) / 59.0)


@pytest.mark.parametrize("x", SAMPLES)
def test_least_squares_takes_the_first_minimum_of_the_grid(x):
    criteria = np.array([least_squares_criterion(x, h) for h in grid(x)])
    assert bandwidth(x, method="lscv") == pytest.approx(grid(x)[np.argmin(criteria)], rel=1e-12)


def test_least_squares_criterion_is_that_of_the_integral():
    # The twin itself against its definition: an integral of the squared density and left-out densities.
    x, h = np.array([0.0, 0.3, 1.1, 1.2]), 0.4
    y = np.linspace(-6.0, 8.0, 20001)
    q = np.exp(-0.5 * ((y[:, None] - x) / h) ** 2).mean(axis=1) / (h * math.sqrt(2.0 * math.pi))
    left_out = [np.exp(-0.5 * ((x[i] - np.delete(x, i)) / h) ** 2).mean() for i in range(4)]
    direct = np.trapezoid(q * q, y) - 2.0 * np.mean(left_out) / (h * math.sqrt(2.0 * math.pi))
    assert least_squares_criterion(x, h) == pytest.approx(direct, rel=1e-10)


def test_least_squares_takes_the_smallest_candidate_where_values_repeat():
    # The criterion of repeated values falls without end towards h = 0.
    x = np.repeat(np.random.default_rng(22).standard_normal(6), 10)
    assert bandwidth(x, method="lscv") == pytest.approx(0.2 * silverman(x), rel=1e-12)


@pytest.mark.parametrize("shape", ["normal", "rounded", "skewed"])
def test_least_squares_binned_above_5000(shape):
    rng = np.random.default_rng(23)
    x = {"normal": rng.standard_normal, "skewed": lambda n: rng.lognormal(0.0, 1.0, n)}.get(
        shape, lambda n: np.round(rng.standard_normal(n), 2)
    )(5300)
    found = bandwidth(x, method="lscv")
    candidates = grid(x)
    k = int(np.argmin(np.abs(np.log(candidates / found))))
    assert found == pytest.approx(candidates[k], rel=1e-12)
    exact = {j: least_squares_criterion(x, candidates[j]) for j in range(max(k - 1, 0), min(k + 2, 60))}
    assert min(exact.values()) >= exact[k] - 1e-4 * abs(exact[k])


def log_likelihood(x, h, bounds=(-math.inf, math.inf)):
    """Mean of log q_-i(x_i), the values equal to x_i left out together, truncated to the bounds."""
    values, counts = np.unique(x, return_counts=True)
    low, high = bounds
    inside = counts * (ndtr((high - values) / h) - ndtr((low - values) / h))
    total = 0.0
    for part in np.array_split(np.arange(values.size), 1 + values.size // 500):
        d = ((values[part, None] - values[None, :]) / h) ** 2
        d[np.arange(part.size), part] = math.inf
        nearest = d.min(axis=1)
        sums = np.exp(-0.5 * (d - nearest[:, None])) @ counts.astype(float)
        total += np.sum(counts[part] * (np.log(sums / (inside.sum() - inside[part])) - 0.5 * nearest))
    return float(total / counts.sum()) - math.log(h * math.sqrt(2.0 * math.pi))


def best_by_search(x, bounds=(-math.inf, math.inf)):
    """Maximiser on the stated interval: a dense grid, then Brent's method around its best point."""
    reference = silverman(x)
    top = max(6.0, math.ceil(math.log2(np.ptp(x) / reference)))
    exponents = np.linspace(-10.0, top, 640)
    scores = [log_likelihood(x, reference * 2.0**e, bounds) for e in exponents]
    best = int(np.argmax(scores))
    if best in (0, 639):
        return reference * 2.0 ** exponents[best]
    refined = minimize_scalar(
        lambda e: -log_likelihood(x, reference * 2.0**e, bounds),
        bounds=exponents[[best - 1, best + 1]], method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    return reference * 2.0**refined.x


def sides(x):
    span = np.ptp(x)
    yield -math.inf, math.inf
    yield x.min(), math.inf
    yield -math.inf, x.max() + 0.1 * span
    yield x.min() - 0.05 * span, x.max()


@pytest.mark.parametrize("x", SAMPLES)
def test_likelihood_is_largest_at_the_answer(x):
    for low, high in sides(x):
        bounds = (None if low == -math.inf else low, None if high == math.inf else high)
        found = bandwidth(x, method="lcv", bounds=bounds)
        expected = best_by_search(x, (low, high))
        at_found, at_expected = (log_likelihood(x, h, (low, high)) for h in (found, expected))
        assert at_found >= at_expected - 1e-11 * max(1.0, abs(at_expected))
        assert found == pytest.approx(expected, rel=1e-5)


def test_likelihood_leaves_tied_values_out_together():
    # Left out one by one, a tie would give an infinite likelihood at h = 0.
    x = np.repeat(np.random.default_rng(24).standard_normal(40), 2)
    assert bandwidth(x, method="lcv") == pytest.approx(best_by_search(x), rel=1e-5)
    assert bandwidth(x, method="lcv") > 0.2 * silverman(x)


def test_likelihood_follows_an_outlier_however_far():
    x = np.random.default_rng(25).standard_normal(100)
    for distance in 10.0 ** np.arange(1.0, 16.0):
        found = bandwidth(np.append(x, distance), method="lcv")
        assert found == pytest.approx(0.0995 * distance, rel=0.03) or distance < 100.0


@pytest.mark.parametrize("bounds", [None, (0.0, None)])
@pytest.mark.parametrize("shape", ["gamma", "rounded"])
def test_likelihood_binned_above_5000_within_a_thousandth(shape, bounds):
    x = np.random.default_rng(26).gamma(2.0, 1.0, 5600)
    if shape == "rounded":
        # Some ties, and still more than 5000 distinct values.
        x[:300] = np.round(x[:300], 1)
    assert np.unique(x).size > 5000
    h = bandwidth(x, method="lcv", bounds=bounds)
    limits = (-math.inf, math.inf) if bounds is None else (0.0, math.inf)
    scores = [log_likelihood(x, h * factor, limits) for factor in (0.998, 0.999, 1.001, 1.002)]
    # The exact criterion rises below 0.999 h and falls above 1.001 h.
    assert scores[0] < scores[1]
    assert scores[2] > scores[3]


def weights_for(x, kind):
    rng = np.random.default_rng(x.size)
    return {
        "gamma": rng.gamma(0.7, 1.0, x.size),
        "one heavy": np.append(np.ones(x.size - 1), 5.0),
        "whole": rng.integers(1, 4, x.size),
    }[kind].astype(float)


def weighted_criterion(x, w, h):
    """The integral of the squared density minus twice the weighted mean of the left-out densities."""
    w = w / w.sum()
    d = ((x[:, None] - x[None, :]) / h) ** 2
    integral = w @ np.exp(-0.25 * d) @ w / (h * math.sqrt(4.0 * math.pi))
    kernels = np.exp(-0.5 * d) / (h * math.sqrt(2.0 * math.pi))
    np.fill_diagonal(kernels, 0.0)
    return integral - 2.0 * np.sum(w * (kernels @ w) / (1.0 - w))


@pytest.mark.parametrize("kind", ["gamma", "one heavy", "whole"])
@pytest.mark.parametrize("x", SAMPLES)
def test_least_squares_with_weights_takes_the_minimum_of_the_weighted_criterion(x, kind):
    w = weights_for(x, kind)
    candidates = 0.2 * bandwidth(x, weights=w, method="silverman") * 25.0 ** (np.arange(60) / 59.0)
    criteria = [weighted_criterion(x, w, h) for h in candidates]
    assert bandwidth(x, weights=w, method="lscv") == pytest.approx(candidates[np.argmin(criteria)], rel=1e-12)


@pytest.mark.parametrize("kind", ["gamma", "one heavy"])
def test_least_squares_with_weights_binned_above_5000(kind):
    x = np.random.default_rng(27).standard_normal(5100)
    w = weights_for(x, kind) + 200.0 * (np.arange(5100) == 7)
    found = bandwidth(x, weights=w, method="lscv")
    candidates = 0.2 * bandwidth(x, weights=w, method="silverman") * 25.0 ** (np.arange(60) / 59.0)
    k = int(np.argmin(np.abs(np.log(candidates / found))))
    exact = {j: weighted_criterion(x, w, candidates[j]) for j in (k - 1, k, k + 1)}
    assert min(exact.values()) >= exact[k] - 1e-4 * abs(exact[k])


def weighted_log_likelihood(x, w, h, bounds):
    """The weighted mean of log q_-i(x_i), the values equal to x_i left out together, truncated to the bounds."""
    values, own = np.unique(x, return_inverse=True)
    w = np.bincount(own, w) / w.sum()
    low, high = bounds
    inside = w * (ndtr((high - values) / h) - ndtr((low - values) / h))
    total = 0.0
    for i, value in enumerate(values):
        others = np.arange(values.size) != i
        d = ((values[others] - value) / h) ** 2
        # Divided by what the others have inside, which is 1 - w_i where there are no bounds.
        sums = np.sum(w[others] * np.exp(-0.5 * (d - d.min())))
        total += w[i] * (math.log(sums / inside[others].sum()) - 0.5 * d.min())
    return total - math.log(h * math.sqrt(2.0 * math.pi))


@pytest.mark.parametrize("kind", ["gamma", "one heavy", "whole"])
@pytest.mark.parametrize("x", SAMPLES)
def test_likelihood_with_weights_is_largest_at_the_answer(x, kind):
    w = weights_for(x, kind)
    for low, high in list(sides(x))[:3:2]:
        bounds = (None if low == -math.inf else low, None if high == math.inf else high)
        found = bandwidth(x, weights=w, method="lcv", bounds=bounds)
        best = weighted_log_likelihood(x, w, found, (low, high))
        reference = bandwidth(x, weights=w, method="silverman")
        top = max(6.0, math.ceil(math.log2(np.ptp(x) / reference)))
        others = [*(reference * 2.0 ** np.linspace(-10.0, top, 150)), 0.999 * found, 1.001 * found]
        if reference * 2.0**-9.99 < found < reference * 2.0 ** (top - 0.01):
            assert best >= max(weighted_log_likelihood(x, w, h, (low, high)) for h in others) - 1e-11


def test_likelihood_with_weights_binned_above_5000_within_a_thousandth():
    x = np.random.default_rng(28).gamma(2.0, 1.0, 5600)
    w = weights_for(x, "gamma")
    h = bandwidth(x, weights=w, method="lcv")
    limits = (-math.inf, math.inf)
    scores = [weighted_log_likelihood(x, w, h * factor, limits) for factor in (0.998, 0.999, 1.001, 1.002)]
    assert scores[0] < scores[1]
    assert scores[2] > scores[3]


@pytest.mark.parametrize("method", ["lscv", "lcv"])
def test_fallback_and_failure(method):
    with pytest.warns(FallbackWarning, match=f"^{method}: the interquartile range is 0"):
        assert bandwidth([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4.0], method=method) > 0.0
    with pytest.raises(DegenerateSampleError, match="all values are equal"):
        bandwidth([2.0, 2.0], method=method)
    with pytest.raises(DegenerateSampleError, match="a single value"):
        bandwidth([2.0], method=method)
