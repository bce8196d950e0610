"""
Data over many decades
======================

Incomes, file sizes and concentrations span decades. Fit their logarithms, and change the variable back.
"""

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

rng = np.random.default_rng(2)
sizes = np.concatenate([rng.lognormal(3.0, 1.0, 300), rng.lognormal(10.0, 1.2, 200)])  # kB
density = akde.fit(np.log10(sizes))

print(f"median {10 ** density.ppf(0.5):.0f} kB; 90 % below {10 ** density.ppf(0.9):,.0f} kB")
print(f"P(more than 1 MB) = {density.sf(3.0):.3f}")

# %%
# A density per decade is the picture that people expect; divide by x ln 10 for a density per kB.

grid = np.logspace(0.0, 6.0, 600)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.semilogx(grid, density.pdf(np.log10(grid)))
left.set(xlabel="size (kB)", ylabel="density per decade")
right.loglog(grid, density.pdf(np.log10(grid)) / (grid * np.log(10.0)))
right.set(xlabel="size (kB)", ylabel="density per kB", ylim=(1e-9, 0.1))
plt.show()
