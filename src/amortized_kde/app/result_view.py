"""What is seen below the picture: the table of methods, quantiles and probabilities, and what can be taken away."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from amortized_kde.app.comparing import Comparison, Fitted, compare, find_modes, score_by_hand
from amortized_kde.app.curves import Drawing
from amortized_kde.app.entries import read_limits, read_percentages
from amortized_kde.app.input_view import Limits, Numbers
from amortized_kde.app.links import link
from amortized_kde.app.memory import remembered
from amortized_kde.app.state import current, kept
from amortized_kde.app.takeaway import NUMBERS_FILE, command_line, numbers_csv, picture, python_lines
from amortized_kde.app.words import digits_for, plain
from amortized_kde.density import KernelDensity
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.integrations.tables import density_csv


@dataclass(frozen=True, eq=False)
class Shown:
    """The density in detail: of which method, by which factor, what it is called, and itself."""

    method: str
    factor: float
    label: str
    density: KernelDensity


def modes_of(density: KernelDensity) -> NDArray[np.float64]:
    """Find a density's modes once."""
    # The density is kept beside them, lest another one be made in its place.
    return remembered(("modes", id(density)), lambda: (density, find_modes(density)), size=density.points.size)[1]


def show_table(numbers: Numbers, bounds: Limits, fitted: Sequence[Fitted], shown: Shown) -> None:
    """Draw the table: bandwidth, held-out score, difference to the best, modes; remarks below it."""
    size, names = numbers.points.size, tuple(one.method for one in fitted)
    st.subheader("Which method fits best?", anchor=False)
    place = st.empty()
    with place, st.spinner("Scoring on values held out …"):
        comparison = remembered(("scores", numbers.key, bounds, names), lambda: compare(numbers.points, names, bounds))
        rows = [_row(one, comparison, size) for one in _ranked(fitted, comparison)]
        if shown.factor != 1.0:
            rows.append(_row_by_hand(numbers, bounds, shown, comparison))
    place.table(pd.DataFrame(rows), hide_index=True, border="horizontal", alt="Methods with their held-out scores")
    st.caption(f"{comparison.protocol[0].upper()}{comparison.protocol[1:]}, in bits: lower is better.")
    _remark(fitted, comparison)


def _bits(score: float) -> str:
    """Four decimals, and of large numbers, which would not fit on a phone, four digits."""
    return f"{score:.4f}" if abs(score) < 10.0 else f"{score:.4g}"


def _ranked(fitted: Sequence[Fitted], comparison: Comparison) -> list[Fitted]:
    order = list(comparison.rows)
    return sorted(fitted, key=lambda one: order.index(one.method) if one.method in order else len(order))


def _row(one: Fitted, comparison: Comparison, size: int) -> dict[str, str]:
    scored = comparison.rows.get(one.method)
    difference = scored.difference if scored else None
    best = scored is not None and next(iter(comparison.rows)) == one.method
    return {
        "Method": one.method,
        "Bandwidth": "–" if one.density is None else f"{one.density.bandwidth:.4g}",
        "Score, bits": _bits(scored.score.value) if scored and scored.score else "–",
        "To best": "best"
        if best
        else f"+{_bits(difference.value)} ± {_bits(difference.standard_error)}"
        if difference
        else "–",
        "Modes": "–" if one.density is None else f"{modes_of(one.density).size}",
    }


def _row_by_hand(numbers: Numbers, bounds: Limits, shown: Shown, comparison: Comparison) -> dict[str, str]:
    key = ("score by hand", numbers.key, bounds, shown.method, shown.factor)
    score = remembered(key, lambda: score_by_hand(numbers.points, shown.method, bounds, shown.factor))
    first = next(iter(comparison.rows.values()), None)
    best = first.score.value if first and first.score else np.nan
    return {
        "Method": shown.label,
        "Bandwidth": f"{shown.density.bandwidth:.4g}",
        "Score, bits": "–" if score is None else _bits(score),
        "To best": "–" if score is None else f"{'+' if score >= best else ''}{_bits(score - best)}",
        "Modes": f"{modes_of(shown.density).size}",
    }


def _remark(fitted: Sequence[Fitted], comparison: Comparison) -> None:
    for one in fitted:
        scored = comparison.rows.get(one.method)
        remarks = (one.failure, scored.failure, scored.note) if scored is not None else (one.failure,)
        for text in dict.fromkeys(remarks):
            if text is not None:
                st.caption(f"`{one.method}`: {text.removeprefix(f'{one.method}: ')}")


def show_details(numbers: Numbers, shown: Shown) -> None:
    """Draw quantiles, and the probability of an interval that is typed."""
    st.subheader("Quantiles and probabilities", anchor=False, help=f"By {shown.label}.")
    left, right = st.columns(2, gap="medium")
    with left:
        _show_quantiles(numbers, shown.density)
    with right:
        _show_probability(shown.density)


def _show_quantiles(numbers: Numbers, density: KernelDensity) -> None:
    text = st.text_input("Quantiles, in per cent", kept().quantiles, key="quantiles")
    try:
        wanted = read_percentages(text or "")
    except AmortizedKdeError as error:
        st.error(str(error), icon=":material/error:")
        return
    digits = max(4, digits_for(numbers.points) + 1)
    rows = [
        {"Below": f"{100 * p:g} %", "Value": plain(float(q), digits)}
        for p, q in zip(wanted, density.ppf(np.array(wanted)), strict=True)
    ]
    if rows:
        st.table(pd.DataFrame(rows), hide_index=True, border="horizontal", alt="Quantiles")


def _show_probability(density: KernelDensity) -> None:
    left, right = st.columns(2, wrap=False)
    low = left.text_input("From", kept().low, key="low", placeholder="open")
    high = right.text_input("To", kept().high, key="high", placeholder="open")
    try:
        ends = read_limits(low or "", high or "", "end")
    except AmortizedKdeError as error:
        st.error(str(error)[:1].upper() + str(error)[1:], icon=":material/error:")
        return
    st.metric("Probability of the interval", _per_cent(_probability(density, ends)))


def _probability(density: KernelDensity, ends: Limits) -> float:
    low, high = ends
    if low is None:
        return 1.0 if high is None else float(density.cdf(high))
    if high is None:
        return float(density.sf(low))
    # The difference of the smaller tails keeps its digits.
    if density.cdf(low) > 0.5:
        return float(density.sf(low) - density.sf(high))
    return float(density.cdf(high) - density.cdf(low))


def _per_cent(probability: float) -> str:
    return f"{100.0 * probability:.4g} %"


def show_takeaway(numbers: Numbers, bounds: Limits, shown: Shown, drawing: Drawing) -> None:
    """Draw the downloads, the lines that give the same elsewhere, and the link."""
    st.subheader("Take it away", anchor=False)
    log = bool(st.session_state.get("log"))
    with st.container(horizontal=True):
        _download(
            "Density (CSV)", lambda: density_csv(shown.density, shown.density.grid(512)), "density.csv", "text/csv"
        )
        _download("Picture (PNG)", lambda: picture(drawing, "png", log=log), "density.png", "image/png")
        _download("Picture (SVG)", lambda: picture(drawing, "svg", log=log), "density.svg", "image/svg+xml")
        _download("Numbers (CSV)", lambda: numbers_csv(numbers.choice.values), NUMBERS_FILE, "text/csv")
    options = {"bounds": bounds, "method": shown.method, "factor": shown.factor}
    st.markdown("The same in Python")
    st.code(python_lines(numbers.choice.values, **options), language="python")  # type: ignore[arg-type]
    st.markdown("The same on the command line")
    st.code(command_line(**options), language="bash", wrap_lines=True)  # type: ignore[arg-type]
    st.markdown("A link with these settings; your numbers are not in it")
    st.code(link(st.context.url or "", current()), language=None, wrap_lines=True)


def _download(label: str, make: object, name: str, mime: str) -> None:
    st.download_button(label, make, file_name=name, mime=mime, on_click="ignore", key=f"download {name}")  # type: ignore[arg-type]
