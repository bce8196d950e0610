import importlib.util

import numpy as np
import pytest
from scipy import stats

from amortized_kde.benchmark.rivals import CLASSICAL, RIVALS, SCIPY, UNDER_TEST, fit_density
from amortized_kde.domain import Bounds
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.estimate import fit

BOUNDS = (Bounds(0.0, 1.0), Bounds(0.0, np.inf), Bounds())


def rival_or_skip(name):
    if name.startswith("arviz") and importlib.util.find_spec("arviz_stats") is None:
        pytest.skip("arviz-stats is not installed (extra bench)")
    return name


@pytest.mark.parametrize("bounds", BOUNDS, ids=["both", "lower", "none"])
@pytest.mark.parametrize("name", [*RIVALS, UNDER_TEST])
def test_every_rival_is_a_density_between_the_bounds(name, bounds):
    sample = np.random.default_rng(5).beta(1.0, 2.0, 60)
    log_density = fit_density(rival_or_skip(name), sample, bounds)
    low, high = max(bounds.lower, -2.0), min(bounds.upper, 3.0)
    x = low + (np.arange(50_000) + 0.5) * (high - low) / 50_000
    # Densities on a grid are normalised on the grid.
    tolerance = 3e-3 if name == "arviz-stats kde" else 1e-6
    assert np.exp(log_density(x)).mean() * (high - low) == pytest.approx(1.0, abs=tolerance)


def test_our_methods_are_those_of_fit():
    sample, y = np.random.default_rng(6).normal(size=30), np.linspace(-2.0, 2.0, 9)
    for method in CLASSICAL:
        np.testing.assert_array_equal(fit_density(method, sample, Bounds())(y), fit(sample, method=method).logpdf(y))


def test_scipy_is_scipy_cut_at_the_bounds():
    sample, y = np.random.default_rng(7).exponential(size=40), np.linspace(0.0, 6.0, 50)
    density = stats.gaussian_kde(sample)
    expected = density.logpdf(y) - np.log(density.integrate_box_1d(0.0, np.inf))
    np.testing.assert_allclose(fit_density(SCIPY, sample, Bounds(0.0, np.inf))(y), expected, atol=1e-9)
    np.testing.assert_allclose(fit_density(SCIPY, sample, Bounds())(y), density.logpdf(y), atol=1e-9)


def test_learned_methods_are_no_classical_ones():
    assert "silverman" in CLASSICAL
    assert not [name for name in CLASSICAL if "amortized" in name or "adaptive" in name]


def test_the_grid_of_arviz_ends_at_the_extremes_of_an_open_side():
    rival_or_skip("arviz-stats kde")
    log_density = fit_density("arviz-stats kde", np.arange(1.0, 40.0), Bounds(0.0, np.inf))
    assert np.isfinite(log_density(np.array([0.1, 39.0]))).all()
    assert log_density(np.array([39.5]))[0] == -np.inf


def test_a_method_without_an_answer_raises():
    with pytest.raises(AmortizedKdeError):
        fit_density("silverman", np.ones(5), Bounds())
