"""A visitor's session: the settings of the fields, undo, and results that are kept while the page is open.

Every field is given its setting both as state and as default. A browser that sees a field for the first time in a run
that replaces an unfinished one receives only the default, and would send it back.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import asdict, fields
from typing import Any, TypeVar, cast

import streamlit as st

from amortized_kde.app.settings import Settings, from_query, to_query
from amortized_kde.app.words import escaped
from amortized_kde.app.work import SMALL_SAMPLE, WORKER

Result = TypeVar("Result")

_SETTINGS, _RESULTS, _PROGRESS = "settings", "results", "progress"
_PAST, _PRESENT = "past", "present"
# Besides the settings, fields whose keys begin so can be undone; and the most changes and characters that are kept.
_UNDONE = (
    "pasted",
    "comma",
    "column ",
    "weights ",
    "sheet ",
    "curves ",
    "members ",
    "observation ",
    "ensemble ",
    "plane ",
)
# A file cannot be put back into its field, and a picture is no field.
_NOT_FIELDS = ("ensemble file", "plane picture")
_MOST_UNDONE, _MOST_CHARACTERS = 50, 100_000_000
# Results that are kept. Densities of a million values take 20 megabytes each, and there are 13 methods.
_MOST, _MOST_LARGE, _LARGE = 60, 24, 100_000


def begin() -> None:
    """Fill fields that are not there, as those of the other tabs, from the last settings or from the address."""
    st.session_state.setdefault(_SETTINGS, from_query(st.query_params.to_dict()))
    # The last run may have been cut short.
    st.session_state[_SETTINGS] = current()
    for name, value in asdict(kept()).items():
        st.session_state.setdefault(name, list(value) if isinstance(value, tuple) else value)
    for name, value in st.session_state.get(_PRESENT, {}).items():
        st.session_state.setdefault(name, value)
    _note_change()


def kept() -> Settings:
    """Return the settings at the beginning of this run."""
    settings: Settings = st.session_state[_SETTINGS]
    return settings


def current() -> Settings:
    """Return the settings as they are now."""
    known = kept()
    chosen = {field.name: st.session_state.get(field.name, getattr(known, field.name)) for field in fields(Settings)}
    return Settings(**{**chosen, "methods": tuple(chosen["methods"])})


def keep() -> None:
    """Keep the settings for fields that will come back, and put them into the address."""
    settings = current()
    st.session_state[_SETTINGS] = settings
    if st.query_params.to_dict() != to_query(settings):
        st.query_params.from_dict(to_query(settings))
    # What the page itself changed belongs to the visitor's last change.
    st.session_state[_PRESENT] = _choices()


def _choices() -> dict[str, Any]:
    """Return everything that undo restores; a field that is not shown at present keeps its last value."""
    state = st.session_state
    found = {name: state[name] for name in _fields()}
    return {"pasted": "", **state.get(_PRESENT, {}), **asdict(current()), **found}


def _fields() -> list[str]:
    """Return the keys of the fields besides the settings that undo restores."""
    return [name for name in map(str, st.session_state) if name.startswith(_UNDONE) and name not in _NOT_FIELDS]


def _note_change() -> None:
    """Keep what was chosen before, if anything is different now."""
    choices, before = _choices(), st.session_state.get(_PRESENT)
    if before is not None and choices != before:
        past = [*st.session_state.get(_PAST, []), before][-_MOST_UNDONE:]
        while sum(len(text) for text in {old["pasted"] for old in past}) > _MOST_CHARACTERS:
            past.pop(0)
        st.session_state[_PAST] = past
    st.session_state[_PRESENT] = choices


def show_undo() -> None:
    """Show a button that takes back the last change of a field."""
    st.button("Undo", icon=":material/undo:", type="tertiary", disabled=not st.session_state.get(_PAST), on_click=_undo)


def _undo() -> None:
    choices = st.session_state[_PAST].pop()
    if choices["pasted"] != st.session_state.get("pasted", ""):
        take_text(choices["pasted"])
        st.session_state["undone"] = st.session_state.get("undone", 0) + 1
    # Fields that came after these choices would count as another change.
    for name in set(_fields()) - set(choices):
        del st.session_state[name]
    for name, value in choices.items():
        st.session_state[name] = list(value) if isinstance(value, tuple) else value
    st.session_state[_PRESENT] = choices


def take_text(text: str) -> None:
    """Replace the pasted text, and forget the results of the last one."""
    st.session_state["pasted"] = text
    st.session_state["pastes"] = st.session_state.get("pastes", 0) + 1
    forget()


def announce() -> None:
    """Note that another sample was chosen, whose picture should come into view."""
    st.session_state["arrivals"] = st.session_state.get("arrivals", 0) + 1


def remembered(key: Hashable, compute: Callable[[], Result], *, size: int = 0) -> Result:
    """Return the result for a key, computed once; the last ones are kept, fewer if the sample's `size` is large.

    Streamlit's caches are shared by all visitors, outlive them, and confuse large arrays that agree in a part of their
    values.
    """
    results = cast("OrderedDict[Hashable, object]", st.session_state.setdefault(_RESULTS, OrderedDict()))
    if key not in results:
        results[key] = compute()
    results.move_to_end(key)
    while len(results) > (_MOST_LARGE if size > _LARGE else _MOST):
        results.popitem(last=False)
    return cast(Result, results[key])


def computed(
    work: Callable[[], Result], *, size: int, small: int = SMALL_SAMPLE, doing: str, about: float = 0.0
) -> Result:
    """Return what `work` returns; from the worker's process if `size` is above `small`, and with the time shown.

    Whatever Streamlit shows raises if the visitor left or changed a field, which ends the work.
    """
    if size <= small:
        return work()
    place = st.session_state[_PROGRESS]
    expected = f", about {about:.0f} s in all" if about >= 2.0 else ""

    def wait(seconds: float) -> None:
        place.caption(escaped(f"{doing}: {seconds:.0f} s so far{expected}."))

    try:
        return WORKER.run(work, wait=wait)
    finally:
        place.empty()


def show_progress_here() -> None:
    """Reserve the place where `computed` shows the time."""
    st.session_state[_PROGRESS] = st.empty()


def forget() -> None:
    """Drop all results, because there is another sample."""
    st.session_state.pop(_RESULTS, None)
