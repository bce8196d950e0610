import numpy as np
import pytest

from amortized_kde.data.support import Bounds
from amortized_kde.errors import MissingExtraError
from contests.known_density import KnownDensity, panel_rule
from contests.marron_wand import marron_wand
from contests.r_rivals import R_RIVALS, ask_r, has_r

with_r = pytest.mark.skipif(not has_r(), reason="R with logspline and gss is not here")
SAMPLES = [np.random.default_rng(k).exponential(size=40) for k in range(2)]


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
