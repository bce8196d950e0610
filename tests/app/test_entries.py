"""Small fields, as people fill them in."""

import pytest

from amortized_kde.app.entries import read_end, read_limits, read_percentages
from amortized_kde.errors import InvalidBoundsError, InvalidParameterError


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0.0), (" 1.5 ", 1.5), ("1,5", 1.5), ("-3e2", -300.0), ("\u22122", -2.0)],
)
def test_ends(text, number):
    assert read_end(text, "the end") == number


@pytest.mark.parametrize("text", ["", " ", "none", "-inf", "∞", "Open"])
def test_open_ends(text):
    assert read_end(text, "the end") is None


@pytest.mark.parametrize("text", ["abc", "1 2", "nan", "1e301", "1,000.5", "x" * 99])
def test_what_is_no_end(text):
    with pytest.raises(InvalidBoundsError, match=r"^the end: .* is not a number; leave the field empty"):
        read_end(text, "the end")


def test_limits():
    assert read_limits("", "") == (None, None)
    assert read_limits("0", "1") == (0.0, 1.0)
    for pair in (("1", "0"), ("1", "1")):
        with pytest.raises(InvalidBoundsError, match="the lower bound 1 must be below the upper bound"):
            read_limits(*pair)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5, 50, 95", [0.05, 0.5, 0.95]),
        ("5,50,95", [0.05, 0.5, 0.95]),
        ("5 % 50 %", [0.05, 0.5]),
        ("2,5; 97,5", [0.025, 0.975]),
        ("2.5%", [0.025]),
        ("", []),
    ],
)
def test_percentages(text, found):
    assert read_percentages(text) == found


@pytest.mark.parametrize("text", ["0", "100", "-5", "abc", "5, x", "nan", "5, 500"])
def test_what_is_no_percentage(text):
    with pytest.raises(InvalidParameterError, match="is not a percentage between 0 and 100"):
        read_percentages(text)


def test_too_many_percentages():
    with pytest.raises(InvalidParameterError, match="up to 25 percentages"):
        read_percentages(" ".join(str(k) for k in range(1, 40)))
