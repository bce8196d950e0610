"""Where numbers come from: a field to paste into, a file, or an example. Sentences stand beside the fields."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from amortized_kde.app.entries import read_limits
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.app.files import open_file, open_text, sheets_of
from amortized_kde.app.links import SOURCES
from amortized_kde.app.memory import forget, remembered
from amortized_kde.app.paste_box import paste_box
from amortized_kde.app.pasted import Comma
from amortized_kde.app.state import kept
from amortized_kde.app.table import Choice, Table, read_choice
from amortized_kde.app.words import plain
from amortized_kde.data.reading import read_bounds
from amortized_kde.data.support import check_inside, working_domain
from amortized_kde.errors import AmortizedKdeError

Limits = tuple[float | None, float | None]

FILE_TYPES = ["csv", "tsv", "txt", "dat", "xlsx", "xlsm", "parquet", "pq"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A sample, ascending, its name and what was said of it; `key` tells it from every other of this visitor."""

    key: Hashable
    choice: Choice
    points: Any


def choose_numbers() -> Numbers | None:
    """Show the fields; give the sample, or None if there is none yet or it cannot be used."""
    source = st.segmented_control(
        "Where are your numbers?",
        SOURCES,
        default=kept().source,
        key="source",
        required=True,
        on_change=_forget_bounds,
    )
    try:
        found = {"Paste": _pasted, "Upload": _uploaded, "Example": _example}[source or SOURCES[0]]()
        if found is None:
            return None
        key, choice = found
        numbers = remembered(("points", key), lambda: Numbers(key, choice, np.sort(choice.values)))
    except AmortizedKdeError as error:
        st.error(_sentence(error), icon=":material/error:")
        return None
    st.caption(f"Read {'; '.join(choice.remarks)}." if choice.remarks else f"{choice.values.size:,} values.")
    return numbers


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]


def _forget_bounds() -> None:
    """Bounds belong to numbers; those of an example do not hold for what is pasted next."""
    st.session_state["lower"] = st.session_state["upper"] = ""
    if st.session_state["source"] == "Example":
        _take_example()


def _take_example() -> None:
    """Set the bounds that come with the example."""
    bounds = EXAMPLES[st.session_state.get("example") or next(iter(EXAMPLES))].bounds
    st.session_state["lower"], st.session_state["upper"] = ("" if end is None else f"{end:g}" for end in bounds)


def _pasted() -> tuple[Hashable, Choice] | None:
    text = st.session_state.get("pasted", "")
    paste_box(text, _take_pasted)
    if not text.strip():
        return None
    comma = _choose_comma() if "," in text else Comma.recognised
    key = ("pasted", st.session_state["pastes"], comma)
    table = remembered(key, lambda: open_text(text, "the text", comma=comma))
    return _choose_column(key, table)


def _take_pasted(text: str) -> None:
    st.session_state["pasted"] = text
    st.session_state["pastes"] = st.session_state.get("pastes", 0) + 1
    forget()


def _choose_comma() -> Comma:
    meanings = [meaning.value for meaning in Comma]
    return Comma(st.selectbox("Commas", meanings, key="comma", help="What a comma in your text means."))


def _uploaded() -> tuple[Hashable, Choice] | None:
    file = st.file_uploader(
        "A file with a column of numbers",
        type=FILE_TYPES,
        key="file",
        help="CSV, TSV, text, Excel (.xlsx) or Parquet. It stays in memory, and nothing in it is executed.",
    )
    if file is None:
        return None
    if file.file_id != st.session_state.get("file_id"):
        st.session_state["file_id"] = file.file_id
        forget()
    sheet = choose_sheet(file)
    key = ("file", file.file_id, sheet)
    table = remembered(key, lambda: open_file(file.getvalue(), file.name, sheet=sheet))
    return _choose_column(key, table)


def choose_sheet(file: Any) -> str | None:
    """Let a visitor choose a workbook's sheet, if there are several; None if it is no workbook."""
    sheets = remembered(("sheets", file.file_id), lambda: sheets_of(file.getvalue(), file.name))
    if not sheets:
        return None
    return sheets[0] if len(sheets) == 1 else st.selectbox("Sheet", sheets, key=f"sheet {file.file_id}")


def _choose_column(key: Hashable, table: Table) -> tuple[Hashable, Choice]:
    index = table.first
    if len(table.names) > 1:
        index = st.selectbox(
            "Column",
            range(len(table.names)),
            index=table.first,
            format_func=lambda k: table.names[k] + ("" if k in table.numeric else " (no numbers)"),
            key=f"column {key}",
        )
    return (key, index), remembered(("choice", key, index), lambda: read_choice(table, index))


def _example() -> tuple[Hashable, Choice]:
    name = st.selectbox(
        "Example",
        list(EXAMPLES),
        index=list(EXAMPLES).index(kept().example),
        format_func=lambda key: EXAMPLES[key].title,
        key="example",
        on_change=_take_example,
    )
    example = EXAMPLES[name]
    st.caption(example.origin)
    values = remembered(("example", name), example.values)
    return ("example", name), Choice(name, values, ())


def choose_bounds(numbers: Numbers | None) -> Limits | None:
    """Show two fields for the bounds and the working domain that follows; None if they cannot be used."""
    left, right = st.columns(2, wrap=False)
    lower = left.text_input(
        "Lower bound", kept().lower, key="lower", placeholder="open", help="Values below it are impossible."
    )
    upper = right.text_input(
        "Upper bound", kept().upper, key="upper", placeholder="open", help="Values above it are impossible."
    )
    try:
        bounds = read_limits(lower or "", upper or "")
        if numbers is not None:
            _show_domain(numbers, bounds)
    except AmortizedKdeError as error:
        st.error(_sentence(error), icon=":material/error:")
        return None
    return bounds


def _show_domain(numbers: Numbers, bounds: Limits) -> None:
    limits, points = read_bounds(bounds), numbers.points
    check_inside(points, limits)
    if points[0] < points[-1]:
        low, high = working_domain(points, limits)
        st.caption(f"Working domain: {plain(low, 5)} to {plain(high, 5)}")
