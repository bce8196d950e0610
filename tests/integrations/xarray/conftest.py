"""What the tests of labelled arrays share: a small archive of rain and temperature with all that makes life hard."""

import numpy as np
import pytest
import xarray as xr


@pytest.fixture(scope="session")
def archive():
    """Ensembles (time, lead, member, lat) in float32 with missing members, and observations (lat, time, lead)."""
    rng = np.random.default_rng(12)
    shape, sizes = (5, 2, 11, 4), ("time", "lead", "member", "lat")
    coords = {
        "time": np.datetime64("2026-01-01") + np.arange(5) * np.timedelta64(1, "D"),
        "lead": [6, 12],
        "lat": ("lat", [50.0, 51.0, 52.0, 53.0], {"units": "degrees_north"}),
        "height": 2.0,
    }
    t2m = rng.normal(10.0, 3.0, shape).astype(np.float32)
    t2m[rng.random(shape) < 0.1] = np.nan
    t2m[1, 0, :, 2] = np.nan
    rain = np.where(rng.random(shape) < 0.5, 0.0, rng.gamma(1.0, 2.0, shape))
    rain[2, 1, :, 0] = 0.0
    attrs = {"units": "K", "long_name": "temperature", "standard_name": "air_temperature", "source": "made up"}
    ensembles = xr.Dataset(
        {"t2m": (sizes, t2m, attrs), "rain": (sizes, rain, {"units": "mm"}), "mask": ("lat", np.ones(4))},
        coords,
        {"title": "an archive"},
    )
    cells = ("time", "lead", "lat")
    observed = xr.Dataset(
        {
            "t2m": (cells, rng.normal(10.0, 3.0, (5, 2, 4))),
            "rain": (cells, np.where(rng.random((5, 2, 4)) < 0.5, 0.0, rng.gamma(1.0, 2.0, (5, 2, 4)))),
        },
        {name: coords[name] for name in cells},
    )
    observed["t2m"][0, 0, 0] = np.nan
    return ensembles, observed.transpose("lat", "time", "lead")
