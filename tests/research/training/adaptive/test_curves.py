"""Tasks that are used again: their curves against the objective itself."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("jax", reason="training needs the train extra")

from amortized_kde.research.tasks.broad.kinds import BOTH, COMPACT, KINDS
from amortized_kde.research.training.adaptive.objective import Curves, curves_of, join, single_scores_and_slopes
from amortized_kde.research.training.adaptive.problem import BroadProblem, curves_of_step
from amortized_kde.research.training.adaptive.tasks import prepare_step, standards
from amortized_kde.research.training.recipe import Reuse, find_recipe

LADDER = Curves.LADDER


@pytest.fixture(scope="module")
def recipe():
    whole = find_recipe("single")
    tasks = dataclasses.replace(whole.tasks, standard_tasks=300)
    return dataclasses.replace(whole, batch=60, tasks=tasks, again=Reuse(steps=2, families=10, mixtures=8, open=6))


@pytest.fixture(scope="module")
def prepared(recipe):
    return prepare_step(recipe, 1, standards(recipe))


@pytest.fixture(scope="module")
def curves(prepared):
    return curves_of(prepared)


def test_at_the_rungs_a_curve_is_the_objective(prepared, curves):
    for rung in (0, 7, 12, LADDER.size - 1):
        logs = np.full(len(prepared.tasks), LADDER[rung])
        found, expected = (single_scores_and_slopes(of, (logs,)) for of in (curves, prepared))
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-5)


def test_between_the_rungs_it_is_near(prepared, curves):
    rng = np.random.default_rng(1)
    logs = rng.uniform(-3.0, 1.0, len(prepared.tasks))
    (near, pulls), (scores, slopes) = (single_scores_and_slopes(of, (logs,)) for of in (curves, prepared))
    assert np.median(np.abs(near - scores)) < 2e-4
    assert np.quantile(np.abs(near - scores) / (1.0 + np.abs(scores)), 0.9) < 0.01
    assert np.quantile(np.abs(pulls[0] - slopes[0]) / (1.0 + np.abs(slopes[0])), 0.9) < 0.05


def test_slopes_are_those_of_the_curve(curves):
    rng = np.random.default_rng(2)
    # Outside the ladder as well, where the curve goes on as a straight line.
    logs = rng.uniform(LADDER[0] - 1.0, LADDER[-1] + 1.0, len(curves.weights))
    up, down = (curves.at(logs + step)[0] for step in (1e-5, -1e-5))
    slopes = curves.at(logs)[1]
    np.testing.assert_allclose((up - down) / 2e-5, slopes, rtol=1e-3, atol=1e-3)


def test_nothing_is_gained_outside_the_ladder(curves):
    for end, further in ((LADDER[0], -2.0), (LADDER[-1], 2.0)):
        at = np.full(len(curves.weights), end)
        score, slope = curves.at(at)
        falls = slope * further < 0.0
        np.testing.assert_allclose(curves.at(at + further)[1], np.where(falls, 0.0, slope))
        assert (curves.at(at + further)[0] >= score).all()


def test_a_cubic_is_met_everywhere(curves):
    cubic = np.polynomial.Polynomial([0.3, -1.0, 0.5, 0.2])
    rows = (len(curves.weights), 1)
    known = curves._replace(scores=np.tile(cubic(LADDER), rows), slopes=np.tile(cubic.deriv()(LADDER), rows))
    logs = np.random.default_rng(3).uniform(LADDER[0], LADDER[-1], rows[0])
    scores, slopes = known.at(logs)
    np.testing.assert_allclose(scores, cubic(logs))
    np.testing.assert_allclose(slopes, cubic.deriv()(logs))


def test_a_step_has_tasks_of_four_kinds_and_they_come_again(recipe):
    problem = BroadProblem(recipe)
    first, second, third = (problem.step(step) for step in range(3))
    assert len(first.weights) == 60
    assert first.weights.sum() == pytest.approx(1.0)
    sizes = first.inputs.sizes
    assert sizes[36:42].min() >= 30
    assert sizes[42:].min() >= 5
    assert sizes[42:].max() <= 256
    assert third is first
    assert not np.array_equal(first.scores, second.scores)
    anew = curves_of_step(recipe, 0, problem.standards)
    np.testing.assert_array_equal(anew.scores, first.scores)
    broad = prepare_step(recipe, 0, problem.standards)
    np.testing.assert_array_equal(first.inputs.sample_features[:36], broad.inputs.sample_features)


def test_joined_tasks_count_alike(curves):
    both = join([curves, curves])
    np.testing.assert_allclose(both.weights, np.tile(curves.weights, 2) / 2.0)
    assert both.inputs.sample_features.shape == (2 * len(curves.weights), curves.inputs.sample_features.shape[1])


def test_compact_densities_have_no_floor_from_thirty_values_on(prepared):
    tasks = prepared.tasks
    tiny = np.full(len(tasks), LADDER[0])
    scores = single_scores_and_slopes(prepared, (tiny,))[0]
    unknown = tasks.known_bounds != BOTH
    compact = np.isin(tasks.kinds, [KINDS.index(name) for name in COMPACT])
    bare = unknown & compact & (tasks.sizes >= 30) & (tasks.units == 0.0) & ~tasks.resampled
    floored = unknown & ~(compact & (tasks.sizes >= 30))
    assert scores[bare].min() > 200.0
    assert scores[floored].max() < 60.0
