"""
Rougher, smoother, or a bandwidth of your own
=============================================

``smoothed(factor)`` multiplies all bandwidths of a density; ``KernelDensity`` takes a bandwidth that you chose.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

x = np.loadtxt(files("amortized_kde") / "app/data/galaxies.csv", skiprows=1) / 1000.0
density = akde.fit(x)

figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for ax, factor in zip(axes, (0.5, 1.0, 2.0), strict=True):
    density.smoothed(factor).plot(ax)
    ax.set(title=f"bandwidths × {factor:g}", xlabel="velocity (1000 km/s)")
plt.show()

# %%
# One bandwidth of your own, in the unit of the data: the standard deviation of the Gaussian kernel.

own = akde.KernelDensity(x, bandwidth=1.0)
print(own)
print(f"the learned one for other libraries: {akde.bandwidth(x):.3f}")
