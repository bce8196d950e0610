"""The samples that come with the page: real ones from files, and simulated ones that are hard to smooth."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amortized_kde._types import Array
from amortized_kde.app.columns import Pair
from amortized_kde.integrations.table_formats import numbers_of_text

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Example:
    """A name for the axis, a title, a sentence on the origin, natural bounds, and a function that gives the values."""

    name: str
    title: str
    origin: str
    bounds: tuple[float | None, float | None]
    values: Callable[[], Array]


def _column(file: str, index: int) -> Callable[[], Array]:
    return lambda: numbers_of_text((_DATA / file).read_text(encoding="utf-8"), file, index)


def _two_groups() -> Array:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(0.0, 1.0, 300), rng.normal(4.0, 0.15, 100)]).round(4)


def _fractions() -> Array:
    return np.random.default_rng(2).beta(0.7, 2.0, 250).round(5)


def _incomes() -> Array:
    return np.random.default_rng(3).lognormal(10.2, 0.8, 500).round(-1)


def _outliers() -> Array:
    return np.random.default_rng(4).standard_t(1.5, 200).round(4)


def _million() -> Array:
    rng = np.random.default_rng(5)
    narrow = rng.random(1_000_000) < 0.1
    return np.where(narrow, rng.normal(1.0, 0.02, narrow.size), rng.normal(0.0, 1.0, narrow.size))


# Keys stand in links.
EXAMPLES: dict[str, Example] = {
    "eruptions": Example(
        "duration (minutes)",
        "Old Faithful: durations of 272 eruptions",
        "Real data: R's faithful data (Härdle 1991). Two kinds of eruption; a duration cannot be negative.",
        (0.0, None),
        _column("faithful.csv", 0),
    ),
    "waiting": Example(
        "waiting time (minutes)",
        "Old Faithful: waiting times between 272 eruptions",
        "Real data: R's faithful data (Härdle 1991). Rounded to minutes, so many values are equal.",
        (0.0, None),
        _column("faithful.csv", 1),
    ),
    "galaxies": Example(
        "velocity (km/s)",
        "Galaxies: velocities of 82 in the Corona Borealis region",
        "Real data: Roeder (1990), from R's MASS. Clusters of galaxies with voids between them.",
        (None, None),
        _column("galaxies.csv", 0),
    ),
    "groups": Example(
        "value",
        "Simulated: 400 values in a wide and a narrow group",
        "Drawn from two normal distributions. One bandwidth cannot be right for both.",
        (None, None),
        _two_groups,
    ),
    "fractions": Example(
        "fraction",
        "Simulated: 250 fractions between 0 and 1, many near 0",
        "Drawn from a beta distribution. Without bounds the density leaks below 0.",
        (0.0, 1.0),
        _fractions,
    ),
    "incomes": Example(
        "income",
        "Simulated: 500 incomes with a long tail",
        "Drawn from a log-normal distribution and rounded to tens.",
        (0.0, None),
        _incomes,
    ),
    "outliers": Example(
        "value",
        "Simulated: 200 values with extremes",
        "Drawn from Student's t distribution with 1.5 degrees of freedom, which has no variance.",
        (None, None),
        _outliers,
    ),
    "million": Example(
        "value",
        "Simulated: a million values",
        "Drawn from two normal distributions, a tenth of the values in a narrow peak.",
        (None, None),
        _million,
    ),
}


def example_pair() -> Pair:
    """Return duration and waiting time of Old Faithful's eruptions.

    Examples
    --------
    >>> example_pair().values.shape
    (272, 2)
    """
    both = EXAMPLES["eruptions"], EXAMPLES["waiting"]
    return Pair((both[0].name, both[1].name), np.column_stack([example.values() for example in both]), ())


def example_ensembles() -> tuple[Array, Array]:
    """Return simulated forecasts (400, 21) and observations (400,); the members spread too little.

    Examples
    --------
    >>> members, observed = example_ensembles()
    >>> members.shape, observed.shape
    ((400, 21), (400,))
    """
    rng = np.random.default_rng(6)
    centre = rng.normal(12.0, 6.0, 400)
    members = centre[:, None] + rng.normal(0.0, 1.5, (400, 21))
    observed = centre + rng.normal(0.0, 2.2, 400)
    return members.round(2), observed.round(2)
