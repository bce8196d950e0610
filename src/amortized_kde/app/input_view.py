"""Fields for one sample and its bounds: a column of numbers, its weights, the ends of an interval."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from amortized_kde._types import Array
from amortized_kde.app.columns import Choice, read_choice
from amortized_kde.app.curves import Limits
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.app.settings import read_limits
from amortized_kde.app.source_view import choose_source, open_source, read, reset_bounds, select, show_error
from amortized_kde.app.state import kept, remembered
from amortized_kde.app.tables import TOGETHER, Table
from amortized_kde.app.words import escaped, plain
from amortized_kde.data.reading import read_bounds, read_sample
from amortized_kde.data.sample import Sample
from amortized_kde.data.support import check_inside, working_domain
from amortized_kde.errors import AmortizedKdeError


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


def choose_numbers() -> Numbers | None:
    """Show the fields; return the sample, the first example if there is none yet, None if it cannot be used."""
    source = choose_source()
    try:
        if source == "Example":
            found: tuple[Hashable, Choice] | None = _example()
        else:
            opened = open_source(source)
            found = None if opened is None else _choose_column(*opened)
        key, choice = found or _opening_example()
        numbers = remembered(("points", key), lambda: _numbers(key, choice))
    except AmortizedKdeError as error:
        show_error(error)
        return None
    if found is not None:
        count = f"Read {'; '.join(choice.remarks)}." if choice.remarks else f"{choice.values.size:,} values."
        effective = numbers.sample.effective_size
        weighted = numbers.sample.weights is not None
        size = f" With these weights the effective sample size is {effective:,.0f}." if weighted else ""
        st.caption(escaped(count + size))
    return numbers


def _numbers(key: Any, choice: Choice) -> Numbers:
    title = EXAMPLES[key[1]].title if key[0] == "example" else f"Density of {choice.values.size:,} values"
    return Numbers(key, choice, read_sample(choice.values, weights=choice.weights), title)


def _opening_example() -> tuple[Hashable, Choice]:
    """Return the first example, which is shown until there are other numbers."""
    name, example = next(iter(EXAMPLES.items()))
    st.caption("Showing an example until you enter numbers.")
    return ("example", name), Choice(example.name, remembered(("example", name), example.values), ())


def _choose_column(key: Hashable, table: Table) -> tuple[Hashable, Choice]:
    index = table.first
    if len(table.names) > 1:
        index = select(
            "Column",
            range(len(table.names)),
            f"column {key}",
            first=table.first,
            format_func=lambda k: table.names[k] + ("" if k in table.numeric else " (no numbers)"),
        )
    weights = _choose_weights(key, table, index)
    work = partial(read_choice, table, index, weights)
    return (key, index, weights), remembered(("choice", key, index, weights), lambda: read(work, table.size))


def _choose_weights(key: Hashable, table: Table, index: int) -> int | None:
    others = [k for k in table.numeric if k != index and table.names[k] != TOGETHER]
    if not others or table.names[index] == TOGETHER:
        return None
    weights: int | None = select(
        "Weights",
        [None, *others],
        f"weights {key} {index}",
        format_func=lambda k: "none (equal weights)" if k is None else table.names[k],
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
        on_change=reset_bounds,
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
        column.text_input(label, st.session_state.get(key, default), key=key, placeholder=empty, help=tip) or ""
        for column, label, key, default, tip in zip(
            st.columns(2, wrap=False), labels, keys, defaults, helps, strict=True
        )
    )
    try:
        return read_limits(lower, upper, what)
    except AmortizedKdeError as error:
        show_error(error)
        return None
