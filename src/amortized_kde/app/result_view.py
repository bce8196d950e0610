"""Results below the picture: the table of methods, quantiles and probabilities, and what can be taken away."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from amortized_kde.app.comparing import Fitted, Scores, score_by_hand, score_methods
from amortized_kde.app.curves import Drawing, Limits
from amortized_kde.app.input_view import Numbers, type_interval
from amortized_kde.app.pictures import picture
from amortized_kde.app.settings import link, read_percentages
from amortized_kde.app.source_view import show_error
from amortized_kde.app.state import computed, current, kept, remembered
from amortized_kde.app.takeaway import NUMBERS_FILE, command_line, numbers_csv, python_lines
from amortized_kde.app.words import digits_for, escaped, plain
from amortized_kde.density import KernelDensity, Modes
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.integrations.tables import density_csv


@dataclass(frozen=True, eq=False)
class Shown:
    """The density in detail: its method, the factor of its bandwidths, its name, itself, and its modes."""

    method: str
    factor: float
    label: str
    density: KernelDensity
    modes: Modes


@dataclass(frozen=True, eq=False)
class Pictured:
    """The picture: what it shows, whether its axis is logarithmic, the curves that are hidden, and the axis's end."""

    drawing: Drawing
    log: bool
    hidden: tuple[str, ...]
    top: float | None


def show_table(numbers: Numbers, bounds: Limits, fitted: Sequence[Fitted], shown: Shown) -> None:
    """Show the table: bandwidth, held-out score, difference to the best, modes; remarks below it."""
    names = tuple(one.method for one in fitted)
    st.header("Which method fits best?", anchor=False)
    place = st.empty()
    work = partial(score_methods, numbers.sample, names, bounds)
    with place, st.spinner("Scoring held-out values …"):
        scores = remembered(
            ("scores", numbers.key, bounds, names), lambda: computed(work, size=numbers.points.size, doing="Scoring")
        )
        rows = [_row(one, scores) for one in _ranked(fitted, scores)]
        if shown.factor != 1.0:
            rows.append(_row_by_hand(numbers, bounds, shown, scores))
    place.table(pd.DataFrame(rows), hide_index=True, border="horizontal", alt="Methods with their held-out scores")
    st.caption(escaped(f"{scores.protocol[0].upper()}{scores.protocol[1:]}, in bits: lower is better."))
    _remark(fitted, scores)


def _bits(score: float) -> str:
    """Write a score with four decimals, a large one with four digits to fit on a phone."""
    return f"{score:.4f}" if abs(score) < 10.0 else f"{score:.4g}"


def _ranked(fitted: Sequence[Fitted], scores: Scores) -> list[Fitted]:
    order = list(scores.rows)
    return sorted(fitted, key=lambda one: order.index(one.method) if one.method in order else len(order))


def _row(one: Fitted, scores: Scores) -> dict[str, str]:
    scored = scores.rows.get(one.method)
    score = to_best = "–"
    if scored and scored.score and scored.difference:
        score = _bits(scored.score.value)
        to_best = f"+{_bits(scored.difference.value)} ± {_bits(scored.difference.standard_error)}"
        if next(iter(scores.rows)) == one.method:
            to_best = "best"
    return _cells(one.method, one.density, one.modes, score, to_best)


def _cells(label: str, density: KernelDensity | None, modes: Modes | None, score: str, to_best: str) -> dict[str, str]:
    return {
        "Method": label,
        "Bandwidth": "–" if density is None else f"{density.bandwidth:.4g}",
        "Held-out score": score,
        "Difference to the best": to_best,
        "Modes": "–" if modes is None else f"{len(modes)}",
    }


def _row_by_hand(numbers: Numbers, bounds: Limits, shown: Shown, scores: Scores) -> dict[str, str]:
    key = ("score by hand", numbers.key, bounds, shown.method, shown.factor)
    work = partial(score_by_hand, numbers.sample, shown.method, bounds, shown.factor)
    score = remembered(key, lambda: computed(work, size=numbers.points.size, doing="Scoring"))
    first = next(iter(scores.rows.values()), None)
    best = first.score.value if first and first.score else np.nan
    if score is None:
        return _cells(shown.label, shown.density, shown.modes, "–", "–")
    return _cells(
        shown.label, shown.density, shown.modes, _bits(score), f"{'+' if score >= best else ''}{_bits(score - best)}"
    )


def _remark(fitted: Sequence[Fitted], scores: Scores) -> None:
    for one in fitted:
        scored = scores.rows.get(one.method)
        remarks = (one.failure, one.note, *((scored.failure, scored.note) if scored is not None else ()))
        name = one.method if scored is None else scored.method
        for text in dict.fromkeys(remarks):
            if text is not None:
                st.caption(f"`{one.method}`: {escaped(text.removeprefix(f'{name}: '))}")


def show_details(numbers: Numbers, shown: Shown) -> None:
    """Show quantiles, and the probability of an interval."""
    st.header("Quantiles and probabilities", anchor=False, help=f"By {shown.label}.")
    left, right = st.columns(2, gap="medium")
    with left:
        _show_quantiles(numbers, shown.density)
    with right:
        _show_probability(shown.density)


def _show_quantiles(numbers: Numbers, density: KernelDensity) -> None:
    text = st.text_input("Quantiles, in %", kept().quantiles, key="quantiles")
    try:
        wanted = read_percentages(text or "")
    except AmortizedKdeError as error:
        show_error(error)
        return
    digits = max(4, digits_for(numbers.points) + 1)
    rows = [
        {"Probability below": f"{100 * p:g} %", "Value": plain(float(q), digits)}
        for p, q in zip(wanted, density.ppf(np.array(wanted)), strict=True)
    ]
    if rows:
        st.table(pd.DataFrame(rows), hide_index=True, border="horizontal", alt="Quantiles")


def _show_probability(density: KernelDensity) -> None:
    ends = type_interval(("From", "To"), ("low", "high"), defaults=(kept().low, kept().high), what="end")
    if ends is not None:
        st.metric(escaped(_event(ends)), f"{100.0 * _probability(density, ends):.4g} %")


def _event(ends: Limits) -> str:
    """Name the probability of an interval."""
    low, high = ends
    if low is None:
        return "Probability of any value" if high is None else f"Probability below {high:g}"
    return f"Probability above {low:g}" if high is None else f"Probability between {low:g} and {high:g}"


def _probability(density: KernelDensity, ends: Limits) -> float:
    low, high = ends
    if low is None:
        return 1.0 if high is None else float(density.cdf(high))
    if high is None:
        return float(density.sf(low))
    # The difference of the smaller tails loses fewer digits.
    if density.cdf(low) > 0.5:
        return float(density.sf(low) - density.sf(high))
    return float(density.cdf(high) - density.cdf(low))


def show_takeaway(numbers: Numbers, bounds: Limits, shown: Shown, pictured: Pictured) -> None:
    """Show downloads, code and a command that compute the same, and the link."""
    st.header("Download and reuse", anchor=False)
    draw = partial(picture, pictured.drawing, log=pictured.log, hidden=pictured.hidden, top=pictured.top)
    values, weights = numbers.choice.values, numbers.choice.weights
    with st.container(horizontal=True, key="downloads"):
        download(
            "Density (CSV)", lambda: density_csv(shown.density, shown.density.grid(512)), "density.csv", "text/csv"
        )
        download("Plot (PNG)", lambda: draw(kind="png"), "density.png", "image/png")
        download("Plot (SVG)", lambda: draw(kind="svg"), "density.svg", "image/svg+xml")
        download("Numbers (CSV)", lambda: numbers_csv(values, weights), NUMBERS_FILE, "text/csv")
    options = {"bounds": bounds, "method": shown.method, "factor": shown.factor, "weights": weights}
    st.markdown("The same in Python")
    st.code(python_lines(values, **options), language="python", wrap_lines=True)  # type: ignore[arg-type]
    st.markdown("The same on the command line")
    st.code(command_line(**options), language="bash", wrap_lines=True)  # type: ignore[arg-type]
    st.markdown("A link to these settings; it does not contain your numbers")
    st.code(link(st.context.url or "", current()), language=None, wrap_lines=True)


def download(label: str, make: object, name: str, mime: str) -> None:
    """Show a button that downloads what `make` returns."""
    st.download_button(label, make, file_name=name, mime=mime, on_click="ignore", key=f"download {name}")  # type: ignore[arg-type]
