"""What is read from a table agrees with what is computed argument by argument."""

import math

import numpy as np
import pytest

from amortized_kde import KernelDensity
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density import distribution
from amortized_kde.density.background import Background
from amortized_kde.density.tabulated import TABULATED_FROM

SHAPES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "skewed": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "clusters": lambda rng, n: rng.normal(0.0, 0.1, n) + rng.choice([-3.0, 0.0, 1.0], n),
    "rounded": lambda rng, n: np.round(rng.standard_normal(n), 1),
    "outlier": lambda rng, n: np.append(rng.standard_normal(n - 1), 1e4),
    "constant": lambda rng, n: np.full(n, 0.7),
    "offset": lambda rng, n: 1e6 + rng.standard_normal(n),
}
BOUNDS = {"open": (None, None), "below": (0.0, None), "above": (None, 0.01), "both": (0.0, 0.01)}


def build(shape, sides, epsilon, n=120, bandwidths=(0.01, 0.1, 0.5, 4.0)):
    rng = np.random.default_rng(7)
    x = SHAPES[shape](rng, n)
    low, high = BOUNDS[sides]
    bounds = Bounds(-math.inf if low is None else x.min() - low, math.inf if high is None else x.max() + high)
    sample, rungs = read_sample(x, weights=rng.gamma(1.0, size=n)), np.array(bandwidths)
    shares = rng.gamma(0.3, size=(rungs.size, n)) + 1e-6
    background = Background(*bounds, location=float(np.median(x)), scale=0.8)
    return KernelDensity.from_ladder(
        sample, rungs, shares / shares.sum(axis=0), bounds=bounds, epsilon=epsilon, background=background
    )


def arguments(d):
    low, high = d.grid(2)
    y = np.concatenate([np.linspace(low - (high - low), high + (high - low), 1001), d.points, [-1e5, 1e5]])
    return np.clip(y, *d.support())


def directly(d, monkeypatch, method, at):
    with monkeypatch.context() as patch:
        patch.setattr(distribution, "TABULATED_FROM", 10**9)
        return getattr(d, method)(at)


@pytest.mark.parametrize("epsilon", [0.0, 1e-3])
@pytest.mark.parametrize("sides", sorted(BOUNDS))
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_densities_and_probabilities(shape, sides, epsilon, monkeypatch):
    d = build(shape, sides, epsilon)
    y = arguments(d)
    for method in ("logpdf", "logcdf", "logsf"):
        truth = directly(d, monkeypatch, method, y)
        np.testing.assert_allclose(getattr(d, method)(y), truth, rtol=3e-13, atol=3e-13, err_msg=method)
    if shape != "offset":
        assert np.isfinite(d._kernels.tabulated.log_density(d.points)).mean() > 0.9


@pytest.mark.parametrize("epsilon", [0.0, 1e-3])
@pytest.mark.parametrize("sides", sorted(BOUNDS))
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_quantiles(shape, sides, epsilon, monkeypatch):
    d = build(shape, sides, epsilon)
    tail = np.concatenate([10.0 ** np.arange(-300.0, 0.0, 5.0), np.linspace(0.001, 0.999, 499)])
    for method, back in (("ppf", "cdf"), ("isf", "sf")):
        x = getattr(d, method)(tail)
        spacing = d.pdf(x) * np.spacing(np.abs(x))
        found = directly(d, monkeypatch, back, x)
        assert np.all(np.abs(found - tail) <= np.maximum(1e-12 * tail, 2.0 * spacing))
        assert np.all(np.diff(x[60:]) >= 0.0 if method == "ppf" else np.diff(x[60:]) <= 0.0)


def test_an_argument_has_the_same_bits_among_others_and_on_any_number_of_threads():
    d = build("normal", "below", 1e-3)
    y = np.linspace(0.0, 30.0, 9001)
    for method in ("logpdf", "logcdf", "logsf"):
        whole = getattr(d, method)(y)
        assert np.array_equal(getattr(d, method)(y[::-1])[::-1], whole)
        assert np.array_equal(getattr(d, method)(y[4000:4200]), whole[4000:4200])
        assert np.array_equal(getattr(d, method)(y, threads=1), whole)
    p = np.linspace(0.0, 1.0, 9001)
    assert np.array_equal(d.ppf(p[4000:4200]), d.ppf(p)[4000:4200])


def test_special_arguments():
    d = build("normal", "below", 1e-3)
    y = np.full(TABULATED_FROM, 1.0)
    y[:4] = math.nan, -math.inf, math.inf, -1e9
    for method, ends in (("pdf", [0.0, 0.0, 0.0]), ("cdf", [0.0, 1.0, 0.0]), ("sf", [1.0, 0.0, 1.0])):
        found = getattr(d, method)(y)
        assert math.isnan(found[0])
        assert found[1:4].tolist() == ends
        assert np.all(found[4:] == found[4])
    assert np.array_equal(d.ppf(np.r_[0.0, 1.0, np.full(TABULATED_FROM, 0.5)])[:2], d.support())


def test_nothing_is_tabulated_where_float64_is_too_coarse(monkeypatch):
    d = build("normal", "open", 1e-3, bandwidths=(1e-13, 0.3))
    y = np.linspace(-3.0, 3.0, 501)
    assert d._kernels.tabulated.edges.size == 0
    assert np.isnan(d._kernels.tabulated.log_density(y)).all()
    assert np.isnan(d._kernels.tabulated.log_cdf(y)).all()
    assert np.isnan(d._kernels.tabulated.quantile(np.full(3, 0.5))).all()
    assert np.array_equal(d.logpdf(y), directly(d, monkeypatch, "logpdf", y))
