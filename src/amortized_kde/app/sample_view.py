"""The tab for one sample: fields on the left, the picture and the results on the right."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from amortized_kde.app.comparing import (
    Fitted,
    change_by_hand,
    check_spread,
    expected_seconds,
    fit_method,
    how_unlike,
    method_names,
)
from amortized_kde.app.curves import Drawing, Limits, compute_drawing, is_spread_out
from amortized_kde.app.input_view import Numbers, choose_bounds, choose_numbers
from amortized_kde.app.pictures import density_chart, legend_html
from amortized_kde.app.result_view import Shown, show_details, show_table, show_takeaway
from amortized_kde.app.settings import FACTORS, VIEWS
from amortized_kde.app.state import computed, kept, remembered
from amortized_kde.app.words import describe, escaped
from amortized_kde.density import KernelDensity
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.estimate import DEFAULT_METHOD
from amortized_kde.selection import SELECTORS


def show_sample() -> None:
    """Draw the whole tab."""
    left, right = st.columns([4, 7], gap="large")
    with left:
        st.subheader("Your numbers", anchor=False)
        # Containers: a field that is moved by a new sentence above it is created anew, and loses what is being typed.
        first, second, third = st.container(), st.container(), st.container()
        with first:
            numbers = choose_numbers()
        with second:
            bounds = choose_bounds(numbers)
        with third:
            methods = _choose_methods()
    with right:
        if numbers is None:
            st.info(
                "Paste numbers, upload a file or pick an example: their density appears here.",
                icon=":material/timeline:",
            )
        elif bounds is not None and methods:
            _show(numbers, bounds, methods)
        else:
            st.info("Correct the field that is marked, and the density appears here.")


def _choose_methods() -> list[str]:
    methods = st.multiselect(
        "Methods to compare",
        method_names(),
        default=kept().methods,
        key="methods",
        help="\n".join(f"- `{name}`: {SELECTORS[name].summary}" for name in method_names()),
    )
    if not methods:
        st.error("Choose at least one method.", icon=":material/error:")
    return methods


def _show(numbers: Numbers, bounds: Limits, methods: Sequence[str]) -> None:
    try:
        check_spread(numbers.points)
    except AmortizedKdeError as error:
        st.error(escaped(f"There is no density: {error}"), icon=":material/error:")
        return
    with st.spinner("Estimating …"):
        fitted = [_fit(numbers, bounds, method) for method in methods]
    densities = {one.method: one.density for one in fitted if one.density is not None}
    if not densities:
        st.error(escaped(f"No method has an answer. {fitted[0].method}: {fitted[0].failure}"), icon=":material/error:")
        return
    # Containers again: remarks below the table come and go.
    sentence, picture, below, table, details, takeaway = (st.container() for _ in range(6))
    with below:
        shown = _choose_shown(numbers, bounds, {one.method: one for one in fitted if one.density is not None})
    with picture:
        drawing = _draw(numbers, bounds, {**densities, shown.label: shown.density})
    with sentence:
        _describe(numbers, bounds, fitted)
    with table:
        show_table(numbers, bounds, fitted, shown)
    with details:
        show_details(numbers, shown)
    with takeaway:
        show_takeaway(numbers, bounds, shown, drawing)


def _fit(numbers: Numbers, bounds: Limits, method: str) -> Fitted:
    size = numbers.points.size

    def fit() -> Fitted:
        work = partial(fit_method, numbers.points, method, bounds)
        try:
            return computed(work, size=size, doing=f"Estimating by {method}", about=expected_seconds(method, size))
        except AmortizedKdeError as error:
            return Fitted(method, None, str(error))

    return remembered(("fit", numbers.key, bounds, method), fit, size=size)


def _choose_shown(numbers: Numbers, bounds: Limits, fitted: dict[str, Fitted]) -> Shown:
    """Let the visitor choose a method and change its bandwidths."""
    names = list(fitted)
    if st.session_state.get("method") not in names:
        st.session_state["method"] = names[0]
    left, right = st.columns([2, 3], gap="medium")
    method = left.selectbox(
        "Method in detail",
        names,
        index=names.index(st.session_state["method"]),
        key="method",
        help="The method whose results are shown, changed by hand and taken away below.",
    )
    density, modes = fitted[method].density, fitted[method].modes
    assert density is not None
    assert modes is not None
    factor = right.select_slider(
        "Bandwidth by hand",
        FACTORS,
        value=kept().factor,
        key="factor",
        format_func=lambda factor: f"× {factor:g}",
        help=f"× 1 is the bandwidth that the method chose, {density.bandwidth:.4g}. To the left the density is "
        "rougher, to the right smoother.",
    )
    if factor == 1.0:
        return Shown(method, 1.0, method, density, modes)
    work, size = partial(change_by_hand, density, factor), numbers.points.size
    key = ("by hand", numbers.key, bounds, method, factor)
    moved = remembered(key, lambda: computed(work, size=size, doing="Smoothing"), size=size)
    return Shown(method, factor, f"{method} × {factor:g}", *moved)


def _describe(numbers: Numbers, bounds: Limits, fitted: Sequence[Fitted]) -> None:
    """Describe the sample by the density of the default method, or else of the first."""
    modes = {one.method: one.modes for one in fitted if one.modes is not None}
    places = (modes.get(DEFAULT_METHOD) or next(iter(modes.values()))).places
    ways = remembered(("ways", numbers.key, bounds), lambda: how_unlike(numbers.points, bounds))
    text = describe(numbers.points, places, bounds, ways)
    (st.warning if ways else st.success)(escaped(text), icon=":material/format_quote:")


def _draw(numbers: Numbers, bounds: Limits, densities: dict[str, KernelDensity]) -> Drawing:
    left, right = st.columns(2)
    log = left.toggle(
        "Logarithmic axis", kept().log, key="log", help="Shows the tails, down to a millionth of the peak."
    )
    _choose_first_view(numbers)
    view = right.segmented_control(
        "Show", VIEWS, default=st.session_state["view"], key="view", required=True, label_visibility="collapsed"
    )
    drawing = remembered(
        ("drawing", numbers.key, bounds, tuple(densities), view, log),
        lambda: compute_drawing(
            densities, numbers.points, bounds, name=numbers.choice.name, near=view == VIEWS[1], tails=log
        ),
    )
    dark = st.context.theme.type == "dark"
    text = f"Density of {numbers.points.size:,} values by {', '.join(densities)}, over a histogram."
    st.html(legend_html(list(densities), dark=dark))
    st.altair_chart(density_chart(drawing, log=log, dark=dark), key="picture", alt=text)
    return drawing


def _choose_first_view(numbers: Numbers) -> None:
    """Leave out far values of a new sample that is spread out, unless the address says what to show."""
    if st.session_state.get("viewed") == numbers.key:
        return
    if "viewed" in st.session_state or "view" not in st.query_params:
        st.session_state["view"] = VIEWS[is_spread_out(numbers.points)]
    st.session_state["viewed"] = numbers.key
