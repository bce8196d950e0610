import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.data.reading import read_sample, read_samples
from amortized_kde.data.sample import effective_size, evened_among_ties
from amortized_kde.errors import InvalidSampleError

WEIGHTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30).map(np.array)


@given(WEIGHTS)
def test_effective_size_is_kishs(weights):
    n = effective_size(weights, weights.size)
    assert n == pytest.approx(weights.sum() ** 2 / np.sum(weights**2), rel=1e-12)
    assert 1.0 - 1e-12 <= n <= weights.size * (1.0 + 1e-12)


@given(st.integers(1, 500), st.floats(1e-300, 1e300))
def test_equal_weights_count_every_value(n, weight):
    assert read_sample(np.arange(n), weights=np.full(n, weight)).effective_size == n
    assert read_sample(np.arange(n)).effective_size == n


def test_a_batch_without_differences_has_no_weights():
    x = [[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]]
    assert read_samples(x, axis=-1, weights=[[2.0, 2.0, 0.0], [7.0, 7.0, 7.0]]).weights is None
    assert read_sample(x[0], weights=[3.0, 3.0, 3.0]).as_batch().weights is None


def test_a_batch_holds_what_each_sample_has():
    x = [[3.0, 1.0, 2.0], [4.0, math.nan, 5.0], [1.0, 2.0, 3.0], [7.0, 8.0, 9.0]]
    w = [[1.0, 2.0, 3.0], [1.0, -1.0, 3.0], [5.0, 5.0, 5.0], [0.0, 0.0, 0.0]]
    samples = read_samples(x, axis=-1, weights=w)
    assert samples.sizes.tolist() == [3, 2, 3, 0]
    assert samples.unequal.tolist() == [True, True, False, False]
    np.testing.assert_allclose(samples.weights, [2 / 6, 3 / 6, 1 / 6, 1 / 4, 3 / 4, 1 / 3, 1 / 3, 1 / 3], rtol=1e-15)
    np.testing.assert_allclose(samples.effective_sizes, [36 / 14, 16 / 10, 3.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(samples.counts[:3], samples.weights[:3] * 36 / 14, rtol=1e-15)
    assert samples.counts[5:].tolist() == [1.0, 1.0, 1.0]
    part = samples.between(1, 3)
    assert np.array_equal(part.weights, samples.weights[3:8])
    assert part.unequal.tolist() == [True, False]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_weights_of_the_axis_serve_all_samples(axis):
    x = np.random.default_rng(1).standard_normal((4, 5))
    w = np.arange(1.0, 1.0 + x.shape[axis])
    whole = np.broadcast_to(w[:, None] if axis == 0 else w, x.shape)
    alike, each = read_samples(x, axis=axis, weights=w), read_samples(x, axis=axis, weights=whole)
    assert np.array_equal(alike.values, each.values)
    assert np.array_equal(alike.weights, each.weights)


def test_weights_of_rows_of_unequal_length():
    samples = read_samples([[3.0, 1.0], [5.0], [1.0, 2.0, 3.0]], axis=-1, weights=[[1, 3], [2], [1, 0, 1]])
    assert samples.values.tolist() == [1.0, 3.0, 5.0, 1.0, 3.0]
    assert samples.weights.tolist() == [0.75, 0.25, 1.0, 0.5, 0.5]


def test_weights_keep_to_their_values_where_order_does_not_matter():
    samples = read_samples([[3.0, 1.0, 2.0]], axis=-1, weights=[[1.0, 2.0, 0.0]], ascending=False)
    assert samples.values.tolist() == [3.0, 1.0]
    np.testing.assert_allclose(samples.weights, [1 / 3, 2 / 3], rtol=1e-15)


@pytest.mark.parametrize("smallest", [5e-324, 1e-310])
def test_a_weight_that_would_underflow_counts_as_none(smallest):
    assert read_sample([1.0, 2.0, 3.0], weights=[smallest, 1.0, 2.0]).values.tolist() == [2.0, 3.0]
    assert read_samples([[1.0, 2.0, 3.0]], axis=-1, weights=[smallest, 1.0, 2.0]).values.tolist() == [2.0, 3.0]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_ties_share_their_weight(values, random):
    x = np.sort(np.array(values, float))
    w = np.array([random.uniform(0.1, 1.0) for _ in values])
    # Samples side by side whose last and first values are equal are not tied.
    flat, weights, offsets = np.tile(x, 2), np.concatenate([w, 2.0 * w]), np.array([0, 0, x.size, 2 * x.size])
    shared = evened_among_ties(flat, weights, offsets)
    for part, original in ((shared[: x.size], w), (shared[x.size :], 2.0 * w)):
        np.testing.assert_allclose(part, [original[x == value].mean() for value in x], rtol=1e-12)


def test_tied_values_stand_in_the_order_of_their_weights():
    x, w = np.array([2.0, 1.0, 2.0, 2.0]), np.array([3.0, 1.0, 1.0, 2.0])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        one, many = read_sample(x[order], weights=w[order]), read_samples(x[None, order], axis=1, weights=w[order])
        assert one.weights.tolist() == many.weights.tolist() == [1 / 7, 1 / 7, 2 / 7, 3 / 7]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"weights have shape \(2,\), but x has shape \(2, 3\)"),
        ([[1.0], [2.0]], r"weights have shape \(2, 1\)"),
        ([[1.0, 1.0, 1.0], [1.0, -2.0, 1.0]], "not negative; -2.0 is not"),
        ([1.0, math.nan, 1.0], "nan is not"),
        ([math.inf, 1.0, 1.0], "inf is not"),
        (["a", "b", "c"], "weights must hold real numbers, not text"),
        ([[1.0, 2.0, 3.0], ["a"]], r"weights\[1\] must hold real numbers"),
    ],
)
def test_bad_weights_of_a_batch(weights, message):
    with pytest.raises(InvalidSampleError, match=message):
        read_samples(np.ones((2, 3)), axis=-1, weights=weights)


def test_the_callers_weights_stay():
    x, w = np.array([[3.0, 1.0, 2.0]]), np.array([[0.0, 2.0, 3.0]])
    before = w.copy()
    samples = read_samples(x, axis=-1, weights=w)
    assert np.array_equal(w, before)
    assert not np.shares_memory(samples.weights, w)
