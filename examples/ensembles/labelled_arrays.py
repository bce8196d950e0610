"""
xarray: labelled forecasts
==========================

The accessor ``.akde`` finds the members by the name of their dimension, converts units, and names the results. Lazy
arrays stay lazy.
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import amortized_kde.integrations.xarray  # noqa: F401  (registers .akde)

rng = np.random.default_rng(1)
centre = (
    283.0 + 8.0 * np.sin(2 * np.pi * np.arange(120) / 120)[:, None] + rng.normal(0, 2, (120, 6))
)
members = centre[..., None] + rng.normal(0.0, 1.5, (120, 6, 30))
days = np.datetime64("2026-01-01", "ns") + np.arange(120) * np.timedelta64(1, "D")
t2m = xr.DataArray(
    members,
    dims=("time", "place", "number"),
    coords={"time": days},
    name="t2m",
    attrs={"units": "K"},
).chunk(time=40)
seen = centre + rng.normal(0.0, 1.5, (120, 6)) - 273.15
observed = xr.DataArray(
    seen, dims=("time", "place"), coords={"time": days}, attrs={"units": "degC"}
)

# %%
# Observations in °C are converted to the forecasts' kelvin.

scores = t2m.akde.log_scores(observed).compute()
print(scores.name, scores.dims, scores.attrs["units"], f"mean {float(scores.mean()):.2f}")

# %%
# Quantiles of every place and day, drawn for one place:

band = t2m.akde.quantiles([0.05, 0.25, 0.5, 0.75, 0.95]).isel(place=0).compute()
print(band.dims)
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
low, lower, middle, upper, high = band.transpose("quantile", "time").values
ax.fill_between(days, low, high, color="C0", alpha=0.2, linewidth=0, label="90 %")
ax.fill_between(days, lower, upper, color="C0", alpha=0.4, linewidth=0, label="50 %")
ax.plot(days, middle, "C0", label="median")
ax.plot(days, observed.isel(place=0) + 273.15, ".", color="C1", label="observed")
ax.set(ylabel="temperature (K)")
ax.legend(frameon=False, ncols=4)
figure.autofmt_xdate()
plt.show()
