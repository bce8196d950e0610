"""Calibrations recover what made the data, use only what pays, and never see the fold that they are scored on."""

import numpy as np
import pytest

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.training.archive.calibrate import (
    Choice,
    choose,
    cross_validated,
    fit_calibration,
    fitted_rows,
    fold_calibrations,
)
from amortized_kde.research.training.archive.design import Design
from amortized_kde.research.training.archive.occurrence import Occurrence, choose_occurrence, fit_occurrence
from amortized_kde.research.training.archive.pairs import folds_of, read_pairs


def test_location_and_additive_variance_are_recovered(made):
    pairs = made(numbers=(2.0, 0.8, 1.5, 0.6), days=4000)
    found = fit_calibration(pairs, Choice(kernel="normal"))
    slope = found.location["mean"] / found.width
    assert slope == pytest.approx(0.8, abs=0.02)
    assert found.location["1"] - slope * found.centre == pytest.approx(2.0, abs=0.15)
    assert (found.floor, found.slope) == pytest.approx((1.5, 0.6), abs=0.08)


def test_moments_are_those_of_the_rows_that_were_fitted(made):
    """Coefficients of standardised columns and of terms as they are say the same."""
    pairs = made(season=3.0)
    choice = Choice(groups=("season", "second harmonic", "summaries"))
    found = fit_calibration(pairs, choice)
    design = Design(pairs)
    model, _, _ = design.rows(choice.groups, choice.kernel, choice.penalty)
    mu, log, _ = model.moments(model.fit())
    again = found.moments(found.summarise(pairs.members, pairs.covariates))
    np.testing.assert_allclose(again[0], mu, rtol=1e-8)
    np.testing.assert_allclose(again[1], np.exp(log), rtol=1e-8)


def test_only_what_pays_is_chosen(made):
    plain, seasonal = choose(made(days=800)), choose(made(days=800, season=4.0))
    assert plain.groups == ()
    assert "season" in seasonal.groups
    assert choose(made(days=800, season=4.0), season=False).groups == ()


def test_named_members_get_their_own_weights():
    rng = np.random.default_rng(9)
    truth = rng.normal(0.0, 4.0, 600)
    x = truth[:, None] + np.array([3.0, -2.0, 0.0]) + np.array([0.3, 4.0, 4.0]) * rng.normal(size=(600, 3))
    pairs = read_pairs(x, truth, np.arange(600), names=("good", "bad", "worse"))
    choice = choose(pairs)
    assert "members" in choice.groups
    found = fit_calibration(pairs, choice)
    mu, _ = found.moments(found.summarise(x, {}))
    assert np.std(truth - mu) < 0.5
    equal = fit_calibration(pairs, Choice())
    assert np.std(truth - equal.moments(equal.summarise(x, {}))[0]) > 1.0


def test_places_are_shrunk_towards_all():
    rng = np.random.default_rng(10)
    places, days = 200, 20
    bias = rng.normal(0.0, 2.0, places)
    place, day = np.tile(np.arange(places), days), np.repeat(np.arange(days), places)
    x = rng.normal(0.0, 3.0, (place.size, 6))
    y = x.mean(axis=1) + bias[place] + rng.normal(size=place.size)
    pairs = read_pairs(x, y, day, places=place.astype(str))
    choice = choose(pairs)
    assert choice.shrinkage is not None
    found = fit_calibration(pairs, choice)
    effects = np.array([found.places[str(k)][0] for k in range(places)])
    assert np.corrcoef(effects, bias - bias.mean())[0, 1] > 0.97
    # Shrunk: less than the mean residual of the place.
    assert np.std(effects) < np.std(bias) + 0.1
    none = choose(read_pairs(x, y - bias[place], day, places=place.astype(str)))
    assert none.shrinkage is None or none.shrinkage >= 30.0


def test_a_fold_is_scored_by_a_fit_without_it(made):
    pairs = made()
    folds = folds_of(pairs.days, 5)
    before = cross_validated(Design(pairs), Choice(), folds)
    changed = read_pairs(pairs.members, np.where(folds == 2, pairs.observations + 50.0, pairs.observations), pairs.days)
    after = cross_validated(Design(changed), Choice(), folds)
    part, calibration = fold_calibrations(pairs, Choice(), folds)[2]
    assert calibration == fold_calibrations(changed, Choice(), folds)[2][1]
    np.testing.assert_array_equal(part, folds == 2)
    assert (after[folds == 2] > before[folds == 2] + 1.0).all()


def test_a_window_ends_before_what_is_scored():
    days = np.repeat(np.arange(30), 2)
    scored = (days >= 20) & (days < 22)
    np.testing.assert_array_equal(np.unique(days[fitted_rows(days, scored, 7)]), np.arange(13, 20))
    np.testing.assert_array_equal(fitted_rows(days, scored, None), ~scored)
    assert fitted_rows(days, days < 3, 7) is None


def test_a_window_follows_a_bias_that_changes(made):
    pairs = made(days=300)
    drifting = read_pairs(pairs.members, pairs.observations + 0.1 * pairs.days, pairs.days)
    assert choose(drifting, window=25).groups == ()
    folds = folds_of(drifting.days, 60)
    rolling = cross_validated(Design(drifting), Choice(), folds, 25)
    fixed = cross_validated(Design(drifting), Choice(), folds_of(drifting.days, 5))
    assert rolling[rolling != 0.0].mean() < fixed.mean() - 1.0


def test_the_probability_of_an_atom_is_learned(wet):
    pairs = wet()
    design = Design(pairs, 0.5)
    chosen = choose_occurrence(design, folds_of(pairs.days, 5))
    (logit,) = fit_occurrence(design, chosen)
    assert logit["mean"] < 0.0
    choice = choose(pairs)
    assert choice.power < 1.0
    probability = fit_calibration(pairs, choice).correct(pairs.members, pairs.inputs()).atom_probability[:, 0]
    assert probability.mean() == pytest.approx(np.mean(pairs.observations == 0.0), abs=0.01)
    dry = pairs.observations == 0.0
    score = -np.mean(np.log2(np.where(dry, probability, 1.0 - probability)))
    rate = dry.mean()
    assert score < -rate * np.log2(rate) - (1 - rate) * np.log2(1 - rate) - 0.1


def test_two_atoms_are_learned_together():
    rng = np.random.default_rng(11)
    signal = rng.normal(size=(600, 1))
    drawn = np.clip(0.5 + 0.5 * signal + 0.4 * rng.normal(size=(600, 9)), 0.0, 1.0)
    pairs = read_pairs(drawn[:, 1:], drawn[:, 0], np.arange(600), bounds=(0, 1), atoms=(0, 1))
    found = fit_calibration(pairs, choose(pairs)).correct(pairs.members, {}).atom_probability
    assert (found.sum(axis=1) < 1.0).all()
    for k, atom in enumerate((0.0, 1.0)):
        assert found[:, k].mean() == pytest.approx(np.mean(pairs.observations == atom), abs=0.01)


def test_an_atom_that_never_or_always_occurs_is_refused(wet):
    pairs = wet()
    dry = pairs.where(pairs.observations == 0.0)
    with pytest.raises(InvalidParameterError, match="observations that are fitted are at an atom"):
        fit_occurrence(Design(dry, 0.5), Occurrence())
    with pytest.raises(InvalidParameterError, match="observations that are fitted is 0, so that its probability"):
        fit_occurrence(Design(pairs.where(pairs.observations > 0.0), 0.5), Occurrence())
