import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.data.support import Bounds
from contests.real_columns import RealColumn
from contests.real_splits import MOST_SCORED, dequantise, make_splits, rounding_unit

COLUMN = RealColumn("set", "column", (0.0, None), 400)


@given(
    unit=st.floats(1e-6, 1e6),
    offset=st.floats(-1e3, 1e3),
    seed=st.integers(0, 1000),
)
def test_the_unit_of_rounded_normal_values_is_found(unit, offset, seed):
    # A hundred values within some twenty units of each other.
    steps = np.round(np.random.default_rng(seed).normal(size=100) * 5)
    assert rounding_unit((offset + steps) * unit) == pytest.approx(unit, rel=1e-6)


def test_values_without_ties_have_no_unit_and_stay():
    values = np.random.default_rng(1).normal(size=50)
    assert rounding_unit(values) == 0.0
    np.testing.assert_array_equal(dequantise(values, Bounds(), rng=np.random.default_rng(2)), values)


def test_sums_of_decimals_are_equal_where_they_should_be():
    values = np.array([0.1 + 0.2, 0.3, 0.3, 0.4, 0.1 + 0.3, 0.5])
    assert rounding_unit(values) == pytest.approx(0.1)


def test_one_finely_recorded_value_does_not_change_the_unit():
    values = np.concatenate([np.repeat(np.arange(20.0), 3), [4.001]])
    assert rounding_unit(values) == 1.0


def test_temperatures_that_were_converted_keep_their_steps():
    # Whole degrees Celsius, written in Fahrenheit.
    celsius = np.round(np.random.default_rng(3).normal(10.0, 8.0, 2000))
    assert rounding_unit(celsius * 1.8 + 32.0) == pytest.approx(1.8)


@given(seed=st.integers(0, 1000))
def test_dequantised_values_round_back_and_respect_the_bounds(seed):
    values = np.clip(np.round(np.random.default_rng(seed).normal(1.0, 2.0, 200)), 0.0, 4.0)
    spread = dequantise(values, Bounds(0.0, 4.0), rng=np.random.default_rng(seed))
    assert np.abs(spread - values).max() <= 0.5
    assert spread.min() >= 0.0
    assert spread.max() <= 4.0
    assert np.unique(spread).size == 200


def test_dequantised_uniform_values_are_uniform():
    values = np.repeat(np.arange(1.0, 9.0), 1000)
    spread = dequantise(values, Bounds(), rng=np.random.default_rng(4))
    counts, _ = np.histogram(spread, bins=16, range=(0.5, 8.5))
    assert np.abs(counts - 500).max() < 100


def test_splits_part_the_values_and_repeat():
    values = np.random.default_rng(5).normal(size=400)
    first = make_splits(COLUMN, values, 30, 3, seed=1)
    assert len(first) == 3
    for split, again in zip(first, make_splits(COLUMN, values, 30, 5, seed=1), strict=False):
        assert (split.sample.size, split.outcomes.size) == (30, 370)
        np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.sort(values))
        np.testing.assert_array_equal(split.sample, again.sample)
    assert (first[0].sample != first[1].sample).any()
    assert (first[0].sample != make_splits(COLUMN, values, 30, 1, seed=2)[0].sample).any()


def test_no_more_outcomes_than_needed():
    (split,) = make_splits(COLUMN, np.arange(10_000.0), 256, 1, seed=1)
    assert split.outcomes.size == MOST_SCORED
