"""The field that numbers are pasted into.

Streamlit's own field lays out every line and sends all of its text again with whatever else changes, which takes a
million numbers minutes; this one shows the beginning and sends a text once.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

# A longer text is shown in part when the field comes back.
_SHOWN = 1_000
_LONG = 50_000
_KEY = "paste_box"


def paste_box(text: str, take: Callable[[str], None]) -> None:
    """Show the field, with `text` in it when it first appears; a text that is entered goes to `take`.

    That is called before the next run begins: a run may be cut short by another change, and a text is sent only once.
    """
    shown = text if len(text) <= _LONG else text[:_SHOWN]

    def entered() -> None:
        sent = st.session_state[_KEY]["text"]
        if sent is not None:
            take(str(sent))

    _field()(key=_KEY, data={"text": shown, "length": len(text)}, on_text_change=entered)


@cache
def _field() -> Any:
    return st.components.v2.component("amortized_kde_paste_box", html=_read("html"), css=_read("css"), js=_read("js"))


def _read(kind: str) -> str:
    return Path(__file__).with_suffix(f".{kind}").read_text(encoding="utf-8")
