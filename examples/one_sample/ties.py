"""
Rounded data and ties
=====================

Rounding makes ties. Methods that choose the bandwidth by cross-validation can then drive it towards zero and draw a
spike on every repeated value; the default was trained on rounded samples too.
"""

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

exact = np.random.default_rng(3).normal(170.0, 8.0, 400)  # heights in cm
rounded = 2.0 * np.round(exact / 2.0)  # to even centimetres
print(f"{np.unique(rounded).size} distinct values among {rounded.size}")

for method in ("amortized", "lscv", "sheather-jones"):
    print(f"{method:<15} bandwidth {akde.fit(rounded, method=method).bandwidth:.3g} cm")

# %%
# Least-squares cross-validation collapses; the default stays near the density of the exact values.

grid = np.linspace(140.0, 200.0, 1201)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hist(rounded, np.arange(139, 202, 2), density=True, color="0.9")
ax.plot(
    grid,
    np.minimum(akde.fit(rounded, method="lscv").pdf(grid), 0.12),
    "C1",
    linewidth=0.8,
    label="lscv (cut)",
)
ax.plot(
    grid, akde.fit(exact).pdf(grid), color="0.4", linestyle=":", label="default, exact values"
)
ax.plot(grid, akde.fit(rounded).pdf(grid), "C0", linewidth=2, label="default, rounded values")
ax.set(xlabel="height (cm)", ylabel="density")
ax.legend(frameon=False)
plt.show()
