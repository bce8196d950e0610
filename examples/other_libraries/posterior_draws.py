"""
Posterior draws in xarray
=========================

Bayesian tools such as ArviZ keep draws in xarray, with dimensions ``chain`` and ``draw``. Flatten a variable, and fit
it with its bounds.
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import amortized_kde as akde

rng = np.random.default_rng(1)
posterior = xr.Dataset(
    {
        "mu": (("chain", "draw"), rng.normal(1.0, 0.2, (4, 500))),
        "sigma": (("chain", "draw"), rng.gamma(2.0, 0.1, (4, 500))),
    }
)
bounds = {"mu": None, "sigma": (0, None)}

# %%
# A standard deviation is positive: with its bound, no probability lies below zero.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, (name, draws) in zip(axes, posterior.items(), strict=True):
    density = akde.fit(draws.values.ravel(), bounds=bounds[name])
    low, high = density.interval(0.94, kind="highest-density")
    print(
        f"{name:<6} mean {density.mean():.2f}, 94 % highest-density interval {low:.2f} to {high:.2f}"
    )
    density.plot(ax, band=0.94)
    ax.set(xlabel=name)
plt.show()

# %%
# One bandwidth for each chain, to see whether they agree:

print(akde.bandwidth(posterior["mu"].values, axis=-1).round(4))
