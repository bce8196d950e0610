"""Real tables of the contest: which columns of which data sets, splits into rows to fit and rows to score.

The list was made from names, sizes and kinds of columns, and committed before any score was computed on it. Its data
are inside packages (extra ``bench``), so nothing is downloaded. Columns in which one value has more than a tenth of the
rows were left out, and so were codes, counts and columns that follow exactly from others. Panels keep one year, so that
no unit is twice in a table. No bounds are given.

Rounded columns have no density. Each is drawn once, for all methods, uniformly from half a rounding unit on each side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from contests.dimensions.beds import Task, digits
from contests.dimensions.scoring import predictive_normal
from contests.real_columns import DATA_SETS
from contests.real_data import dequantise

# Rows that a split leaves to score, at least and at most.
FEWEST_SCORED, MOST_SCORED = 200, 1000
REAL = "real"


@dataclass(frozen=True)
class RealTable:
    """Columns of a data set, the number of complete rows, and a choice of rows."""

    name: str
    data_set: str
    columns: tuple[str, ...]
    rows: int
    choose: Callable[[Any], Any] = lambda table: table


_BREAST = ("texture", "area", "smoothness", "compactness", "symmetry", "fractal dimension")
TABLES = (
    RealTable("world cities", "world cities", ("lat", "lng"), 45_065),
    RealTable("stock returns", "nyse", ("return", "return_1"), 689),
    RealTable("ability and wage", "htv", ("abil", "wage"), 1_230),
    RealTable("countries", "gapminder", ("lifeExp", "pop", "gdpPercap"), 1_704),
    RealTable("us airfields", "us airfields", ("lat", "lon", "alt"), 1_458),
    RealTable("seattle weather", "seattle weather", ("temp_max", "temp_min", "wind"), 1_461),
    RealTable("flight delays", "nyc flights", ("air_time", "dep_delay", "arr_delay"), 327_346),
    RealTable("families", "mroz", ("faminc", "huswage", "hushrs"), 753),
    RealTable("penguins", "penguins", ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"), 342),
    RealTable("nyc weather", "nyc weather", ("temp", "dewp", "humid", "pressure"), 23_386),
    RealTable("bicycle ride", "bicycle ride", ("position_lat", "position_long", "speed"), 4_391),
    RealTable(
        "airfares", "airfare", ("dist", "passen", "fare", "bmktshr"), 1_149, lambda table: table[table["year"] == 2000]
    ),
    RealTable("house prices", "hprice2", ("price", "rooms", "dist", "lowstat"), 506),
    RealTable("cars", "cars", ("Miles_per_Gallon", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"), 392),
    RealTable("schools", "meap01", ("math4", "read4", "lunch", "enroll", "exppp"), 1_823),
    RealTable("students", "gpa2", ("sat", "tothrs", "colgpa", "verbmath", "hsperc"), 4_137),
    RealTable("budget shares", "expendshares", ("sfood", "sfuel", "sclothes", "stransport", "sother"), 1_519),
    RealTable(
        "counties 1990",
        "countymurders",
        ("density", "perc1019", "perc2029", "percblack", "percmale"),
        2_197,
        lambda table: table[table["year"] == 1990],
    ),
    RealTable("breast cancer", "breast cancer", tuple(f"mean {name}" for name in _BREAST), 569),
    RealTable("diabetes", "diabetes", ("bmi", "bp", "s1", "s2", "s3", "s5", "s6"), 442),
    RealTable(
        "breast cancer, worst",
        "breast cancer",
        tuple(f"worst {name}" for name in (*_BREAST, "radius", "concave points")),
        569,
    ),
)


@cache
def read_table(table: RealTable) -> Array:
    """Read the complete rows of a table, with rounded columns dequantised, the same at every call."""
    frame = table.choose(DATA_SETS[table.data_set]())
    values = np.asarray(frame[list(table.columns)], np.float64)
    values = values[np.isfinite(values).all(axis=1)]
    rng = np.random.default_rng(digits(table.name))
    return np.stack([dequantise(column, Bounds(), rng=rng) for column in values.T], axis=1)


def real_tasks(n: int, count: int, dimensions: Any = None) -> list[Task]:
    """Return `count` splits of every table with n + 200 rows; the reference is the predictive t of a normal model."""
    return [
        _split(table, n, k)
        for table in TABLES
        if table.rows >= n + FEWEST_SCORED and (dimensions is None or len(table.columns) in dimensions)
        for k in range(count)
    ]


def _split(table: RealTable, n: int, k: int) -> Task:
    values = read_table(table)
    order = np.random.default_rng([digits(table.name), n, k]).permutation(len(values))[: n + MOST_SCORED]
    sample, points = values[order[:n]], values[order[n:]]
    return Task(REAL, table.name, k, sample, points, predictive_normal(sample)(points))
