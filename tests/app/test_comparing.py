"""What the page computes is what the library computes."""

import warnings

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.app import comparing
from amortized_kde.app.comparing import (
    check_spread,
    fit_methods,
    how_unlike,
    method_names,
    score_by_hand,
    score_methods,
)
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError, UnlikeTrainingWarning

ERUPTIONS = np.sort(EXAMPLES["eruptions"].values())
BOUNDS = (0.0, None)


def test_densities_are_the_librarys():
    for fitted in fit_methods(ERUPTIONS, ["amortized", "silverman"], BOUNDS):
        own = akde.fit(ERUPTIONS, bounds=BOUNDS, method=fitted.method)
        assert np.array_equal(fitted.density.pdf(ERUPTIONS), own.pdf(ERUPTIONS))


def test_a_method_that_fails_spoils_no_other():
    tied = np.sort(np.repeat([0.0, 1.0], [99, 1]))
    failed, fine = fit_methods(tied, ["sheather-jones-r", "amortized"], (None, None))
    assert failed.density is None
    assert "sheather-jones-r" in failed.failure
    assert fine.density is not None


def test_values_outside_the_bounds():
    with pytest.raises(InvalidBoundsError, match="of 272 values lie outside the bounds"):
        fit_methods(ERUPTIONS, ["silverman"], (2.0, None))


def test_samples_without_spread():
    with pytest.raises(DegenerateSampleError, match="a single value has no spread"):
        check_spread(np.array([1.0]))
    with pytest.raises(DegenerateSampleError, match=r"all 3 values equal 3\.7"):
        check_spread(np.full(3, 3.7))
    check_spread(np.array([1.0, 2.0]))


def test_scores_are_the_librarys():
    names = ["silverman", "scott", "amortized"]
    found = score_methods(ERUPTIONS, names, BOUNDS)
    assert list(found.rows.values()) == list(akde.compare(ERUPTIONS, methods=names, bounds=BOUNDS))
    assert found.protocol == "10-fold held-out score"


def test_few_values_are_left_out_one_by_one():
    assert score_methods(np.arange(6.0), ["scott"], (None, None)).protocol == "leave-one-out score"


def test_large_samples_are_made_smaller_and_that_is_said(monkeypatch):
    monkeypatch.setattr(comparing, "_MOST_SCORED", 100)
    found = score_methods(ERUPTIONS, ["scott"], BOUNDS)
    assert found.protocol == "10-fold held-out score of 100 values drawn at random from 272, to save time"
    by_hand = score_by_hand(ERUPTIONS, "scott", BOUNDS, 1.0)
    assert by_hand == pytest.approx(found.rows["scott"].score.value, rel=1e-12)


def test_methods_of_pairs_are_left_out_of_large_samples(monkeypatch):
    monkeypatch.setattr(comparing, "_MOST_FOR_PAIRS", 100)
    (fitted,) = fit_methods(ERUPTIONS, ["lcv"], BOUNDS)
    assert fitted.density is None
    assert "visits all pairs of values, so this page takes up to 100" in fitted.failure
    assert list(score_methods(ERUPTIONS, ["lcv", "scott"], BOUNDS).rows) == ["scott"]
    assert score_methods(ERUPTIONS, ["lcv"], BOUNDS).rows == {}


@pytest.mark.parametrize("method", ["amortized", "silverman"])
def test_scores_by_hand_are_those_of_the_same_folds(method):
    exact = score_methods(ERUPTIONS, [method], BOUNDS).rows[method].score.value
    assert score_by_hand(ERUPTIONS, method, BOUNDS, 1.0) == pytest.approx(exact, rel=1e-12)
    assert score_by_hand(ERUPTIONS, method, BOUNDS, 16.0) > exact
    assert score_by_hand(np.array([1.0, 1.0, 2.0]), "silverman", (None, None), 1.0) is None


def test_what_is_unlike_training_is_what_the_library_warns_of():
    odd = np.concatenate([np.random.default_rng(1).normal(size=100), [1e9]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        akde.fit(odd)
    (text,) = [str(w.message) for w in caught if w.category is UnlikeTrainingWarning]
    ways = how_unlike(odd, (None, None))
    assert ways
    assert all(way in text for way in ways)
    assert how_unlike(ERUPTIONS, BOUNDS) == []


def test_nothing_is_warned_of_and_the_filters_stay():
    before = list(warnings.filters)
    fit_methods(np.concatenate([np.random.default_rng(1).normal(size=100), [1e9]]), ["amortized"], (None, None))
    assert warnings.filters == before


def test_the_default_is_offered_once():
    assert "amortized" in method_names()
    assert "amortized:adaptive" not in method_names()
