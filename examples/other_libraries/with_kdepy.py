"""
KDEpy
=====

``FFTKDE`` is fast on even grids. Give it the bandwidth of ``akde.bandwidth``.
"""

import matplotlib.pyplot as plt
import numpy as np
from KDEpy import FFTKDE

import amortized_kde as akde

rng = np.random.default_rng(1)
x = np.concatenate([rng.normal(0.0, 1.0, 3000), rng.normal(4.0, 0.3, 2000)])
h = akde.bandwidth(x)
print(f"bandwidth {h:.4f}")

grid, density = FFTKDE(kernel="gaussian", bw=h).fit(x).evaluate(2**12)
exact = akde.KernelDensity(x, bandwidth=h).pdf(grid)
print(f"largest difference to the direct sum: {np.abs(density - exact).max():.1e}")

# %%
# Its own rule, Silverman's, blurs two modes of different width.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hist(x, 120, density=True, color="0.9")
ax.plot(
    *FFTKDE(kernel="gaussian", bw="silverman").fit(x).evaluate(2**12),
    color="0.6",
    label="bw='silverman'",
)
ax.plot(grid, density, "C0", label="bw=akde.bandwidth(x)")
ax.set(xlabel="x", ylabel="density", xlim=(-4, 6))
ax.legend(frameon=False)
plt.show()
