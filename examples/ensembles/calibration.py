"""
Calibrated on an archive
========================

``amortized-kde train --archive`` corrects bias and spread before it shapes densities. These are committed results of
``benchmarks/archive.py``: how far each method is behind the trained model, on days that none was fitted to. Run it
inside a clone of the repository; ``examples/archive.py`` does a whole training.
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from amortized_kde.ensembles import Calibration, calibrated

# The folder of results, from anywhere inside the repository.
here = Path.cwd()
RESULTS = next(
    folder / "results" for folder in (here, *here.parents) if (folder / "results").is_dir()
)
with open(RESULTS / "archive.csv", encoding="utf-8", newline="") as file:
    rows = [
        row
        for row in csv.DictReader(file)
        if row["method"] not in ("raw ensemble, as shipped", "climatology")
    ]
    rows = [row for row in rows if float(row["minus_trained_bits"] or 0.0) != 0.0]
archives = list(dict.fromkeys(row["archive"] for row in rows))
archives = [name for name in archives if name in ("temperature", "rain")] or archives[:2]

# %%
# Right of zero the trained model is better; bars are 95 % intervals.

figure, axes = plt.subplots(
    1, len(archives), figsize=(10, 3.6), layout="constrained", squeeze=False
)
for ax, archive in zip(axes[0], archives, strict=True):
    found = {row["method"]: row for row in rows if row["archive"] == archive}
    for place, row in enumerate(found.values()):
        middle, low, high = (
            float(row[key]) for key in ("minus_trained_bits", "low_95", "high_95")
        )
        ax.errorbar(
            middle, place, xerr=[[middle - low], [high - middle]], fmt="o", capsize=3, color="C0"
        )
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_yticks(range(len(found)), list(found))
    ax.set(title=archive, xlabel="bits behind the trained model")
plt.show()

# %%
# A correction is plain numbers. One of your own: one degree colder, with a spread of at least three degrees.

colder = Calibration(location={"1": -1.0, "mean": 1.0}, floor=3.0, slope=0.5)
print(calibrated(np.array([[281.0, 282.0, 286.0]]), colder).round(2))
