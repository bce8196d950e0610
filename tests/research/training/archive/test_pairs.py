"""What becomes a pair, what is left out and counted, and what is refused in one sentence."""

import numpy as np
import pytest

from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.research.training.archive.pairs import read_pairs


def rows(count=8, members=5, seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(1.0, 9.0, (count, members)), rng.uniform(1.0, 9.0, count), np.arange(count)


def test_everything_left_out_is_counted_once():
    x, y, times = rows()
    y[0], y[1] = np.nan, -1.0
    x[2, 3] = 11.0
    x[3] = 4.0
    x[4] = [np.nan, 5.0, np.nan, 7.0, np.nan]
    x[5, 0], y[5] = np.inf, np.nan
    pairs = read_pairs(x, y, times, bounds=(0, 10))
    assert pairs.left_out == {
        "observation missing": 2,
        "observation outside bounds": 1,
        "observation at an atom": 0,
        "a member outside bounds": 1,
        "fewer than two different members": 1,
    }
    np.testing.assert_array_equal(pairs.times, [4, 6, 7])
    np.testing.assert_array_equal(pairs.members[0], [5.0, 7.0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(pairs.members[1], np.sort(x[6]))
    assert pairs.steps == 8


def test_members_at_atoms_are_no_members_and_observations_there_no_pairs():
    x, y, times = rows()
    x[0, :2], x[1], y[2] = 0.0, 0.0, 0.0
    pairs = read_pairs(x.astype(np.float32), y, times, bounds=(0, None), atoms=(0,))
    assert pairs.left_out["observation at an atom"] == pairs.left_out["fewer than two different members"] == 1
    assert np.isnan(pairs.members[0]).sum() == 2
    assert pairs.members.dtype == np.float32


def test_the_input_stays_as_it_was():
    x, y, times = rows()
    before = x.copy()
    read_pairs(x, y, times, atoms=(x[0, 0],))
    np.testing.assert_array_equal(x, before)


def test_dressed_members_ascend_between_the_bounds():
    x, y, times = rows(200)
    pairs = read_pairs(x, y, times, bounds=(0, 10)).dressed(np.array([-1.0, 1.0, 3.0]))
    assert (np.diff(pairs.members, axis=1) >= 0.0).all()
    assert pairs.members.min() == 0.0
    assert pairs.members.max() == 10.0


def test_the_fingerprint_knows_another_number():
    x, y, times = rows()
    first = read_pairs(x, y, times).fingerprint()
    assert read_pairs(x, y, times).fingerprint() == first
    y[0] += 1e-9
    assert read_pairs(x, y, times).fingerprint() != first


def test_what_cannot_be_learned_from_is_one_sentence():
    x, y, times = rows()
    with pytest.raises(InvalidSampleError, match=r"no pair .* 8 × observation missing"):
        read_pairs(x, np.full(8, np.nan), times)
    with pytest.raises(InvalidSampleError, match="do not fit"):
        read_pairs(x, y[:4], times)
    x, y, times = rows(200)
    y[:40] = 0.0
    with pytest.raises(InvalidParameterError, match=r"20 % of the observations are exactly 0, .* --atoms 0"):
        read_pairs(x, y, times, bounds=(0, None))
    assert len(read_pairs(x, y, times, bounds=(0, None), atoms=(0,))) == 160
