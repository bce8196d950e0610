"""Training in several dimensions: prepared tasks and the derivative of the score."""

import numpy as np
import pytest

pytest.importorskip("jax")

from amortized_kde.learned.multivariate.network import SHAPES
from amortized_kde.research.training.dimensions import preparation
from amortized_kde.research.training.dimensions.problem import DimensionsProblem
from amortized_kde.research.training.loop import Adam
from amortized_kde.research.training.recipe import find_recipe


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    from dataclasses import replace

    folder = tmp_path_factory.mktemp("tasks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "TASKS_PER_FILE", 4)
        for number in range(2):
            preparation.prepare_file(folder, 25, number)
        return DimensionsProblem(replace(find_recipe("multivariate"), files=2, held_files=1, batch=3), folder)


def test_a_prepared_file_is_not_made_again(problem, tmp_path):
    path = tmp_path / "tasks-25-00000.npz"
    path.write_bytes(b"there")
    assert preparation.prepare_file(tmp_path, 25, 0) == path
    assert path.read_bytes() == b"there"


def test_the_start_keeps_the_stacked_weights(problem):
    batch, adam = problem.validation(), Adam.of(problem)
    logs = adam.outputs(problem.start(), batch)[0]
    stacked = np.where(batch.inputs[1] > 0.0, batch.inputs[1] + 1e-4, 0.0)
    np.testing.assert_allclose(np.exp(logs), stacked / stacked.sum(axis=1, keepdims=True), atol=1e-5)


def test_slopes_are_the_derivatives_of_the_score(problem):
    batch, adam = problem.step(1), Adam.of(problem)
    outputs = adam.outputs(problem.start(), batch)[0].clip(-50.0)
    score, (slopes,) = problem.score_and_slopes(batch, (outputs,))
    row, column = np.unravel_index(np.abs(slopes).argmax(), slopes.shape)
    moved = outputs.copy()
    moved[row, column] += 1e-5
    found = (problem.score_and_slopes(batch, (moved,))[0] - score) / 1e-5
    assert found == pytest.approx(slopes[row, column], rel=1e-3)


def test_a_step_depends_on_its_number_alone(problem):
    np.testing.assert_array_equal(problem.step(7).ratios, problem.step(7).ratios)
    assert set(problem.arrays(problem.start())) == set(SHAPES)
