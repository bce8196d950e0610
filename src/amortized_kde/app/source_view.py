"""Fields for where numbers come from: a box to paste into, a file, or an example; errors beside the fields."""

from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from amortized_kde.app.curves import Limits
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.app.pasted import Comma
from amortized_kde.app.settings import SOURCES
from amortized_kde.app.state import announce, computed, forget, kept, remembered, show_undo, take_text
from amortized_kde.app.tables import Table, open_file, open_text, size_of
from amortized_kde.app.words import escaped
from amortized_kde.app.work import SMALL_FILE
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.integrations.contents import is_workbook
from amortized_kde.integrations.spreadsheets import sheet_names

_FILE_TYPES = ["csv", "tsv", "txt", "dat", "xlsx", "xlsm", "parquet", "pq", "feather", "arrow", "gz"]
# Of a long text only the beginning is shown when the box comes back.
_LONG, _SHOWN = 50_000, 1_000
# What an empty box shows, and the line below it.
_NUMBER_HINTS = (
    "Paste or type numbers, such as\n3.6, 1.8, 3.333, …",
    "Separated by lines, commas, semicolons, tabs or spaces; decimal points or commas; with or without a unit.",
)
_TABLE_HINTS = (
    "Paste a table, such as\nheight, weight\n171, 68.5\n164, 59.0\n…",
    "Columns separated by commas, semicolons, tabs or spaces, with or without names in the first line.",
)


def show_error(error: AmortizedKdeError) -> None:
    """Show the error's sentence."""
    text = str(error)
    st.error(escaped(text[:1].upper() + text[1:]), icon=":material/error:")


def show_heading(text: str) -> None:
    """Show the heading of the settings, and beside it a button to undo."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(escaped(text), anchor=False, width="content")
        show_undo()


def select(label: str, options: Sequence[Any], key: str, *, first: int = 0, **others: Any) -> Any:
    """Show a list, and return what is chosen, at first the option at `first`; state and default agree (`app.state`)."""
    chosen = st.session_state.get(key, options[first])
    index = options.index(chosen) if chosen in options else first
    return st.selectbox(label, options, index=index, key=key, **others)


def choose_source() -> str:
    """Show where the numbers can come from; return one of `SOURCES`."""
    source = st.segmented_control(
        "Source",
        SOURCES,
        default=kept().source,
        key="source",
        required=True,
        on_change=reset_bounds,
        label_visibility="collapsed",
    )
    return source or SOURCES[0]


def open_source(source: str, *, table: bool = False) -> tuple[Hashable, Table] | None:
    """Show the field for a text or a file; return a key and what is in it, None if there is nothing yet.

    With `table`, the field asks for a table instead of numbers.

    Raises
    ------
    AmortizedKdeError
        If it cannot be read.
    """
    if source == "Paste":
        return _pasted(*(_TABLE_HINTS if table else _NUMBER_HINTS))
    return upload_table(
        "File with columns of numbers",
        "file",
        help="CSV, TSV, text, Excel (.xlsx), Parquet or Feather, also gzipped. It stays in memory, and nothing in it "
        "is executed.",
    )


def reset_bounds() -> None:
    """Clear the bounds and axes of the last numbers, or set the bounds of the example."""
    forget_axes()
    announce()
    bounds: Limits = (None, None)
    if st.session_state["source"] == "Example":
        bounds = EXAMPLES[st.session_state.get("example") or next(iter(EXAMPLES))].bounds
    st.session_state["lower"], st.session_state["upper"] = ("" if end is None else f"{end:g}" for end in bounds)


def forget_axes() -> None:
    """Let the axes fit the numbers again."""
    for name in ("left", "right", "top"):
        st.session_state[name] = ""


def _pasted(placeholder: str, form: str) -> tuple[Hashable, Table] | None:
    text = st.session_state.get("pasted", "")
    shown = text if len(text) <= _LONG else text[:_SHOWN]
    data = {"text": shown, "length": len(text), "undone": st.session_state.get("undone", 0)}
    data |= {"placeholder": placeholder, "form": form}
    _component("paste_box")(key="paste_box", data=data, on_text_change=_take_pasted)
    if not text.strip():
        return None
    comma = _choose_comma() if "," in text else Comma.recognised
    key = ("pasted", st.session_state["pastes"], comma)
    work = partial(open_text, text, "the text", comma=comma)
    return key, remembered(key, lambda: read(work, len(text)))


@cache
def _component(name: str) -> Any:
    """Return one of the page's own elements.

    The box that numbers are pasted into: Streamlit's text area lays out every line and sends all of its text again with
    every other change, which takes minutes for a million numbers; this one shows the beginning and sends a text once.
    The arrival scrolls to the picture of new numbers where it is out of view, as on a phone.
    """
    files = (Path(__file__).with_name(f"{name}.{kind}") for kind in ("html", "css", "js"))
    html, css, js = (file.read_text(encoding="utf-8") if file.exists() else None for file in files)
    return st.components.v2.component(f"amortized_kde_{name}", html=html, css=css, js=js)


def bring_into_view() -> None:
    """Scroll to this place, if other numbers were chosen and it is out of view."""
    _component("arrival")(key="arrival", data={"arrivals": st.session_state.get("arrivals", 0)})


def _take_pasted() -> None:
    """Keep the text before the next run begins: another change may cut that run short, and a text is sent only once."""
    sent = st.session_state["paste_box"]["text"]
    if sent is not None:
        take_text(str(sent["text"]))
        forget_axes()
        # Who is typing should go on seeing the box.
        if sent["pasted"]:
            announce()


def _choose_comma() -> Comma:
    meanings = [meaning.value for meaning in Comma]
    return Comma(select("Commas", meanings, "comma", help="What a comma in your text means."))


def upload_table(label: str, name: str, *, help: str | None = None) -> tuple[Hashable, Table] | None:
    """Show a field for a file; return its key and its table, None if there is no file.

    Raises
    ------
    AmortizedKdeError
        If the file cannot be read.
    """
    chosen = st.file_uploader(
        label, type=_FILE_TYPES, key=name, help=help, on_change=lambda: _keep_file(name, st.session_state[name])
    )
    # The field is empty after a visit to another tab.
    file = chosen or st.session_state.get(f"kept {name}")
    if file is None:
        return None
    if chosen is None:
        st.caption(escaped(f"Using {file.name}, until you upload another file."))
    if file.file_id != st.session_state.get(f"{name}_id"):
        st.session_state[f"{name}_id"] = file.file_id
        forget()
        announce()
    content, size = file.getvalue(), size_of(file.getvalue())
    sheets = remembered(("sheets", file.file_id), lambda: _sheets(content, file.name, size))
    sheet = sheets[0] if sheets else None
    if len(sheets) > 1:
        sheet = select("Sheet", sheets, f"sheet {file.file_id}")
    key = (name, file.file_id, sheet)
    return key, remembered(key, lambda: read(partial(open_file, content, file.name, sheet=sheet), size))


def _keep_file(name: str, file: Any) -> None:
    st.session_state[f"kept {name}"] = file


def _sheets(content: bytes, name: str, size: int) -> tuple[str, ...]:
    found: tuple[str, ...] = read(partial(sheet_names, content, name), size) if is_workbook(content) else ()
    return found


def read(work: Callable[[], Any], size: int) -> Any:
    """Return what `work` returns, from the worker's process if `size` is large."""
    return computed(work, size=size, small=SMALL_FILE, doing="Reading")
