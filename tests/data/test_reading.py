import decimal
import fractions
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from amortized_kde.data.reading import read_bounds, read_numbers, read_sample, read_samples
from amortized_kde.data.support import OPEN
from amortized_kde.errors import InvalidBoundsError, InvalidParameterError, InvalidSampleError

NUMBERS = [3.0, 1.0, 2.0]
HOLDERS = {
    "list": [3, 1, 2],
    "tuple": (3, 1, 2),
    "a view backwards": np.array([2.0, 1.0, 3.0])[::-1],
    "float32": np.array(NUMBERS, np.float32),
    "uint8": np.array([3, 1, 2], np.uint8),
    "big endian": np.array(NUMBERS, ">f8"),
    "strided": np.array([3.0, 9.0, 1.0, 9.0, 2.0, 9.0])[::2],
    "objects": np.array([3, decimal.Decimal(1), fractions.Fraction(2)], object),
    "masked": np.ma.array(NUMBERS),
    "pandas": pd.Series(NUMBERS, index=[7, 8, 9]),
    "pandas Int64": pd.Series([3, 1, 2], dtype="Int64"),
    "pandas index": pd.Index(NUMBERS),
    "polars": pl.Series("x", [3, 1, 2]),
    "values of a dict": {"a": 3.0, "b": 1.0, "c": 2.0}.values(),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_whatever_holds_numbers_is_read(holder):
    values = read_sample(HOLDERS[holder]).values
    assert values.dtype == np.float64
    assert values.dtype.isnative
    assert np.array_equal(values, [1.0, 2.0, 3.0])
    assert np.array_equal(read_numbers(HOLDERS[holder], "x"), NUMBERS)


def test_iterators_are_read_once():
    assert read_sample(k / 2 for k in (3, 1, 2)).values.tolist() == [0.5, 1.0, 1.5]
    assert read_sample(map(float, "312"), weights=iter([1, 1, 2])).weights.tolist() == [0.25, 0.5, 0.25]
    with pytest.raises(InvalidSampleError, match="x is empty"):
        read_sample(iter([]))
    with pytest.raises(InvalidSampleError, match=r"cannot be read as an array of numbers \(no luck\)"):
        read_sample(_fails())


def _fails():
    yield 1.0
    raise RuntimeError("no luck")


@pytest.mark.parametrize("library", [pd, pl])
def test_the_only_column_of_a_table_is_a_sample_with_a_name(library):
    found = read_sample(library.DataFrame({"rain": NUMBERS}), weights=library.DataFrame({"w": [1.0, 1.0, 2.0]}))
    assert (found.values.tolist(), found.weights.tolist(), found.name) == ([1.0, 2.0, 3.0], [0.25, 0.5, 0.25], "rain")


def test_names_are_those_of_series():
    assert read_sample(pd.Series(NUMBERS, name="rain")).name == "rain"
    assert read_sample(pl.Series("rain", NUMBERS)).name == "rain"
    for unnamed in (NUMBERS, pd.Series(NUMBERS), pd.Series(NUMBERS, name=3), pd.DataFrame({3: NUMBERS})):
        assert read_sample(unnamed).name == ""
    assert len(read_sample(pd.Series(NUMBERS, name="x" * 10**6)).name) == 1000


MISSING = {
    "nan": [3.0, math.nan, 1.0],
    "None": [3.0, None, 1.0],
    "pd.NA": [3.0, pd.NA, 1.0],
    "objects": np.array([3.0, None, 1.0], object),
    "masked": np.ma.array([3.0, 5.0, 1.0], mask=[False, True, False]),
    "masked integers": np.ma.array([3, 5, 1], mask=[False, True, False]),
    "pandas": pd.Series([3.0, None, 1.0]),
    "pandas Int64": pd.Series([3, None, 1], dtype="Int64"),
    "pandas Float64": pd.Series([3.0, None, 1.0], dtype="Float64"),
    "polars": pl.Series([3, None, 1]),
    "polars floats": pl.Series([3.0, None, 1.0]),
}


@pytest.mark.parametrize("holder", MISSING)
def test_missing_values_are_an_error_or_omitted(holder):
    with pytest.raises(InvalidSampleError, match=r'x has a missing value \(NaN\) at position 1.*nan="omit"'):
        read_sample(MISSING[holder])
    assert np.array_equal(read_sample(MISSING[holder], nan="omit").values, [1.0, 3.0])


BAD = {
    "text": (["a", "b"], "text"),
    "numbers as text": (["1", "2"], "text"),
    "a word": ("sample", "text"),
    "bytes": ([b"1"], "bytes"),
    "booleans": ([True, False], "booleans"),
    "masked booleans": (np.ma.array([True, False]), "booleans"),
    "masked text": (np.ma.array(["a", "b"]), "text"),
    "complex": ([1j, 2.0], "complex"),
    "dates": (np.array(["2024-01-01"], "M8[D]"), "dates"),
    "durations": (np.array([1, 2], "m8[s]"), "durations"),
    "pandas text": (pd.Series(["a", "b"]), r"x\[0\] is 'a'|text"),
    "pandas dates": (pd.Series(pd.to_datetime(["2024-01-01"])), "dates"),
    "polars text": (pl.Series(["a", "b"]), r"x\[0\] is 'a'|text"),
    "mixed": (np.array([1.0, "b"], object), r"x\[1\] is 'b'"),
    "boolean among objects": (np.array([1.0, np.True_], object), r"x\[1\] is"),
    "a list inside": (np.array([1.0, [2.0, 3.0]], object), r"x\[1\] is a list"),
    "unequal lists": ([[1.0], [2.0, 3.0]], "cannot be read as an array"),
    "a dictionary": ({"a": 1}, "x is a dict; pass the list of its values"),
    "nothing": (None, "x is None, not a sample"),
    "a number": (3.5, "x is a single number"),
    "empty": ([], "x is empty"),
    "empty series": (pd.Series([], dtype=float), "x is empty"),
    "rows": ([[1.0, 2.0], [3.0, 4.0]], r"shape \(2, 2\).*axis=.*ravel"),
    "frame": (pd.DataFrame({"a": [1.0], "b": [2.0]}), r"a table of 2 columns \('a', 'b'\); pass one .* x\['a'\]"),
    "polars frame": (pl.DataFrame({"a": [1.0], "b": [2.0]}), "a table of 2 columns"),
    "frame without columns": (pd.DataFrame(index=[1, 2]), "a table without columns"),
    "set": ({1.0, 2.0}, "x is a set; pass a list, since it keeps equal values only once"),
    "frozenset": (frozenset([1.0]), "x is a frozenset; pass a list"),
    "infinite": ([1.0, math.inf], "inf at position 1"),
    "minus infinite": ([-math.inf, 2.0, -math.inf], r"-inf at position 0 \(2 such"),
    "beyond float64": ([1, 10**400], "inf at position 1"),
    "too large": ([1.0, 1e301], "1e\\+301 at position 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    given, message = BAD[name]
    with pytest.raises(InvalidSampleError, match=message):
        read_sample(given)


def test_all_missing():
    with pytest.raises(InvalidSampleError, match="all 2 values of x are missing"):
        read_sample([math.nan, None], nan="omit")


def test_infinity_is_an_error_even_where_missing_values_are_not():
    with pytest.raises(InvalidSampleError, match="inf at position 2"):
        read_sample([1.0, math.nan, math.inf], nan="omit")


def test_nan_option():
    with pytest.raises(InvalidParameterError, match='nan must be "raise" or "omit", not \'drop\''):
        read_sample([1.0], nan="drop")


@pytest.mark.parametrize("given", [[5.0, math.nan, 3.0], [[5.0, math.nan, 3.0], [1.0, 9.0, 0.0]]])
def test_the_callers_array_stays(given):
    x = np.array(given)
    x.flags.writeable = False
    before = x.copy()
    sample = read_sample(x, nan="omit").values if x.ndim == 1 else read_samples(x, axis=-1).values
    assert np.array_equal(x, before, equal_nan=True)
    assert not np.shares_memory(sample, x)
    ascending = np.array([1.0, 2.0])
    assert not np.shares_memory(read_sample(ascending).values, ascending)
    assert not np.shares_memory(read_samples(ascending[None], axis=-1).values, ascending)
    assert not np.shares_memory(read_numbers(ascending, "x"), ascending)


def test_weights_go_with_their_points():
    sample = read_sample([3.0, 1.0, 2.0, 5.0], weights=[6, 2, 0, 8])
    assert np.array_equal(sample.values, [1.0, 3.0, 5.0])
    np.testing.assert_allclose(sample.weights, [0.125, 0.375, 0.5], rtol=1e-15)


def test_weights_of_missing_values_are_dropped_with_them():
    sample = read_sample([3.0, math.nan, 1.0], weights=[1.0, math.nan, 3.0], nan="omit")
    np.testing.assert_allclose(sample.weights, [0.75, 0.25], rtol=1e-15)


@pytest.mark.parametrize("factor", [1e-320, 1e-300, 7.0, 1e300, 1e308])
def test_only_ratios_of_weights_matter(factor):
    sample = read_sample([1.0, 2.0], weights=[factor, factor])
    np.testing.assert_allclose(sample.weights, 0.5, rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"weights have shape \(1,\), but x has shape \(2,\)"),
        ([1.0, -1.0], "not negative; -1.0 is not"),
        ([1.0, math.nan], "nan is not"),
        ([1.0, math.inf], "inf is not"),
        ([0.0, 0.0], "all weights are zero"),
        (["a", "b"], "weights must hold real numbers, not text"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InvalidSampleError, match=message):
        read_sample([1.0, 2.0], weights=weights)


def rows_of(samples):
    return [samples.values[a:b].tolist() for a, b in zip(samples.offsets, samples.offsets[1:], strict=False)]


def test_many_samples_are_sorted_each_for_itself():
    samples = read_samples([[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]], axis=-1)
    assert rows_of(samples) == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert samples.shape == (2,)
    assert len(samples) == 2
    assert samples.sizes.tolist() == [3, 3]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_the_axis_is_that_of_numpy(axis):
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    samples = read_samples(x, axis=axis)
    assert samples.shape == np.std(x, axis=axis).shape
    means = [np.mean(row) for row in rows_of(samples)]
    np.testing.assert_allclose(np.reshape(means, samples.shape), np.mean(x, axis=axis), rtol=1e-12)


def test_rows_of_unequal_length_missing_and_infinite():
    rows = [[3.0, 1.0], [], [math.nan, 2.0, None], [math.inf, 1.0], (5.0,), np.array([1.0, 0.0]), pd.Series([2, 1])]
    samples = read_samples(rows, axis=-1)
    assert rows_of(samples) == [[1.0, 3.0], [], [2.0], [], [5.0], [0.0, 1.0], [1.0, 2.0]]
    assert samples.unusable.tolist() == [False, False, False, True, False, False, False]


def test_lists_of_masked_arrays_keep_their_masks():
    masked = [np.ma.array([1.0, 2.0, 900.0], mask=[False, False, True]) for _ in range(2)]
    assert rows_of(read_samples(masked, axis=-1)) == [[1.0, 2.0], [1.0, 2.0]]
    assert rows_of(read_samples(np.ma.stack(masked), axis=-1)) == [[1.0, 2.0], [1.0, 2.0]]


def test_frames_are_read_by_column_or_row():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, None]})
    assert rows_of(read_samples(frame, axis=0)) == [[1.0, 2.0], [3.0]]
    assert rows_of(read_samples(frame, axis=1)) == [[1.0, 3.0], [2.0]]
    assert rows_of(read_samples(pl.DataFrame({"a": [1, 2], "b": [3, None]}), axis=0)) == [[1.0, 2.0], [3.0]]


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (2, 0, 3)])
def test_empty_batches(shape):
    samples = read_samples(np.empty(shape), axis=-1)
    assert samples.shape == shape[:-1]
    assert samples.values.size == 0


@pytest.mark.parametrize("axis", [2, -3, 7])
def test_an_axis_that_is_not_there(axis):
    with pytest.raises(InvalidSampleError, match=rf"axis {axis} is out of range for x of shape \(2, 3\)"):
        read_samples(np.ones((2, 3)), axis=axis)


@pytest.mark.parametrize("axis", ["rows", 1.0, (0, 1), True])
def test_an_axis_that_is_none(axis):
    with pytest.raises(InvalidParameterError, match="axis must be a whole number"):
        read_samples(np.ones((2, 3)), axis=axis)


def test_rows_that_are_not_numbers_are_named():
    with pytest.raises(InvalidSampleError, match=r"x\[1\] must hold real numbers, not text"):
        read_samples([[1.0, 2.0], ["a"]], axis=-1)
    with pytest.raises(InvalidSampleError, match="out of range"):
        read_samples(3.0, axis=0)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        (None, (-math.inf, math.inf)),
        ((None, None), (-math.inf, math.inf)),
        ((0, None), (0.0, math.inf)),
        ([None, 1], (-math.inf, 1.0)),
        (np.array([-2, 3]), (-2.0, 3.0)),
        ((0, math.inf), (0.0, math.inf)),
        ((-math.inf, np.float32(2.5)), (-math.inf, 2.5)),
    ],
)
def test_bounds_are_read(given, bounds):
    assert read_bounds(given) == bounds
    assert (read_bounds(given) == OPEN) == (bounds == (-math.inf, math.inf))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, 1), "lower bound 1 must be below the upper bound 1"),
        ((2, 1), "lower bound 2 must be below the upper bound 1"),
        ((math.inf, None), "must be below"),
        ((None, -math.inf), "must be below"),
        ((math.nan, 1), "nan cannot be a bound"),
        ((0, 1e301), "cannot be a bound"),
        ((0, 1, 2), "must be a pair"),
        ((0,), "must be a pair"),
        (5, "must be a pair"),
        (("low", "high"), "must be a pair"),
        (("0", "1"), "must be a pair"),
        ("12", "must be a pair"),
        (([0], [1, 2]), "must be a pair"),
    ],
)
def test_bad_bounds(given, message):
    with pytest.raises(InvalidBoundsError, match=message):
        read_bounds(given)
