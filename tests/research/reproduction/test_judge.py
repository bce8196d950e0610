"""What judges tasks: scores in bits, against the training loop, the density class and 50 digits."""

import math

import mpmath
import numpy as np
import pytest

from amortized_kde.density import KernelDensity
from amortized_kde.research.reproduction.judge import JudgedRows, exact_score_rows, judge_by_draws, judge_by_nodes
from amortized_kde.research.tasks import MultifamilyWorld, draw_tasks, make_pool, world
from amortized_kde.research.training.bandwidth_score import BoundedSamples, score_and_slope_rows
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


def ends(batch):
    return [np.full(len(batch), end) for end in batch.bounds]


def quick(batch, h, at, weights):
    scores, slopes = np.empty(len(batch)), np.empty(len(batch))
    rows = JudgedRows(batch.values, batch.offsets, h, *batch.bounds, at, weights)
    exact_score_rows(rows, scores, slopes, 0, len(batch))
    return scores, slopes


def slow(batch, h, at, weights):
    scores, slopes = np.empty(len(batch)), np.empty(len(batch))
    samples = BoundedSamples(batch.values, batch.offsets, *ends(batch))
    score_and_slope_rows(samples, h, at, weights, False, scores, slopes, 0, len(batch))
    return scores, slopes


@pytest.mark.parametrize("tasks", [world("gmm32"), world("gaussian"), MultifamilyWorld(make_pool(100))])
@pytest.mark.parametrize("points", [1, 63, 64, 65, 300])
def test_scores_and_slopes_are_those_of_the_objective(tasks, points):
    batch = draw_tasks(tasks, 24, seed=3, draws=points)
    at, h = np.sort(batch.draws, axis=1), np.geomspace(1e-4, 5.0, 24)
    weights = np.random.default_rng(1).dirichlet(np.ones(points))
    for found, expected in zip(quick(batch, h, at, weights), slow(batch, h, at, weights), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_score_is_that_of_the_density():
    batch = draw_tasks(world("gmm8"), 6, seed=4, sizes=40, draws=100)
    at, h = np.sort(batch.draws, axis=1), np.geomspace(0.003, 2.0, 6)
    scores, _ = quick(batch, h, at, np.full(100, 0.01))
    for t in range(6):
        density = KernelDensity(batch.values[40 * t : 40 * (t + 1)], h[t], bounds=(-1, 1))
        assert scores[t] == pytest.approx(-np.mean(density.logpdf(at[t])), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("h", [1e-8, 1e-3, 0.1, 3.0])
@pytest.mark.parametrize("limits", [(-1.0, 1.0), (-math.inf, math.inf)])
def test_fifty_digits_for_clusters_and_outliers(h, limits):
    values = np.array([-0.9, -0.300001, -0.3, -0.299999, 0.95])
    at = np.sort(np.random.default_rng(2).uniform(-1.0, 1.0, (1, 70)), axis=1)
    at[0, -1] = 1.0
    scores, slopes = np.empty(1), np.empty(1)
    rows = JudgedRows(values, np.array([0, 5]), np.array([h]), *limits, at, np.full(70, 1 / 70))
    exact_score_rows(rows, scores, slopes, 0, 1)
    with mpmath.workdps(50):
        root = mpmath.mpf(h) * mpmath.sqrt(2)
        inside = sum((mpmath.erf((limits[1] - x) / root) - mpmath.erf((limits[0] - x) / root)) / 2 for x in values)
        kernels = [sum(mpmath.exp(-(((mpmath.mpf(y) - x) / h) ** 2) / 2) for x in values) for y in at[0].tolist()]
        norm = mpmath.log(inside * h * mpmath.sqrt(2 * mpmath.pi))
        exact = norm - sum(mpmath.log(k) for k in kernels) / 70
        assert abs(exact - scores[0]) <= 1e-14 * max(1, abs(exact))
