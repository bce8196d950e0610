import numpy as np
import pytest
import xarray as xr

from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.xarray.checks import check_coordinates
from amortized_kde.integrations.xarray.times import calendar_of, check_times

DAYS = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[ns]")
OTHER_DAYS = xr.date_range("2026-02-28", periods=3, calendar="360_day", use_cftime=True)


def array(times):
    return xr.DataArray(np.zeros(3), dims="time", coords={} if times is None else {"time": times}, name="v")


@pytest.mark.parametrize("times", [DAYS, OTHER_DAYS, [1, 2, 5], [0.5, 1.5, 9.0]])
def test_times_in_order_pass(times):
    check_times(array(times), "time")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (None, "no coordinate 'time', so that the order of their times is unknown; add the times"),
        (DAYS[[0, 2, 1]], "not in order, 2026-01-02 00:00:00 comes after 2026-01-03 00:00:00; sort them first"),
        (DAYS[::-1], "not in order, 2026-01-02 00:00:00 comes after 2026-01-03"),
        (OTHER_DAYS[[0, 2, 1]], "not in order, 2026-02-29 00:00:00 comes after 2026-02-30"),
        (DAYS[[0, 1, 1]], "time 2026-01-02 00:00:00 occurs 2 times along 'time'; keep one forecast for each time"),
        (OTHER_DAYS[[2, 1, 2]], "time 2026-02-30 00:00:00 occurs 2 times"),
        (np.array(["2026-01-01", "NaT", "2026-01-03"], "datetime64[ns]"), "time 1 along 'time' is missing"),
    ],
)
def test_other_times_are_refused(times, message):
    with pytest.raises(InvalidSampleError, match=message):
        check_times(array(times), "time")


def test_calendars():
    assert calendar_of(array(DAYS), "time") == "proleptic_gregorian"
    assert calendar_of(array(OTHER_DAYS), "time") == "360_day"
    assert calendar_of(array([1, 2, 3]), "time") is None
    assert calendar_of(array(None), "time") is None
    with pytest.raises(InvalidSampleError, match=r"obs has dates of the calendar proleptic_gregorian .* have 360_day"):
        check_coordinates(array(OTHER_DAYS), array(DAYS), "obs")
    check_coordinates(array(OTHER_DAYS), array(OTHER_DAYS), "obs")
