import importlib.util
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from amortized_kde.data.support import Bounds
from amortized_kde.errors import DegenerateSampleError, InvalidParameterError, MissingExtraError, UnreadableFileError
from amortized_kde.estimate import fit
from contests.known_densities import KnownDensity, panel_rule
from contests.marron_wand import marron_wand
from contests.rivals import (
    BIC,
    CLASSICAL,
    DIRICHLET,
    KDE1D,
    R_RIVALS,
    RIVALS,
    SCIPY,
    ask_r,
    fit_density,
    fit_or_fall_back,
    has_r,
)

BOUNDS = (Bounds(0.0, 1.0), Bounds(0.0, np.inf), Bounds())
with_r = pytest.mark.skipif(not has_r(), reason="R with logspline and gss is not installed")
SAMPLES = [np.random.default_rng(k).exponential(size=40) for k in range(2)]


MODULES = {"arviz-stats isj": "arviz_stats", "arviz-stats kde": "arviz_stats", KDE1D: "pyvinecopulib"}


def rival_or_skip(name):
    module = MODULES.get(name)
    if module is not None and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed (extra bench)")
    return name


@pytest.mark.parametrize("bounds", BOUNDS, ids=["both", "lower", "none"])
@pytest.mark.parametrize("name", [*RIVALS, "amortized:gmm32"])
def test_every_rival_is_a_density_between_the_bounds(name, bounds):
    sample = np.random.default_rng(5).beta(1.0, 2.0, 60)
    log_density = fit_density(rival_or_skip(name), sample, bounds)
    low, high = max(bounds.lower, -2.0), min(bounds.upper, 3.0)
    x = low + (np.arange(50_000) + 0.5) * (high - low) / 50_000
    # Densities on a grid are normalised on the grid; that of kde1d has some mass beyond 3.
    tolerance = {"arviz-stats kde": 3e-3, KDE1D: 1e-3}.get(name, 1e-6)
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


@pytest.mark.parametrize("bounds", BOUNDS, ids=["both", "lower", "none"])
def test_kde1d_is_the_librarys(bounds):
    rival_or_skip(KDE1D)
    from pyvinecopulib.core import Kde1d

    sample, y = np.random.default_rng(8).beta(2.0, 3.0, 80), np.linspace(0.01, 0.99, 60)
    ends = {name: end for name, end in (("xmin", bounds.lower), ("xmax", bounds.upper)) if np.isfinite(end)}
    found = Kde1d(**ends, degree=2).fit(sample)
    np.testing.assert_allclose(fit_density(KDE1D, sample, bounds)(y), np.log(found.pdf(y)), atol=1e-12)


@pytest.mark.parametrize("rival", [DIRICHLET, BIC])
def test_mixtures_are_cut_at_the_bounds_and_follow_the_unit(rival):
    sample = np.random.default_rng(9).exponential(size=50)
    y = np.linspace(0.01, 5.0, 40)
    whole, cut = (fit_density(rival, sample, bounds)(y) for bounds in (Bounds(), Bounds(0.0, np.inf)))
    np.testing.assert_allclose(cut - whole, (cut - whole)[0], atol=1e-12)
    assert (cut > whole).all()
    scaled = fit_density(rival, 7.0 + 1e-3 * sample, Bounds())(7.0 + 1e-3 * y)
    np.testing.assert_allclose(scaled, whole - np.log(1e-3), rtol=1e-5)
    assert np.isfinite(fit_density(rival, sample, Bounds())(np.array([-1e4, 1e4]))).all()


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.FallbackWarning")
def test_a_method_without_an_answer_falls_back_and_is_counted():
    # R's Sheather-Jones stops at samples like this one.
    sample, y, failures = np.concatenate([np.zeros(12), [1e-9, 3.0]]), np.array([1.5]), Counter()
    found = fit_or_fall_back("sheather-jones-r", sample, Bounds(), failures)(y)
    assert failures.total() == 1
    np.testing.assert_array_equal(found, fit_density("silverman", sample, Bounds())(y))
    with pytest.raises(DegenerateSampleError):
        fit_or_fall_back("silverman", np.ones(5), Bounds(), failures)


def test_a_foreign_library_that_stops_is_counted(monkeypatch):
    def stop(*_):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setitem(RIVALS, SCIPY, stop)
    failures = Counter()
    fit_or_fall_back(SCIPY, np.arange(9.0), Bounds(), failures)
    assert failures == {"singular": 1}


def test_a_name_or_a_model_that_is_not_there_is_no_failure_of_the_method(tmp_path):
    with pytest.raises(InvalidParameterError):
        fit_or_fall_back("no such method", np.arange(9.0), Bounds(), Counter())
    with pytest.raises(UnreadableFileError):
        fit_or_fall_back(f"amortized:{tmp_path}", np.arange(9.0), Bounds(), Counter())


@with_r
@pytest.mark.parametrize("rival", R_RIVALS)
def test_every_rival_in_r_is_a_density_between_the_bounds(rival):
    x = (np.arange(20_000) + 0.5) * 12.0 / 20_000
    for bounds, share in ((Bounds(0.0, 12.0), 1.0), (Bounds(0.0, np.inf), 1.0)):
        answers = ask_r(rival, SAMPLES, [bounds] * 2, [x, x])
        assert not answers.failures
        for logs in answers.log_densities:
            mass = np.exp(logs).mean() * 12.0
            # On an open side a little lies beyond 12.
            assert mass == pytest.approx(share, abs=1e-4 if bounds.upper == 12.0 else 2e-2)


@with_r
def test_every_task_has_its_own_sample_bounds_and_points():
    points = [np.array([0.5, 1.0, 2.0]), np.array([1.5])]
    bounds = [Bounds(0.0, 9.0), Bounds(-1.0, 12.0)]
    both = ask_r("logspline", SAMPLES, bounds, points).log_densities
    assert [logs.size for logs in both] == [3, 1]
    for k in range(2):
        alone = ask_r("logspline", SAMPLES[k : k + 1], bounds[k : k + 1], points[k : k + 1]).log_densities[0]
        np.testing.assert_array_equal(alone, both[k])


@with_r
def test_a_failure_is_counted_and_spoils_no_other():
    answers = ask_r("logspline", [np.array([1.0, 2.0]), SAMPLES[0]], [Bounds()] * 2, [np.array([1.0])] * 2)
    assert np.isnan(answers.log_densities[0]).all()
    assert np.isfinite(answers.log_densities[1]).all()
    assert sum(answers.failures.values()) == 1


@with_r
def test_logspline_answers_where_a_smoothing_spline_does_not_converge():
    # One of the samples at which gss 2.2 says: Newton iteration diverges.
    sample = marron_wand()[4].draw(8, 256, 9)[7]
    bounds, points = [Bounds(-4.0, 4.0)], [np.array([0.0, 1.0])]
    answers = ask_r("ssden", [sample], bounds, points)
    if not answers.failures:
        pytest.skip("this version converges")
    assert answers.failures.total() == 1
    expected = ask_r("logspline", [sample], bounds, points).log_densities[0]
    np.testing.assert_array_equal(answers.log_densities[0], expected)


@with_r
@pytest.mark.parametrize("rival", R_RIVALS[:2])
def test_panels_are_fine_enough_for_splines(rival):
    for known in (marron_wand()[k] for k in (2, 10)):
        halved = np.sort(np.concatenate([known.ends, 0.5 * (known.ends[1:] + known.ends[:-1])]))
        finer = KnownDensity(known.name, known.bounds, known.logpdf, known.draw, halved)
        sample = known.draw(1, 256, 9)[0]
        scores = []
        for rule in (panel_rule(known), panel_rule(finer)):
            logs = ask_r(rival, [sample], [Bounds(*known.bounds)], [rule.points]).log_densities[0]
            scores.append(-np.sum(rule.weights * logs) / np.log(2.0))
        assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_without_r_the_sentence_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert not has_r()
    with pytest.raises(MissingExtraError, match="needs R"):
        ask_r("logspline", SAMPLES[:1], [Bounds()], [np.array([1.0])])
