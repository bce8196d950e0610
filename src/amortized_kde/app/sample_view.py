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
from amortized_kde.app.curves import Drawing, Limits, brushed_limits, compute_drawing, is_spread_out
from amortized_kde.app.input_view import (
    Numbers,
    choose_bounds,
    choose_numbers,
    type_interval,
)
from amortized_kde.app.pictures import ZOOM, density_chart, legend_css
from amortized_kde.app.result_view import Pictured, Shown, show_details, show_table, show_takeaway
from amortized_kde.app.settings import FACTORS, VIEWS, read_end
from amortized_kde.app.source_view import bring_into_view, forget_axes, show_error, show_heading
from amortized_kde.app.state import computed, kept, remembered
from amortized_kde.app.words import describe, escaped
from amortized_kde.density import KernelDensity
from amortized_kde.errors import AmortizedKdeError, InvalidBoundsError
from amortized_kde.estimate import DEFAULT_METHOD
from amortized_kde.selection import SELECTORS


def show_sample() -> None:
    """Draw the whole tab."""
    left, right = st.columns([4, 7], gap="large")
    with left, st.container(key="settings"):
        show_heading("Your numbers")
        # Containers: a field that is moved by a new sentence above it is created anew, and loses what is being typed.
        first, second, third = st.container(), st.container(), st.container()
        with first:
            numbers = choose_numbers()
        with second:
            bounds = choose_bounds(numbers)
        with third:
            methods = _choose_methods()
    with right, st.container(key="result"):
        if numbers is not None and bounds is not None and methods:
            st.header(escaped(numbers.title), anchor=False)
            _show(numbers, bounds, methods)
        else:
            st.info("Correct the field that is marked, and the density appears here.")


def _choose_methods() -> list[str]:
    methods = st.multiselect(
        "Methods to compare",
        method_names(),
        default=kept().methods,
        key="methods",
        help="Use the default, `amortized`, unless you have a reason not to.\n\n"
        + "\n".join(f"- `{name}`: {SELECTORS[name].summary}" for name in method_names()),
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
    bring_into_view()
    # Containers again: remarks below the table come and go.
    sentence, picture, below, table, details, takeaway = (st.container() for _ in range(6))
    with below:
        shown = _choose_shown(numbers, bounds, {one.method: one for one in fitted if one.density is not None})
    with picture:
        pictured = _draw(numbers, bounds, {**densities, shown.label: shown.density})
    with sentence:
        _describe(numbers, bounds, fitted)
    with table:
        show_table(numbers, bounds, fitted, shown)
    with details:
        show_details(numbers, shown)
    with takeaway:
        show_takeaway(numbers, bounds, shown, pictured)


def _fit(numbers: Numbers, bounds: Limits, method: str) -> Fitted:
    size = numbers.points.size

    def fit() -> Fitted:
        work = partial(fit_method, numbers.sample, method, bounds)
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
        help="The results and downloads below are those of this method.",
    )
    density, modes = fitted[method].density, fitted[method].modes
    assert density is not None
    assert modes is not None
    factor = right.select_slider(
        "Scale the bandwidth",
        FACTORS,
        value=kept().factor,
        key="factor",
        format_func=lambda factor: f"× {factor:g}",
        help=f"× 1 is the bandwidth that the method chose, {density.bandwidth:.4g}. Less is rougher, more is smoother.",
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
    ways = remembered(("ways", numbers.key, bounds), lambda: how_unlike(numbers.sample, bounds))
    text = describe(numbers.sample, places, bounds, ways)
    (st.warning if ways else st.success)(escaped(text), icon=":material/format_quote:")


def _draw(numbers: Numbers, bounds: Limits, densities: dict[str, KernelDensity]) -> Pictured:
    with st.container(horizontal=True, vertical_alignment="center", key="axes"):
        log = st.toggle(
            "Logarithmic axis", kept().log, key="log", help="Shows the tails, down to a millionth of the peak."
        )
        _choose_first_view(numbers)
        view = st.segmented_control(
            "Range", VIEWS, default=st.session_state["view"], key="view", required=True, label_visibility="collapsed"
        )
        limits, top = _choose_limits()
    drawing = remembered(
        ("drawing", numbers.key, bounds, tuple(densities), view, log, limits),
        lambda: compute_drawing(
            densities,
            numbers.sample,
            bounds,
            name=numbers.choice.name,
            near=view == VIEWS[1],
            tails=log,
            limits=limits,
        ),
    )
    names, dark = list(densities), st.context.theme.type == "dark"
    st.html(legend_css("legend", names, dark=dark))
    chosen = st.container(key="legend").pills(
        "Curves",
        names,
        selection_mode="multi",
        default=names,
        key=f"curves {' '.join(names)}",
        label_visibility="collapsed",
    )
    hidden = tuple(name for name in names if name not in chosen)
    st.altair_chart(
        density_chart(drawing, log=log, dark=dark, hidden=hidden, top=top, zoom=True),
        # Another one after every zoom, so that no brush is left on it.
        key=f"picture {st.session_state.get('zooms', 0)}",
        on_select=partial(_zoom, drawing),
        selection_mode=ZOOM,
        alt=f"Density of {numbers.points.size:,} values by {', '.join(chosen) or 'no method'}, over a histogram.",
    )
    return Pictured(drawing, log, hidden, top)


def _choose_limits() -> tuple[Limits, float | None]:
    """Show fields for the ends of the axes; return those that can be used."""
    with st.popover("Axis limits", icon=":material/straighten:"):
        st.caption("With a mouse: drag across the picture to zoom in.")
        limits = type_interval(
            ("Left", "Right"), ("left", "right"), defaults=(kept().left, kept().right), empty="auto", what="limit"
        )
        text = st.text_input("Top", kept().top, key="top", placeholder="auto")
        try:
            top = read_end(text or "", "top")
            if top is not None and top <= 0.0:
                raise InvalidBoundsError("the top must be positive.")
        except AmortizedKdeError as error:
            show_error(error)
            top = None
    chosen = limits or (None, None)
    if chosen != (None, None) or top is not None:
        st.button("Reset zoom", icon=":material/zoom_out_map:", on_click=forget_axes)
    return chosen, top


def _zoom(drawing: Drawing) -> None:
    """Let the axis end where the visitor's brush does."""
    picture = f"picture {st.session_state.get('zooms', 0)}"
    # The only entry is the range of the horizontal axis.
    brushed = next(iter(st.session_state[picture]["selection"].get(ZOOM, {}).values()), None)
    if brushed and brushed[0] < brushed[1]:
        st.session_state["left"], st.session_state["right"] = brushed_limits(drawing, *brushed)
        st.session_state["zooms"] = st.session_state.get("zooms", 0) + 1


def _choose_first_view(numbers: Numbers) -> None:
    """Leave out far values of a new sample that is spread out, unless the address says what to show."""
    if st.session_state.get("viewed") == numbers.key:
        return
    if "viewed" in st.session_state or "view" not in st.query_params:
        st.session_state["view"] = VIEWS[is_spread_out(numbers.points)]
    st.session_state["viewed"] = numbers.key
