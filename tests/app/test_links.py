"""Settings and the links that restore them."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.app.comparing import method_names
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.app.links import FACTORS, SOURCES, VIEWS, Settings, from_query, link, to_query

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
