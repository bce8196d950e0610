"""
Posterior draws of ArviZ
========================

ArviZ keeps posterior draws in an xarray Dataset, with dimensions ``chain`` and ``draw``. Fit a variable with its
bounds, or all of them together.
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import amortized_kde as akde

rng = np.random.default_rng(1)
tau = rng.gamma(1.5, 3.0, (4, 250))
mu = rng.normal(4.0, 1.5, (4, 250))
# With ArviZ: posterior = idata.posterior
posterior = xr.Dataset(
    {
        "mu": (("chain", "draw"), mu),
        "tau": (("chain", "draw"), tau),
        "theta": (("chain", "draw"), mu + 0.7 * tau * rng.standard_normal((4, 250))),
    }
)
bounds = {"tau": (0, None)}

# %%
# A standard deviation is positive: with its bound, no probability lies below zero.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, (name, draws) in zip(axes, posterior.items(), strict=True):
    density = akde.fit(draws.values.ravel(), bounds=bounds.get(name))
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

# %%
# All variables together: a corner plot with contours that hold 25, 50, 75 and 95 % of the posterior probability. The
# joint density also gives what the margins cannot: the probability of a region, or one variable given another.

joint = akde.fit(posterior.stack(sample=("chain", "draw")), bounds=bounds)
print(
    f"P(mu > 3 and tau < 5) = {joint.cdf([np.inf, 5, np.inf], lower_limit=[3, 0, -np.inf]):.3f}"
)
for value in (1.0, 8.0):
    low, high = joint.conditional({"tau": value}).marginal("theta").interval(0.9)
    print(
        f"at tau = {value:g}, theta lies between {low:.1f} and {high:.1f} with probability 90 %"
    )
joint.plot()
plt.show()
