"""The tab for forecasts: a table with one ensemble a row; bandwidths, scores and a PIT histogram."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from amortized_kde.app.comparing import method_names
from amortized_kde.app.ensembles import Verified, judge_pit, verify
from amortized_kde.app.entries import read_limits
from amortized_kde.app.examples import example_ensembles
from amortized_kde.app.files import open_file
from amortized_kde.app.input_view import FILE_TYPES, Limits, choose_sheet
from amortized_kde.app.memory import forget, remembered
from amortized_kde.app.pictures import pit_chart
from amortized_kde.app.table import TOGETHER, Table, read_rows
from amortized_kde.app.takeaway import rows_csv
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError

_NONE = "none"
_SHOWN = 1000


def show_ensembles() -> None:
    """Draw the whole tab."""
    left, right = st.columns([4, 7], gap="large")
    with left:
        st.subheader("Your ensembles", anchor=False)
        st.caption("A table with one ensemble a row and a member a column; empty cells are missing members.")
        # Places of their own: a field that a new sentence above it moves is made anew, and loses what is being typed.
        first, second, third = st.container(), st.container(), st.container()
        with first:
            found = _choose_usable_rows()
        with second:
            bounds = _choose_bounds()
        methods = third.multiselect(
            "Methods", method_names(), default=["amortized", "silverman"], key="ensemble methods"
        )
    with right:
        if found is None:
            st.info("Upload a table or take the example: bandwidths, scores and the PIT histogram appear here.")
        elif bounds is not None and methods:
            _show(*found, bounds=bounds, methods=methods)


def _choose_usable_rows() -> tuple[Any, Any, Any] | None:
    try:
        return _choose_rows()
    except AmortizedKdeError as error:
        st.error(f"{str(error)[:1].upper()}{str(error)[1:]}", icon=":material/error:")
        return None


def _choose_rows() -> tuple[Any, Any, Any] | None:
    """A key, the members (rows, members), and what was observed (rows,) or None."""
    if st.toggle("Take the example", key="ensemble example", help="400 made-up forecasts with 21 members each."):
        return "example", *example_ensembles()
    file = st.file_uploader("A table of ensembles", type=FILE_TYPES, key="ensemble file")
    if file is None:
        return None
    if file.file_id != st.session_state.get("ensemble file_id"):
        st.session_state["ensemble file_id"] = file.file_id
        forget()
    sheet = choose_sheet(file)
    key = ("ensembles", file.file_id, sheet)
    table = remembered(key, lambda: open_file(file.getvalue(), file.name, sheet=sheet))
    return _choose_members(key, table)


def _choose_members(key: Any, table: Table) -> tuple[Any, Any, Any]:
    # Numbers without a header have a first entry for all of them together.
    columns = [k for k in table.numeric if table.names[k] != TOGETHER]
    guess = next((k for k in columns if table.names[k].strip().lower() in _OBSERVED), None)
    options = [None, *columns]
    observation = st.selectbox(
        "Observation column",
        options,
        index=options.index(guess),
        format_func=lambda k: _NONE if k is None else table.names[k],
        key=f"observation {key}",
    )
    members = [k for k in columns if k != observation]
    if len(members) < 2:
        raise InvalidSampleError("an ensemble a row needs two columns of numbers at least, and as many on every line.")
    left_out = [name for k, name in enumerate(table.names) if k not in columns and name != TOGETHER]
    st.caption(f"{len(members)} members" + (f"; not numbers: {', '.join(left_out)}" if left_out else "") + ".")
    rows = remembered(("rows", key, tuple(columns)), lambda: read_rows(table, columns))
    chosen = rows[:, [columns.index(k) for k in members]]
    return (key, observation), chosen, None if observation is None else rows[:, columns.index(observation)]


_OBSERVED = ("obs", "observed", "observation", "truth", "outcome", "y")


def _choose_bounds() -> Limits | None:
    left, right = st.columns(2, wrap=False)
    lower = left.text_input("Lower bound of all", key="ensemble lower", placeholder="open")
    upper = right.text_input("Upper bound of all", key="ensemble upper", placeholder="open")
    try:
        return read_limits(lower or "", upper or "")
    except AmortizedKdeError as error:
        st.error(f"{str(error)[:1].upper()}{str(error)[1:]}", icon=":material/error:")
        return None


def _show(key: Any, members: Any, observed: Any, *, bounds: Limits, methods: Sequence[str]) -> None:
    with st.spinner("Smoothing every ensemble …"):
        found = {name: _verified(key, members, observed, method=name, bounds=bounds) for name in methods}
    first = found[methods[0]]
    unanswered = int(np.isnan(first.bandwidths).sum())
    st.markdown(f"**{len(members):,} ensembles** of up to {members.shape[1]} members.")
    if unanswered:
        st.warning(
            f"{unanswered:,} of {len(members):,} have no answer by {methods[0]}: fewer than two members, all equal, or "
            "outside the bounds.",
            icon=":material/warning:",
        )
    _show_methods(found, observed is not None)
    if observed is not None:
        _show_pit(methods[0], first)
    _show_rows(methods[0], first, observed)


def _verified(key: Any, members: Any, observed: Any, *, method: str, bounds: Limits) -> Verified:
    return remembered(
        ("verified", key, bounds, method), lambda: verify(members, observed, method=method, bounds=bounds)
    )


def _show_methods(found: dict[str, Verified], scored: bool) -> None:
    rows = []
    for name, one in found.items():
        row = {"Method": name, "Median bandwidth": f"{np.nanmedian(one.bandwidths):.4g}"}
        if scored:
            row["Mean score (bits)"] = f"{one.mean_score:.4f}"
            row["Outside the bounds"] = f"{int(np.isposinf(one.scores).sum()):,}"
        rows.append(row)
    st.table(pd.DataFrame(rows), hide_index=True, border="horizontal", alt="Bandwidths and scores by method")
    if scored:
        st.caption("Logarithmic score of what was observed, lower is better; infinite scores are counted apart.")


def _show_pit(method: str, one: Verified) -> None:
    st.subheader("Are the forecasts reliable?", anchor=False)
    judged = judge_pit(one.pit)
    st.markdown(judged.sentence)
    dark = st.context.theme.type == "dark"
    chart = pit_chart(judged.counts, judged.expected, judged.band, dark=dark)
    st.altair_chart(chart, key="pit picture", alt=f"PIT histogram by {method}. {judged.sentence}")
    st.caption(
        f"By {method}. The dashed line is what a reliable forecast would give, the grey band what chance allows."
    )


def _show_rows(method: str, one: Verified, observed: Any) -> None:
    columns: dict[str, Any] = {
        "row": np.arange(1, one.members.size + 1),
        "members": one.members,
        "bandwidth": one.bandwidths,
    }
    if observed is not None:
        columns |= {"observed": observed, "score_bits": one.scores, "pit": one.pit}
    st.subheader("Every ensemble", anchor=False)
    st.dataframe(pd.DataFrame(columns).head(_SHOWN), hide_index=True, height=300, alt=f"Every ensemble by {method}")
    if one.members.size > _SHOWN:
        st.caption(f"The first {_SHOWN:,}; the file has all.")
    st.download_button(
        "Ensembles (CSV)",
        lambda: rows_csv(columns),
        file_name="ensembles.csv",
        mime="text/csv",
        on_click="ignore",
        key="download ensembles.csv",
    )
