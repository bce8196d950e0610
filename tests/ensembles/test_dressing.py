"""Dressed members: the formula, bounds, atoms, missing and infinite members, and folders without a dressing."""

import shutil
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.ensembles import Dressing, dressed, log_scores, read_dressing
from amortized_kde.errors import InvalidParameterError, UnreadableFileError

ROWS = np.random.default_rng(2).gamma(2.0, 1.0, (3, 4, 6))


@given(st.floats(-10, 10), st.floats(-2, 2), st.floats(0.1, 5))
def test_the_formula(a, b, c):
    mean = ROWS.mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(dressed(ROWS, Dressing(a, b, c)), a + b * mean + c * (ROWS - mean), atol=1e-12)


def test_missing_members_are_as_if_dropped():
    x = ROWS.copy()
    x[..., 2] = np.nan
    kept = np.delete(x, 2, axis=-1)
    out = dressed(x, Dressing(1.0, 0.9, 2.0, (0, None)))
    expected = dressed(kept, Dressing(1.0, 0.9, 2.0, (0, None)))
    np.testing.assert_allclose(np.delete(out, 2, axis=-1), expected, rtol=1e-13)
    assert np.isnan(out[..., 2]).all()


def test_members_keep_to_the_bounds_and_ensembles_keep_their_spread():
    out = dressed(ROWS, Dressing(-1.0, 1.0, 4.0, (0, 3)))
    assert (out.min(), out.max()) == (0.0, 3.0)
    # All members would be moved to 0.
    np.testing.assert_array_equal(dressed(ROWS, Dressing(-100.0, 1.0, 1.0, (0, None))), ROWS)


def test_members_at_atoms_stay_and_no_other_joins_them():
    x = ROWS.copy()
    x[..., :3] = 0.0
    dressing = Dressing(-0.5, 1.0, 2.0, (0, None), (0.0,))
    out = dressed(x, dressing)
    assert ((out == 0.0) == (x == 0.0)).all()
    others = dressed(x[..., 3:], Dressing(-0.5, 1.0, 2.0, (0, None)))
    np.testing.assert_allclose(out[..., 3:], others, atol=1e-300)
    scores = log_scores(out, np.full((3, 4), 1.0), bounds=(0, None), atoms=(0,), bandwidth=1.0)
    assert np.isfinite(scores).all()


def test_an_infinite_member_is_not_made_a_missing_one():
    x = ROWS.copy()
    x[0, 0, 0] = np.inf
    np.testing.assert_array_equal(dressed(x, Dressing(1.0, 1.0, 2.0))[0, 0], x[0, 0])


def test_the_input_stays_as_it_was():
    before = ROWS.copy()
    dressed(ROWS, Dressing(1.0, 1.0, 2.0, (0, 2)))
    np.testing.assert_array_equal(ROWS, before)


def test_folders_without_a_dressing(tmp_path):
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        read_dressing(tmp_path)
    with resources.as_file(resources.files("amortized_kde.learned.adaptive") / "weights" / "single") as shipped:
        shutil.copytree(shipped, tmp_path / "single")
    with pytest.raises(InvalidParameterError, match="trained without a dressing; train it with --dress"):
        dressed(ROWS, tmp_path / "single")
