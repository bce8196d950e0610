"""The best possible answers on mixtures, against the obvious ones."""

import numpy as np
import pytest

from amortized_kde.data.support import Bounds
from amortized_kde.research.reproduction.judge import judge_by_draws
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.selection import SELECTORS
from contests.best_possible import best_possible
from contests.mixture_posterior import mean_densities


@pytest.fixture(scope="module")
def found():
    batch = draw_tasks(world("gmm8"), 120, seed=11, sizes=40)
    judge = judge_by_draws(batch)
    return batch, judge, best_possible(batch, judge, sweeps=400, seed=2)


def test_nothing_learned_is_better(found):
    batch, judge, best = found
    truth = batch.true_scores()
    h = SELECTORS["amortized:gmm8"].select(batch.samples, Bounds(-1.0, 1.0)).bandwidths
    by_best, by_gmm8 = (judge.scores(each)[0] - truth for each in (best.bandwidths, h))
    assert by_best.mean() < by_gmm8.mean()
    assert 0.0 < (best.scores - truth).mean() < by_best.mean()


def test_the_bandwidth_is_best_for_the_mean_density(found):
    batch, _, best = found
    cells = 1000
    middles = (np.arange(cells) + 0.5) * (2.0 / cells) - 1.0
    means = mean_densities(batch.samples, batch.truths.shapes, sweeps=400, cells=cells, seed=2)
    for t in range(3):
        values = batch.values[batch.offsets[t] : batch.offsets[t + 1]]

        def score(h, values=values, mean=means[t]):
            kernels = np.exp(-0.5 * ((middles[:, None] - values) / h) ** 2).sum(axis=1)
            return -(mean * np.log(kernels / kernels.mean())).mean()

        ladder = best.bandwidths[t] * np.exp(np.linspace(-0.3, 0.3, 61))
        assert abs(int(np.argmin([score(h) for h in ladder])) - 30) <= 2
