"""The script that Streamlit runs for every visitor and after every change; `amortized-kde app` starts it."""

from functools import cache
from pathlib import Path

import streamlit as st

from amortized_kde.app.ensemble_view import show_ensembles
from amortized_kde.app.pictures import icon
from amortized_kde.app.sample_view import show_sample
from amortized_kde.app.source_view import show_error
from amortized_kde.app.state import begin, keep, show_progress_here
from amortized_kde.app.two_columns_view import show_two_columns
from amortized_kde.errors import AmortizedKdeError

TABS = ("One sample", "Two columns", "Ensembles")
# The address of the documentation within the page.
HELP = "?help=1"


def show_page() -> None:
    """Draw the page."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom", key="header"):
        st.title("amortized-kde", anchor=False, width="content")
        st.link_button("Documentation", HELP, icon=":material/menu_book:", type="tertiary")
    st.markdown(
        "Paste numbers and see their probability density. A network, trained once on millions of samples, decides how "
        "much to smooth."
    )
    st.caption(
        "Everything is computed on the machine running this page: your numbers are not stored, logged or sent anywhere "
        "else."
    )
    show_progress_here()
    one, two, many = st.tabs(TABS, key="tab", on_change="rerun")
    with one:
        if one.open:
            show_sample()
    with two:
        if two.open:
            show_two_columns()
    with many:
        if many.open:
            show_ensembles()


def show_help() -> None:
    """Draw the documentation of the page."""
    with st.container(key="help"):
        st.title("amortized-kde", anchor=False)
        st.link_button("Back to the page", "?", icon=":material/arrow_back:", type="tertiary")
        # Ours alone: nothing in it comes from a visitor.
        st.markdown(_read_help())


@cache
def _read_help() -> str:
    return Path(__file__).with_name("help.md").read_text(encoding="utf-8")


def run() -> None:
    """Draw the page; an unforeseen error becomes a sentence, so that no log shows the numbers."""
    st.set_page_config(page_title="amortized-kde", page_icon=icon(), layout="wide")
    st.html(Path(__file__).with_suffix(".css"))
    if "help" in st.query_params:
        show_help()
        return
    try:
        begin()
        show_page()
        keep()
    except AmortizedKdeError as error:
        show_error(error)
    except Exception as error:
        st.error(
            f"Something went wrong ({type(error).__name__}). Reload the page; if it happens again, please report what "
            "you did.",
            icon=":material/error:",
        )


if __name__ == "__main__":
    run()
