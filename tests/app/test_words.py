"""The sentence on a sample is true, and no text of a visitor does anything but show."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.app.words import describe, digits_for, escaped, listing, one_line, plain
from amortized_kde.data.reading import read_sample

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


def test_weighted_samples_are_described_by_their_weights():
    text = describe(read_sample(NORMAL, weights=np.where(NORMAL < 10.0, 0.01, 1.0)), np.array([10.5]), (None, None), ())
    assert "90 % of the weight lies between 10" in text


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
