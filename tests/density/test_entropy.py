import math

import numpy as np
import pytest
from scipy import stats

from amortized_kde import KernelDensity
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density.entropy import entropy
from amortized_kde.errors import PrecisionError

NORMAL = 0.5 * math.log(2.0 * math.pi * math.e)


def slow_entropy(d, edges):
    """Gauss-Legendre with forty nodes on every panel."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = 0.5 * np.diff(edges)[:, None]
    log = d.logpdf(edges[:-1, None] + half * (1.0 + nodes))
    return -np.sum(np.exp(log) * log * weights * half)


@pytest.mark.parametrize("h", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("x", [0.0, -3.0])
def test_one_kernel(x, h):
    assert KernelDensity([x], bandwidth=h).entropy() == pytest.approx(NORMAL + math.log(h), abs=1e-9)


@pytest.mark.parametrize("h", [0.01, 0.3, 5.0, 1e5])
def test_one_kernel_between_bounds(h):
    d, theirs = KernelDensity([0.3], bandwidth=h, bounds=(0, 1)), stats.truncnorm(-0.3 / h, 0.7 / h, 0.3, h)
    assert d.entropy() == pytest.approx(float(theirs.entropy()), abs=1e-9)
    half = KernelDensity([0.0], bandwidth=h, bounds=(0, None))
    assert half.entropy() == pytest.approx(NORMAL + math.log(0.5 * h), abs=1e-9)


def test_peaks_far_apart():
    weights = np.array([0.5, 0.3, 0.2])
    d = KernelDensity([0.0, 1e3, 1e7], bandwidth=1.0, weights=weights)
    assert d.entropy() == pytest.approx(NORMAL - weights @ np.log(weights), abs=1e-9)


@pytest.mark.parametrize("weight", [0.5, 1e-3, 1e-7])
@pytest.mark.parametrize("h", [0.1, 1e-4, 1e-9])
def test_a_narrow_peak_on_a_broad_one_is_not_missed(weight, h):
    sample = read_sample([0.0, 0.37], weights=[1.0 - weight, weight])
    d = KernelDensity.from_ladder(sample, [h, 1.0], [[0.0, 1.0], [1.0, 0.0]], bounds=Bounds())
    edges = np.unique(np.concatenate([np.linspace(-12.0, 12.0, 401), 0.37 + h * np.linspace(-12.0, 12.0, 401)]))
    # The spacing of float64 numbers is some share of the peak; what the peak adds is more.
    allowed = 1e-9 + weight * np.spacing(0.37) / h
    assert weight * math.log(1.0 / h) > 50.0 * allowed
    assert d.entropy() == pytest.approx(slow_entropy(d, edges), abs=allowed)


def test_a_sample_of_a_known_density():
    d = KernelDensity(np.random.default_rng(1).standard_normal(500), bandwidth=0.05)
    edges = np.linspace(-6.0, 6.0, 2001)
    assert d.entropy() == pytest.approx(slow_entropy(d, edges), abs=1e-9)


def test_arguments_that_are_rounded_coarsely_do_not_keep_it_from_ending():
    # Float64 numbers are a ten-thousandth of a bandwidth apart there.
    d = KernelDensity([1e9, 1e9 + 0.01], bandwidth=1e-3)
    assert d.entropy() == pytest.approx(NORMAL + math.log(2e-3), abs=1e-3)
    for hopeless in (1e-6, 1e-7, 1e-12):
        with pytest.raises(PrecisionError, match="no accurate digit"):
            KernelDensity([1e9, 1e9 + 0.01], bandwidth=hopeless).entropy()


@pytest.mark.parametrize("far", [1e3, 1e100, 1e155, 1e300])
def test_far_bounds_do_not_keep_it_from_ending(far):
    open_sides = KernelDensity([0.0, 1.0, 2.0], 0.5).entropy()
    for bounds in ((-far, far), (None, far), (-far, 2.0 * far / 3.0)):
        assert KernelDensity([0.0, 1.0, 2.0], 0.5, bounds=bounds).entropy() == pytest.approx(open_sides, abs=1e-12)


@pytest.mark.parametrize("h", [5e-324, 1e-300, 1e-17])
def test_kernels_below_the_spacing_of_numbers_end_with_a_sentence(h):
    with pytest.raises(PrecisionError, match="no accurate digit"):
        KernelDensity([0.0, 1.0, 2.0], h, bounds=(-10, 10)).entropy()


def test_too_many_peaks_end_with_a_sentence(monkeypatch):
    monkeypatch.setattr("amortized_kde.density.entropy._MOST_INTERVALS", 1000)
    with pytest.raises(PrecisionError, match="too many separate"):
        KernelDensity(np.arange(1000.0), 1e-6).entropy()


def test_log_densities_that_are_not_finite_end():
    def logpdf(x):
        return np.where(np.abs(x) < 1.0, math.nan, -math.inf)

    with pytest.raises(PrecisionError), np.errstate(invalid="ignore"):
        entropy(logpdf, stats.norm.cdf, np.array([-8.0, 0.1, 8.0]))


def test_any_functions_will_do():
    gamma = stats.gamma(3.0)
    found = entropy(gamma.logpdf, gamma.cdf, np.array([0.0, 1.0, 80.0]))
    assert found == pytest.approx(float(gamma.entropy()), abs=1e-9)
