"""The settings of a visitor's page: taken from the address at first, kept while fields come and go.

Every field is also given its setting as default. A browser that sees a field for the first time in a run that replaces
an unfinished one is told only the default, and would send it back.
"""

from dataclasses import asdict, fields

import streamlit as st

from amortized_kde.app.links import Settings, from_query, to_query

_KEY = "settings"


def begin() -> None:
    """Fill fields that are not there yet from the last settings, or from the address."""
    st.session_state.setdefault(_KEY, from_query(st.query_params.to_dict()))
    # The last run may have been cut short.
    st.session_state[_KEY] = current()
    for name, value in asdict(kept()).items():
        st.session_state.setdefault(name, list(value) if isinstance(value, tuple) else value)


def kept() -> Settings:
    """Give what was chosen when this run began."""
    settings: Settings = st.session_state[_KEY]
    return settings


def current() -> Settings:
    """Give what is chosen now."""
    known = kept()
    chosen = {field.name: st.session_state.get(field.name, getattr(known, field.name)) for field in fields(Settings)}
    return Settings(**{**chosen, "methods": tuple(chosen["methods"])})


def keep() -> None:
    """Remember what is chosen for fields that will come back, and put it into the address."""
    settings = current()
    st.session_state[_KEY] = settings
    if st.query_params.to_dict() != to_query(settings):
        st.query_params.from_dict(to_query(settings))
