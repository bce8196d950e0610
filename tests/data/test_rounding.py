import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.data.rounding import Rounding, find_rounding
from amortized_kde.errors import InvalidSampleError

UNITS = [0.01, 0.1, 0.2, 0.254, 0.5, 1.0, 2.0, 5.0, 10.0]


def rounded(values, unit):
    return np.rint(values / unit) * unit


def temperatures(n=2000, seed=0):
    return np.random.default_rng(seed).normal(15.0, 8.0, n)


def rain(n=2000, dry=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < dry, 0.0, rng.exponential(5.0, n))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("n", [100, 2000])
def test_rounded_normals(unit, n):
    assert find_rounding(rounded(temperatures(n), unit)) == Rounding(unit, ())


@pytest.mark.parametrize("unit", UNITS[1:])
def test_decimals_stored_in_single_precision(unit):
    single = rounded(temperatures(), unit).astype(np.float32)
    assert find_rounding(single) == find_rounding(single.astype(float)) == Rounding(unit, ())


def test_noise_of_arithmetic_in_single_precision():
    kelvin = (temperatures().round(1) + 273.15).astype(np.float32)
    assert find_rounding(kelvin).unit == 0.1
    assert find_rounding(kelvin.astype(float) - 273.15).unit == 0.1


def test_a_grid_need_not_contain_zero_nor_be_decimal():
    assert find_rounding(temperatures().round() + 273.15).unit == 1.0
    fahrenheit = (temperatures() * 1.8 + 32.0).round()
    assert find_rounding((fahrenheit - 32.0) / 1.8).unit == pytest.approx(5.0 / 9.0, rel=1e-12)
    knots = rounded(np.abs(temperatures()), 1852.0 / 3600.0)
    assert find_rounding(knots.astype(np.float32)).unit == pytest.approx(1852.0 / 3600.0, rel=1e-6)


@pytest.mark.parametrize("n", [5, 20, 2000, 20_000])
def test_continuous_values_look_exact(n):
    values = temperatures(n)
    for exact in (values, values.astype(np.float32), np.exp(values / 8.0), 1e6 + values, rain(n, dry=0.0)):
        assert find_rounding(exact) == Rounding(0.0, ())


def test_single_precision_far_from_zero_is_not_a_rounding():
    steady = (101_325.0 + 0.02 * temperatures()).astype(np.float32)
    assert np.unique(steady).size < 200
    assert find_rounding(steady) == Rounding(0.0, ())
    pressure = (101_325.0 + 50.0 * temperatures()).astype(np.float32)
    assert [find_rounding(rounded(pressure, unit)).unit for unit in (1.0, 10.0)] == [1.0, 10.0]


def test_units_too_fine_to_matter_count_as_exact():
    values = temperatures()
    assert find_rounding(values.round(5)).unit == 0.0
    packed = rounded(values, np.ptp(values) / 65_535)
    assert find_rounding(packed).unit == 0.0


@pytest.mark.parametrize("unit", [0.1, 0.254, 0.0001])
@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("dry", [0.2, 0.5, 0.9])
def test_zeros_of_rain_have_a_probability_of_their_own(unit, dtype, dry):
    values = rounded(rain(dry=dry) * (unit / 0.1), unit).astype(dtype)
    assert find_rounding(values) == Rounding(unit, (0.0,))


def test_zeros_among_exact_values():
    assert find_rounding(rain()) == Rounding(0.0, (0.0,))
    assert find_rounding(rain(dry=0.01)) == Rounding(0.0, ())


@pytest.mark.parametrize("unit", [0.0, 1.0])
def test_two_atoms(unit):
    humidity = np.clip(np.random.default_rng(1).normal(50.0, 40.0, 2000), 0.0, 100.0)
    assert find_rounding(rounded(humidity, unit) if unit else humidity) == Rounding(unit, (0.0, 100.0))


@pytest.mark.parametrize("seed", range(5))
def test_counts_have_no_atoms(seed):
    rng = np.random.default_rng(seed)
    for mean in (0.1, 0.5, 3.0, 30.0, 1000.0):
        assert find_rounding(rng.poisson(mean, 1000)) == Rounding(1.0, ())
    for law in (rng.geometric(0.7, 1000), rng.zipf(2.0, 1000), rng.negative_binomial(1, 0.2, 1000)):
        assert find_rounding(law) == Rounding(1.0, ())
    assert find_rounding((rng.random(1000) < 0.1) * 1.0) == Rounding(1.0, ())


def test_the_most_frequent_whole_degree_is_no_atom():
    for spread in (0.3, 0.5, 1.0, 2.0):
        values = np.random.default_rng(2).normal(2.0, spread, 2000).round()
        assert np.mean(values == 2.0) > 0.12
        assert find_rounding(values) == Rounding(1.0, ())


def test_few_values():
    assert find_rounding([12.3, 14.5, 18.1]) == Rounding(0.1, ())
    assert find_rounding([10.0, 20.0, 50.0]) == Rounding(10.0, ())
    # Three even numbers are chance, fifteen are not.
    assert find_rounding([2.0, 4.0, 14.0]).unit == 1.0
    assert find_rounding(np.arange(15) * 2.0).unit == 2.0
    assert find_rounding([0.3, 0.7]) == Rounding(0.1, ())
    for nothing in ([], [3.0], [3.0, 3.0, 3.0], [np.nan, 2.0, np.inf]):
        assert find_rounding(nothing) == Rounding(0.0, ())


def test_missing_values_and_a_few_errors_do_not_hide_it():
    values = temperatures().round(1).reshape(40, 50)
    values[3, :20] = np.nan
    values[5, :5] += 0.0123
    values[7, 3] = np.inf
    assert find_rounding(values) == Rounding(0.1, ())


def test_not_numbers():
    with pytest.raises(InvalidSampleError, match="values must hold real numbers"):
        find_rounding(["a", "b"])


@given(st.integers(0, 10**6), st.sampled_from(UNITS), st.sampled_from([-4, -1, 0, 3]))
def test_decimal_shift_moves_unit_and_atoms_along(seed, unit, power):
    values = rounded(rain(300, seed=seed), unit)
    found, moved = find_rounding(values), find_rounding(values * float(f"1e{power}"))
    assert moved.unit == pytest.approx(found.unit * 10.0**power, rel=1e-12)
    assert moved.atoms == found.atoms
