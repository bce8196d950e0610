import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.data.reading import read_samples
from amortized_kde.data.support import OPEN
from amortized_kde.errors import InvalidParameterError
from amortized_kde.selection import FAILURES, FALLBACKS, SELECTORS, find_selector


def test_the_names_are_those_of_the_table():
    assert akde.selectors() == tuple(SELECTORS)
    assert {"silverman", "scott", "sheather-jones", "sheather-jones-r", "isj", "lscv", "lcv"} <= set(akde.selectors())
    for name, selector in SELECTORS.items():
        assert selector.name == name
        assert selector.summary.endswith(".")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("silvermann", "silverman"), ("Sheather-Jones", "sheather-jones"), ("LCV", "lcv"), ("scot", "scott")],
)
def test_an_unknown_name_gets_the_nearest(name, nearest):
    with pytest.raises(InvalidParameterError, match=f"no method '{name}'. Did you mean '{nearest}'"):
        find_selector(name)


@pytest.mark.parametrize(
    ("name", "ours"),
    [("SJ", "sheather-jones-r"), ("sj-ste", "sheather-jones-r"), ("nrd0", "silverman"), ("nrd", "scott")],
)
def test_rs_names_give_the_methods_that_equal_rs(name, ours):
    assert find_selector(name) is SELECTORS[ours]
    x = np.arange(12.0) ** 1.5
    assert akde.bandwidth(x, method=name) == akde.bandwidth(x, method=ours)
    assert akde.fit(x, method=name).method == ours


@pytest.mark.parametrize(
    ("name", "instead"), [("ucv", "use 'lscv'"), ("SJ-dpi", "use 'SJ'"), ("botev", "'isj'"), ("cv_ls", "'lscv'")]
)
def test_names_of_other_methods_get_a_hint(name, instead):
    with pytest.raises(InvalidParameterError, match=f"no method '{name}'. .*{instead}.* The methods are"):
        find_selector(name)


def test_the_default_is_named_by_what_it_stands_for():
    assert find_selector("amortized").name == "amortized"
    assert find_selector("amortized", "density") is SELECTORS["amortized:adaptive"]
    assert find_selector("amortized", "bandwidth") is SELECTORS["amortized:single"]
    assert find_selector("silverman", "density") is SELECTORS["silverman"]
    summary = SELECTORS["amortized"].summary
    assert "`amortized:adaptive` in `fit`" in summary
    assert "`amortized:single` in `bandwidth`" in summary


@pytest.mark.parametrize("name", ["", "????", None, 3, ["lcv"]])
def test_a_name_like_no_other_gets_the_list(name):
    with pytest.raises(InvalidParameterError, match=r"methods are: .*silverman, scott"):
        find_selector(name)


def test_numbers_and_names_in_the_wrong_place():
    with pytest.raises(InvalidParameterError, match=r"not of type float; pass .* bandwidth=0\.3\. The methods"):
        akde.fit([1.0, 2.0, 4.0], method=0.3)
    with pytest.raises(InvalidParameterError, match=r"a bandwidth is a number; .* method='scott'"):
        akde.fit([1.0, 2.0, 4.0], bandwidth="scott")


@pytest.mark.parametrize("name", [name for name in SELECTORS if not name.startswith("amortized")])
def test_codes_are_documented(name):
    rows = [[], [1.0], [2.0, 2.0], [0.0, 1.0, 1.0, 1.0, 1.0, 9.0], np.arange(12.0) ** 1.5]
    selection = find_selector(name).select(read_samples(rows, axis=-1), OPEN, OPEN)
    assert np.array_equal(np.isnan(selection.bandwidths), selection.codes < 0)
    assert set(selection.codes) <= {0, *FAILURES, *FALLBACKS}
    assert selection.codes[-1] == 0


def test_a_folder_is_read_once_until_it_changes(tmp_path):
    shutil.copytree(Path(akde.__file__).parent / "learned" / "adaptive" / "weights" / "adaptive", tmp_path / "own")
    ask = [find_selector(f"amortized:{tmp_path / 'own'}").adaptive for _ in range(2)]
    assert ask[0]() is ask[1]()
    os.utime(tmp_path / "own" / "weights.safetensors", (1.0, 1.0))
    assert find_selector(f"amortized:{tmp_path / 'own'}").adaptive() is not ask[0]()


@pytest.mark.parametrize("name", ["x" * 300, "amortized:" + "x" * 5000, "amortized:\0", "silverman" * 10**5])
def test_a_long_or_impossible_name_gets_a_short_sentence(name):
    with pytest.raises(InvalidParameterError, match="there is no method") as caught:
        find_selector(name)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("method", ["lscv", "lcv", "silverman", "sheather-jones", "amortized:gmm16"])
def test_a_bandwidth_that_underflows_is_the_smallest_number(method):
    smallest = 5e-324
    rows = smallest * np.random.default_rng(1).integers(98, 103, (1, 60))
    found = akde.bandwidth(rows, axis=-1, method=method)
    assert np.all(found >= smallest)
    assert akde.bandwidth([[-smallest, smallest]], axis=-1, method=method) >= smallest
