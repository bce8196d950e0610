"""Recipes: what is in those of the package, and the sentence for every wrong entry."""

import json
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amortized_kde.data.sample import moments
from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.learned.paper.features import CONVENTIONS, network_inputs
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.research.training.recipe import find_recipe, find_world, recipe_names

RECIPES = resources.files("amortized_kde.research.training") / "recipes"


def test_the_papers_recipes_are_there_and_those_past_it():
    past = {"adaptive", "single", "multivariate"}
    assert set(recipe_names()) == {"gaussian", "multifamily", "gmm8", "gmm16", "gmm32"} | past


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
    text = (RECIPES / f"{name}.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("batch = 256", "batch = 0", "batch must be from 1 to"),
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


ODD = {
    "no unit": ("hidden = [128, 128]", "hidden = [0]", "network.hidden must be from 1 to"),
    "no layer": ("hidden = [128, 128]", "hidden = []", "at least one layer"),
    "layers of words": ("hidden = [128, 128]", 'hidden = ["a"]', "network: hidden must be of type int"),
    "other inputs": ('inputs = ["n", ', 'inputs = ["median", ', "network.inputs must be"),
    "no rate": ("learning_rate = 5e-4", "learning_rate = nan", "optimiser.learning_rate must be from 1e-12"),
    "an endless rate": ("learning_rate = 5e-4", "learning_rate = inf", "learning_rate must be from"),
    "a rate too large for a float": ("learning_rate = 5e-4", f"learning_rate = {10**400}", "learning_rate must be"),
    "no clip": ("clip = 1.0", "clip = 0.0", "optimiser.clip"),
    "steps back": ("steps = 40000", "steps = -3", "steps must be from 1 to 1000000000, not -3"),
    "true steps": ("steps = 40000", "steps = true", "steps must be of type int"),
    "a seed below zero": ("seed = 2026", "seed = -1", "seed must be from 0"),
    "no validation": ("every = 1000", "every = 0", "validation.every"),
    "validation on nothing": ("tasks_per_size = 20", "tasks_per_size = 0", "validation.tasks_per_size"),
    "samples of nothing": ("sizes = [5, 256]", "sizes = [0, 256]", "sizes must be from 1"),
    "one size": ("sizes = [5, 256]", "sizes = [5]", "smallest and the largest n"),
    "a number for a table": ("[early_stop]", "[other]", "unknown entry 'other'|lacks the entry"),
    "a path for a name": ('name = "gmm8"', 'name = "../../gmm8"', "name must be of at most 100 letters"),
    "no name": ('name = "gmm8"', 'name = ""', "name must be"),
    "limits of words": (
        "[objective]",
        '[network.limits]\nmean = ["a", "b"]\n[objective]',
        "mean must be of type float",
    ),
    "no limits": ("[objective]", "[network.limits]\nmean = [nan, 2.0]\n[objective]", "network.limits must be from"),
    "nested deeply": ("seed = 2026", f"seed = {'[' * 5000}{']' * 5000}", "not valid TOML"),
}


@pytest.mark.parametrize(("old", "new", "word"), ODD.values(), ids=ODD)
def test_odd_entries_get_a_sentence(tmp_path, old, new, word):
    with pytest.raises(InvalidParameterError, match=word) as caught:
        find_recipe(edited(tmp_path, old, new))
    assert str(caught.value).endswith(".")


def test_a_table_that_is_none(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"\nseed = 1\nsteps = 1\noptimiser = 3\n')
    with pytest.raises(InvalidParameterError, match="optimiser must be a table of entries, not 3"):
        find_recipe(str(path))


NUMBERS = st.one_of(
    st.integers(-3, 3), st.just(10**30), st.floats(allow_nan=True, allow_infinity=True), st.just([]), st.just("a")
)


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(["gmm8", "adaptive", "single"]), place=st.integers(0, 60), value=NUMBERS)
def test_any_entry_may_be_anything(tmp_path_factory, name, place, value):
    lines = (RECIPES / f"{name}.toml").read_text().splitlines()
    entries = [i for i, line in enumerate(lines) if "=" in line.partition("#")[0]]
    chosen = entries[place % len(entries)]
    key = lines[chosen].partition("=")[0]
    written = repr(value).replace("'", '"') if isinstance(value, (str, list, int)) else f"{value}"
    lines[chosen] = f"{key}= {written}"
    path = tmp_path_factory.mktemp("recipe") / "mine.toml"
    path.write_text("\n".join(lines))
    try:
        recipe = find_recipe(str(path))
    except InvalidParameterError:
        return
    flat = json.dumps(recipe.as_card())
    assert "NaN" not in flat
    assert "Infinity" not in flat


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
