"""The broad world: the same tasks whoever asks, draws that follow the truth, and truths of mass one."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks.broad.batch import broad_batch
from amortized_kde.research.tasks.broad.kinds import KINDS

ARRAYS = ("values", "draws", "lower", "upper", "kinds", "known_bounds", "units", "resampled")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


@settings(deadline=None, max_examples=15)
@given(cuts=st.lists(st.integers(1, 59), unique=True), start=st.integers(0, 2**40), threads=st.integers(1, 3))
def test_tasks_depend_neither_on_threads_nor_on_chunks(cuts, start, threads):
    whole = broad_batch(60, seed=5, first=start, draws=9)
    edges = [0, *sorted(cuts), 60]
    parts = [broad_batch(b - a, seed=5, first=start + a, draws=9, threads=threads) for a, b in pairwise(edges)]
    for name in ARRAYS:
        assert np.array_equal(getattr(whole, name), np.concatenate([getattr(p, name) for p in parts])), name
    assert np.array_equal(whole.sizes, np.concatenate([p.sizes for p in parts]))
    assert np.allclose(whole.true_scores(), np.concatenate([p.true_scores() for p in parts]), rtol=1e-13)


def test_large_batches_do_not_depend_on_threads():
    one, two = (broad_batch(600, seed=4, threads=threads) for threads in (1, 2))
    assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ARRAYS)


def test_neither_n_nor_the_number_of_draws_changes_density_and_bounds():
    few, many = broad_batch(400, seed=6, sizes=20, draws=5), broad_batch(400, seed=6, sizes=300, draws=50)
    assert np.array_equal(few.draws, many.draws[:, :5])
    assert np.array_equal(few.known_bounds, many.known_bounds)
    assert np.array_equal(few.true_logpdf(few.draws), many.true_logpdf(few.draws))
    assert np.array_equal(few.lower, many.lower)


def test_seeds_differ():
    one, other = (broad_batch(50, seed=seed) for seed in (1, 2))
    assert not np.isin(one.draws, other.draws).any()


def test_everything_is_finite_ascending_and_inside_the_bounds():
    batch = broad_batch(8000, seed=2)
    rows = np.repeat(np.arange(len(batch)), batch.sizes)
    assert ((batch.values >= batch.lower[rows]) & (batch.values <= batch.upper[rows])).all()
    assert ((batch.draws >= batch.lower[:, None]) & (batch.draws <= batch.upper[:, None])).all()
    assert np.isfinite(batch.values).all()
    assert np.isfinite(batch.true_logpdf(batch.draws)).all()
    assert np.abs(batch.draws).max() < 1e12
    assert all((np.diff(sample) >= 0.0).all() for sample in np.split(batch.values, batch.offsets[1:-1]))
    assert np.array_equal(batch.samples.sizes, batch.sizes)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_and_samples_follow_the_truth(kind):
    batch = broad_batch(60, seed=3, kinds=[kind], sizes=2000, draws=2000)
    assert (batch.kinds == KINDS.index(kind)).all()
    smooth = (batch.units == 0.0) & ~batch.resampled
    for drawn in (batch.draws, batch.values.reshape(60, -1)):
        probabilities = batch.truths.cdf(drawn)[smooth]
        assert stats.kstest(probabilities.ravel(), "uniform").pvalue > 1e-3
        # The smallest of sixty p-values is below 1e-4 once in 170 times.
        assert min(stats.kstest(row, "uniform").pvalue for row in probabilities) > 1e-4


def edges_of(truths, t):
    """Points between which the density is smooth: scales of all parts, from a millionth to beyond all bounds."""
    steps = np.geomspace(1e-6, 1e13, 191)
    y = np.concatenate([-steps, [0.0], steps, 1.0 - steps[steps < 0.5], [1.0]])
    used = truths.parts.used[t]
    x = (truths.parts.origins[t, :used, None] + truths.parts.slopes[t, :used, None] * y).ravel()
    return np.unique(np.clip(np.append(x, [truths.low[t], truths.high[t]]), truths.low[t], truths.high[t]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_has_mass_one(kind):
    batch = broad_batch(40, seed=8, kinds=[kind], sizes=2, draws=0)
    for t in range(len(batch)):
        truth = batch.truths.of([t])
        edges = edges_of(batch.truths, t)
        half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
        x = (middle[:, None] + half[:, None] * NODES).ravel()
        found = np.exp(truth.logpdf(x)).reshape(-1, NODES.size) @ WEIGHTS * half
        below = truth.cdf(edges)[0]
        assert (below[0], below[-1]) == pytest.approx((0.0, 1.0), abs=1e-12)
        # No rule of quadrature reaches a singular end: what lies within a millionth of one is left to the cdf.
        near = np.isclose(found, np.diff(below), rtol=1e-9, atol=1e-10)
        assert half[~near].sum() < 1e-5
        assert np.diff(below)[~near].sum() < 0.2
        assert found[near].sum() + np.diff(below)[~near].sum() == pytest.approx(1.0, abs=1e-8)


def test_true_scores_are_means_in_bits():
    batch = broad_batch(20, seed=9)
    slow = [-np.mean(batch.true_logpdf(batch.draws)[t]) / np.log(2.0) for t in range(20)]
    assert np.allclose(batch.true_scores(), slow, rtol=1e-13)


def test_sizes_can_be_given():
    assert (broad_batch(4, seed=1, sizes=9, draws=0).sizes == 9).all()
    given = np.array([1, 2, 300, 4])
    assert np.array_equal(broad_batch(4, seed=1, sizes=given, draws=0).sizes, given)
    assert set(broad_batch(90, seed=1, sizes=range(10, 31, 10), draws=0).sizes) == {10, 20, 30}


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0},
        {"first": -1},
        {"seed": -1},
        {"draws": -1},
        {"sizes": 0},
        {"sizes": [1, 2]},
        {"threads": 0},
        {"kinds": ["normal"]},
        {"kinds": []},
        {"known_bounds": [4]},
        {"kinds": ["student"], "known_bounds": [0]},
    ],
)
def test_bad_requests_are_refused(wrong):
    with pytest.raises(InvalidParameterError):
        broad_batch(**({"count": 300, "seed": 1} | wrong))


def test_batches_can_be_pickled():
    batch = broad_batch(5, seed=9, draws=4)
    assert np.array_equal(pickle.loads(pickle.dumps(batch)).true_scores(), batch.true_scores())
