import math
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import amortized_kde as akde
from amortized_kde.data.reading import read_bounds, read_sample
from amortized_kde.errors import (
    AmortizedKdeError,
    BadRowsWarning,
    DegenerateSampleError,
    FallbackWarning,
    InvalidBoundsError,
    InvalidParameterError,
    InvalidSampleError,
)

# Trained selectors have tests of their own, and obey the laws in tests/contracts.
METHODS = [name for name in akde.selectors() if not name.startswith("amortized")]
RNG = np.random.default_rng(1)
X = RNG.gamma(2.0, 1.0, 60)


@pytest.mark.parametrize("method", METHODS)
def test_one_sample_gives_a_float(method):
    h = akde.bandwidth(X, method=method)
    assert isinstance(h, float)
    assert 0.02 < h < 2.0


def test_the_default_is_two_methods_by_name():
    assert akde.fit(X).method == akde.fit(X, method="amortized").method == "amortized:adaptive"
    assert akde.bandwidth(X) == akde.bandwidth(X, method="amortized:single")
    assert akde.bandwidth(X) == akde.fit(X, method="amortized:single").bandwidth
    with pytest.raises(DegenerateSampleError, match=r"'amortized:single' .* as bandwidth= .*--bandwidth"):
        akde.bandwidth([1.0, 1.0])


def test_a_bandwidth_instead_of_a_method():
    d, twin = akde.fit(X, bandwidth=0.3, bounds=(0, None)), akde.KernelDensity(X, 0.3, bounds=(0, None))
    assert (repr(d), d.domain) == (repr(twin), twin.domain)
    assert np.array_equal(d.logpdf(X), twin.logpdf(X))
    # Methods have no answer for a single value.
    assert akde.fit([2.0], bandwidth=0.3).mean() == 2.0
    cut = akde.fit(X, bandwidth=0.3, truncate=True, reference=[-1.0, 12.0])
    assert cut.bounds == cut.domain == akde.fit(X, method="scott", reference=[-1.0, 12.0]).domain
    for method in ("amortized", "silverman"):
        with pytest.raises(InvalidParameterError, match="give either method or bandwidth, not both"):
            akde.fit(X, method=method, bandwidth=0.3)
    for bad in (0.0, -1.0, math.nan, [0.1, 0.2]):
        with pytest.raises(InvalidParameterError, match="bandwidth must be a single positive finite number"):
            akde.fit(X, bandwidth=bad)


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_is_its_rows(method):
    x = RNG.standard_normal((7, 30))
    rows = [akde.bandwidth(row, method=method) for row in x]
    assert np.array_equal(akde.bandwidth(x, method=method, axis=-1), rows)
    assert np.array_equal(akde.bandwidth(x.T, method=method, axis=0), rows)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_the_axis_is_that_of_numpy(axis):
    x = RNG.standard_normal((4, 5, 6))
    found = akde.bandwidth(x, method="silverman", axis=axis)
    assert found.shape == np.std(x, axis=axis).shape
    expected = np.apply_along_axis(lambda row: akde.bandwidth(row, method="silverman"), axis, x)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_an_axis_of_one_sample_gives_a_float():
    assert akde.bandwidth(X, axis=0, method="lcv") == akde.bandwidth(X, method="lcv")
    assert isinstance(akde.bandwidth(X, axis=0), float)


def test_rows_of_unequal_length():
    rows = [X, X[:10], X[:3]]
    expected = [akde.bandwidth(row, method="lcv") for row in rows]
    assert np.array_equal(akde.bandwidth(rows, axis=-1, method="lcv"), expected)


@pytest.mark.parametrize("method", METHODS)
def test_missing_members_are_as_if_dropped(method):
    x = RNG.standard_normal((3, 40))
    x[0, 5:9], x[2, -1] = math.nan, math.nan
    rows = [row[~np.isnan(row)] for row in x]
    expected = [akde.bandwidth(row, method=method) for row in rows]
    assert np.array_equal(akde.bandwidth(x, method=method, axis=-1), expected)
    assert akde.bandwidth(x[0], method=method, nan="omit") == expected[0]


HOLDERS = {
    "masked": lambda x: np.ma.masked_invalid(x),
    "pandas": lambda x: pd.Series(x),
    "pandas Float64": lambda x: pd.Series(x, dtype="Float64"),
    "polars": lambda x: pl.Series([None if math.isnan(v) else v for v in x]),
    "None": lambda x: [None if math.isnan(v) else v for v in x],
    "pd.NA": lambda x: [pd.NA if math.isnan(v) else v for v in x],
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_holders_of_missing_values(holder):
    x = X.copy()
    x[[3, 50]] = math.nan
    held = HOLDERS[holder](x)
    expected = akde.bandwidth(np.delete(X, [3, 50]), method="lcv")
    assert akde.bandwidth(held, nan="omit", method="lcv") == expected
    assert akde.fit(held, nan="omit", method="lcv").bandwidth == expected
    assert akde.bandwidth([held, held], axis=-1, method="lcv").tolist() == [expected, expected]
    with pytest.raises(InvalidSampleError, match="position 3"):
        akde.bandwidth(held)


def test_frames():
    frame = pd.DataFrame({"a": X, "b": 2.0 * X})
    found = akde.bandwidth(frame, axis=0)
    np.testing.assert_allclose(found, [akde.bandwidth(X), 2.0 * akde.bandwidth(X)], rtol=1e-12)
    assert np.array_equal(akde.bandwidth(pl.from_pandas(frame), axis=0), found)


@pytest.mark.parametrize("method", METHODS)
def test_the_callers_array_stays(method):
    x = RNG.standard_normal((4, 20))
    before = x.copy()
    akde.bandwidth(x, method=method, axis=-1)
    akde.bandwidth(x[0], method=method)
    akde.fit(x[0], method=method).logpdf(x[1])
    akde.log_score(akde.fit(x[0], method=method), x[1])
    assert np.array_equal(x, before)


BAD_SAMPLES = {
    "empty": ([], "x is empty"),
    "all missing": ([math.nan, math.nan], "NaN"),
    "not numeric": (["high", "low"], "real numbers"),
    "infinite": ([1.0, 2.0, math.inf], "inf at position 2"),
    "missing": ([1.0, math.nan, 2.0], r"position 1.*nan=.omit"),
    "two-dimensional": ([[1.0, 2.0], [3.0, 4.0]], r"\(2, 2\).*axis="),
    "a number": (3.0, "single number"),
    "unequal rows": ([[1.0, 2.0], [3.0]], "cannot be read"),
}


@pytest.mark.parametrize("name", BAD_SAMPLES)
@pytest.mark.parametrize("act", [akde.bandwidth, akde.fit])
def test_bad_samples(name, act):
    x, message = BAD_SAMPLES[name]
    if act is akde.fit and name == "unequal rows":
        message = "rows 0 and 1 of x have lengths 2 and 1"
    with pytest.raises(InvalidSampleError, match=message) as error:
        act(x)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, AmortizedKdeError)
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text


def test_all_missing_is_an_error_even_where_they_are_omitted():
    with pytest.raises(InvalidSampleError, match="all 2 values of x are missing"):
        akde.bandwidth([math.nan, None], nan="omit")


@pytest.mark.parametrize("act", [akde.bandwidth, akde.fit])
def test_bad_bounds(act):
    with pytest.raises(InvalidBoundsError, match=r"60 of 60 values lie outside.*above the upper bound -1"):
        act(X, bounds=(None, -1))
    with pytest.raises(InvalidBoundsError, match="lower bound 1 must be below the upper bound 1"):
        act(X, bounds=(1, 1))
    with pytest.raises(InvalidBoundsError, match="must be a pair"):
        act(X, bounds=0)


@pytest.mark.parametrize("act", [akde.bandwidth, akde.fit])
def test_unknown_methods_and_options(act):
    with pytest.raises(InvalidParameterError, match="Did you mean 'silverman'"):
        act(X, method="silvermann")
    with pytest.raises(InvalidParameterError, match="nan must be"):
        act(X, nan="ignore")
    for threads in (0, -2, "two", 1.5):
        with pytest.raises(InvalidParameterError, match="threads must be"):
            act(X, threads=threads)


@pytest.mark.parametrize("act", [akde.bandwidth, akde.fit])
@pytest.mark.parametrize("method", METHODS)
def test_samples_without_a_scale(act, method):
    for x in ([2.0], [0.1, 0.1, 0.1]):
        with pytest.raises(DegenerateSampleError, match=f"'{method}' has no answer.*your own bandwidth"):
            act(x, method=method)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("sheather-jones-r", "isj")])
def test_no_interquartile_range_is_a_named_fallback(method):
    x = [0.0, *[1.0] * 8, 3.0]
    with pytest.warns(FallbackWarning, match=f"^{method}: .*interquartile range is 0") as record:
        h = akde.bandwidth(x, method=method)
    assert 0.0 < h < 3.0
    assert record[0].filename == __file__
    with pytest.warns(FallbackWarning) as record:
        assert akde.fit(x, method=method).bandwidth == h
    assert record[0].filename == __file__


@pytest.mark.parametrize("method", METHODS)
def test_one_bad_row_never_spoils_the_others(method):
    good = [RNG.gamma(2.0, 1.0, 25) for _ in range(3)]
    rows = [good[0], [1.0], good[1], [5.0, 5.0, 5.0], [], [math.nan], [1.0, math.inf, 2.0], [-1.0, 2.0, 3.0], good[2]]
    with pytest.warns(BadRowsWarning) as record:
        found = akde.bandwidth(rows, method=method, axis=-1, bounds=(0, None))
    expected = [akde.bandwidth(x, method=method, bounds=(0, None)) for x in good]
    assert found[[0, 2, 8]].tolist() == expected
    assert np.all(np.isnan(np.delete(found, [0, 2, 8])))
    assert len(record) == 1
    assert record[0].filename == __file__
    message = str(record[0].message)
    assert message.startswith("6 of 9 samples have no answer (NaN): ")
    for part in ("1 × infinite value", "2 × empty or all missing", "1 × outside the bounds", "1 × a single value"):
        assert part in message


def test_fallbacks_in_a_batch_are_counted():
    rows = [X, [0.0, *[1.0] * 8, 3.0], [0.0, *[2.0] * 8, 3.0]]
    with pytest.warns(FallbackWarning, match="silverman, 2 of 3 samples: the interquartile range is 0"):
        found = akde.bandwidth(rows, method="silverman", axis=-1)
    assert found[0] == akde.bandwidth(X, method="silverman")


def test_a_good_batch_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert akde.bandwidth(np.empty((0, 5)), axis=-1).shape == (0,)
        assert np.all(akde.bandwidth(RNG.standard_normal((3, 8)), axis=-1) > 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_classical_selectors_ignore_the_bounds(method):
    free, bounded = akde.bandwidth(X, method=method), akde.bandwidth(X, method=method, bounds=(0, None))
    assert (free == bounded) == (method != "lcv")


def test_fit_keeps_its_options():
    d = akde.fit(X, bounds=(0, None), method="silverman")
    assert d.bandwidth == akde.bandwidth(X, method="silverman")
    assert d.bounds == (0.0, None)
    assert d.method == "silverman"
    margin = (X.max() - X.min()) / 59
    assert d.domain == pytest.approx((0.0, X.max() + margin), rel=1e-15)
    assert np.array_equal(d.points, np.sort(X))


def test_reference_and_truncation():
    d = akde.fit(X, reference=[0.0, 20.0, 10.0])
    assert d.bounds == (None, None)
    assert d.domain == (-10.0, 30.0)
    d = akde.fit(X, reference=[0.0, 20.0, 10.0], truncate=True)
    assert d.bounds == d.domain == (-10.0, 30.0)
    d = akde.fit(X, bounds=(0, None), truncate=True)
    assert d.bounds == d.domain
    assert d.cdf(d.bounds[1]) == 1.0
    for bad, message in ([[1.0, "a"], "reference"], [[], "reference is empty"], [[1.0, math.nan], "reference has"]):
        with pytest.raises(InvalidSampleError, match=message):
            akde.fit(X, reference=bad)


def test_options_are_keywords():
    for act in (akde.bandwidth, akde.fit):
        with pytest.raises(TypeError):
            act(X, "silverman")


@pytest.mark.parametrize("method", ["amortized", "amortized:gmm32", "silverman"])
def test_weights_of_a_batch(method):
    x, w = RNG.standard_normal((3, 4, 25)), RNG.gamma(1.0, 1.0, (3, 4, 25))
    found = akde.bandwidth(x, weights=w, method=method, axis=1)
    alike = akde.bandwidth(x, weights=w[0, :, 0], method=method, axis=1)
    for i in range(3):
        for j in range(25):
            assert found[i, j] == pytest.approx(
                akde.bandwidth(x[i, :, j], weights=w[i, :, j], method=method), rel=1e-12
            )
            one = akde.bandwidth(x[i, :, j], weights=w[0, :, 0], method=method)
            assert alike[i, j] == pytest.approx(one, rel=1e-12)


def test_a_row_without_weight_is_an_empty_one():
    x, w = RNG.standard_normal((2, 9)), [[0.0] * 9, [1.0, *[2.0] * 8]]
    with pytest.warns(BadRowsWarning, match=r"1 of 2 samples have no answer \(NaN\): 1 × empty or all missing"):
        found = akde.bandwidth(x, weights=w, axis=-1)
    assert np.isnan(found).tolist() == [True, False]


@pytest.mark.parametrize("act", [akde.bandwidth, akde.fit])
def test_bad_weights(act):
    for weights, message in (
        (X[:5], "weights have shape"),
        (-X, "not negative"),
        (0.0 * X, "all weights are zero"),
        (["a"] * 60, "real numbers"),
    ):
        with pytest.raises(InvalidSampleError, match=message):
            act(X, weights=weights)


def test_the_working_domain_is_wider_where_weights_make_the_sample_smaller():
    w = np.append(np.ones(59), 30.0)
    n = w.sum() ** 2 / np.sum(w**2)
    margin = np.ptp(X) / (n - 1.0)
    expected = (X.min() - margin, X.max() + margin)
    assert akde.fit(X, weights=w).domain == pytest.approx(expected, rel=1e-12)
    assert akde.fit(X, weights=w, method="silverman").domain == pytest.approx(expected, rel=1e-12)
    assert akde.KernelDensity(X, 1.0, weights=w).domain == pytest.approx(expected, rel=1e-12)
    assert akde.fit(X, weights=w, truncate=True).bounds == pytest.approx(expected, rel=1e-12)


def test_points_of_weight_zero_need_not_lie_inside_the_bounds():
    h = akde.bandwidth([-5.0, *X], weights=[0.0, *np.ones(60)], bounds=(0, None))
    assert h == akde.bandwidth(X, bounds=(0, None))


N = 70_000
LARGE = {
    "normal": (lambda rng: rng.standard_normal(N), None),
    "skewed, with a bound": (lambda rng: rng.gamma(0.7, 2.0, N), (0, None)),
    "bimodal between bounds": (lambda rng: rng.beta(2.0, 5.0, N) * rng.choice([-1.0, 1.0], N), (-1, 1)),
    "rounded": (lambda rng: rng.standard_normal(N).round(2), None),
    "heavy tails": (lambda rng: rng.standard_cauchy(N), None),
    "many zeros": (lambda rng: rng.exponential(1.0, N) * (rng.random(N) > 0.3), (0, None)),
}


def large_sample(name):
    make, bounds = LARGE[name]
    return make(np.random.default_rng(17)), bounds


def shown(d, x):
    """Arguments among the data, beyond them, and at the bounds."""
    low, high = d.support()
    span = np.quantile(x, 0.9) - np.quantile(x, 0.1)
    y = np.concatenate([np.quantile(x, np.linspace(0.0, 1.0, 41)), np.median(x) + span * np.linspace(-20.0, 20.0, 60)])
    return np.clip(y, low, high)


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.UnlikeTrainingWarning")
@pytest.mark.parametrize("name", LARGE)
def test_the_density_of_a_large_sample_is_that_of_all_its_points(name):
    x, bounds = large_sample(name)
    d = akde.fit(x, bounds=bounds)
    every = akde.KernelDensity.from_ladder(
        read_sample(x),
        d.bandwidths,
        d.shares,
        bounds=read_bounds(bounds),
        epsilon=d.epsilon,
        background=d.background,
    )
    y = shown(d, x)
    np.testing.assert_allclose(d.logpdf(y), every.logpdf(y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(d.pdf(y), every.pdf(y), rtol=1e-6)
    np.testing.assert_allclose(d.cdf(y), every.cdf(y), atol=1e-13)
    p = np.array([1e-9, 0.01, 0.5, 0.9, 1.0 - 1e-9])
    np.testing.assert_allclose(d.cdf(d.ppf(p)), p, atol=1e-12)
    assert d.bandwidth == pytest.approx(every.bandwidth, rel=1e-12)
    assert d.mean() == pytest.approx(every.mean(), rel=1e-12, abs=1e-12)


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.UnlikeTrainingWarning")
@pytest.mark.parametrize("method", ["amortized", "amortized:single"])
@pytest.mark.parametrize("name", LARGE)
def test_binned_densities_obey_the_laws(name, method):
    x, bounds = large_sample(name)
    d = akde.fit(x, bounds=bounds, method=method)
    y = shown(d, x)
    found = d.pdf(y)
    np.testing.assert_allclose(found, np.exp(d.logpdf(y)), rtol=1e-6)
    shuffled = akde.fit(np.random.default_rng(1).permutation(x), bounds=bounds, method=method, threads=1)
    assert np.array_equal(shuffled.pdf(y, threads=1), found)
    shift, factor = 3.7, 1e4
    scaled = bounds and tuple(None if end is None else shift + factor * end for end in bounds)
    moved = akde.fit(shift + factor * x, bounds=scaled, method=method)
    inside = np.clip(shift + factor * y, *moved.support())
    np.testing.assert_allclose(factor * moved.pdf(inside), found, rtol=1e-6, atol=1e-12 * found.max())
    mirrored = bounds and tuple(None if end is None else -end for end in bounds[::-1])
    np.testing.assert_allclose(akde.fit(-x, bounds=mirrored, method=method).pdf(-y), found, rtol=1e-6)


def test_a_large_sample_takes_no_more_memory_than_a_few_times_its_own():
    x, grid = np.random.default_rng(2).standard_normal(300_000), np.linspace(-6.0, 6.0, 200)
    akde.fit(x[:N]).pdf(grid)
    tracemalloc.start()
    akde.fit(x).pdf(grid)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * x.nbytes
