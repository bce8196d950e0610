"""The tab for forecasts: bandwidths, scores and a histogram of ranks of a table with one ensemble per row."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from amortized_kde.app.columns import read_rows
from amortized_kde.app.comparing import method_names
from amortized_kde.app.curves import Limits, compute_drawing
from amortized_kde.app.ensembles import Verified, guess_members, judge_ranks, one_density, verify
from amortized_kde.app.examples import example_ensembles
from amortized_kde.app.input_view import type_interval
from amortized_kde.app.pictures import density_chart, rank_chart
from amortized_kde.app.result_view import download
from amortized_kde.app.source_view import bring_into_view, select, show_error, show_heading, upload_table
from amortized_kde.app.state import computed, remembered
from amortized_kde.app.tables import TOGETHER, Table
from amortized_kde.app.takeaway import MEMBERS_FILE, ensemble_lines, rows_csv
from amortized_kde.app.words import escaped
from amortized_kde.app.work import SMALL_FILE
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError

# Rows of the table that are shown, and columns whose wrong cells are named.
_SHOWN, _NAMED = 1000, 5


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Members (rows, members) with their names, observations (rows,) or None, and a key that identifies them."""

    key: Hashable
    names: tuple[str, ...]
    members: Any
    observed: Any


def show_ensembles() -> None:
    """Draw the whole tab."""
    left, right = st.columns([4, 7], gap="large")
    with left, st.container(key="settings"):
        show_heading("Your ensembles")
        # Containers: a field that is moved by a new sentence above it is created anew, and loses what is being typed.
        first, second, third = st.container(), st.container(), st.container()
        with first:
            forecasts = _choose_usable_rows()
        with second:
            bounds = type_interval(("Lower bound of all", "Upper bound of all"), ("ensemble lower", "ensemble upper"))
        chosen = st.session_state.get("ensemble methods", ["amortized", "silverman"])
        methods = third.multiselect("Methods", method_names(), default=chosen, key="ensemble methods")
        if not methods:
            third.error("Choose at least one method.", icon=":material/error:")
    with right, st.container(key="result"):
        if forecasts is not None and bounds is not None and methods:
            _show(forecasts, bounds=bounds, methods=methods)
        else:
            st.info("Correct the field that is marked, and the results appear here.")


def _choose_usable_rows() -> Forecasts | None:
    try:
        return _choose_rows()
    except AmortizedKdeError as error:
        show_error(error)
        return None


def _choose_rows() -> Forecasts:
    """Show the fields for a table; without one, return the example."""
    opened = upload_table(
        "Table with one ensemble per row",
        "ensemble file",
        help="One column for each member, and if you have them a column of observations. Empty cells are missing.",
    )
    if opened is not None:
        return _choose_members(*opened)
    members, observed = example_ensembles()
    st.caption("Showing an example until you upload a table: 400 simulated forecasts with observations.")
    return Forecasts("example", tuple(f"m{k}" for k in range(1, members.shape[1] + 1)), members, observed)


def _choose_members(key: Hashable, table: Table) -> Forecasts:
    work = partial(read_rows, table)
    columns, rows, wrong = remembered(
        ("rows", key), lambda: computed(work, size=table.size, small=SMALL_FILE, doing="Reading")
    )
    guessed, observation = guess_members([table.names[k] for k in columns])
    observed = select(
        "Observation column",
        [None, *columns],
        f"observation {key}",
        first=0 if observation is None else 1 + observation,
        format_func=lambda k: "none" if k is None else table.names[k],
    )
    chosen = st.multiselect(
        "Member columns",
        columns,
        default=st.session_state.get(f"members {key}", [columns[k] for k in guessed]),
        format_func=lambda k: table.names[k],
        key=f"members {key}",
    )
    for sentence in wrong[:_NAMED]:
        st.warning(escaped(sentence), icon=":material/warning:")
    members = [columns.index(k) for k in chosen if k != observed]
    if len(members) < 2:
        raise InvalidSampleError("an ensemble needs at least two columns of numbers; choose them as members.")
    used = {*chosen, observed}
    left_out = [name for k, name in enumerate(table.names) if k not in used and name != TOGETHER]
    without = f"; not used: {', '.join(left_out)}" if left_out else ""
    st.caption(escaped(f"{len(members)} members{without}."))
    return Forecasts(
        (key, observed, tuple(members)),
        tuple(table.names[columns[k]] for k in members),
        rows[:, members],
        None if observed is None else rows[:, columns.index(observed)],
    )


def _show(forecasts: Forecasts, *, bounds: Limits, methods: Sequence[str]) -> None:
    members, observed = forecasts.members, forecasts.observed
    with st.spinner("Estimating every ensemble …"):
        found = {name: _verify(forecasts, bounds, name) for name in methods}
    bring_into_view()
    first = found[methods[0]]
    unanswered = int(np.isnan(first.bandwidths).sum())
    up_to = "" if first.members.min() == members.shape[1] else "up to "
    st.header(escaped(f"{len(members):,} ensembles of {up_to}{members.shape[1]:,} members"), anchor=False)
    if unanswered:
        st.warning(
            escaped(
                f"{unanswered:,} of {len(members):,} have no density by {methods[0]}: fewer than two members, all "
                "equal, or outside the bounds."
            ),
            icon=":material/warning:",
        )
    _show_methods(found, observed is not None)
    if observed is not None:
        _show_ranks(members, observed)
    _show_one(forecasts, bounds, methods[0], first)
    _show_rows(forecasts, methods[0], first)


def _verify(forecasts: Forecasts, bounds: Limits, method: str) -> Verified:
    work = partial(verify, forecasts.members, forecasts.observed, method=method, bounds=bounds)
    size, doing = forecasts.members.size, f"Estimating by {method}"
    return remembered(("verified", forecasts.key, bounds, method), lambda: computed(work, size=size, doing=doing))


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
        st.caption("Logarithmic score of the observations, lower is better; infinite scores are counted separately.")


def _show_ranks(members: Any, observed: Any) -> None:
    st.header("Are the forecasts reliable?", anchor=False)
    judged = judge_ranks(members, observed)
    st.markdown(escaped(judged.sentence))
    dark = st.context.theme.type == "dark"
    chart = rank_chart(judged.counts, judged.expected, judged.band, dark=dark)
    st.altair_chart(chart, key="rank picture", alt=f"Histogram of ranks. {judged.sentence}")
    st.caption(
        "Where each observation ranks among its members, before any smoothing: 0 is below all, 1 above all. The dashed "
        "line is the count of a reliable forecast, the grey band holds 95 % of such counts."
    )


def _show_one(forecasts: Forecasts, bounds: Limits, method: str, verified: Verified) -> None:
    """Show the density of one ensemble with its observation, and the code for it."""
    st.header("One ensemble", anchor=False)
    count = len(forecasts.members)
    st.session_state["ensemble row"] = min(st.session_state.get("ensemble row", 1), count)
    row = int(st.number_input("Row", 1, count, st.session_state["ensemble row"], key="ensemble row", width=160))
    found = one_density(forecasts.members[row - 1], float(verified.bandwidths[row - 1]), bounds)
    if found is None:
        st.info("This ensemble has no density.")
    else:
        sample, density = found
        drawing = compute_drawing({method: density}, sample, bounds, name="value", tails=True)
        observed = None if forecasts.observed is None else float(forecasts.observed[row - 1])
        dark = st.context.theme.type == "dark"
        st.altair_chart(
            density_chart(drawing, log=False, dark=dark, observed=observed),
            key="one picture",
            alt=f"Density of ensemble {row:,} by {method}",
        )
        st.caption("Ticks are the members, and the dashed line is the observation.")
    st.markdown("The same in Python")
    lines = ensemble_lines(row, bounds=bounds, method=method, observed=forecasts.observed is not None)
    st.code(lines, language="python", wrap_lines=True)


def _show_rows(forecasts: Forecasts, method: str, one: Verified) -> None:
    columns: dict[str, Any] = {
        "row": np.arange(1, one.members.size + 1),
        "members": one.members,
        "bandwidth": one.bandwidths,
    }
    observed = {} if forecasts.observed is None else {"observed": forecasts.observed}
    if observed:
        columns |= {**observed, "score_bits": one.scores, "pit": one.pit}
    st.header("Every ensemble", anchor=False)
    st.dataframe(pd.DataFrame(columns).head(_SHOWN), hide_index=True, height=300, alt=f"Every ensemble by {method}")
    if one.members.size > _SHOWN:
        st.caption(f"The first {_SHOWN:,}; the file has all.")
    members = dict(zip(forecasts.names, forecasts.members.T, strict=True))
    with st.container(horizontal=True, key="downloads"):
        download("Results (CSV)", lambda: rows_csv(columns), "ensembles.csv", "text/csv")
        download("Members (CSV)", lambda: rows_csv({**members, **observed}), MEMBERS_FILE, "text/csv")
