"""Own tasks: the documented example, and what a faulty author reads."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks import draw_tasks, own_world

EXAMPLE = Path(__file__).parents[3] / "examples" / "research" / "own_task.py"


class Uniform:
    name = "uniform"
    bounds = (-1.0, 1.0)

    def draw_setting(self, *, rng):
        return rng.uniform(0.1, 1.0)

    def logpdf(self, setting, x):
        with np.errstate(divide="ignore"):
            return np.log((np.abs(x) <= setting) / (2.0 * setting))

    def sample(self, setting, count, *, rng):
        return rng.uniform(-setting, setting, count)


def test_the_example_runs(capsys):
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "200 tasks" in capsys.readouterr().out


def test_the_example_is_a_family_in_twenty_lines():
    lines = EXAMPLE.read_text().split("class Kumaraswamy")[1].split("# %%")[0].strip().splitlines()
    assert len(lines) <= 20


def test_the_example_is_right():
    world = own_world(runpy.run_path(str(EXAMPLE))["Kumaraswamy"]())
    batch = draw_tasks(world, 5, seed=2, sizes=500)
    for t, setting in enumerate(batch.truths.settings):
        mass, _ = integrate.quad(lambda x, s=setting: np.exp(world.tasks.logpdf(s, np.array(x))), -1.0, 1.0)
        assert abs(mass - 1.0) < 1e-8
        z = (batch.draws[t] + 1.0) / 2.0
        assert stats.kstest(1.0 - (1.0 - z ** setting[0]) ** setting[1], "uniform").pvalue > 1e-3


def test_own_tasks_are_as_repeatable_as_any():
    world = own_world(Uniform())
    whole = draw_tasks(world, 20, seed=3, draws=9, threads=1)
    later = draw_tasks(world, 5, seed=3, first=15, draws=9, threads=2)
    assert np.array_equal(whole.draws[15:], later.draws)
    assert np.array_equal(whole.values[whole.offsets[15] :], later.values)
    assert np.allclose(whole.true_scores(), [np.log2(2.0 * s) for s in whole.truths.settings])


class NoSample:
    name, bounds = "half", (0.0, 1.0)

    def draw_setting(self, *, rng):
        return None

    def logpdf(self, setting, x):
        return x


def with_method(**methods):
    return own_world(type("Faulty", (Uniform,), methods)())


def test_missing_parts_are_named():
    with pytest.raises(InvalidParameterError, match="has no sample"):
        own_world(NoSample())
    with pytest.raises(InvalidParameterError, match="must ascend"):
        with_method(bounds=(1.0, -1.0))


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (lambda self, setting, count, *, rng: rng.uniform(-2, 2, count), "values from"),
        (lambda self, setting, count, *, rng: np.full(count, np.nan), "returned NaN"),
        (lambda self, setting, count, *, rng: rng.uniform(-1, 1, (count, 2)), "the shape"),
    ],
)
def test_faulty_samplers_are_reported(sample, message):
    with pytest.raises(InvalidParameterError, match=message):
        draw_tasks(with_method(sample=sample), 5, seed=1)


@pytest.mark.parametrize(
    ("logpdf", "message"),
    [(lambda self, setting, x: np.full(x.shape, np.nan), "returned NaN"), (lambda self, setting, x: 0.0, "the shape")],
)
def test_faulty_densities_are_reported(logpdf, message):
    batch = draw_tasks(with_method(logpdf=logpdf), 5, seed=1)
    with pytest.raises(InvalidParameterError, match=message):
        batch.true_scores()
