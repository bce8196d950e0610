"""The sentence on a sample is true, and what is taken away gives the same density elsewhere."""

import re
import shlex

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import amortized_kde as akde
from amortized_kde.app.ensembles import one_density, verify
from amortized_kde.app.words import (
    MEMBERS_FILE,
    NUMBERS_FILE,
    command_line,
    describe,
    digits_for,
    ensemble_lines,
    escaped,
    listing,
    numbers_csv,
    one_line,
    plain,
    python_lines,
    rows_csv,
)
from amortized_kde.cli import app
from amortized_kde.data.reading import read_sample
from amortized_kde.integrations.tables import density_csv, read_column

NORMAL = np.sort(np.random.default_rng(1).normal(10.0, 1.0, 500))


def say(points, modes, bounds=(None, None), ways=()):
    return describe(read_sample(np.asarray(points, float)), np.asarray(modes, float), bounds, ways)


def test_peaks():
    assert "have one peak, near 10, and 90 % lie between 8.46 and 11.5;" in say(NORMAL, [10.0])
    assert "two peaks, near 8 and 11" in say(NORMAL, [8.0, 11.0])
    assert "four peaks, near 8, 9, 10 and 11" in say(NORMAL, [8.0, 9.0, 10.0, 11.0])
    assert "have seven peaks, and" in say(NORMAL, range(7))
    assert "have 12 peaks, and" in say(NORMAL, range(12))


def test_a_peak_at_a_bound():
    draws = np.random.default_rng(1).exponential(1.0, 400)
    text = say(draws, [0.0], (0.0, None))
    assert "one peak, at the lower bound, a longer tail to the right, and" in text
    assert "one peak, at the upper bound, a longer tail to the left, and" in say(-draws, [0.0], (None, 0.0))


def test_tails():
    assert "some extreme values" in say(np.random.default_rng(1).standard_cauchy(1000), [0.0])
    assert "tail" not in say(NORMAL, [10.0])
    assert "tail" not in say(np.random.default_rng(1).exponential(1.0, 400), [0.0, 3.0])


def test_ties():
    assert "500 values (7 distinct) have" in say(NORMAL.round(), [10.0])
    assert "distinct" not in say(NORMAL, [10.0])


def test_likeness():
    assert say(NORMAL, [10.0]).endswith("; the network was trained on samples like this one.")
    text = say(NORMAL, [10.0], ways=["it is more skewed", "its outliers are farther out"])
    assert (
        "the network was not trained on samples like this one (it is more skewed and its outliers are farther out)"
        in text
    )


def test_it_is_one_sentence():
    text = say(NORMAL, [10.0])
    assert text.count(". ") == 0
    assert text.endswith(".")


def test_digits_tell_values_apart():
    assert digits_for(np.array([0.0, 1.0])) == 3
    assert digits_for(np.array([1000.0, 1010.0])) == 5
    assert digits_for(np.array([5.0, 5.0])) == 3
    assert digits_for(np.array([1e18, 1e18 + 256.0])) == 17


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (0.0, 4, "0"),
        (12345678.0, 3, "12,300,000"),
        (-12345.6, 4, "-12,350"),
        (1234.5, 3, "1234"),
        (99999.9, 3, "100,000"),
        (1e-9, 3, "1e-09"),
        (3e9, 3, "3e+09"),
    ],
)
def test_plain_numbers(number, digits, text):
    assert plain(number, digits) == text


def test_listing():
    assert (listing(["a"]), listing(["a", "b"])) == ("a", "a and b")


X = np.random.default_rng(1).gamma(2.0, 1.0, 60)
CASES = [
    ((None, None), "amortized", 1.0),
    ((0.0, None), "amortized", 0.5),
    ((-1.5, 30.25), "silverman", 1.0),
    ((None, 1e3), "amortized:gmm32", 1.189),
]


@pytest.mark.parametrize(("bounds", "method", "factor"), CASES)
@pytest.mark.parametrize("size", [10, 60])
def test_python_lines_give_the_density_shown(bounds, method, factor, size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NUMBERS_FILE).write_text(numbers_csv(X[:size]), encoding="utf-8")
    made = {}
    exec(python_lines(X[:size], bounds=bounds, method=method, factor=factor), made)
    shown = akde.fit(X[:size], bounds=bounds, method=method)
    shown = shown.smoothed(factor) if factor != 1.0 else shown
    assert np.array_equal(made["density"], shown.pdf(shown.grid(512)))


@pytest.mark.parametrize(("bounds", "method", "factor"), CASES)
def test_the_command_line_gives_the_density_shown(bounds, method, factor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NUMBERS_FILE).write_text(numbers_csv(X), encoding="utf-8")
    words = shlex.split(command_line(bounds=bounds, method=method, factor=factor))
    assert words[0] == "amortized-kde"
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output
    shown = akde.fit(X, bounds=bounds, method=method)
    shown = shown.smoothed(factor) if factor != 1.0 else shown
    assert (tmp_path / "density.csv").read_text(encoding="utf-8") == density_csv(shown, shown.grid(512))
    assert (tmp_path / "density.png").read_bytes().startswith(b"\x89PNG")


W = np.random.default_rng(2).exponential(size=60)


@pytest.mark.parametrize("size", [10, 60])
def test_lines_and_command_with_weights(size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NUMBERS_FILE).write_text(numbers_csv(X[:size], W[:size]), encoding="utf-8")
    options = {"bounds": (0.0, None), "method": "scott", "factor": 2.0, "weights": W[:size]}
    made = {}
    exec(python_lines(X[:size], **options), made)
    shown = akde.fit(X[:size], bounds=(0, None), method="scott", weights=W[:size]).smoothed(2.0)
    assert np.array_equal(made["density"], shown.pdf(shown.grid(512)))
    done = CliRunner().invoke(app, shlex.split(command_line(**options))[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "density.csv").read_text(encoding="utf-8") == density_csv(shown, shown.grid(512))


def test_weighted_samples_are_described_by_their_weights():
    text = describe(read_sample(NORMAL, weights=np.where(NORMAL < 10.0, 0.01, 1.0)), np.array([10.5]), (None, None), ())
    assert "90 % of the weight lies between 10" in text


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize(("bounds", "method"), [((None, None), "amortized"), ((0.0, None), "silverman")])
def test_ensemble_lines_give_what_is_shown(observed, bounds, method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    members, seen = np.random.default_rng(1).gamma(2.0, size=(4, 7)), np.array([1.0, 2.0, np.nan, 1.5])
    members[1, 5:] = np.nan
    columns = {f"m{k}": column for k, column in enumerate(members.T)} | ({"obs": seen} if observed else {})
    (tmp_path / MEMBERS_FILE).write_text(rows_csv(columns), encoding="utf-8")
    made = {}
    exec(ensemble_lines(2, bounds=bounds, method=method, observed=observed), made)
    found = verify(members, seen if observed else None, method=method, bounds=bounds)
    assert np.array_equal(made["h"], found.bandwidths)
    _, density = one_density(members[1], found.bandwidths[1], bounds)
    assert np.array_equal(made["density"], density.pdf(density.grid(512)))
    if observed:
        assert np.array_equal(made["scores"], found.scores, equal_nan=True)
        assert np.array_equal(made["pit"], found.pit, equal_nan=True)


def test_numbers_keep_their_order_and_digits(tmp_path):
    path = tmp_path / NUMBERS_FILE
    path.write_text(numbers_csv(X), encoding="utf-8")
    assert np.array_equal(read_column(str(path)).values, X)


def test_rows():
    text = rows_csv({"row": np.array([1, 2]), "score": np.array([0.1, np.nan])})
    assert text == "row,score\n1,0.1\n2,\n"


# Markdown, Streamlit's additions to it, HTML, and addresses that become links by themselves.
HOSTILE = "![y](http://e.example/a) [z](//e.example) www.e.example a@e.example :material/home: $x$ <b> `c` **d** # e"


def test_a_name_is_one_line_without_invisible_characters():
    assert one_line("a\r\n\tb\u200b\u202e c\x00") == "a b c"
    assert one_line("x" * 80) == "x" * 80
    assert one_line("x" * 10**6) == "x" * 79 + "…"


def test_escaped_text_has_no_mark_that_means_something():
    text = escaped(HOSTILE)
    assert not re.search(r"(?<!\\)[!-/:-@\[\]-`{-~]", text)
    seen = text.replace("\\", "")
    assert not re.search(r"https?://|www\.|@e|:material", seen)
    assert seen.replace("\u2060", "") == HOSTILE


@given(st.text(max_size=300))
def test_escaping_changes_no_visible_character(text):
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped(text)).replace("\u2060", "")
    assert shown == one_line(text, 1000)
