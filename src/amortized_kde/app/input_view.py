"""Fields for the numbers and their bounds: a box to paste into, a file, or an example; errors beside the fields."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from amortized_kde._types import Array
from amortized_kde.app.columns import Choice, read_choice
from amortized_kde.app.curves import Limits
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.app.pasted import Comma
from amortized_kde.app.settings import SOURCES, read_limits
from amortized_kde.app.state import announce, computed, forget, kept, remembered, show_undo, take_text
from amortized_kde.app.tables import TOGETHER, Table, open_file, open_text, size_of
from amortized_kde.app.words import escaped, plain
from amortized_kde.app.work import SMALL_FILE
from amortized_kde.data.reading import read_bounds, read_sample
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import check_inside, working_domain
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.integrations.contents import is_workbook
from amortized_kde.integrations.spreadsheets import sheet_names

_FILE_TYPES = ["csv", "tsv", "txt", "dat", "xlsx", "xlsm", "parquet", "pq", "feather", "arrow", "gz"]
# Of a long text only the beginning is shown when the box comes back.
_LONG, _SHOWN = 50_000, 1_000


@dataclass(frozen=True, eq=False)
class Numbers:
    """A sample, the choice that it was read from, a key that identifies it within the session, and a title."""

    key: Hashable
    choice: Choice
    sample: Sample
    title: str

    @property
    def points(self) -> Array:
        """The values, ascending."""
        return self.sample.values


def show_error(error: AmortizedKdeError) -> None:
    """Show the error's sentence."""
    text = str(error)
    st.error(escaped(text[:1].upper() + text[1:]), icon=":material/error:")


def show_heading(text: str) -> None:
    """Show the heading of the settings, and beside it a button to undo."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(escaped(text), anchor=False, width="content")
        show_undo()


def choose_numbers() -> Numbers | None:
    """Show the fields; return the sample, the first example if there is none yet, None if it cannot be used."""
    source = st.segmented_control(
        "Source",
        SOURCES,
        default=kept().source,
        key="source",
        required=True,
        on_change=_reset_bounds,
        label_visibility="collapsed",
    )
    try:
        found = {"Paste": _pasted, "Upload": _uploaded, "Example": _example}[source or SOURCES[0]]()
        key, choice = found or _opening_example()
        numbers = remembered(("points", key), lambda: _numbers(key, choice))
    except AmortizedKdeError as error:
        show_error(error)
        return None
    if found is not None:
        count = f"Read {'; '.join(choice.remarks)}." if choice.remarks else f"{choice.values.size:,} values."
        effective = numbers.sample.effective_size
        weighted = (
            f" Their weights leave an effective size of {effective:,.0f}." if numbers.sample.weights is not None else ""
        )
        st.caption(escaped(count + weighted))
    return numbers


def _numbers(key: Any, choice: Choice) -> Numbers:
    title = EXAMPLES[key[1]].title if key[0] == "example" else f"Density of {choice.values.size:,} values"
    return Numbers(key, choice, read_sample(choice.values, weights=choice.weights), title)


def _opening_example() -> tuple[Hashable, Choice]:
    """Return the first example, which is shown until there are other numbers."""
    name, example = next(iter(EXAMPLES.items()))
    st.caption("Until then the page shows an example.")
    return ("example", name), Choice(example.name, remembered(("example", name), example.values), ())


def _reset_bounds() -> None:
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


def _pasted() -> tuple[Hashable, Choice] | None:
    text = st.session_state.get("pasted", "")
    shown = text if len(text) <= _LONG else text[:_SHOWN]
    data = {"text": shown, "length": len(text), "undone": st.session_state.get("undone", 0)}
    _component("paste_box")(key="paste_box", data=data, on_text_change=_take_pasted)
    if not text.strip():
        return None
    comma = _choose_comma() if "," in text else Comma.recognised
    key = ("pasted", st.session_state["pastes"], comma)
    work = partial(open_text, text, "the text", comma=comma)
    table = remembered(key, lambda: _read(work, len(text)))
    return _choose_column(key, table)


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
    return Comma(st.selectbox("Commas", meanings, key="comma", help="What a comma in your text means."))


def _uploaded() -> tuple[Hashable, Choice] | None:
    opened = upload_table(
        "File with a column of numbers",
        "file",
        help="CSV, TSV, text, Excel (.xlsx), Parquet or Feather, also gzipped. It stays in memory, and nothing in it "
        "is executed.",
    )
    return None if opened is None else _choose_column(*opened)


def upload_table(label: str, name: str, *, help: str | None = None) -> tuple[Hashable, Table] | None:
    """Show a field for a file; return its key and its table, None if there is no file.

    Raises
    ------
    AmortizedKdeError
        If the file cannot be read.
    """
    file = st.file_uploader(label, type=_FILE_TYPES, key=name, help=help)
    if file is None:
        return None
    if file.file_id != st.session_state.get(f"{name}_id"):
        st.session_state[f"{name}_id"] = file.file_id
        forget()
        announce()
    content, size = file.getvalue(), size_of(file.getvalue())
    sheets = remembered(("sheets", file.file_id), lambda: _sheets(content, file.name, size))
    sheet = sheets[0] if sheets else None
    if len(sheets) > 1:
        sheet = st.selectbox("Sheet", sheets, key=f"sheet {file.file_id}")
    key = (name, file.file_id, sheet)
    return key, remembered(key, lambda: _read(partial(open_file, content, file.name, sheet=sheet), size))


def _sheets(content: bytes, name: str, size: int) -> tuple[str, ...]:
    found: tuple[str, ...] = _read(partial(sheet_names, content, name), size) if is_workbook(content) else ()
    return found


def _read(work: Callable[[], Any], size: int) -> Any:
    return computed(work, size=size, small=SMALL_FILE, doing="Reading")


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
    weights = _choose_weights(key, table, index)
    work = partial(read_choice, table, index, weights)
    return (key, index, weights), remembered(("choice", key, index, weights), lambda: _read(work, table.size))


def _choose_weights(key: Hashable, table: Table, index: int) -> int | None:
    others = [k for k in table.numeric if k != index and table.names[k] != TOGETHER]
    if not others or table.names[index] == TOGETHER:
        return None
    weights: int | None = st.selectbox(
        "Weights",
        [None, *others],
        format_func=lambda k: "none: all values count the same" if k is None else table.names[k],
        key=f"weights {key} {index}",
        help="A column that says how much each value counts; only the ratios matter.",
    )
    return weights


def _example() -> tuple[Hashable, Choice]:
    name = st.selectbox(
        "Example",
        list(EXAMPLES),
        index=list(EXAMPLES).index(kept().example),
        format_func=lambda key: EXAMPLES[key].title,
        key="example",
        on_change=_reset_bounds,
    )
    example = EXAMPLES[name]
    st.caption(escaped(example.origin))
    values = remembered(("example", name), example.values)
    return ("example", name), Choice(example.name, values, ())


def choose_bounds(numbers: Numbers | None) -> Limits | None:
    """Show fields for the bounds, and the working domain that follows; return None if they cannot be used."""
    bounds = type_interval(
        ("Lower bound", "Upper bound"),
        ("lower", "upper"),
        defaults=(kept().lower, kept().upper),
        helps=("Values below it are impossible.", "Values above it are impossible."),
    )
    if bounds is None or numbers is None:
        return bounds
    limits, points = read_bounds(bounds), numbers.points
    try:
        check_inside(points, limits)
        if points[0] < points[-1]:
            low, high = working_domain(points, limits, size=numbers.sample.effective_size)
            st.caption(
                escaped(f"Working domain: {plain(low, 5)} to {plain(high, 5)}"),
                help="The interval that the methods look at: the bounds, and on an open side the range of the values "
                "with a margin.",
            )
    except AmortizedKdeError as error:
        show_error(error)
        return None
    return bounds


def type_interval(
    labels: tuple[str, str],
    keys: tuple[str, str],
    *,
    defaults: tuple[str, str] = ("", ""),
    helps: Sequence[str | None] = (None, None),
    empty: str = "open",
    what: str = "bound",
) -> Limits | None:
    """Show fields for the ends of an interval; return it, None if it cannot be used."""
    lower, upper = (
        column.text_input(label, default, key=key, placeholder=empty, help=tip) or ""
        for column, label, key, default, tip in zip(
            st.columns(2, wrap=False), labels, keys, defaults, helps, strict=True
        )
    )
    try:
        return read_limits(lower, upper, what)
    except AmortizedKdeError as error:
        show_error(error)
        return None
