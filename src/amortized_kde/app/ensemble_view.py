"""The tab for forecasts: bandwidths, scores and a histogram of ranks of a table with one ensemble per row."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from amortized_kde.app.columns import read_rows
from amortized_kde.app.comparing import method_names
from amortized_kde.app.curves import Limits
from amortized_kde.app.ensembles import Verified, judge_ranks, verify
from amortized_kde.app.examples import example_ensembles
from amortized_kde.app.input_view import show_error, type_interval, upload_table
from amortized_kde.app.pictures import rank_chart
from amortized_kde.app.state import computed, remembered
from amortized_kde.app.tables import TOGETHER, Table
from amortized_kde.app.words import escaped, rows_csv
from amortized_kde.app.work import SMALL_FILE
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError

# Names that mark the column of observations.
_OBSERVED = ("obs", "observed", "observation", "truth", "outcome", "y")
# Rows of the table that are shown, and columns whose wrong cells are named.
_SHOWN, _NAMED = 1000, 5


def show_ensembles() -> None:
    """Draw the whole tab."""
    left, right = st.columns([4, 7], gap="large")
    with left:
        st.subheader("Your ensembles", anchor=False)
        st.caption("A table with one ensemble per row and one member per column; empty cells are missing members.")
        # Containers: a field that is moved by a new sentence above it is created anew, and loses what is being typed.
        first, second, third = st.container(), st.container(), st.container()
        with first:
            found = _choose_usable_rows()
        with second:
            bounds = type_interval(("Lower bound of all", "Upper bound of all"), ("ensemble lower", "ensemble upper"))
        methods = third.multiselect(
            "Methods", method_names(), default=["amortized", "silverman"], key="ensemble methods"
        )
    with right:
        if found is None:
            st.info("Upload a table or take the example: bandwidths, scores and the histogram of ranks appear here.")
        elif bounds is not None and methods:
            _show(*found, bounds=bounds, methods=methods)


def _choose_usable_rows() -> tuple[Any, Any, Any] | None:
    try:
        return _choose_rows()
    except AmortizedKdeError as error:
        show_error(error)
        return None


def _choose_rows() -> tuple[Any, Any, Any] | None:
    """Return a key, the members (rows, members), and the observations (rows,) or None."""
    if st.toggle("Take the example", key="ensemble example", help="400 made-up forecasts with 21 members each."):
        return "example", *example_ensembles()
    opened = upload_table("A table of ensembles", "ensemble file")
    return None if opened is None else _choose_members(*opened)


def _choose_members(key: Any, table: Table) -> tuple[Any, Any, Any]:
    work = partial(read_rows, table)
    columns, rows, wrong = remembered(
        ("rows", key), lambda: computed(work, size=table.size, small=SMALL_FILE, doing="Reading")
    )
    guess = next((k for k in columns if table.names[k].strip().lower() in _OBSERVED), None)
    options = [None, *columns]
    observation = st.selectbox(
        "Observation column",
        options,
        index=options.index(guess),
        format_func=lambda k: "none" if k is None else table.names[k],
        key=f"observation {key}",
    )
    members = [i for i, k in enumerate(columns) if k != observation]
    for sentence in wrong[:_NAMED]:
        st.warning(escaped(sentence), icon=":material/warning:")
    if len(members) < 2:
        raise InvalidSampleError("ensembles need at least two columns of numbers, and equally many on every line.")
    left_out = [name for k, name in enumerate(table.names) if k not in columns and name != TOGETHER]
    without = f"; not numbers: {', '.join(left_out)}" if left_out else ""
    st.caption(escaped(f"{len(members)} members{without}."))
    return (key, observation), rows[:, members], None if observation is None else rows[:, columns.index(observation)]


def _show(key: Any, members: Any, observed: Any, *, bounds: Limits, methods: Sequence[str]) -> None:
    with st.spinner("Smoothing every ensemble …"):
        found = {name: _verify(key, members, observed, bounds, name) for name in methods}
    first = found[methods[0]]
    unanswered = int(np.isnan(first.bandwidths).sum())
    st.markdown(f"**{len(members):,} ensembles** of up to {members.shape[1]:,} members.")
    if unanswered:
        st.warning(
            escaped(
                f"{unanswered:,} of {len(members):,} have no answer by {methods[0]}: fewer than two members, all "
                "equal, or outside the bounds."
            ),
            icon=":material/warning:",
        )
    _show_methods(found, observed is not None)
    if observed is not None:
        _show_ranks(members, observed)
    _show_rows(methods[0], first, observed)


def _verify(key: Any, members: Any, observed: Any, bounds: Limits, method: str) -> Verified:
    work = partial(verify, members, observed, method=method, bounds=bounds)
    doing = f"Smoothing by {method}"
    return remembered(("verified", key, bounds, method), lambda: computed(work, size=members.size, doing=doing))


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
        st.caption("Logarithmic score of the observations, lower is better; infinite scores are counted apart.")


def _show_ranks(members: Any, observed: Any) -> None:
    st.subheader("Are the forecasts reliable?", anchor=False)
    judged = judge_ranks(members, observed)
    st.markdown(escaped(judged.sentence))
    dark = st.context.theme.type == "dark"
    chart = rank_chart(judged.counts, judged.expected, judged.band, dark=dark)
    st.altair_chart(chart, key="rank picture", alt=f"Histogram of ranks. {judged.sentence}")
    st.caption(
        "Where each observation ranks among its members, before any smoothing: 0 is below all, 1 above all. The dashed "
        "line is the count of a reliable forecast, the grey band holds 95 % of such counts."
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
