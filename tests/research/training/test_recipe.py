import numpy as np
import pytest

from amortized_kde.data.sample import moments
from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.learned.paper.features import CONVENTIONS, network_inputs
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.research.training.recipe import find_recipe, find_world, recipe_names


def test_the_papers_recipes_are_there_and_the_two_past_it():
    assert set(recipe_names()) == {"gaussian", "multifamily", "gmm8", "gmm16", "gmm32", "adaptive", "single"}


@pytest.mark.parametrize("name", ["multifamily", "gmm8", "gmm16", "gmm32"])
def test_bounded_recipes_are_appendix_c(name):
    r = find_recipe(name)
    assert (r.world, r.seed, r.steps, r.batch, r.sizes) == (name, 2026, 40_000, 256, [5, 256])
    assert (r.network.hidden, r.objective.points) == ([128, 128], 1024)
    assert (r.optimiser.learning_rate, r.optimiser.clip, r.optimiser.average) == (5e-4, 1.0, 0.999)
    assert (r.validation.seed, r.validation.tasks_per_size, r.validation.every) == (777, 20, 1000)
    assert (r.early_stop.start, r.early_stop.patience, r.early_stop.improvement) == (12_000, 5, 5e-5)


def test_gaussian_recipe_is_appendix_c1():
    r = find_recipe("gaussian")
    assert (r.seed, r.steps, r.batch, r.one_size_a_step) == (1234, 10_000, 256, True)
    assert (r.network.hidden, r.network.output, r.objective.kind, r.objective.points) == (
        [4, 4],
        "ratio",
        "gauss-hermite",
        256,
    )
    assert r.validation.sizes == [5, 10, 15, 20, 30, 50, 75, 100, 150, 200, 256]
    assert (r.validation.tasks_per_size, r.validation.every) == (512, 500)


def test_the_limits_of_multifamily_hold_the_central_99_percent_of_its_tasks():
    limits = find_recipe("multifamily").network.limits
    inputs = network_inputs(moments(draw_tasks(world("multifamily"), 20_000, seed=5, draws=0).samples)[:, :5])
    for name, (low, high) in limits.items():
        column = inputs[:, list(CONVENTIONS).index(name)]
        # Three standard errors of a share of 0.01 are 0.002; limits have one decimal.
        assert np.mean((column < low) | (column > high)) == pytest.approx(0.01, abs=0.003)


def edited(tmp_path, old, new, name="gmm8"):
    from importlib import resources

    text = (resources.files("amortized_kde.research.training") / "recipes" / f"{name}.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("batch = 256", "batch = 0", "positive"),
        ("batch = 256", 'batch = "many"', "batch"),
        ("batch = 256", "batches = 256", "batches"),
        ("seed = 2026\n", "", "seed"),
        ("sizes = [5, 256]", "sizes = [9, 5]", "sizes"),
        ('kind = "draws"', 'kind = "drawn"', "drawn"),
        ("average = 0.999", "average = 1.5", "average"),
        ("batch = 256", "batch = = 2", "TOML"),
        ("[objective]", "[network.limits]\nmean = [2.0, -2.0]\n[objective]", "ascending"),
        ("[objective]", "[network.limits]\nmedian = [-2.0, 2.0]\n[objective]", "some of the inputs"),
    ],
)
def test_a_wrong_entry_gets_a_sentence_that_names_it(tmp_path, old, new, word):
    with pytest.raises(InvalidParameterError, match=word):
        find_recipe(edited(tmp_path, old, new))


def test_unknown_names_and_files_get_a_sentence():
    with pytest.raises(InvalidParameterError, match="gmm32"):
        find_recipe("gmm23")
    with pytest.raises(UnreadableFileError, match=r"nowhere\.toml"):
        find_recipe("nowhere.toml")


def test_own_tasks_are_found_beside_the_recipe(tmp_path):
    recipe = find_recipe(edited(tmp_path, 'world = "gmm8"', 'world = "tasks.py:Mine"'))
    with pytest.raises(UnreadableFileError, match=r"tasks\.py"):
        find_world(recipe)
    (tmp_path / "tasks.py").write_text("class Other: pass\n")
    with pytest.raises(InvalidParameterError, match="Mine"):
        find_world(recipe)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("mixtures = 176", "mixtures = 576", "leave some tasks"),
        ("[again]", "[again]\nevery = 1", "unknown entry 'every'"),
        ("steps = 900", "steps = 0", "at least one step"),
        ('output = "single"', 'output = "adaptive"', "only tasks of the output 'single'"),
    ],
)
def test_tasks_that_cannot_be_used_again(tmp_path, old, new, word):
    with pytest.raises(InvalidParameterError, match=word):
        find_recipe(edited(tmp_path, old, new, "single"))


def test_a_recipe_without_tasks_that_come_again_says_nothing_of_them():
    assert "again" not in find_recipe("adaptive").as_card()
    assert find_recipe("single").as_card()["again"] == {"steps": 900, "families": 352, "mixtures": 176, "open": 144}
