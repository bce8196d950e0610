"""
Save a density, and load it
===========================

The file has the points and their bandwidths, without pickle. What is loaded is checked, and gives the same bits.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import amortized_kde as akde

x = np.random.default_rng(1).gamma(3.0, 2.0, 300)
density = akde.fit(x, bounds=(0, None))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "density.npz"
    density.save(path)
    print(f"{path.stat().st_size / 1024:.0f} kB")
    loaded = akde.KernelDensity.load(path)

grid = density.grid(400)
print("same bits:", np.array_equal(density.pdf(grid), loaded.pdf(grid)))

# %%
# ``to_frame`` has the curve as a table, for a spreadsheet or another program.

print(loaded.to_frame(5).round(4))
ax = loaded.plot(plt.subplots(figsize=(7, 4), layout="constrained")[1], band=0.9)
ax.set(xlabel="x", title="loaded, with its central 90 % interval")
plt.show()
