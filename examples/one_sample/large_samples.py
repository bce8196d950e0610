"""
A million values
================

Large samples need nothing special: all values are used, and time grows slowly.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

rng = np.random.default_rng(1)
x = np.concatenate([rng.normal(0.0, 1.0, 900_000), rng.normal(2.5, 0.02, 100_000)])
akde.fit(x[:70_000]).pdf(np.linspace(-4, 4, 10))  # compile first

start = time.perf_counter()
density = akde.fit(x)
grid = density.ppf(np.linspace(0.0005, 0.9995, 1000))
curve = density.pdf(grid)
print(
    f"fit, 1000 quantiles and 1000 densities of {x.size:,} values: {time.perf_counter() - start:.1f} s"
)

# %%
# The peak at 2.5 is fifty times narrower than the rest. One bandwidth for both would blur it or make the
# rest rough; here each point has its own.

truth = 0.9 * np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
truth += 0.1 * np.exp(-0.5 * ((grid - 2.5) / 0.02) ** 2) / (0.02 * np.sqrt(2 * np.pi))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax in (left, right):
    ax.plot(grid, truth, color="0.6", linewidth=4, label="truth")
    ax.plot(grid, curve, "C0", label="estimate")
left.set(xlabel="x", ylabel="density", ylim=(0, 0.6))
right.set(xlabel="x", xlim=(2.4, 2.6))
left.legend(frameon=False)
plt.show()
