"""Batches: the same tasks whoever asks, in whatever pieces, on any number of threads."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks import GaussianWorld, MixtureWorld, MultifamilyWorld, draw_tasks, make_pool

WORLDS = {
    "gaussian": GaussianWorld(),
    "multifamily": MultifamilyWorld(make_pool(200, 1)),
    "gmm8": MixtureWorld(8),
}


@pytest.fixture(params=WORLDS)
def world(request):
    return WORLDS[request.param]


def samples(batch):
    return np.split(batch.values, batch.offsets[1:-1])


def test_shapes_and_bounds(world):
    batch = draw_tasks(world, 50, seed=1)
    assert len(batch) == 50
    assert batch.draws.shape == (50, 1024)
    assert batch.values.dtype == batch.draws.dtype == np.float64
    assert batch.offsets.dtype == np.int64
    assert batch.bounds == world.bounds
    for drawn in (batch.values, batch.draws):
        assert np.isfinite(drawn).all()
        assert world.bounds[0] <= drawn.min() < drawn.max() <= world.bounds[1]
    assert all((np.diff(sample) >= 0.0).all() for sample in samples(batch))
    assert np.array_equal(batch.samples.sizes, batch.sizes)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_tasks_do_not_depend_on_threads(world, threads):
    one, many = (draw_tasks(world, 300, seed=4, threads=t) for t in (1, threads))
    assert np.array_equal(one.values, many.values)
    assert np.array_equal(one.draws, many.draws)
    assert np.array_equal(one.true_scores(), many.true_scores())


@settings(deadline=None, max_examples=15)
@given(name=st.sampled_from(list(WORLDS)), cuts=st.lists(st.integers(1, 39), unique=True), start=st.integers(0, 2**40))
def test_tasks_do_not_depend_on_chunks(name, cuts, start):
    whole = draw_tasks(WORLDS[name], 40, seed=5, first=start, draws=7)
    edges = [0, *sorted(cuts), 40]
    parts = [draw_tasks(WORLDS[name], b - a, seed=5, first=start + a, draws=7) for a, b in pairwise(edges)]
    assert np.array_equal(whole.values, np.concatenate([p.values for p in parts]))
    assert np.array_equal(whole.draws, np.concatenate([p.draws for p in parts]))
    scores = np.concatenate([p.true_scores() for p in parts])
    assert np.allclose(whole.true_scores(), scores, rtol=1e-14, atol=1e-14)


def test_n_changes_neither_density_nor_draws(world):
    few, many = (draw_tasks(world, 20, seed=6, sizes=n, draws=30) for n in (5, 200))
    assert np.array_equal(few.draws, many.draws)
    assert np.allclose(few.true_scores(), many.true_scores())
    for small, large in zip(samples(few), samples(many), strict=True):
        assert np.isin(small, large).all()


def test_seeds_differ(world):
    assert not np.isin(draw_tasks(world, 5, seed=1).draws, draw_tasks(world, 5, seed=2).draws).any()


def test_sizes_are_uniform():
    sizes = draw_tasks(GaussianWorld(), 20_000, seed=7, draws=0).sizes
    assert (sizes.min(), sizes.max()) == (5, 256)
    assert stats.chisquare(np.bincount(sizes)[5:]).pvalue > 0.01


def test_sizes_can_be_given():
    assert (draw_tasks(GaussianWorld(), 4, seed=1, sizes=9, draws=0).sizes == 9).all()
    given = np.array([1, 2, 300, 4])
    assert np.array_equal(draw_tasks(GaussianWorld(), 4, seed=1, sizes=given, draws=0).sizes, given)
    assert set(draw_tasks(GaussianWorld(), 90, seed=1, sizes=range(10, 31, 10), draws=0).sizes) == {10, 20, 30}


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0},
        {"first": -1},
        {"seed": -1},
        {"draws": -1},
        {"sizes": 0},
        {"sizes": [1, 2]},
        {"sizes": 2.5},
        {"sizes": range(5, 5)},
        {"threads": 0},
    ],
)
def test_bad_requests_are_refused(wrong):
    with pytest.raises(InvalidParameterError):
        draw_tasks(**({"world": GaussianWorld(), "count": 5, "seed": 1} | wrong))


def test_true_scores_are_those_of_the_truth():
    batch = draw_tasks(GaussianWorld(), 30, seed=8)
    assert np.allclose(batch.true_scores(), -stats.norm.logpdf(batch.draws).mean(axis=1) / np.log(2.0), rtol=1e-13)


def test_batches_and_worlds_can_be_pickled(world):
    batch = draw_tasks(world, 3, seed=9, draws=4)
    again = pickle.loads(pickle.dumps(batch))
    assert np.array_equal(again.true_scores(), batch.true_scores())
    assert np.array_equal(draw_tasks(pickle.loads(pickle.dumps(world)), 3, seed=9, draws=4).values, batch.values)
