"""
SciPy
=====

``gaussian_kde`` takes a function for ``bw_method``. Pass ``bandwidth_factor()``, and everything else stays as it is.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde

import amortized_kde as akde
from amortized_kde.integrations.scipy import bandwidth_factor

x = np.loadtxt(
    files("amortized_kde") / "app/data/faithful.csv", delimiter=",", skiprows=1, usecols=0
)
kde = gaussian_kde(x, bw_method=bandwidth_factor(bounds=(0, None)))
print(
    f"bandwidth {np.sqrt(kde.covariance[0, 0]):.4f}, that of akde.bandwidth {akde.bandwidth(x, bounds=(0, None)):.4f}"
)

# %%
# SciPy's density has one bandwidth and ignores bounds. ``akde.fit`` has a bandwidth for every point
# and respects bounds.

grid = np.linspace(0.0, 6.5, 651)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hist(x, 45, density=True, color="0.9")
ax.plot(grid, gaussian_kde(x)(grid), color="0.6", label="gaussian_kde(x)")
ax.plot(grid, kde(grid), label="bw_method=bandwidth_factor()")
ax.plot(grid, akde.fit(x, bounds=(0, None)).pdf(grid), "--", label="akde.fit(x)")
ax.set(xlabel="minutes", ylabel="density", ylim=(0.0, 0.95))
ax.legend(frameon=False, loc="upper left", ncols=3)
plt.show()
