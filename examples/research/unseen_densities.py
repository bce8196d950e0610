"""
Densities it was not trained on
===============================

Mean excess over the score of the true density on the fifteen densities of Marron and Wand: committed results of
``benchmarks/marron_wand.py``. Run it inside a clone of the repository.
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt

# The folder of results, from anywhere inside the repository.
here = Path.cwd()
RESULTS = next(
    folder / "results" for folder in (here, *here.parents) if (folder / "results").is_dir()
)
with open(RESULTS / "marron_wand.csv", encoding="utf-8", newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["density"] == "all"]
excess = {(row["method"], int(row["n"])): float(row["excess_bits"]) for row in rows}
sizes = sorted({n for _, n in excess})
methods = sorted({method for method, _ in excess}, key=lambda method: excess[method, sizes[-1]])

# %%
# The best single bandwidth knows the true density; no selector of one bandwidth can beat it, but a bandwidth for every
# point can.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
for ax, n in zip(axes, (30, 256), strict=True):
    values = [excess[method, n] for method in methods]
    colours = ["C0" if method == "amortized" else "0.75" for method in methods]
    ax.barh(methods, values, color=colours)
    ax.bar_label(ax.containers[0], fmt="%.3f", padding=3, fontsize=8)
    ax.set(
        title=f"n = {n}",
        xlabel="mean excess (bits)",
        xlim=(0, 3.2 * sorted(values)[len(values) // 2]),
    )
axes[0].invert_yaxis()
plt.show()
print(f"amortized at n = 256: {excess['amortized', 256]:.4f} bits")
