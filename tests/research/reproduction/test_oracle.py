"""The oracle against a dense ladder of bandwidths, refined by bisection."""

import numpy as np
import pytest

from amortized_kde.research.reproduction.judge import judge_by_draws, judge_by_nodes
from amortized_kde.research.reproduction.oracle import best_bandwidths
from amortized_kde.research.tasks import MultifamilyWorld, draw_tasks, make_pool, world


def slow_oracle(judge):
    ladder = 2.0 ** np.arange(-10.0, 5.1, 0.25)
    along = np.stack([judge.scores(np.full(len(judge), h))[0] for h in ladder])
    best = along.argmin(axis=0)
    low, high = np.log(ladder[np.maximum(best - 1, 0)]), np.log(ladder[np.minimum(best + 1, ladder.size - 1)])
    for _ in range(14):
        middle = 0.5 * (low + high)
        _, slope = judge.scores(np.exp(middle))
        low, high = np.where(slope > 0.0, low, middle), np.where(slope > 0.0, middle, high)
    return np.minimum(judge.scores(np.exp(0.5 * (low + high)))[0], along.min(axis=0))


FAMILIES = MultifamilyWorld(make_pool(100))


@pytest.mark.parametrize(("tasks", "n"), [(world("gmm32"), 5), (world("gmm32"), 40), (FAMILIES, 8)])
def test_the_search_finds_the_best_bandwidth_of_nearly_every_task(tasks, n):
    judge = judge_by_draws(draw_tasks(tasks, 200, seed=17, sizes=n))
    excess = judge.scores(best_bandwidths(judge))[0] - slow_oracle(judge)
    # Where it stops, a step would gain 1e-6 bits; a task of a thousand ends in another valley, 0.01 bits above.
    assert np.median(excess) < 1e-6
    assert excess.mean() < 1e-4
    assert excess.max() < 0.1
    assert excess.min() > -1e-2


def test_the_normal_truth_has_one_valley():
    judge = judge_by_nodes(draw_tasks(world("gaussian"), 100, seed=17, sizes=7, draws=0))
    excess = judge.scores(best_bandwidths(judge))[0] - slow_oracle(judge)
    assert np.abs(excess).max() < 1e-5


def test_a_sample_that_says_nothing_is_smoothed_away():
    # Five values in a corner and draws over the whole interval: the flatter the better, to the uniform's one bit.
    batch = draw_tasks(world("gmm8"), 1, seed=1, sizes=5)
    batch.values[:] = np.linspace(0.90, 0.91, 5)
    batch.draws[:] = np.linspace(-1.0, 1.0, batch.draws.shape[1])
    judge = judge_by_draws(batch)
    h = best_bandwidths(judge)
    assert 8.0 < h[0] <= 32.0
    assert judge.scores(h)[0][0] == pytest.approx(1.0, abs=1e-4)


def test_threads_do_not_matter():
    judge = judge_by_draws(draw_tasks(world("gmm8"), 30, seed=2, sizes=range(5, 60), draws=128))
    np.testing.assert_array_equal(best_bandwidths(judge, threads=1), best_bandwidths(judge, threads=2))
