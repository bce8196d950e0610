"""What becomes a pair, what is left out and counted, what is recognised, and what is refused in one sentence."""

import numpy as np
import pytest

from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.research.training.archive.pairs import folds_of, read_pairs


def rows(count=8, members=5, seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(1.0, 9.0, (count, members)), rng.uniform(1.0, 9.0, count), np.arange(count)


def test_everything_left_out_is_counted_once():
    x, y, days = rows()
    y[0], y[1] = np.nan, -1.0
    x[2, 3] = 11.0
    x[3] = np.nan
    x[4] = [np.nan, 5.0, np.nan, 7.0, np.nan]
    x[5, 0], y[5] = np.inf, np.nan
    height = np.ones(8)
    height[6] = np.nan
    pairs = read_pairs(x, y, days, bounds=(0, 10), covariates={"height": height})
    assert pairs.left_out == {
        "observation missing": 2,
        "observation outside bounds": 1,
        "a member outside bounds": 1,
        "all members missing": 1,
        "a covariate missing": 1,
    }
    np.testing.assert_array_equal(pairs.days, [4, 7])
    np.testing.assert_array_equal(pairs.members[0], x[4])


def test_pairs_are_in_the_order_of_days_with_all_that_belongs_to_them():
    x, y, _ = rows(4)
    pairs = read_pairs(x, y, [3, 1, 2, 0], covariates={"h": [3.0, 1.0, 2.0, 0.0]}, places=["d", "b", "c", "a"])
    np.testing.assert_array_equal(pairs.observations, y[[3, 1, 2, 0]])
    np.testing.assert_array_equal(pairs.covariates["h"], [0, 1, 2, 3])
    assert pairs.places.tolist() == ["a", "b", "c", "d"]
    assert pairs.where(pairs.days > 1).places.tolist() == ["c", "d"]


def test_rounding_and_atoms_are_found_but_what_is_given_counts():
    rng = np.random.default_rng(5)
    x = rng.gamma(2.0, 3.0, (400, 5))
    y = rng.gamma(2.0, 3.0, 400).round(1)
    y[:120] = 0.0
    found = read_pairs(x, y, np.arange(400), bounds=(0, None))
    assert (found.resolution, found.atoms) == (0.1, (0.0,))
    np.testing.assert_array_equal(found.at_atom, np.where(found.observations == 0.0, 0, -1))
    given = read_pairs(x, y, np.arange(400), bounds=(0, None), atoms=(), resolution=0)
    assert (given.resolution, given.atoms) == (0.0, ())
    # Away from the bounds a frequent value is not taken for an atom.
    assert read_pairs(x, y, np.arange(400)).atoms == ()


def test_whole_degrees_are_rounding_and_no_atoms():
    rng = np.random.default_rng(6)
    y = np.round(rng.normal(2.0, 2.0, 500))
    assert np.unique(y, return_counts=True)[1].max() > 0.12 * 500
    found = read_pairs(rng.normal(size=(500, 5)), y, np.arange(500))
    assert (found.resolution, found.atoms) == (1.0, ())


def test_a_season_needs_dates_of_a_year():
    x, y, _ = rows(400)
    dates = {"day_of_year": 1.0 + np.arange(400) % 365}
    assert read_pairs(x, y, np.arange(400), covariates=dates).has_season
    assert not read_pairs(x, y, np.arange(400)).has_season
    assert not read_pairs(x, y, np.arange(400) // 2, covariates=dates).has_season


def test_the_input_stays_as_it_was():
    x, y, days = rows()
    before = x.copy()
    read_pairs(x, y, days)
    np.testing.assert_array_equal(x, before)


def test_the_fingerprint_knows_another_number():
    x, y, days = rows()
    first = read_pairs(x, y, days)
    y[3] += 1e-9
    assert first.fingerprint() != read_pairs(x, y, days).fingerprint()


def test_folds_are_runs_of_whole_days():
    days = np.repeat([0, 1, 2, 5, 6, 9, 11], [3, 1, 4, 1, 5, 2, 6])
    folds = folds_of(days, 3)
    assert (np.diff(folds) >= 0).all()
    assert set(folds) == {0, 1, 2}
    for day in np.unique(days):
        assert np.unique(folds[days == day]).size == 1


def test_mistakes_are_one_sentence():
    x, y, days = rows()
    with pytest.raises(InvalidSampleError, match=r"do not fit: \(8, 5\), \(7,\), \(8,\)"):
        read_pairs(x, y[:7], days)
    with pytest.raises(InvalidSampleError, match=r"no pair .* is left to train on: 8 × observation missing"):
        read_pairs(x, y * np.nan, days)
    with pytest.raises(InvalidSampleError, match="is left to train on: 8 × all members missing"):
        read_pairs(x * np.nan, y, days)
    with pytest.raises(InvalidParameterError, match="the atom 20 lies outside the bounds"):
        read_pairs(x, y, days, bounds=(0, 10), atoms=(20,))
    with pytest.raises(InvalidParameterError, match="resolution must be a positive number"):
        read_pairs(x, y, days, resolution=-1.0)
