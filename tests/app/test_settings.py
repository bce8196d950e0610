"""Settings: the link that restores them, and the small fields as people fill them in."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.app.comparing import method_names
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.app.settings import (
    FACTORS,
    SOURCES,
    VIEWS,
    Settings,
    from_query,
    link,
    read_end,
    read_limits,
    read_percentages,
    to_query,
)
from amortized_kde.errors import InvalidBoundsError, InvalidParameterError

SETTINGS = st.builds(
    Settings,
    source=st.sampled_from(SOURCES),
    example=st.sampled_from(list(EXAMPLES)),
    lower=st.text(max_size=20),
    upper=st.text(max_size=20),
    methods=st.lists(st.sampled_from(method_names()), min_size=1, unique=True).map(tuple),
    method=st.sampled_from(method_names()),
    factor=st.sampled_from(FACTORS),
    log=st.booleans(),
    view=st.sampled_from(VIEWS),
    left=st.text(max_size=20),
    right=st.text(max_size=20),
    top=st.text(max_size=20),
    low=st.text(max_size=20),
    high=st.text(max_size=20),
    quantiles=st.text(max_size=20),
)


@given(SETTINGS)
def test_a_link_restores_all_settings(settings):
    address = link("http://localhost:8501/?old=1", settings)
    assert from_query(dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))) == settings


def test_defaults_need_no_query():
    assert to_query(Settings()) == {}
    assert link("http://localhost:8501", Settings()) == "http://localhost:8501/"


@pytest.mark.parametrize(
    "query",
    [
        {"source": "Elsewhere"},
        {"example": "../../etc/passwd"},
        {"methods": "amortized:/tmp/model,nonsense"},
        {"method": "amortized:/tmp/model"},
        {"factor": "1e9"},
        {"factor": "nan"},
        {"log": "yes"},
        {"view": "<script>"},
        {"unknown": "1"},
    ],
)
def test_what_is_not_understood_is_left_out(query):
    assert from_query(query) == Settings()


def test_long_texts_are_cut():
    assert len(from_query({"lower": "1" * 10_000}).lower) == 200


def test_one_is_among_the_factors():
    assert 1.0 in FACTORS
    assert list(FACTORS) == sorted(FACTORS)


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
