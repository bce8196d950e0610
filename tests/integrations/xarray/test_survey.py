import numpy as np
import pytest
import xarray as xr

from amortized_kde.errors import InvalidSampleError
from amortized_kde.integrations.xarray.survey import survey


@pytest.fixture
def rain():
    """Members (time, member), 30 % dry, and observations."""
    rng = np.random.default_rng(3)
    values = np.where(rng.random((80, 11)) < 0.3, 0.0, rng.gamma(1.0, 4.0, (80, 11))).round(1)
    x = xr.DataArray(values, dims=("time", "member"), name="rain", attrs={"units": "mm"})
    return x.isel(member=slice(10)), x.isel(member=10).rename("seen")


@pytest.mark.parametrize("lazy", [False, True])
def test_cells_are_counted(rain, lazy):
    x, obs = rain
    x = x.copy()
    x[3], x[5, 2], x[6, :4], x[7, 0] = np.nan, np.nan, np.nan, -1.0
    found = survey(x.chunk(time=7) if lazy else x, obs, "member", bounds=(0, None), atoms=(0,))
    assert found.counts == {
        "cells": 80,
        "cells_without_members": 1,
        "cells_with_missing_members": 2,
        "cells_with_members_outside": 1,
    }
    assert found.notes == ()


def test_zeros_are_pointed_out(rain):
    x, obs = rain
    share, seen = (f"{float((part == 0.0).mean()):.0%}" for part in (x, obs))
    (note,) = survey(x, obs, "member", bounds=(0, None)).notes
    assert note == (
        f"{share} of the members and {seen} of the observations are exactly 0, the lower bound; --atoms 0 gives it a "
        "probability of its own."
    )
    assert survey(x, None, "member").notes[0].startswith(f"{share} of the members are exactly 0; --atoms 0 gives")
    (note,) = survey(x.where(x > 0.0, 0.05), obs, "member", atoms=(0.05, 9.0)).notes
    assert f"0% of the members and {seen} of the observations are exactly 0; --atoms 0,0.05,9 gives" in note


def test_rounded_values_are_not_pointed_out():
    x = xr.DataArray(np.random.default_rng(1).normal(2.0, 2.0, (90, 10)).round(), dims=("time", "member"))
    found = survey(x, x.isel(member=0), "member")
    assert found.notes == ()
    assert found.resolution == 1.0
    assert survey(x, x.isel(member=0) + np.random.default_rng(2).random(90), "member").resolution == 0.0


def test_large_files_are_looked_at_in_part(rain, monkeypatch):
    monkeypatch.setattr("amortized_kde.integrations.xarray.survey._LOOKED_AT", 200)
    x, _ = rain
    (note,) = survey(x.chunk(time=3), None, "member").notes
    assert note.startswith(f"{float((x[::4] == 0.0).mean()):.0%} of the members are exactly 0")


def test_conversion_is_noted(rain):
    x, obs = rain
    (note,) = survey(x, (obs / 1000.0).assign_attrs(units="m"), "member", atoms=(0,)).notes
    assert note == "observations are converted from m to mm, the unit of the forecasts."


def test_nothing_but_missing_values(rain):
    x, obs = rain
    with pytest.raises(InvalidSampleError, match="all members of variable 'rain' are missing"):
        survey(x * np.nan, obs, "member")
    with pytest.raises(InvalidSampleError, match="all observations are missing"):
        survey(x, obs * np.nan, "member")
