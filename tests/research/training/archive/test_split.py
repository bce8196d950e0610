"""Blocks of time: none in two parts, all of one length, every season in every part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.errors import InvalidSampleError
from amortized_kde.research.training.archive.pairs import HELD_OUT, TRAINING, VALIDATION, split_time


@given(st.integers(50, 5000))
def test_time_is_cut_into_blocks_of_which_each_has_one_part(steps):
    split = split_time(steps)
    lengths = np.bincount(split.blocks)
    assert (np.diff(split.blocks) >= 0).all()
    assert lengths.max() - lengths.min() <= 1
    assert lengths.min() >= 5
    part = split.part_of(np.arange(steps))
    for block in range(len(split.parts)):
        assert len(set(part[split.blocks == block])) == 1
    counts = np.bincount(split.parts, minlength=3)
    assert counts[VALIDATION] == counts[HELD_OUT] == counts[TRAINING] / 3


@given(st.integers(50, 5000))
def test_pieces_lie_within_blocks_and_are_many(steps):
    split = split_time(steps)
    times = np.flatnonzero(split.part_of(np.arange(steps)) == HELD_OUT)
    pieces = split.pieces_of(times)
    assert (np.diff(pieces) >= 0).all()
    assert pieces.max() + 1 >= min(20, times.size)
    for piece in range(pieces.max() + 1):
        inside = times[pieces == piece]
        assert len(set(split.blocks[inside])) == 1
        assert split.piece_length <= inside.size <= 2 * split.piece_length


@pytest.mark.parametrize("years", [1, 2, 3, 4, 5, 8, 10, 12])
def test_every_part_sees_every_season(years):
    days = np.arange(round(365.25 * years))
    part = split_time(days.size).part_of(days)
    for wanted in (TRAINING, VALIDATION, HELD_OUT):
        quarters = np.bincount((days[part == wanted] % 365.25 // 91.4).astype(int), minlength=4)
        assert quarters.min() > 0.3 * quarters.mean()


def test_too_few_steps_are_refused():
    assert len(split_time(50).parts) == 10
    with pytest.raises(InvalidSampleError, match=r"49 time steps, too few .* at least 50"):
        split_time(49)
