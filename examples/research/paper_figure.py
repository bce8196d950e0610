"""
The paper's comparison, reproduced
==================================

Mean excess over the score of the true density on mixtures of 32 Gaussians, by sample size: committed results of
``amortized-kde reproduce gmm --scale paper``, 30,000 samples of each size. Run it inside a clone of the repository.
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

# The folder of results, from anywhere inside the repository.
here = Path.cwd()
RESULTS = next(
    folder / "results" for folder in (here, *here.parents) if (folder / "results").is_dir()
)
with open(RESULTS / "gmm.csv", encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
methods = [name for name in dict.fromkeys(row["method"] for row in rows) if name != "truth"]
print(methods)

# %%
# Shaded are the 5th and 95th percentiles of bootstrap means.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for method in methods:
    n, middle, low, high = np.array(
        [
            [float(row[key]) for key in ("n", "excess_bits", "excess_lower", "excess_upper")]
            for row in rows
            if row["method"] == method
        ]
    ).T
    (line,) = ax.plot(n, middle, label=method)
    ax.fill_between(n, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
ax.set(xscale="log", yscale="log", xlabel="n", ylabel="mean excess (bits)", ylim=(0.05, 30))
ax.legend(frameon=False, fontsize=8, ncols=2)
plt.show()
