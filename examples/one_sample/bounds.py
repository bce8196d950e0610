"""
Bounds: no probability outside
==============================

Waiting times are never negative, proportions lie between 0 and 1. Kernels extend past the outermost points: without
bounds, probability lies outside, and the shape at the end is a guess, here a peak and a slope.
"""

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

rng = np.random.default_rng(4)
waits, proportions = rng.exponential(2.0, 100), rng.beta(2.0, 1.0, 100)

free, bounded = akde.fit(waits), akde.fit(waits, bounds=(0, None))
print(f"P(wait < 0) without bounds: {free.cdf(0.0):.3f}, with bounds: {bounded.cdf(0.0):.3f}")

# %%
# ``None`` leaves a side open. All values must lie inside the bounds.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
cases = (("waiting time (minutes)", waits, (0, None)), ("proportion", proportions, (0, 1)))
for ax, (name, sample, bounds) in zip(panels, cases, strict=True):
    free, bounded = akde.fit(sample), akde.fit(sample, bounds=bounds)
    grid = np.linspace(
        sample.min() - 0.2 * np.ptp(sample), sample.max() + 0.2 * np.ptp(sample), 1001
    )
    outside = bounded.pdf(grid) == 0.0
    ax.fill_between(
        grid, free.pdf(grid), where=outside, color="C1", alpha=0.3, label="outside the bounds"
    )
    ax.plot(grid, free.pdf(grid), "C1--", label="no bounds")
    ax.plot(grid, bounded.pdf(grid), "C0", label=f"bounds={bounds}")
    ax.set(xlabel=name, ylabel="density", ylim=(0, None))
    ax.legend(frameon=False, fontsize=9)
plt.show()
