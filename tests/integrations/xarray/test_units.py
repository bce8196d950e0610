import numpy as np
import pytest
import xarray as xr

import amortized_kde.integrations.xarray as labelled
from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.xarray import in_units_of


def array(values, units=None):
    return xr.DataArray(values, dims="time", name="v", attrs={} if units is None else {"units": units, "source": "s"})


# Value and unit of an observation, and the same in the forecasts' unit.
EQUAL = [
    (10.0, "degC", 283.15, "K"),
    (283.15, "K", 10.0, "Celsius"),
    (50.0, "degF", 10.0, "°C"),
    (10.0, "degree_Celsius", 50.0, "Fahrenheit"),
    (0.0021, "m", 2.1, "kg m-2"),
    (2.1, "mm", 2.1, "kg m**-2"),
    (2.1, "kg m^-2", 0.0021, "m"),
    (1.0, "inch", 25.4, "mm"),
    (36.0, "km/h", 10.0, "m s-1"),
    (10.0, "m s**-1", 36.0, "km h-1"),
    (1.0, "knots", 1852.0 / 3600.0, "m/s"),
    (10.0, "m/s", 10.0 * 3600.0 / 1852.0, "kt"),
    (1013.0, "hPa", 101_300.0, "Pa"),
    (80.0, "%", 0.8, "1"),
    (24.0, "mm/day", 1.0, "mm h-1"),
]


@pytest.mark.parametrize(("seen", "from_unit", "expected", "to_unit"), EQUAL)
def test_common_units_are_converted(seen, from_unit, expected, to_unit):
    found = in_units_of(array([1.0], to_unit), array([seen, np.nan], from_unit))
    assert found.values[0] == pytest.approx(expected, rel=1e-12)
    assert np.isnan(found.values[1])
    same = from_unit == to_unit or seen == expected
    assert found.attrs == {"units": from_unit if same else to_unit, "source": "s"}
    assert found.name == "v"


def test_equal_or_missing_units_change_nothing():
    for ours, theirs in (("K", "K"), ("furlong", "Furlong"), (None, "degC"), ("K", None), ("", "degC")):
        seen = array([1.0], theirs)
        assert in_units_of(array([1.0], ours), seen) is seen


@pytest.mark.parametrize(("ours", "theirs"), [("K", "mm"), ("furlong", "m"), ("m s-1", "m")])
def test_units_that_do_not_convert_are_refused(ours, theirs):
    message = f"forecasts are in '{ours}' and the observations in '{theirs}', which cannot be converted into each other"
    with pytest.raises(InvalidSampleError, match=message):
        in_units_of(array([1.0], ours), array([1.0], theirs))


def test_scores_are_those_of_converted_observations():
    rng = np.random.default_rng(3)
    x = xr.DataArray(rng.normal(283.0, 2.0, (6, 10)), dims=("time", "number"), name="t2m", attrs={"units": "K"})
    kelvin = xr.DataArray(rng.normal(283.0, 2.0, 6), dims="time", attrs={"units": "K"})
    celsius = (kelvin - 273.15).assign_attrs(units="degC")
    for score in (labelled.log_scores, labelled.crps, labelled.ranks):
        xr.testing.assert_allclose(score(x, celsius), score(x, kelvin), rtol=1e-10)
    # Lazy arrays too.
    lazy = labelled.brier_scores(x.chunk(time=2), celsius.chunk(time=3), [282.0])
    xr.testing.assert_allclose(lazy.compute(), labelled.brier_scores(x, kelvin, [282.0]), rtol=1e-10)
