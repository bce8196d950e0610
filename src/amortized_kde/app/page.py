"""The script that Streamlit runs for every visitor and after every change; `amortized-kde app` starts it."""

from pathlib import Path

import streamlit as st

from amortized_kde.app.ensemble_view import show_ensembles
from amortized_kde.app.input_view import show_error
from amortized_kde.app.pictures import icon
from amortized_kde.app.sample_view import show_sample
from amortized_kde.app.state import begin, keep, show_progress_here
from amortized_kde.errors import AmortizedKdeError

TABS = ("One sample", "Ensembles")


def show_page() -> None:
    """Draw the page."""
    st.html(Path(__file__).with_suffix(".css"))
    st.title("Paste a sample, see its density", anchor=False)
    st.caption(
        "A trained network decides how much to smooth. Everything is computed where this page was started: your "
        "numbers are not stored, logged or sent anywhere else."
    )
    show_progress_here()
    one, many = st.tabs(TABS, key="tab", on_change="rerun")
    with one:
        if one.open:
            show_sample()
    with many:
        if many.open:
            show_ensembles()


def run() -> None:
    """Draw the page; an unforeseen error becomes a sentence, so that no log shows the numbers."""
    st.set_page_config(page_title="amortized-kde", page_icon=icon(), layout="wide")
    try:
        begin()
        show_page()
        keep()
    except AmortizedKdeError as error:
        show_error(error)
    except Exception as error:
        st.error(
            f"Something went wrong that we did not foresee ({type(error).__name__}). Reload the page; if it happens "
            "again, please report what you did.",
            icon=":material/error:",
        )


if __name__ == "__main__":
    run()
