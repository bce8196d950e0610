"""What judges tasks: scores in bits, parts of the tasks, fewer points."""

import numpy as np
import pytest

from amortized_kde.density import KernelDensity
from amortized_kde.research.reproduction.judge import judge_by_draws, judge_by_nodes
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.score import expected_score_by_draws, expected_score_under_normal


@pytest.fixture(scope="module")
def batch():
    return draw_tasks(world("gmm8"), 12, seed=8, sizes=range(5, 40), draws=96)


def test_draws_judge_as_the_score_does(batch):
    h = np.geomspace(0.01, 1.0, 12)
    scores, _ = judge_by_draws(batch).scores(h)
    for t in range(12):
        density = KernelDensity(batch.values[batch.offsets[t] : batch.offsets[t + 1]], h[t], bounds=(-1, 1))
        assert scores[t] == pytest.approx(expected_score_by_draws(density, batch.draws[t]).value, rel=1e-12)


def test_nodes_judge_as_the_score_does():
    batch = draw_tasks(world("gaussian"), 4, seed=8, sizes=9, draws=0)
    scores, _ = judge_by_nodes(batch).scores(np.full(4, 0.3))
    for t in range(4):
        expected = expected_score_under_normal(KernelDensity(batch.values[9 * t : 9 * t + 9], 0.3))
        assert scores[t] == pytest.approx(expected, rel=1e-12)


def test_slopes_are_derivatives(batch):
    judge, h, step = judge_by_draws(batch), np.geomspace(0.01, 1.0, 12), 1e-5
    _, slopes = judge.scores(h)
    rise = judge.scores(h * np.exp(step))[0] - judge.scores(h * np.exp(-step))[0]
    np.testing.assert_allclose(slopes, rise / (2.0 * step), rtol=1e-6, atol=1e-6)


def test_a_part_of_the_tasks_keeps_its_bits(batch):
    judge, h, chosen = judge_by_draws(batch), np.geomspace(0.01, 1.0, 12), np.arange(12) % 3 == 1
    np.testing.assert_array_equal(judge.only(chosen).scores(h[chosen])[0], judge.scores(h)[0][chosen])


def test_threads_do_not_matter(batch):
    judge, h = judge_by_draws(batch), np.full(12, 0.1)
    np.testing.assert_array_equal(judge.scores(h, threads=1)[0], judge.scores(h, threads=3)[0])


def test_fewer_points_still_have_the_whole_weight(batch):
    thin = judge_by_draws(batch).thinned(4)
    assert thin.points.shape == (12, 24)
    assert thin.weights.sum() == pytest.approx(1.0)
