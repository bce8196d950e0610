"""The laws of importance weights, which every selector and every fitted density obeys (docs/weights.md)."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import amortized_kde as akde
from amortized_kde.errors import DegenerateSampleError, InvalidParameterError
from amortized_kde.selection import SELECTORS

pytestmark = [
    pytest.mark.filterwarnings("ignore::amortized_kde.errors.FallbackWarning"),
    pytest.mark.filterwarnings("ignore::amortized_kde.errors.UnlikeTrainingWarning"),
]

# R's has no weights.
UNWEIGHTED = {"sheather-jones-r"}
# The paper's five features have a signed mean and skewness, which its networks do not treat alike.
REFLECTION_EXEMPT = {f"amortized:{model}" for model in ("multifamily", "gmm8", "gmm16", "gmm32")}
METHODS = [name for name in SELECTORS if name not in UNWEIGHTED]

SHAPES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "skewed": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "heavy": lambda rng, n: rng.standard_t(3.0, n),
    "clusters": lambda rng, n: rng.normal(0.0, 0.1, n) + rng.choice([-3.0, 0.0, 1.0], n),
    "rounded": lambda rng, n: np.round(rng.standard_normal(n), 1),
    "many zeros": lambda rng, n: rng.exponential(2.0, n) * (rng.random(n) > 0.4),
    "outlier": lambda rng, n: np.append(rng.standard_normal(n - 1), 60.0),
}
WEIGHTS = {
    "gamma": lambda rng, n: rng.gamma(0.7, 1.0, n),
    "whole": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "some zero": lambda rng, n: np.append(rng.integers(0, 3, n - 2), [1, 2]).astype(float),
    "decades": lambda rng, n: 10.0 ** rng.uniform(-4.0, 0.0, n),
    "one heavy": lambda rng, n: np.append(np.ones(n - 1), 3.0 * n),
}


@st.composite
def weighted(draw, most=150):
    """A sample that is not constant, and weights for it."""
    n = draw(st.one_of(st.integers(3, 12), st.integers(13, most)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = SHAPES[draw(st.sampled_from(sorted(SHAPES)))](rng, n)
    w = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))](rng, n)
    assume(x[w > 0.0].min() < x[w > 0.0].max())
    return x, w


@st.composite
def bounds_of(draw, x):
    """Bounds at a distance from the data, at the data's own ends, or none."""
    margins, span = st.sampled_from([None, 0.0, 0.1, 1.0]), np.ptp(x)
    low, high = draw(margins), draw(margins)
    return (None if low is None else x.min() - low * span, None if high is None else x.max() + high * span)


def moved(bounds, shift, factor):
    ends = [None if end is None else shift + factor * end for end in bounds]
    return tuple(ends[::-1]) if factor < 0.0 else tuple(ends)


def answer(x, w, method, bounds=(None, None)):
    """The bandwidth, or None where the selector documents that there is none."""
    try:
        return akde.bandwidth(x, weights=w, method=method, bounds=bounds)
    except DegenerateSampleError:
        return None


def agree(found, expected, tolerance=1e-9):
    if found is None or expected is None:
        return found is expected
    return found == pytest.approx(expected, rel=tolerance, abs=0.0)


def for_every_selector(*, exempt=()):
    names = [name for name in METHODS if name not in exempt]
    return functools.partial(pytest.mark.parametrize, "method", names)()


@for_every_selector()
@given(data=st.data(), factor=st.floats(-250.0, 250.0).map(lambda e: 10.0**e))
def test_only_ratios_of_weights_matter(method, data, factor):
    x, w = data.draw(weighted())
    bounds = data.draw(bounds_of(x))
    assert agree(answer(x, factor * w, method, bounds), answer(x, w, method, bounds))


@for_every_selector()
@given(data=st.data())
def test_a_weight_of_zero_is_no_point(method, data):
    x, w = data.draw(weighted())
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    places = rng.integers(0, x.size + 1, 3)
    with_zeros = np.insert(x, places, rng.normal(0.0, 5.0, 3)), np.insert(w, places, 0.0)
    assert answer(*with_zeros, method) == answer(x[w > 0.0], w[w > 0.0], method)


@for_every_selector()
@given(data=st.data(), weight=st.floats(1e-300, 1e300))
def test_equal_weights_are_no_weights_to_the_last_bit(method, data, weight):
    x, _ = data.draw(weighted())
    bounds = data.draw(bounds_of(x))
    assert answer(x, np.full(x.size, weight), method, bounds) == answer(x, None, method, bounds)


@for_every_selector()
@given(data=st.data())
def test_nearly_equal_weights_give_nearly_the_same(method, data):
    # The path of unequal weights, judged by the other one.
    n, seed = data.draw(st.integers(3, 300)), data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    x = SHAPES[data.draw(st.sampled_from(["normal", "skewed", "rounded"]))](rng, n)
    assume(x.min() < x.max())
    w = 1.0 + 1e-13 * rng.standard_normal(n)
    assume(w.min() < w.max())
    assert agree(answer(x, w, method), answer(x, None, method), 1e-8)


@for_every_selector()
@given(data=st.data(), offset=st.floats(-1e3, 1e3), factor=st.floats(-6.0, 6.0).map(lambda e: 10.0**e))
def test_shift_and_scale(method, data, offset, factor):
    x, w = data.draw(weighted())
    bounds, shift = data.draw(bounds_of(x)), offset * factor
    there = shift + factor * x
    # Rounding must not make ties, nor end them.
    assume(np.unique(there).size == np.unique(x).size)
    h = answer(x, w, method, bounds)
    found = answer(there, w, method, moved(bounds, shift, factor))
    present = x[w > 0.0]
    spread = min(np.std(present), np.subtract(*np.percentile(present, [75, 25])) or np.std(present))
    assert agree(found, None if h is None else factor * h, 1e-8 * max(1.0, abs(offset) / spread))


@for_every_selector(exempt=REFLECTION_EXEMPT)
@given(data=st.data())
def test_reflection(method, data):
    x, w = data.draw(weighted())
    bounds = data.draw(bounds_of(x))
    assert agree(answer(-x, w, method, moved(bounds, 0.0, -1.0)), answer(x, w, method, bounds))


@for_every_selector()
@given(data=st.data())
def test_permutation_with_the_weights_moved_along(method, data):
    x, w = data.draw(weighted())
    bounds = data.draw(bounds_of(x))
    order = np.random.default_rng(data.draw(st.integers(0, 1000))).permutation(x.size)
    assert agree(answer(x[order], w[order], method, bounds), answer(x, w, method, bounds), 1e-11)


@for_every_selector()
@given(data=st.data())
def test_a_row_of_a_batch_is_a_sample(method, data):
    rows = data.draw(st.lists(weighted(most=40), min_size=1, max_size=4))
    # Among others stand an empty row, one of weight zero, and one with equal weights.
    x, w = [x for x, _ in rows], [w for _, w in rows]
    assume(answer(x[0], None, method) is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", akde.errors.AmortizedKdeWarning)
        found = akde.bandwidth(
            [[], [1.0], *x, x[0]], weights=[[], [0.0], *w, np.ones(x[0].size)], method=method, axis=-1
        )
    assert np.isnan(found[:2]).all()
    for h, given_x, given_w in zip(found[2:-1], x, w, strict=True):
        assert agree(None if np.isnan(h) else h, answer(given_x, given_w, method), 1e-12)
    assert found[-1] == akde.bandwidth(x[:1], method=method, axis=-1)[0]


@for_every_selector()
@given(data=st.data())
def test_input_stays_and_the_answer_is_a_bandwidth(method, data):
    x, w = data.draw(weighted())
    before = x.copy(), w.copy()
    x.flags.writeable = w.flags.writeable = False
    h = answer(x, w, method)
    assert np.array_equal(x, before[0])
    assert np.array_equal(w, before[1])
    assert answer(x, w, method) == h
    assert h is None or (h > 0.0 and np.isfinite(h))


@for_every_selector()
@pytest.mark.parametrize("decades", [20.0, 290.0])
@pytest.mark.parametrize("n", [2, 5, 60, 400])
def test_weights_over_all_decades_have_an_answer(method, n, decades):
    rng = np.random.default_rng(n)
    x, w = rng.standard_normal(n), 10.0 ** rng.uniform(-decades, 0.0, n)
    h = akde.bandwidth(x, weights=w, method=method)
    assert 0.0 < h < np.inf
    d = akde.fit(x, weights=w, method=method)
    assert np.isfinite(d.logpdf(x)).all()


LARGE = np.random.default_rng(41).gamma(2.0, 1.0, 5200)
LARGE_WEIGHTS = {
    "gamma": np.random.default_rng(42).gamma(0.7, 1.0, 5200),
    "one heavy": np.append(np.ones(5199), 2000.0),
    "towards one end": np.exp(-2.0 * LARGE),
}


@for_every_selector()
@pytest.mark.parametrize("name", LARGE_WEIGHTS)
def test_large_samples_too(method, name):
    w = LARGE_WEIGHTS[name]
    h = akde.bandwidth(LARGE, weights=w, method=method)
    assert agree(akde.bandwidth(1.7e-5 * LARGE, weights=3.0 * w, method=method), 1.7e-5 * h)
    assert agree(akde.bandwidth(1e3 + LARGE, weights=w, method=method), h, 1e-6)
    if method not in REFLECTION_EXEMPT:
        assert agree(akde.bandwidth(-LARGE, weights=w, method=method), h)


@for_every_selector()
@pytest.mark.parametrize("n", [60, 700])
def test_a_sample_in_two_halves_of_the_weight_is_about_the_half(method, n):
    # Of twice as many points a half is chosen by weight; the others hardly count.
    rng = np.random.default_rng(n)
    x, chosen = rng.gamma(3.0, 1.0, 2 * n), np.repeat([1.0, 1e-9], n)
    h = akde.bandwidth(x, weights=chosen, method=method, bounds=(0, 40))
    alone = akde.bandwidth(x[:n], method=method, bounds=(0, 40))
    assert h == pytest.approx(alone, rel=1e-3)


@st.composite
def counted(draw):
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = SHAPES[draw(st.sampled_from(sorted(SHAPES)))](rng, n)
    return x, rng.integers(0, 5, n) + (np.arange(n) == 0)


@given(counted(), st.sampled_from([None, (-100.0, None), (-100.0, 100.0)]), st.sampled_from([0.05, 0.4, 3.0]))
def test_whole_weights_are_repeated_points_at_the_same_bandwidth(sample, bounds, h):
    x, counts = sample
    by_weight = akde.KernelDensity(x, h, bounds=bounds, weights=counts)
    repeated = akde.KernelDensity(np.repeat(x, counts), h, bounds=bounds)
    y, p = np.linspace(x.min() - 3.0, x.max() + 3.0, 41), np.linspace(0.01, 0.99, 21)
    np.testing.assert_allclose(by_weight.logpdf(y), repeated.logpdf(y), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(by_weight.cdf(y), repeated.cdf(y), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(by_weight.ppf(p), repeated.ppf(p), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_a_fitted_density_has_the_weights_and_the_bandwidth(method, data):
    x, w = data.draw(weighted())
    bounds = data.draw(bounds_of(x))
    h = answer(x, w, method, bounds)
    assume(h is not None)
    d = akde.fit(x, weights=w, method=method, bounds=bounds)
    order = np.lexsort((w, x))
    np.testing.assert_allclose(d.weights, w[order][w[order] > 0.0] / w.sum(), rtol=1e-12)
    # By that name a density has many bandwidths and a bandwidth is one.
    if method != "amortized":
        assert d.bandwidth == pytest.approx(h, rel=1e-9)
    if d.bandwidths.size == 1:
        alike = akde.KernelDensity(x, d.bandwidth, weights=w, bounds=bounds)
        assert np.array_equal(d.logpdf(x), alike.logpdf(x))


@given(data=st.data(), factor=st.sampled_from([1e-3, 1.0, 3.0]), shift=st.sampled_from([0.0, -7.0]))
def test_an_adaptive_density_moves_with_the_data_and_their_weights(data, factor, shift):
    x, w = data.draw(weighted())
    bounds = data.draw(bounds_of(x))
    there = shift + factor * x
    assume(np.unique(there).size == np.unique(x).size)
    d = akde.fit(x, weights=w, bounds=bounds)
    y = np.clip(np.linspace(x.min() - 1.0, x.max() + 1.0, 31), *(d.bounds[0], d.bounds[1]))
    here = d.logpdf(y)
    at = np.clip(shift + factor * y, *moved(bounds, shift, factor))
    shifted = akde.fit(there, weights=5.0 * w, bounds=moved(bounds, shift, factor)).logpdf(at)
    np.testing.assert_allclose(shifted + np.log(factor), here, rtol=1e-6, atol=1e-6)
    turned = akde.fit(-x[::-1], weights=w[::-1], bounds=moved(bounds, 0.0, -1.0)).logpdf(-y)
    np.testing.assert_allclose(turned, here, rtol=1e-6, atol=1e-6)


def test_rs_selector_has_no_weights_and_says_so():
    x, w = np.random.default_rng(1).standard_normal((2, 20)), np.arange(1.0, 21.0)
    for act in (akde.bandwidth, akde.fit):
        with pytest.raises(InvalidParameterError, match=r"which has no weights; .* take 'sheather-jones'"):
            act(x[0], weights=w, method="sheather-jones-r")
    with pytest.raises(InvalidParameterError, match="has no weights"):
        akde.bandwidth(x, weights=w, axis=-1, method="sheather-jones-r")
    alone = akde.bandwidth(x[0], method="sheather-jones-r")
    assert akde.bandwidth(x[0], weights=np.full(20, 3.0), method="sheather-jones-r") == alone
