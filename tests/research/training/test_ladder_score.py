"""The score of adaptive estimates against the density class, and its derivatives against differences."""

import math

import numpy as np
import pytest
from scipy import stats

from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density import KernelDensity
from amortized_kde.density.background import Background
from amortized_kde.research.training.bandwidth_score import BoundedSamples, Points
from amortized_kde.research.training.ladder_score import Ladder, Shape, ladder_scores, ladder_scores_and_slopes

RUNGS = 2.0 ** np.arange(3.0, -9.5, -1.0)
CASES = [(-math.inf, math.inf), (-3.0, math.inf), (-3.0, 3.0)]


class Case:
    def __init__(self, bounds, anchors=None, n=40, seed=0):
        rng = np.random.default_rng(seed)
        self.bounds = bounds
        self.x = np.sort(rng.normal(size=n).clip(-2.9, 2.9))
        self.anchors = np.arange(n) if anchors is None else np.array(anchors)
        logits = rng.normal(size=(self.anchors.size, RUNGS.size)) - 0.3 * (np.log2(RUNGS) + 1.0) ** 2
        self.shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        self.epsilon = 0.01
        self.background = Background(*bounds, location=0.1, scale=0.8)
        self.at = np.sort(rng.uniform(-2.9, 2.9, 50))
        self.truth = stats.norm.pdf(self.at)
        self.judged = rng.random(self.at.size) < 0.7

    def run(self, *, exact, shares=None, epsilon=None, slopes=True, roughness=0.0):
        shares = self.shares if shares is None else shares
        samples = BoundedSamples(self.x, np.array([0, self.x.size]), *(np.array([end]) for end in self.bounds))
        epsilons = np.array([self.epsilon if epsilon is None else epsilon])
        ladder = Ladder(RUNGS[None, :].copy(), self.anchors, np.array([0, self.anchors.size]), shares, epsilons)
        points = Points(self.at[None, :].copy(), np.exp(self.background.log_density(self.at))[None, :].copy())
        if not slopes:
            return ladder_scores(samples, ladder, points)
        judged = self.judged[None, :].copy()
        shape = Shape(self.truth[None, :].copy(), np.array([roughness]), judged) if roughness else None
        precision = np.float64 if exact else np.float32
        scores, found = ladder_scores_and_slopes(samples, ladder, points, shape, precision=precision)
        return scores[0], found.shares, found.epsilons[0]

    def density(self):
        ranks = np.arange(self.x.size)
        shares = np.stack([np.interp(ranks, self.anchors, row) for row in self.shares.T])[::-1]
        return KernelDensity.from_ladder(
            read_sample(self.x),
            RUNGS[::-1],
            shares,
            bounds=Bounds(*self.bounds),
            epsilon=self.epsilon,
            background=self.background,
        )


@pytest.mark.parametrize("bounds", CASES)
@pytest.mark.parametrize("anchors", [None, [0, 1, 5, 20, 38, 39]])
def test_score_is_that_of_the_density(bounds, anchors):
    case = Case(bounds, anchors)
    expected = -case.density().logpdf(case.at).mean()
    assert case.run(exact=True, slopes=False)[0] == pytest.approx(expected, abs=1e-12)
    assert case.run(exact=False)[0] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("bounds", CASES)
def test_roughness_is_the_variation_of_the_error_relative_to_the_true_peak(bounds):
    case = Case(bounds)
    error = case.density().pdf(case.at) - case.truth
    score = -case.density().logpdf(case.at[case.judged]).mean()
    rough = case.run(exact=True, roughness=0.3)[0] - score
    assert rough == pytest.approx(0.3 * np.abs(np.diff(error)).sum() / case.truth.max(), rel=1e-10)


@pytest.mark.parametrize("roughness", [0.0, 0.5])
@pytest.mark.parametrize("bounds", CASES)
@pytest.mark.parametrize("anchors", [None, [0, 3, 20, 39]])
def test_derivatives_are_those_of_differences(bounds, anchors, roughness):
    case, step = Case(bounds, anchors), 1e-6
    _, by_share, by_epsilon = case.run(exact=True, roughness=roughness)
    for a, k in [(0, 3), (1, 5), (2, 8), (3, 4)]:
        up, down = case.shares.copy(), case.shares.copy()
        up[a, k] += step
        down[a, k] -= step
        sides = [case.run(exact=True, shares=shares, roughness=roughness)[0] for shares in (up, down)]
        difference = (sides[0] - sides[1]) / (2.0 * step)
        assert by_share[a, k] == pytest.approx(difference, abs=1e-7)
    moved = [case.epsilon + sign * step for sign in (1.0, -1.0)]
    scores = [case.run(exact=True, epsilon=epsilon, roughness=roughness)[0] for epsilon in moved]
    assert by_epsilon == pytest.approx((scores[0] - scores[1]) / (2.0 * step), abs=1e-6)


def test_float32_slopes_are_close():
    case = Case((-3.0, 3.0))
    exact, quick = case.run(exact=True)[1], case.run(exact=False)[1]
    seen = case.shares > 1e-6
    np.testing.assert_allclose(quick[seen], exact[seen], atol=1e-5)
