"""The tab for two columns of a table: fields on the left, the picture of their density on the right."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

import streamlit as st

import amortized_kde as akde
from amortized_kde.app.columns import Pair, read_pair
from amortized_kde.app.curves import Limits
from amortized_kde.app.examples import example_pair
from amortized_kde.app.input_view import type_interval
from amortized_kde.app.plane_pictures import plane_chart, plane_picture
from amortized_kde.app.result_view import download
from amortized_kde.app.source_view import (
    bring_into_view,
    choose_source,
    open_source,
    read,
    select,
    show_error,
    show_heading,
)
from amortized_kde.app.state import computed, remembered
from amortized_kde.app.tables import TOGETHER, Table
from amortized_kde.app.takeaway import COLUMNS_FILE, pair_lines, rows_csv
from amortized_kde.app.two_columns import MOST_ROWS, Plane, compute_plane
from amortized_kde.app.words import escaped
from amortized_kde.errors import AmortizedKdeError, InvalidSampleError

# More rows are computed in the worker's process.
_SMALL_ROWS = 500


@dataclass(frozen=True, eq=False)
class Columns:
    """Two columns, a key that identifies them within the session, and a title."""

    key: Hashable
    pair: Pair
    title: str


def show_two_columns() -> None:
    """Draw the whole tab."""
    left, right = st.columns([4, 7], gap="large")
    with left, st.container(key="settings"):
        show_heading("Your table")
        # Containers: a field that is moved by a new sentence above it is created anew, and loses what is being typed.
        first, second, third = st.container(), st.container(), st.container()
        with first:
            columns = _choose_columns()
        with second:
            bounds = _choose_bounds(columns)
        with third:
            method = select("Method", akde.selectors(multivariate=True), "plane method")
    with right, st.container(key="result"):
        if columns is not None and bounds is not None:
            st.header(escaped(columns.title), anchor=False)
            _show(columns, bounds, method)
        else:
            st.info("Correct the field that is marked, and the density appears here.")


def _choose_columns() -> Columns | None:
    source = choose_source()
    try:
        opened = None if source == "Example" else open_source(source, table=True)
        if opened is not None:
            return _choose_from(*opened)
    except AmortizedKdeError as error:
        show_error(error)
        return None
    if source == "Example":
        st.caption("Real data: R's faithful data (Härdle 1991).")
    else:
        st.caption("Showing an example until you enter a table with two or more columns of numbers.")
    pair = remembered("example pair", example_pair)
    return Columns("example", pair, "Old Faithful: duration and waiting time of 272 eruptions")


def _choose_from(key: Hashable, table: Table) -> Columns:
    numeric = [k for k in table.numeric if table.names[k] != TOGETHER]
    if len(numeric) < 2:
        raise InvalidSampleError("this view needs a table with two columns of numbers; the tab “One sample” takes one.")
    first = select("Horizontal axis (x)", numeric, f"plane x {key}", format_func=lambda k: table.names[k])
    others = [k for k in numeric if k != first]
    second = select("Vertical axis (y)", others, f"plane y {key} {first}", format_func=lambda k: table.names[k])
    work = partial(read_pair, table, first, second)
    pair = remembered(("pair", key, first, second), lambda: read(work, table.size))
    st.caption(escaped(f"Read {'; '.join(pair.remarks)}." if pair.remarks else f"{len(pair.values):,} rows."))
    return Columns((key, first, second), pair, f"Density of {len(pair.values):,} rows")


def _choose_bounds(columns: Columns | None) -> tuple[Limits, Limits] | None:
    """Show fields for the bounds of both columns; return None if they cannot be used."""
    key = None if columns is None else columns.key
    found = [
        type_interval(
            (f"Lower bound of {axis}", f"Upper bound of {axis}"),
            (f"plane lower {axis} {key}", f"plane upper {axis} {key}"),
            what=f"bound of {axis}",
        )
        for axis in "xy"
    ]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _show(columns: Columns, bounds: tuple[Limits, Limits], method: str) -> None:
    pair, count = columns.pair, len(columns.pair.values)
    work = partial(compute_plane, pair, bounds, method)
    try:
        with st.spinner("Estimating …"):
            plane: Plane = remembered(
                ("plane", columns.key, bounds, method),
                lambda: computed(work, size=count, small=_SMALL_ROWS, doing=f"Estimating by {method}"),
            )
    except AmortizedKdeError as error:
        st.error(escaped(f"There is no density: {error}"), icon=":material/error:")
        return
    bring_into_view()
    st.success(escaped(plane.sentence), icon=":material/format_quote:")
    st.altair_chart(
        plane_chart(plane, dark=st.context.theme.type == "dark"),
        key="plane picture",
        alt=f"Density of two columns by {method}, with {len(plane.points):,} points. {plane.sentence}",
    )
    st.caption(
        "The shaded regions are the smallest that hold 25, 50, 75 and 95 % of the probability. The curves are the "
        "densities of each column alone."
    )
    if plane.fitted < count:
        st.caption(f"Fitted to {MOST_ROWS:,} rows drawn at random, to save time; the code below uses all rows.")
    _show_takeaway(pair, plane, bounds, method)


def _show_takeaway(pair: Pair, plane: Plane, bounds: tuple[Limits, Limits], method: str) -> None:
    st.header("Download and reuse", anchor=False)
    rows = dict(zip(pair.names, pair.values.T, strict=True))
    with st.container(horizontal=True, key="downloads"):
        download("Plot (PNG)", partial(plane_picture, plane, "png"), "density.png", "image/png")
        download("Plot (SVG)", partial(plane_picture, plane, "svg"), "density.svg", "image/svg+xml")
        download("Columns (CSV)", lambda: rows_csv(rows), COLUMNS_FILE, "text/csv")
    st.markdown("The same in Python")
    st.code(pair_lines(pair.names, bounds=bounds, method=method), language="python", wrap_lines=True)
