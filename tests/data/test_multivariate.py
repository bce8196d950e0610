import numpy as np
import pandas as pd
import polars as pl
import pytest

import amortized_kde as akde
from amortized_kde.data.multivariate import find_axis, has_columns, read_box, read_multivariate
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.errors import (
    DegenerateSampleError,
    InvalidBoundsError,
    InvalidParameterError,
    InvalidSampleError,
)

X = np.random.default_rng(0).normal(size=(20, 3))
NAMES = ("a", "b", "c")


def sorted_rows(x):
    return x[np.lexsort(x.T[::-1])]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        lambda x: x.tolist(),
        lambda x: tuple(x.T),
        lambda x: [pd.Series(column) for column in x.T],
        lambda x: np.asfortranarray(x),
        lambda x: x.astype(object),
    ],
)
def test_all_containers_give_the_same_rows(make):
    sample = read_multivariate(make(X))
    np.testing.assert_array_equal(sample.values, sorted_rows(X))
    assert sample.names == ("x0", "x1", "x2")
    assert sample.weights is None


@pytest.mark.parametrize(
    "make",
    [
        lambda x: pd.DataFrame(x, columns=NAMES),
        lambda x: pl.DataFrame(x, schema=NAMES),
        lambda x: dict(zip(NAMES, x.T.tolist(), strict=True)),
        lambda x: [pd.Series(column, name=name) for column, name in zip(x.T, NAMES, strict=True)],
    ],
)
def test_names_are_kept(make):
    sample = read_multivariate(make(X))
    np.testing.assert_array_equal(sample.values, sorted_rows(X))
    assert sample.names == NAMES


@pytest.mark.parametrize(
    "x",
    [[1.0, 2.0], np.ones(3), pd.Series([1.0]), pd.DataFrame({"a": [1.0, 2.0]}), range(3), iter([1.0]), {1: 2.0}, []],
)
def test_one_dimensional_samples_are_none(x):
    assert not has_columns(x)


def test_input_is_left_unmodified():
    x = X.copy()
    read_multivariate(x)
    np.testing.assert_array_equal(x, X)


def test_weights_follow_their_rows():
    weights = np.arange(20.0)
    sample = read_multivariate(X, weights=weights)
    assert len(sample.values) == 19
    assert sample.weights.sum() == pytest.approx(1.0, abs=1e-15)
    row = int(np.flatnonzero(sample.values[:, 0] == X[7, 0])[0])
    assert sample.weights[row] == pytest.approx(7.0 / weights.sum())
    assert sample.effective_size == pytest.approx(weights.sum() ** 2 / np.sum(weights**2))
    assert read_multivariate(X, weights=np.full(20, 3.0)).weights is None


def test_a_column_is_a_sample():
    sample = read_multivariate(pd.DataFrame(X, columns=NAMES), weights=np.arange(1.0, 21.0))
    column = sample.column(1)
    assert column.name == "b"
    np.testing.assert_array_equal(column.values, np.sort(X[:, 1]))
    assert column.weights[0] == pytest.approx((1 + np.argmin(X[:, 1])) / 210.0)


def test_missing_rows_can_be_omitted():
    x = X.copy()
    x[4, 1] = x[9, 0] = np.nan
    with pytest.raises(InvalidSampleError, match=r"row 4, column 'x1' \(2 of 20 rows in all\).*nan=\"omit\""):
        read_multivariate(x)
    np.testing.assert_array_equal(read_multivariate(x, nan="omit").values, sorted_rows(np.delete(x, [4, 9], axis=0)))


LINE = np.linspace(0.0, 1.0, 20)
BAD = {
    "SciPy's (d, n)": (X.T, InvalidSampleError, r"\(3, 20\).*as in SciPy, pass x\.T.*axis="),
    "one column": (X[:, :1], InvalidSampleError, r"\(20, 1\).*x\[:, 0\]"),
    "one column in a list": ([LINE], InvalidSampleError, r"one column; pass that, x\[0\]"),
    "SciPy's (d, n) in lists": (X.T.tolist(), InvalidSampleError, r"pass np\.transpose\(x\)"),
    "few rows as arrays": (list(X[:5]), InvalidSampleError, r"\(3, 5\).*if these are rows, pass np\.array\(x\)"),
    "too many columns": (np.ones((20, 9)), InvalidSampleError, "9 columns.*at most 8.*choose some.*axis="),
    "too many rows and columns": (np.ones((9, 20)), InvalidSampleError, "needs at least 21 rows; for the bandwidths"),
    "as many rows as columns": (X[:3], InvalidSampleError, "at least 4 rows"),
    "constant": (np.stack([LINE, 0 * LINE + 2], 1), DegenerateSampleError, "column 'x1' of x is constant"),
    "collinear": (
        np.stack([LINE, X[:, 0], 3 * LINE - X[:, 0] + 1e6], 1),
        DegenerateSampleError,
        "'x0', 'x1' and 'x2' of x are collinear",
    ),
    "two collinear": (
        np.stack([LINE, X[:, 0], 1 - LINE], 1),
        DegenerateSampleError,
        "'x0' and 'x2' of x are collinear",
    ),
    "equal rows": (np.ones((20, 3)), DegenerateSampleError, "all 20 rows of x are equal"),
    "all missing": (np.full((20, 3), np.nan), InvalidSampleError, "every row of x has a missing value"),
    "infinite": (np.where(X[5, 1] == X, np.inf, X), InvalidSampleError, "inf in row 5 of column 'x1'"),
    "three axes": (np.ones((4, 5, 6)), InvalidSampleError, r"not \(n, d\).*d columns.*axis="),
    "unequal columns": ((LINE, LINE[:5]), InvalidSampleError, "'x0' and 'x1' of x have 20 and 5 values"),
    "rows as arrays": (list(X), InvalidSampleError, "20 columns.*np.array"),
    "text": ([["a", "b"], ["c", "d"]], InvalidSampleError, "must hold real numbers, not text"),
    "text in one column": (pd.DataFrame({"a": LINE, "b": "x"}), InvalidSampleError, r"x\['b'\]\[0\] is 'x'"),
    "unequal rows": ([[1, 2], [3], [4, 5]], InvalidSampleError, "rows 0 and 1 of x have lengths 2 and 1"),
    "numbers among rows": ([[1, 2], 3.0, [4, 5]], InvalidSampleError, "rows 0 and 1 of x have lengths 2 and 1"),
    "two names": (pd.DataFrame(X[:, :2], columns=["a", "a"]), InvalidSampleError, "two columns with the name 'a'"),
    "two keys of one name": ({1: LINE, "1": X[:, 0]}, InvalidSampleError, "two columns with the name '1'"),
    "nearly collinear": (
        np.stack([LINE, LINE + 1e-8 * X[:, 0]], 1),
        DegenerateSampleError,
        "'x0' and 'x1' of x are collinear",
    ),
    "tiny": (1e-200 * X, InvalidSampleError, "column 'x0' of x has a spread of about .*e-200.*other units"),
    "huge": (X * [1.0, 1e200, 1.0], InvalidSampleError, r"column 'x1' of x has a spread of about .*e\+\d+, of which"),
    "no rows": (np.empty((0, 2)), InvalidSampleError, "empty"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("act", [akde.fit, akde.compare])
def test_bad_samples_get_one_sentence(name, act):
    x, kind, message = BAD[name]
    with pytest.raises(kind, match=message) as error:
        act(x)
    assert str(error.value).count(". ") == 0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"weights have shape \(1,\), but x has 20 rows"),
        (np.zeros(20), "all weights are zero"),
        (-LINE, "not negative"),
    ],
)
def test_bad_weights_get_one_sentence(weights, message):
    with pytest.raises(InvalidSampleError, match=message):
        akde.fit(X, weights=weights)


def test_too_few_rows_that_count_get_one_sentence():
    with pytest.raises(InvalidSampleError, match=r"3 rows without missing values or weights of zero.*at least 4"):
        akde.fit(X, weights=np.repeat([1.0, 0.0], [3, 17]))
    with pytest.raises(InvalidSampleError, match=r"3 rows without missing values or weights of zero.*at least 4"):
        akde.fit(np.where(np.arange(20)[:, None] < 3, X, np.nan), nan="omit")


@pytest.mark.parametrize("method", ["scott", "lcv", "amortized"])
@pytest.mark.parametrize("scale", [1e-130, 1e130])
def test_scales_that_are_allowed_work(method, scale):
    d, tiny = akde.fit(X, method=method), akde.fit(scale * X, method=method)
    np.testing.assert_allclose(tiny.logpdf(scale * X) + 3.0 * np.log(scale), d.logpdf(X), atol=1e-6)


def test_bounds_by_place_and_by_name():
    box = (Bounds(0.0), OPEN, Bounds(-1.0, 2.0))
    assert read_box([(0, None), None, (-1, 2)], NAMES) == box
    assert read_box({"a": (0, None), "c": (-1, 2)}, NAMES) == box
    assert read_box({0: (0, None), -1: (-1, 2)}, NAMES) == box
    assert read_box(np.array([[0, np.inf], [-np.inf, np.inf], [-1, 2]]), NAMES) == box
    assert read_box(None, NAMES) == (OPEN, OPEN, OPEN)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((0, None), r"one pair, but there are 3 columns.*\[\(0, None\), None, None\]"),
        ([(0, None), None], "2 pairs of bounds are given for 3 columns"),
        ({"b": (1, 0)}, "column 'b': the lower bound 1 must be below"),
        ({"z": (0, 1)}, "no variable 'z'.*'a', 'b', 'c'"),
        ("no", "a list of 3 pairs"),
        (3.0, "a list of 3 pairs"),
        ([("p", 1), None, None], "column 'a': bounds must be a pair"),
        ({"c": (0, None)}, r"\d+ of 20 values of column 'c' lie outside the bounds \(for example -"),
    ],
)
def test_bad_bounds_get_one_sentence(bounds, message):
    with pytest.raises(InvalidBoundsError, match=message):
        akde.fit(pd.DataFrame(X, columns=NAMES), bounds=bounds)


def test_variables_by_name_or_number():
    assert [find_axis(key, NAMES) for key in ("b", 2, -3, np.int64(1))] == [1, 2, 0, 1]
    assert find_axis(7, ("3", "7")) == 1
    for key in ("x", 3, None, True, 1.0):
        with pytest.raises(InvalidParameterError, match="no variable"):
            find_axis(key, NAMES)


def test_one_column_of_a_mapping_is_named():
    with pytest.raises(InvalidSampleError, match=r"one column, 'a'; pass that, x\['a'\]"):
        akde.fit({"a": X[:, 0]})


def test_a_batch_is_not_one_sample():
    """`fit` takes one sample in d dimensions, `bandwidth` with an axis many samples; each names the other."""
    assert akde.fit(X, method="scott").dimension == 3
    assert akde.bandwidth(X, axis=0, method="scott").shape == (3,)
    with pytest.raises(InvalidSampleError, match=r"axis=.*d dimensions fit"):
        akde.bandwidth(X)
    with pytest.raises(InvalidSampleError, match="all of them to fit"):
        akde.bandwidth(pd.DataFrame(X))


@pytest.mark.parametrize("option", [{"bandwidth": 1.0}, {"truncate": True}, {"reference": [1.0, 2.0]}])
def test_options_of_one_variable_are_refused(option):
    with pytest.raises(InvalidParameterError, match="samples of one variable"):
        akde.fit(X, **option)
