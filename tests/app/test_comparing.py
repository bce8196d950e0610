"""What the page computes is what the library computes."""

import warnings

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.app import comparing
from amortized_kde.app.comparing import (
    change_by_hand,
    check_spread,
    expected_seconds,
    fit_method,
    how_unlike,
    method_names,
    score_by_hand,
    score_methods,
)
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.data.reading import read_sample
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError, UnlikeTrainingWarning

ERUPTIONS = np.sort(EXAMPLES["eruptions"].values())
BOUNDS = (0.0, None)


def test_densities_are_the_librarys():
    for method in ("amortized", "silverman"):
        fitted, own = (
            fit_method(read_sample(ERUPTIONS), method, BOUNDS),
            akde.fit(ERUPTIONS, bounds=BOUNDS, method=method),
        )
        assert np.array_equal(fitted.density.pdf(ERUPTIONS), own.pdf(ERUPTIONS))
        assert np.array_equal(fitted.modes.places, own.modes().places)
        assert (fitted.method, fitted.failure, fitted.note) == (method, None, None)
        changed, modes = change_by_hand(fitted.density, 0.5)
        assert np.array_equal(changed.pdf(ERUPTIONS), own.smoothed(0.5).pdf(ERUPTIONS))
        assert np.array_equal(modes.places, own.smoothed(0.5).modes().places)


def test_a_method_that_fails_says_why():
    tied = np.sort(np.repeat([0.0, 1.0], [99, 1]))
    failed = fit_method(read_sample(tied), "sheather-jones-r", (None, None))
    assert (failed.density, failed.modes) == (None, None)
    assert "sheather-jones-r" in failed.failure


def test_values_outside_the_bounds():
    with pytest.raises(InvalidBoundsError, match="of 272 values lie outside the bounds"):
        fit_method(read_sample(ERUPTIONS), "silverman", (2.0, None))


def test_samples_without_spread():
    with pytest.raises(DegenerateSampleError, match="a single value has no spread"):
        check_spread(np.array([1.0]))
    with pytest.raises(DegenerateSampleError, match=r"all 3 values equal 3\.7"):
        check_spread(np.full(3, 3.7))
    check_spread(np.array([1.0, 2.0]))


def test_scores_are_the_librarys():
    names = ["silverman", "scott", "amortized"]
    found = score_methods(read_sample(ERUPTIONS), names, BOUNDS)
    assert list(found.rows.values()) == list(akde.compare(ERUPTIONS, methods=names, bounds=BOUNDS))
    assert found.protocol == "10-fold held-out score"


def test_few_values_are_left_out_one_by_one():
    assert score_methods(read_sample(np.arange(6.0)), ["scott"], (None, None)).protocol == "leave-one-out score"


def test_large_samples_are_made_smaller_and_that_is_said(monkeypatch):
    monkeypatch.setattr(comparing, "_MOST_SCORED", 100)
    found = score_methods(read_sample(ERUPTIONS), ["scott"], BOUNDS)
    assert found.protocol == "10-fold held-out score of 100 values drawn at random from 272, to save time"
    by_hand = score_by_hand(read_sample(ERUPTIONS), "scott", BOUNDS, 1.0)
    assert by_hand == pytest.approx(found.rows["scott"].score.value, rel=1e-12)


def test_methods_of_pairs_get_a_part_of_large_samples_and_that_is_said(monkeypatch):
    monkeypatch.setitem(comparing._OF_PAIRS, "sheather-jones-r", (100, 60.0))
    fitted = fit_method(read_sample(ERUPTIONS), "sheather-jones-r", BOUNDS)
    assert fitted.density.points.size == 100
    assert np.isin(fitted.density.points, ERUPTIONS).all()
    assert fitted.note == "estimated from 100 values drawn at random; all 272 would take about 7 min"
    assert fit_method(read_sample(ERUPTIONS[:100]), "sheather-jones-r", BOUNDS).note is None
    assert fit_method(read_sample(ERUPTIONS), "lcv", BOUNDS).note is None


def test_the_time_that_a_method_takes_grows_with_the_sample():
    assert expected_seconds("silverman", 10**6) == 0.0
    assert expected_seconds("sheather-jones-r", 10**6) == expected_seconds("sheather-jones-r", 20_000) == 1.0
    assert 2.0 <= expected_seconds("sheather-jones", 10**6) == 2.0 * expected_seconds("sheather-jones", 500_000)


@pytest.mark.parametrize("method", ["amortized", "silverman"])
def test_scores_by_hand_are_those_of_the_same_folds(method):
    exact = score_methods(read_sample(ERUPTIONS), [method], BOUNDS).rows[method].score.value
    assert score_by_hand(read_sample(ERUPTIONS), method, BOUNDS, 1.0) == pytest.approx(exact, rel=1e-12)
    assert score_by_hand(read_sample(ERUPTIONS), method, BOUNDS, 16.0) > exact
    assert score_by_hand(read_sample(np.array([1.0, 1.0, 2.0])), "silverman", (None, None), 1.0) is None


def test_what_is_unlike_training_is_what_the_library_warns_of():
    odd = np.concatenate([np.random.default_rng(1).normal(size=100), [1e9]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        akde.fit(odd)
    (text,) = [str(w.message) for w in caught if w.category is UnlikeTrainingWarning]
    ways = how_unlike(read_sample(odd), (None, None))
    assert ways
    assert all(way in text for way in ways)
    assert how_unlike(read_sample(ERUPTIONS), BOUNDS) == []


def test_nothing_is_warned_of_and_the_filters_stay():
    before = list(warnings.filters)
    fit_method(
        read_sample(np.concatenate([np.random.default_rng(1).normal(size=100), [1e9]])), "amortized", (None, None)
    )
    assert warnings.filters == before


def test_the_default_is_offered_once():
    assert "amortized" in method_names()
    assert "amortized:adaptive" not in method_names()


WEIGHTS = np.random.default_rng(1).exponential(size=ERUPTIONS.size)


def test_weights_are_those_of_the_library():
    sample = read_sample(ERUPTIONS, weights=WEIGHTS)
    own = akde.fit(ERUPTIONS, bounds=BOUNDS, weights=WEIGHTS)
    assert fit_method(sample, "amortized", BOUNDS).density.bandwidth == pytest.approx(own.bandwidth, rel=1e-9)
    scored = akde.compare(ERUPTIONS, methods=["scott"], bounds=BOUNDS, weights=WEIGHTS).rows[0].score.value
    assert score_methods(sample, ["scott"], BOUNDS).rows["scott"].score.value == pytest.approx(scored, rel=1e-9)
    assert score_by_hand(sample, "scott", BOUNDS, 1.0) == pytest.approx(scored, rel=1e-9)
    many = read_sample(np.arange(5000.0), weights=np.arange(5000.0) + 1.0)
    assert "3,000 values drawn at random" in score_methods(many, ["scott"], (None, None)).protocol
